"""Signs of prompt injections in what everybody may write, stored beside it: no list looks at its texts again."""

from typing import Any, TypeVar

from django.contrib.postgres.fields import ArrayField
from django.db import models

from bigmind.privacy.injections import find_warnings

SHARED_TEXTS = ("title", "name", "summary", "content", "lesson", "fix", "evidence", "source_story", "source_file")
"""The texts of a shared thing that everyone's agents receive, wherever it has them."""
MAP_TEXTS = ("trigger", "steps", "field", "fields", "aliases", "match_field", "match_value")
"""What app maps have besides."""
SIGN_CHARS = 60

Rows = TypeVar("Rows", bound="models.QuerySet[Any]")


def text_of(thing: Any) -> str:
    """Return all that a shared thing says, title and source included."""
    texts = [getattr(thing, name, None) for name in SHARED_TEXTS]
    return "\n".join([text for text in texts if isinstance(text, str)])


def find_signs(thing: Any) -> list[str]:
    """Return the kinds of signs that hardly ever have an innocent reason, in all that a shared thing says."""
    texts = (str(getattr(thing, name, "") or "") for name in MAP_TEXTS)
    return [one.kind for one in find_warnings("\n".join([text_of(thing), *filter(None, texts)]))]


def signs_of(thing: Any) -> list[str]:
    """Return the same as it was found when the thing was written; what was never looked at is looked at now."""
    known: list[str] | None = getattr(thing, "signs", None)
    return find_signs(thing) if known is None else known


class SignsField(ArrayField):  # type: ignore[type-arg]
    """The kinds of signs in a row: found whenever Django writes it, one by one, in bulk or by COPY.

    `QuerySet.update` goes past it: code that changes a text that way sets the column to None, so that the sweep looks.
    """

    def __init__(self, **options: Any) -> None:
        given = {"base_field": models.CharField(max_length=SIGN_CHARS), "null": True, "editable": False}
        super().__init__(**{**given, **options})

    def deconstruct(self) -> Any:
        """Return the plain column: migrations need to know no more."""
        name, _, args, options = super().deconstruct()
        return name, "django.contrib.postgres.fields.ArrayField", args, options

    def pre_save(self, model_instance: models.Model, add: bool) -> list[str]:
        """Find the signs of what is about to be written."""
        found = find_signs(model_instance)
        setattr(model_instance, self.attname, found)
        return found


class SharedKnowledge(models.Model):
    """What everybody here may write and every agent may receive, with its signs of prompt injections."""

    signs = SignsField(help_text="Kinds of signs of a prompt injection; null: an older version wrote it.")

    class Meta:
        abstract = True

    def save(self, *args: Any, **options: Any) -> None:
        """Save it; where only some fields are saved and one of them is a text, its signs along with it."""
        fields = options.get("update_fields")
        if fields is not None and not {*SHARED_TEXTS, *MAP_TEXTS}.isdisjoint(fields):
            options["update_fields"] = {*fields, "signs"}
        super().save(*args, **options)


FLAGGED = ~models.Q(signs=[]) & models.Q(signs__isnull=False)
"""Those with signs."""


def filter_by_risk(rows: Rows, risk: str | None) -> Rows:
    """Return the rows of `flagged` things, of `clear` ones, or all."""
    return rows.filter(FLAGGED if risk == "flagged" else models.Q(signs=[])) if risk else rows
