"""What each session received and what came of it: exposures, what they prove, and the receipt of a start context."""

from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.utils import timezone

from accounts.models import Agent, User
from bigmind.privacy.masking import PrivateModel

from .company import CompanyEntry
from .sessions import Session


class Serving(models.Model):
    """One thing that one session received, or said it used. It goes with the session."""

    session = models.ForeignKey(Session, models.CASCADE, related_name="servings")
    user = models.ForeignKey(User, models.CASCADE, related_name="+")
    kind = models.CharField(max_length=20, help_text="Kind of what was told.")
    source_id = models.CharField(max_length=36, help_text="Id of what was told.")
    at = models.DateTimeField(default=timezone.now)
    answered = models.BooleanField(default=False, help_text="Whether the session said at its end what it had used.")
    cited = models.BooleanField(default=False)
    misled = models.BooleanField(default=False)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["session", "kind", "source_id"], name="serving_once_in_a_session")
        ]
        indexes = [
            models.Index(fields=["kind", "source_id"], name="serving_of_thing"),
            models.Index(fields=["at"], name="serving_at"),
            models.Index(fields=["user", "-at"], name="serving_of_user"),
        ]

    def __str__(self) -> str:
        return f"{self.kind} {self.source_id}"


class Proof(models.Model):
    """What came of one company entry, over all sessions that received it: computed from the exposures."""

    entry = models.OneToOneField(CompanyEntry, models.CASCADE, primary_key=True, related_name="proof")
    served = models.PositiveIntegerField(default=0, help_text="Sessions that were told it.")
    answered = models.PositiveIntegerField(default=0, help_text="Those of them that said what they had used.")
    people = models.PositiveIntegerField(default=0, help_text="People whose sessions these were.")
    cited = models.PositiveIntegerField(default=0)
    misled = models.PositiveIntegerField(default=0)
    last_cited_at = models.DateTimeField(null=True, blank=True)
    tallied_at = models.DateTimeField(default=timezone.now)

    def __str__(self) -> str:
        return f"{self.entry_id}: served {self.served}, cited {self.cited}, misled {self.misled}"


class Receipt(PrivateModel):
    """The start context of one session, item by item: what, why, and its tokens; and its lines as they were sent.

    `recalls` has what was recalled in the session since, each with the lines as they were sent.
    """

    owned_by = "session__user"

    session = models.OneToOneField(Session, models.CASCADE, primary_key=True, related_name="receipt")
    tokens = models.PositiveIntegerField()
    told = models.PositiveIntegerField(help_text="How many company entries, facts and ended sessions it told.")
    lines = models.JSONField(default=list)
    texts = ArrayField(models.BigIntegerField(), null=True, blank=True, help_text="Its lines as told, in their order.")
    recalls = models.JSONField(
        db_default=[], help_text="When something was recalled, what it cost, and its lines as told."
    )

    def __str__(self) -> str:
        return f"{self.told} items, {self.tokens} tokens"


class ReceiptText(PrivateModel):
    """One line as an agent received it, kept once however often it was sent. It goes with what it is of, by a trigger.

    A line of the layout, such as a heading, is of nothing.
    """

    user = models.ForeignKey(User, models.CASCADE, related_name="+")
    kind = models.CharField(max_length=20, blank=True, help_text="Kind of what the line is of.")
    source_id = models.CharField(max_length=36, blank=True, help_text="Id of what the line is of.")
    quoted_id = models.CharField(max_length=36, blank=True, help_text="Id of another of the kind that it quotes.")
    digest = models.CharField(max_length=64, help_text="SHA-256 of the text.")
    text = models.TextField()
    at = models.DateTimeField(default=timezone.now, help_text="When it was told first.")

    class Meta:
        # Not unique: two agents that start at once would wait for each other. A line is then kept twice.
        indexes = [
            models.Index(fields=["user", "digest"], name="receipt_text_of_user"),
            models.Index(fields=["kind", "source_id"], name="receipt_text_of_thing"),
            models.Index(
                fields=["kind", "quoted_id"], condition=~models.Q(quoted_id=""), name="receipt_text_quoting_thing"
            ),
        ]

    def __str__(self) -> str:
        return self.text[:80]


class Recall(PrivateModel):
    """What an open session receives with its next reply. Handles, and no text.

    Something that it received was withdrawn, or a fact that it stored repeats or contradicts something.
    """

    session = models.ForeignKey(Session, models.CASCADE, related_name="recalls")
    user = models.ForeignKey(User, models.CASCADE, related_name="+")
    agent = models.ForeignKey(Agent, models.CASCADE, null=True, blank=True, related_name="+")
    handle = models.CharField(max_length=60)
    why = models.CharField(max_length=200, blank=True)
    found = models.JSONField(
        null=True, blank=True, help_text="What a fact was compared with, and how it relates; empty: it was withdrawn."
    )
    at = models.DateTimeField(default=timezone.now)
    told_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        indexes = [models.Index(fields=["user"], condition=models.Q(told_at=None), name="recall_untold")]

    def __str__(self) -> str:
        return self.handle
