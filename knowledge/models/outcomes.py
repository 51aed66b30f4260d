"""What came of sessions, in numbers, and which things were drawn by lot to be sent or withheld."""

from uuid import UUID

from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.utils import timezone
from django.utils.crypto import salted_hmac

from accounts.models import User
from bigmind.core.masking import PrivateModel

from .sessions import Session

DIGEST_CHARS = 24


def digest_of_person(user_id: UUID, asked: object) -> str:
    """Return what is kept of a person who asked: without our key it tells neither who it was nor what they asked."""
    text = f"{user_id} {asked}"
    return salted_hmac("knowledge.people", text, algorithm="sha256").hexdigest()[:DIGEST_CHARS]


class SessionOutcome(PrivateModel):
    """What came of one session, in numbers. Of questions and commits only digests with a key are kept."""

    session = models.OneToOneField(Session, models.CASCADE, primary_key=True, related_name="work")
    user = models.ForeignKey(User, models.CASCADE, related_name="+")
    at = models.DateTimeField(default=timezone.now)
    searches = models.PositiveIntegerField(default=0, db_default=0, help_text="Questions that its agent asked BigMind.")
    repeated = models.PositiveIntegerField(
        default=0, db_default=0, help_text="Questions of it that were asked again within a day."
    )
    corrections = models.PositiveIntegerField(
        default=0, db_default=0, help_text="Things that were corrected or said to be wrong."
    )
    tests_passed = models.PositiveIntegerField(default=0, db_default=0, help_text="Runs of tests that passed.")
    tests_failed = models.PositiveIntegerField(default=0, db_default=0, help_text="Runs of tests that failed.")
    failing = models.BooleanField(default=False, db_default=False, help_text="Whether its last run of tests failed.")
    commits = models.PositiveIntegerField(default=0, db_default=0)
    reverted = models.PositiveIntegerField(
        default=0, db_default=0, help_text="Commits of it that were reverted, then or later."
    )
    asked = ArrayField(
        models.CharField(max_length=DIGEST_CHARS), default=list, db_default=[], help_text="Digests of its questions."
    )
    committed = ArrayField(
        models.CharField(max_length=DIGEST_CHARS), default=list, db_default=[], help_text="Digests of its commits."
    )

    class Meta:
        indexes = [models.Index(fields=["user", "-at"], name="outcome_of_user_by_date")]

    def __str__(self) -> str:
        return f"What came of session {self.session_id}"


class HoldoutDraw(PrivateModel):
    """One thing that one session was about to receive, and whether it was withheld by lot. It goes with the session."""

    session = models.ForeignKey(Session, models.CASCADE, related_name="draws")
    user = models.ForeignKey(User, models.CASCADE, related_name="+")
    kind = models.CharField(max_length=20, help_text="Kind of what was drawn.")
    source_id = models.CharField(max_length=36, help_text="Id of what was drawn.")
    version = models.CharField(
        max_length=DIGEST_CHARS, blank=True, help_text="Digest of its text: another is compared anew."
    )
    percent = models.PositiveSmallIntegerField(
        db_default=0, help_text="In how many of 100 sessions it was withheld then; 0: that was not kept."
    )
    withheld = models.BooleanField(help_text="Whether the session was not told it.")
    at = models.DateTimeField(default=timezone.now)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["session", "kind", "source_id"], name="drawn_once_in_a_session")]
        indexes = [models.Index(fields=["kind", "source_id"], name="draw_of_thing")]

    def __str__(self) -> str:
        return f"{self.kind} {self.source_id}: {'withheld' if self.withheld else 'told'}"
