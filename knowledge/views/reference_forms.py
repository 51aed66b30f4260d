"""Asking about documentation and correcting it: the questions in addresses, and what the forms ask for."""

from collections.abc import Iterable
from datetime import datetime
from typing import Any

from django import forms
from django.db import transaction
from django.http import HttpRequest
from django.utils.dateparse import parse_datetime

from accounts.actor import Actor
from bigmind.core.errors import Conflict, Invalid
from bigmind.core.operations import validate_arguments
from bigmind.web.differences import TextChange, compare_lines
from bigmind.web.forms import Names, OperationForm, Question, TextField, choice, search_field
from knowledge.models import Reference
from knowledge.reference_vocabulary import ReferenceKind
from knowledge.references.texts_by_hand import update_reference

KINDS = {
    "": "All",
    ReferenceKind.COMMAND: "Commands",
    ReferenceKind.API: "Endpoints",
    ReferenceKind.GUIDE: "Guides",
    ReferenceKind.FEATURE: "Features",
    ReferenceKind.TROUBLESHOOTING: "Troubleshooting",
    ReferenceKind.SETTING: "Settings",
}
EDITED_FIELDS = ("title", "summary", "content", "aliases", "keywords", "category", "subcategory")


class DocumentationQuestion(Question):
    """A question to all documentation, or to one collection."""

    query = search_field("Search the documentation")

    def __init__(self, request: HttpRequest, collections: Iterable[tuple[str, str]]) -> None:
        super().__init__(request.GET)
        kinds = [(name, label) for name, label in KINDS.items() if name]
        self.fields["type"] = choice(kinds, blank="Everything", required=False, label="Kind")
        self.fields["collection"] = choice(collections, blank="All", required=False)


class Browsing(Question):
    """Which part of a collection is shown. Both are chosen by links, and kept along."""

    type = forms.CharField(required=False, widget=forms.HiddenInput)
    category = forms.CharField(required=False, widget=forms.HiddenInput)

    def __init__(self, request: HttpRequest) -> None:
        super().__init__(request.GET)


class ReportingReference(OperationForm):
    """Says what a reference was worth."""

    note = TextField(rows=2, required=False, help_text="What is true instead, if it is wrong or outdated.")


class ReferenceCorrection(OperationForm):
    """Says a reference better. `seen` is the moment of the last change that the form was filled from."""

    title = forms.CharField()
    summary = TextField(rows=2, required=False, help_text="One or two sentences that results show.")
    content = TextField(rows=16, label="Text", help_text="In markdown.")
    aliases = Names(required=False, help_text="Other names it is found by, with commas between: get users, show users.")
    keywords = Names(required=False, help_text="Words it is found by, with commas between.")
    category = forms.CharField(required=False)
    subcategory = forms.CharField(required=False)
    seen = forms.CharField(required=False, widget=forms.HiddenInput)

    changes: list[TextChange] | None = None
    """What saving would overwrite, where someone was faster. Sent once more, the form overwrites it knowingly."""

    def refuse(self, refusal: Invalid | Conflict) -> None:
        """Say what was refused, and show what is stored now where that is why."""
        super().refuse(refusal)
        if isinstance(refusal, StaleReference):
            now, data = initial_of(refusal.reference), {name: self.data.get(name) for name in self.data}
            pairs = {name: (_as_text(now[name]), _as_text(data.get(name))) for name in EDITED_FIELDS}
            self.changes = [
                TextChange(str(self[name].label), compare_lines(*pair))
                for name, pair in pairs.items()
                if pair[0] != pair[1]
            ]
            self.data = {**data, "seen": now["seen"]}


class StaleReference(Conflict):
    """Someone changed the reference while the form was open. `reference` is as it is stored now."""

    def __init__(self, reference: Reference) -> None:
        super().__init__("This was changed while you were editing it.")
        self.reference = reference


def initial_of(reference: Reference) -> dict[str, Any]:
    """Return what the form shows of a reference as it is stored."""
    return {**{name: getattr(reference, name) for name in EDITED_FIELDS}, "seen": reference.updated_at.isoformat()}


def read_correction(reference: Reference, values: dict[str, Any]) -> dict[str, Any]:
    """Return a correction as the operation wants it.

    Raises:
        Invalid: a field is wrong.
    """
    return validate_arguments(
        update_reference, {"reference_id": str(reference.pk), **{name: values[name] for name in EDITED_FIELDS}}
    )


@transaction.atomic
def correct(actor: Actor, reference: Reference, values: dict[str, Any]) -> Reference:
    """Write a correction, unless the reference is not what was seen.

    Raises:
        Overtaken: it was changed meanwhile.
    """
    wanted = read_correction(reference, values)
    # Locked, so that of two who save at once the second is told.
    stored = Reference.objects.select_for_update().get(pk=reference.pk)
    if stored.updated_at != _moment(values["seen"]):
        raise StaleReference(stored)
    return update_reference(actor, **wanted)


def _as_text(value: Any) -> str:
    text = ", ".join(value) if isinstance(value, list) else str(value or "")
    return text.replace("\r\n", "\n").strip()


def _moment(seen: str) -> datetime | None:
    try:
        return parse_datetime(seen)
    except ValueError:
        return None
