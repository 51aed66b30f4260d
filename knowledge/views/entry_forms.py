"""Writing entries: what their forms ask for, and how they are corrected."""

import json
from typing import Any

from django import forms
from django.db import transaction

from accounts.actor import Actor
from bigmind.core.argument_checks import validate_arguments
from bigmind.core.errors import Conflict, Invalid
from bigmind.core.translation import _, gettext_lazy
from bigmind.web.forms import Names, OperationForm, TextField, choice
from knowledge.kb.entries import update_entry
from knowledge.models import Entry
from knowledge.views.corrections import CorrectionForm, StaleCorrection, was_seen
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


class EntryCorrection(CorrectionForm, EntryForm):
    """Says it better."""


def initial_of(entry: Entry) -> dict[str, Any]:
    """Return what the form shows of an entry as it is stored."""
    names = ("content", "tags", "roles")
    return {
        **{name: getattr(entry, name) for name in names},
        "confidence": f"{entry.confidence:g}",
        "triggers": "\n".join(entry.triggers),
        "anchors": "\n".join(entry.anchors),
        "seen": entry.updated_at.isoformat(),
    }


@transaction.atomic
def correct(actor: Actor, entry: Entry, values: dict[str, Any]) -> Entry:
    """Write a correction, unless the entry is not what was seen.

    Raises:
        StaleCorrection: it was changed meanwhile.
    """
    sent = {name: value for name, value in values.items() if name != "seen"}
    arguments = validate_arguments(update_entry, {"id": str(entry.pk), **sent})
    # Locked, so that of two who save at once the second hears of it.
    stored = Entry.objects.select_for_update().filter(pk=entry.pk).first()
    if stored and not was_seen(stored.updated_at, values["seen"]):
        raise StaleCorrection(_("This entry was changed while you were editing it."), initial_of(stored))
    return update_entry(actor, **arguments).entry


def readable(metadata: dict[str, Any]) -> str:
    """Return metadata as JSON that people read; nothing when there is none."""
    return json.dumps(metadata, indent=2, ensure_ascii=False, sort_keys=True) if metadata else ""
