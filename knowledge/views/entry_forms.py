"""Writing entries: what their forms ask for, and how a correction notices that someone was faster."""

import json
from collections.abc import Sequence
from typing import Any

from django import forms
from django.db import transaction
from django.utils.dateparse import parse_datetime

from accounts.actor import Actor
from bigmind.core.argument_checks import validate_arguments
from bigmind.core.errors import Conflict, Invalid
from bigmind.core.translation import _, gettext_lazy
from bigmind.web.differences import TextChange, compare_lines
from bigmind.web.forms import Names, OperationForm, TextField, choice
from knowledge.models import Entry
from knowledge.services.entries import update_entry
from knowledge.views.pages import anchors_field, confidence_field, project_field
from knowledge.views.triggers import triggers_field

TYPES = {
    "fact": "Fact: a learning, a rule, a pitfall",
    "summary": gettext_lazy("Summary: of a story or a piece of work"),
    "template": gettext_lazy("Template: to be filled in"),
}


class EntryForm(OperationForm):
    """Says what everybody here should know."""

    content = TextField(
        rows=14, help_text=gettext_lazy("In plain words or markdown. A heading in the first line becomes its title.")
    )
    tags = Names(required=False, help_text=gettext_lazy("Words it is found by, with commas between: vercel, routing."))
    roles = Names(required=False, help_text=gettext_lazy("Whom it is for: pm, dev, qa. Empty means everybody."))
    confidence = confidence_field(initial="1")
    triggers = triggers_field()
    anchors = anchors_field()

    known: str = ""
    """The id of the entry that says the same, where that is why this was refused."""

    def refuse(self, refusal: Invalid | Conflict) -> None:
        """Say what was refused, and remember which entry is in the way."""
        super().refuse(refusal)
        self.known = str(refusal.details.get("entry_id", ""))


class NewEntryForm(EntryForm):
    """Says it for the first time."""

    entry_type = choice(TYPES.items(), label=gettext_lazy("Type"))
    project = project_field()
    source_file = forms.CharField(
        required=False, help_text=gettext_lazy("The file it comes from, such as docs/adr/0007.md.")
    )
    source_story = forms.CharField(required=False, help_text=gettext_lazy("The story or issue it comes from."))

    field_order = (
        "entry_type",
        "content",
        "tags",
        "roles",
        "confidence",
        "project",
        "source_file",
        "source_story",
        "triggers",
        "anchors",
    )

    def clean(self) -> dict[str, Any]:
        """Leave out what was left empty: the operation has a default for it."""
        return {name: value for name, value in self.cleaned_data.items() if value}


class StaleEntry(Conflict):
    """Someone changed the entry while the form was open. `entry` is as it is stored now."""

    def __init__(self, entry: Entry) -> None:
        super().__init__(_("This entry was changed while you were editing it."))
        self.entry = entry


class EntryCorrection(EntryForm):
    """Says it better. `seen` is the moment of the last change that the form was filled from."""

    seen = forms.CharField(required=False, widget=forms.HiddenInput)

    changes: Sequence[TextChange] | None = None
    """What saving would overwrite, where someone was faster. Sent once more, the form overwrites it knowingly."""

    def refuse(self, refusal: Invalid | Conflict) -> None:
        """Say what was refused, and show what is stored now where that is why."""
        super().refuse(refusal)
        if isinstance(refusal, StaleEntry):
            self.changes = changes_between(refusal.entry, self)
            self.data = {**{name: self.data.get(name) for name in self.data}, "seen": _revision_of(refusal.entry)}


def initial_of(entry: Entry) -> dict[str, Any]:
    """Return what the form shows of an entry as it is stored."""
    names = ("content", "tags", "roles")
    return {
        **{name: getattr(entry, name) for name in names},
        "confidence": f"{entry.confidence:g}",
        "triggers": "\n".join(entry.triggers),
        "anchors": "\n".join(entry.anchors),
        "seen": _revision_of(entry),
    }


@transaction.atomic
def correct(actor: Actor, entry: Entry, values: dict[str, Any]) -> Entry:
    """Write a correction, unless the entry is not what was seen.

    Raises:
        StaleEntry: it was changed meanwhile.
    """
    sent = {name: value for name, value in values.items() if name != "seen"}
    wanted = validate_arguments(update_entry, {"id": str(entry.pk), **sent})
    # Locked, so that of two who save at once the second hears of it.
    stored = Entry.objects.select_for_update().filter(pk=entry.pk).first()
    if stored and stored.updated_at != _moment(values["seen"]):
        raise StaleEntry(stored)
    return update_entry(actor, **wanted).entry


def changes_between(stored: Entry, form: EntryCorrection) -> list[TextChange]:
    """Return where an entry as it is stored now differs from what was typed."""
    now = initial_of(stored)
    labels = {name: str(form[name].label) for name in ("content", "tags", "roles", "confidence", "triggers", "anchors")}
    pairs = {name: (_as_text(now[name]), _as_text(form.data.get(name, ""))) for name in labels}
    return [TextChange(labels[name], compare_lines(*pair)) for name, pair in pairs.items() if pair[0] != pair[1]]


def _as_text(value: Any) -> str:
    text = ", ".join(value) if isinstance(value, list) else str(value)
    return text.replace("\r\n", "\n").strip()


def _revision_of(entry: Entry) -> str:
    return entry.updated_at.isoformat()


def _moment(seen: str) -> Any:
    try:
        return parse_datetime(seen)
    except ValueError:
        return None


def readable(metadata: dict[str, Any]) -> str:
    """Return metadata as JSON that people read; nothing when there is none."""
    return json.dumps(metadata, indent=2, ensure_ascii=False, sort_keys=True) if metadata else ""
