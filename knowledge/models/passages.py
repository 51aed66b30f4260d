"""Passage: the unit of search, a piece of text of anything that can be found."""

from typing import Any

from django.contrib.postgres.indexes import GinIndex
from django.contrib.postgres.search import SearchVectorField
from django.db import models
from django.utils import timezone
from django.utils.module_loading import import_string

from accounts.models import User
from bigmind.core.translation import gettext_lazy
from bigmind.privacy.masking import PrivateModel


class Kind(models.TextChoices):
    """What a passage is a piece of."""

    FACT = "fact"
    CHUNK = "chunk"
    SUMMARY = "summary"
    NOTE = "note"
    HYPOTHESIS = "hypothesis"
    ENTRY = "entry"
    COMPANY = "company"
    REFERENCE = "reference"
    PERSON = "person"
    APP_TABLE = "app_table"
    APP_ENTITY = "app_entity"
    APP_WORKFLOW = "app_workflow"

    @property
    def is_shared(self) -> bool:
        """Whether everybody here sees it: then its passages have no owner. Its row says so."""
        return bool(import_string("knowledge.kinds.KINDS")[self].is_shared)


COMPARED = frozenset({Kind.FACT, Kind.ENTRY})
"""The kinds of which each is compared in meaning with older ones, once it has a vector."""


def list_kinds() -> list[tuple[str, str]]:
    """Return the kinds as choices: migrations name the function, where a list would ask for one with each new kind."""
    return [(kind.value, gettext_lazy(kind.label)) for kind in Kind]


FORM = 1
"""How passages are written now; those of another form are rewritten in the background."""
SAMPLE, SAMPLED_OF = "2", 8
"""Of the digests, one in eight is smaller: a sample that only depends on what is stored."""


def in_parts(text: str) -> str:
    """Return the SQL that takes a text apart at camel case and at whatever is neither letter nor digit.

    Questions and passages are taken apart alike, or they would not meet.
    """
    return (
        f"regexp_replace(regexp_replace({text}, '([[:lower:]])([[:upper:]])', '\\1 \\2', 'g'),"
        " '[^[:alnum:]]+', ' ', 'g')"
    )


class Lexemes(models.Func):
    """The words of a text as PostgreSQL searches them: stemmed as English, as they stand, and in their parts.

    The second third finds names and identifiers, which stemming would bend. PostgreSQL takes a path, an address or a
    dotted name for one word; the last third finds it by its parts: `search` in `knowledge/search/hybrid.py`, `retry` in
    `maxRetryCount`. Migrations call it; a trigger adds what other languages need (migration 0035).
    """

    template = (
        "(to_tsvector('english', %(expressions)s) || to_tsvector('simple', %(expressions)s)"
        f" || to_tsvector('simple', {in_parts('%(expressions)s')}))"
    )
    output_field = SearchVectorField()

    def __init__(self, text: str, **extra: Any) -> None:
        super().__init__(models.F(text), **extra)


# What was written before passages had heads: what needs none stays as it is.
OUTDATED = models.Q(form=0) & (models.Q(kind=Kind.CHUNK) | models.Q(ordinal__gt=0))


class Passage(PrivateModel):
    """A piece of a stored text. What was set aside, has expired or was erased has no passages."""

    owned_by = "owner"
    shared_without_owner = True

    kind = models.CharField(max_length=20, choices=list_kinds)
    source_id = models.CharField(max_length=36, help_text="The id of what it is a piece of.")
    owner = models.ForeignKey(User, models.CASCADE, null=True, blank=True, related_name="passages")
    project = models.CharField(max_length=100, blank=True)
    ordinal = models.PositiveIntegerField(default=0)
    text = models.TextField(help_text="As it is searched: the head, then the words themselves.")
    head = models.PositiveSmallIntegerField(
        db_default=0, help_text="How many characters of the text say what it belongs to: they are never shown."
    )
    form = models.PositiveSmallIntegerField(db_default=0, help_text="How it was written; 0: it is to be rewritten.")
    language = models.CharField(
        max_length=20,
        blank=True,
        db_default="",
        help_text="The dictionary that its words are stemmed with besides the English one; empty: with no other.",
    )
    # No generated column: to change its expression, PostgreSQL rewrites the whole table under a lock. Decision 38.
    lexemes = SearchVectorField(null=True, editable=False, help_text="Its words; a trigger writes them.")
    digest = models.CharField(max_length=64, help_text="SHA-256 of the text.")
    past = models.BooleanField(
        db_default=False, help_text="Whether it was replaced: only a question about then finds it."
    )
    created_at = models.DateTimeField(default=timezone.now, help_text="When it was said or stored.")
    # The row is the queue: a worker that dies, or is refused, leaves what it has not compared to the next one.
    compared = models.BooleanField(
        default=True, db_default=True, help_text="Whether it was compared in meaning with older ones, or need not be."
    )

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["kind", "source_id", "ordinal"], name="passage_once_per_place"),
        ]
        indexes = [
            # Apart, because a search asks one owner's passages and the shared ones, and never those of others.
            GinIndex(fields=["lexemes"], name="passage_shared_lexemes", condition=models.Q(owner=None)),
            GinIndex(fields=["lexemes"], name="passage_owned_lexemes", condition=models.Q(owner__isnull=False)),
            models.Index(fields=["owner", "kind", "project", "created_at"], name="passage_of_scope"),
            models.Index(fields=["owner", "digest"], name="passage_sample", condition=models.Q(digest__lt=SAMPLE)),
            models.Index(fields=["kind", "source_id"], name="passage_outdated", condition=OUTDATED),
            models.Index(fields=["id"], name="passage_uncompared", condition=models.Q(compared=False)),
        ]

    def __str__(self) -> str:
        return f"{self.kind} {self.source_id}, piece {self.ordinal}"

    @property
    def words(self) -> str:
        """The words themselves, without the head."""
        return self.text[self.head :]


class IndexGap(models.Model):
    """How many things of one kind the index lacked when it was checked last: what health, metrics and pages read."""

    class Lack(models.TextChoices):
        """What is missing."""

        PASSAGES = "passages", "things without passages"
        WORDS = "words", "passages without words"
        VECTORS = "vectors", "passages without a vector, and not waiting for one"
        OTHER_MODEL = "other_model", "vectors of another length than the model in use makes"
        ORPHANS = "orphans", "passages of things that are gone"

    gap = models.CharField(max_length=20, choices=Lack)
    kind = models.CharField(max_length=20, choices=list_kinds)
    count = models.PositiveBigIntegerField()
    checked_at = models.DateTimeField(default=timezone.now)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["gap", "kind"], name="index_gap_once")]

    def __str__(self) -> str:
        return f"{self.get_gap_display()}, {self.kind}: {self.count}"
