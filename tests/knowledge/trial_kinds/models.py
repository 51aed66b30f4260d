"""The models of the trial kinds, and the SQL of the migration that each would have."""

from django.db import models
from django.utils import timezone

from accounts.models import User
from bigmind.core.private_row_numbers import HasNumber
from knowledge.models import Session
from knowledge.models.base import CanBeSetAside

ISOLATE_OWNERS = """
ALTER TABLE knowledge_rumour ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
CREATE POLICY seen_by_its_owner ON knowledge_rumour
    USING (coalesce(user_id = (SELECT bigmind_sees()), true));
"""
FORGET_TEXTS = """
CREATE TRIGGER forget_receipt_texts AFTER DELETE ON knowledge_{kind} REFERENCING OLD TABLE AS gone
FOR EACH STATEMENT EXECUTE FUNCTION knowledge_forget_receipt_texts('{kind}')
"""


class Rumour(HasNumber, CanBeSetAside):
    """Something that was heard."""

    user = models.ForeignKey(User, models.CASCADE, related_name="rumours")
    session = models.ForeignKey(Session, models.SET_NULL, null=True, related_name="rumours")
    text = models.TextField()
    project = models.CharField(max_length=100, blank=True)
    created_at = models.DateTimeField(default=timezone.now)

    class Meta:
        app_label = "knowledge"

    def __str__(self) -> str:
        return self.text


class Signpost(models.Model):
    """Where something is to be found."""

    text = models.TextField()
    created_at = models.DateTimeField(default=timezone.now)

    class Meta:
        app_label = "knowledge"

    def __str__(self) -> str:
        return self.text
