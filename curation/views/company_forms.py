"""Forms of company knowledge: proposals, revisions, decisions about one entry, comments, feedback."""

from typing import Any

from django import forms
from django.http import QueryDict

from bigmind.core.errors import Conflict, Invalid
from bigmind.web.forms import Names, OperationForm, TextField, choice
from knowledge.models import CompanyCategory, CompanyEntry
from knowledge.views.pages import project_field

from .forms import FORMS, Commenting, DecisionForm, Plain

CONTENT_HINT = "Markdown, up to 500 tokens: one thing, for everybody."
EVIDENCE_HINT = "What shows that it is true: links, figures."


class Saying(Commenting):
    """Adds a comment to an entry."""

    text = TextField(
        rows=3, label="Your comment", help_text="Markdown. Everyone who may read this entry can read it, too."
    )


class Reporting(OperationForm):
    """Reports how useful or correct an entry turned out to be."""

    note = TextField(rows=2, required=False, label="What is true instead", help_text="The curators read it.")


class Superseding(DecisionForm):
    """Replaces the entry by another approved one."""

    into = forms.CharField(label="The entry that takes its place", help_text="Its handle, such as C142.")

    field_order = ("into", "notes")

    def clean_into(self) -> str:
        """Accept a handle as well as a number."""
        return str(self.cleaned_data["into"]).strip("[] ").upper().removeprefix("C")


class Assigning(DecisionForm):
    """Assigns an owner, who keeps the entry up to date."""

    owner = forms.CharField(help_text="A user name. They are notified of every change.")

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        del self.fields["notes"]


class ProposalForm(OperationForm):
    """The fields of a proposal."""

    category = choice(CompanyCategory.choices)
    title = forms.CharField(required=False, help_text="Up to 80 characters. Left empty, the first line becomes it.")
    content = TextField(rows=10, help_text=CONTENT_HINT)
    importance = forms.CharField(
        widget=forms.NumberInput(attrs={"min": 1, "max": 10}),
        initial="5",
        help_text="From 1 to 10. The most important reach every agent.",
    )
    evidence = TextField(rows=3, required=False, help_text=EVIDENCE_HINT)

    known: int = 0
    """The number of the duplicate entry, if the proposal was refused because of one."""
    refusal: Invalid | Conflict | None = None

    def refuse(self, refusal: Invalid | Conflict) -> None:
        """Show the refusal, and keep the number of the entry that is in the way."""
        super().refuse(refusal)
        self.refusal, self.known = refusal, int(refusal.details.get("entry_id", 0))


class NewProposal(ProposalForm):
    """Proposes a new entry, perhaps from a stored item."""

    project = project_field()
    topics = Names(required=False, help_text="Words with commas between: sessions about them hear it first.")
    source_kind = forms.CharField(required=False, widget=forms.HiddenInput)
    source_id = forms.CharField(required=False, widget=forms.HiddenInput)

    field_order = ("category", "title", "content", "importance", "project", "topics", "evidence")

    def clean(self) -> dict[str, Any]:
        """Drop empty fields: the operation has defaults for them, or finds them in the source."""
        return {name: value for name, value in self.cleaned_data.items() if value}


class Revision(ProposalForm):
    """Revises a proposal that is not decided yet."""

    title = forms.CharField(help_text="Up to 80 characters.")
    notes = TextField(rows=2, required=False, label="What you changed", help_text="The curators read it.")

    field_order = ("category", "title", "content", "importance", "evidence", "notes")


class Withdrawal(OperationForm):
    """Withdraws a proposal."""

    notes = TextField(rows=2, required=False, label="Why", help_text="It stays on record with the proposal.")


def form_of(action: str, *, sent: QueryDict | None = None, initial: dict[str, Any] | None = None) -> DecisionForm:
    """Return the form of a decision on the page of an entry."""
    kinds: dict[str, type[DecisionForm]] = {**FORMS, "supersede": Superseding}
    return kinds.get(action, Plain)(sent, initial=initial, auto_id=f"{action}-%s")


def revision_of(entry: CompanyEntry) -> dict[str, Any]:
    """Return the initial values of the form for a stored proposal."""
    return {name: getattr(entry, name) for name in ("title", "content", "category", "importance", "evidence")}
