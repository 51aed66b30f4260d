"""References: documentation to be looked up, in collections, each with every text it ever had."""

import uuid
from typing import Any

from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.utils import timezone

from accounts.models import User

from .injection_signs import SharedKnowledge
from .person_digests import DIGEST_CHARS

NAME_CHARS = 500


class ReferenceType(models.TextChoices):
    """What a reference describes: the words of `knowledge.argument_types`."""

    COMMAND = "command"
    API = "api", "API endpoint"
    GUIDE = "guide"
    FEATURE = "feature"
    TROUBLESHOOTING = "troubleshooting"
    SETTING = "setting"


class ReferenceCollection(models.Model):
    """The documentation of one product.

    Attributes:
        program: Words that a command line of it begins with, and that people may leave out: `helios`.
        base_path: What stands before every path of its API, and may be left out: `/api/v1`.
        completeness: By source and type, whether it lists all there is: `{"openapi.yaml": {"api": "complete"}}`. It is
            unknown where nothing is said.
        synonyms: Words of its own that mean the same, beside the built-in ones: `{"tenant": ["workspace"]}`.
    """

    slug = models.SlugField(unique=True)
    title = models.CharField(max_length=200)
    description = models.TextField(blank=True)
    program = models.CharField(max_length=100, blank=True)
    base_path = models.CharField(max_length=200, blank=True)
    synonyms = models.JSONField(default=dict, blank=True)
    completeness = models.JSONField(default=dict, db_default={}, blank=True)
    review_after = models.DateField(null=True, blank=True, help_text="When somebody should read it again.")
    created_at = models.DateTimeField(auto_now_add=True)
    updated_at = models.DateTimeField(auto_now=True)

    def __str__(self) -> str:
        return self.title or self.slug


class ReferenceImport(models.Model):
    """One run that brought references in, and what it did. The newest tells how fresh a collection is."""

    collection = models.ForeignKey(ReferenceCollection, models.CASCADE, related_name="imports")
    source = models.CharField(max_length=500, blank=True, help_text="What was read: a file, an address, a program.")
    version = models.CharField(max_length=100, blank=True, help_text="The version of what is described.")
    generated_at = models.DateTimeField(default=timezone.now)
    at = models.DateTimeField(default=timezone.now)
    by = models.ForeignKey(User, models.SET_NULL, null=True, blank=True, related_name="+")
    added = models.PositiveIntegerField(default=0)
    changed = models.PositiveIntegerField(default=0)
    removed = models.PositiveIntegerField(default=0)
    unchanged = models.PositiveIntegerField(default=0)
    drifted = models.PositiveIntegerField(default=0, help_text="Not taken, because people had changed them.")

    class Meta:
        indexes = [models.Index(fields=["collection", "-at"], name="reference_import_newest")]

    def __str__(self) -> str:
        return f"{self.collection_id}: {self.source or 'an import'}"


class ReferenceQuerySet(models.QuerySet["Reference"]):
    """References, in the words of anyone who looks them up."""

    def current(self) -> "ReferenceQuerySet":
        """Those that are still there."""
        return self.filter(removed_at=None)

    def in_category(self, category: str) -> "ReferenceQuerySet":
        """Those of a category, or of a subcategory: people name either."""
        return self.filter(models.Q(category__iexact=category) | models.Q(subcategory__iexact=category))


class Reference(SharedKnowledge):
    """One item of documentation: a command, an endpoint, a guide. Everybody here reads it.

    Attributes:
        key: Its id within the collection, the same at every import.
        origin: The `source` of the import that last brought it: a complete import of that source may remove it.
        form: What a command line or a request is made of, where that is known.
        digest: Of the draft as it was generated, whatever people have made of it since.
        generated: The draft as it was generated, kept once a person has changed the text.
    """

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    collection = models.ForeignKey(ReferenceCollection, models.CASCADE, related_name="references")
    key = models.CharField(max_length=NAME_CHARS)
    kind = models.CharField(max_length=20, choices=ReferenceType)
    title = models.CharField(max_length=200)
    category = models.CharField(max_length=100, blank=True)
    subcategory = models.CharField(max_length=100, blank=True)
    name = models.CharField(max_length=NAME_CHARS, blank=True, help_text="What it is called exactly.")
    aliases = ArrayField(models.CharField(max_length=NAME_CHARS), default=list, blank=True)
    keywords = ArrayField(models.CharField(max_length=100), default=list, blank=True)
    summary = models.TextField(blank=True)
    content = models.TextField(blank=True)
    examples = models.JSONField(default=list, blank=True)
    related = ArrayField(models.CharField(max_length=NAME_CHARS), default=list, blank=True)
    source = models.CharField(max_length=500, blank=True, help_text="Where it was read.")
    version = models.CharField(max_length=100, blank=True)
    origin = models.CharField(max_length=500, blank=True)
    form = models.JSONField(null=True, blank=True)
    digest = models.CharField(max_length=64, editable=False)
    generated = models.JSONField(null=True, blank=True, editable=False)
    edited_at = models.DateTimeField(null=True, blank=True)
    edited_by = models.ForeignKey(User, models.SET_NULL, null=True, blank=True, related_name="+")
    removed_at = models.DateTimeField(null=True, blank=True)
    created_at = models.DateTimeField(default=timezone.now)
    updated_at = models.DateTimeField(default=timezone.now)

    objects = ReferenceQuerySet.as_manager()

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["collection", "key"], name="reference_key_once"),
            models.CheckConstraint(condition=models.Q(kind__in=ReferenceType.values), name="reference_kind_is_known"),
        ]
        indexes = [models.Index(fields=["collection", "kind", "category"], name="reference_of_shelf")]

    def __str__(self) -> str:
        return self.name or self.title

    @property
    def method(self) -> str:
        """The HTTP method of an endpoint."""
        if self.kind != ReferenceType.API:
            return ""
        # What people write by hand names method and path, and says no more of the request.
        named = self.name.partition(" /")[0] if " /" in self.name else ""
        return str((self.form or {}).get("method", "") or named).upper()

    @property
    def example(self) -> str:
        """The code of the first example."""
        return str(self.examples[0]["code"]) if self.examples else ""


class ReferenceName(models.Model):
    """One way to call a reference, as it is looked up: case, spaces and punctuation aside.

    Attributes:
        lookup: The name as `knowledge.search.typed_names` spells it: words with single spaces, or a path with `{}` in
            place of each parameter.
        method: Of an endpoint, in capitals.
    """

    class Sort(models.TextChoices):
        """What sort of name it is, the most telling first."""

        NAME = "name"
        PATH = "path"
        ALIAS = "alias"
        KEY = "key"
        TITLE = "title"

    reference = models.ForeignKey(Reference, models.CASCADE, related_name="names")
    sort = models.CharField(max_length=10, choices=Sort)
    said = models.CharField(max_length=NAME_CHARS)
    # An exact name is looked up before anything is searched. Decision 18.
    lookup = models.CharField(max_length=NAME_CHARS, db_index=True)
    method = models.CharField(max_length=10, blank=True)

    class Meta:
        indexes = [models.Index(fields=["sort"], name="reference_name_sort")]

    def __str__(self) -> str:
        return self.said


class ReferenceVersion(models.Model):
    """A text that a reference had until it was changed: nothing that was ever shown is lost."""

    reference = models.ForeignKey(Reference, models.CASCADE, related_name="versions")
    number = models.PositiveIntegerField()
    text: "models.JSONField[Any, Any]" = models.JSONField()
    why = models.CharField(max_length=20, help_text="What ended it: import, edit, removal or decision.")
    by = models.ForeignKey(User, models.SET_NULL, null=True, blank=True, related_name="+")
    at = models.DateTimeField(default=timezone.now, help_text="When it ended.")

    class Meta:
        constraints = [models.UniqueConstraint(fields=["reference", "number"], name="reference_version_once")]

    def __str__(self) -> str:
        return f"{self.reference_id}, version {self.number}"


class ReferenceDrift(models.Model):
    """A source that says something new about what a person had changed. Someone has to decide which text stands.

    Attributes:
        before: The draft that the person changed.
        now: The draft as the source tells it now; nothing when the source has it no more.
    """

    class Resolution(models.TextChoices):
        """Which text stands."""

        MINE = "mine"
        NEW = "new"
        EDITED = "edited"

    reference = models.ForeignKey(Reference, models.CASCADE, related_name="drifts")
    before = models.JSONField(null=True)
    now = models.JSONField(null=True)
    digest = models.CharField(max_length=64, blank=True, help_text="Of the draft as the source tells it now.")
    opened_at = models.DateTimeField(default=timezone.now)
    decision = models.CharField(max_length=10, choices=Resolution, blank=True)
    decided_at = models.DateTimeField(null=True, blank=True)
    decided_by = models.ForeignKey(User, models.SET_NULL, null=True, blank=True, related_name="+")

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["reference"], condition=models.Q(decided_at=None), name="reference_drift_open_once"
            )
        ]

    def __str__(self) -> str:
        return f"{self.reference_id}: {self.decision or 'to decide'}"


class ReferenceUse(models.Model):
    """How often agents were given a reference: apart, so that counting does not rewrite the text."""

    reference = models.OneToOneField(Reference, models.CASCADE, primary_key=True, related_name="use")
    asked = models.PositiveIntegerField(default=0)
    last_asked_at = models.DateTimeField(default=timezone.now)
    people = ArrayField(
        models.CharField(max_length=DIGEST_CHARS),
        default=list,
        db_default=[],
        help_text="Digests of those whose agents were given it, as many as it takes to show the number to everyone.",
    )

    def __str__(self) -> str:
        return f"{self.reference_id}: {self.asked}"
