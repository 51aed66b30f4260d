"""Forms on the pages of company knowledge: proposing, revising, deciding about one entry, speaking of it."""

from typing import Any

from django import forms
from django.http import QueryDict

from bigmind.core.errors import Conflict, Invalid
from bigmind.web.forms import Names, OperationForm, TextField, choice
from knowledge.models import CompanyCategory, CompanyEntry
from knowledge.views.forms import project_field

from .forms import FORMS, Commenting, DecisionForm, Plain

CONTENT_HINT = "Markdown, up to 500 tokens: one thing, for everybody."
EVIDENCE_HINT = "What shows that it is true: links, figures."


class Saying(Commenting):
    """Says something about an entry."""

    text = TextField(rows=3, label="Your comment", help_text="Markdown. Whoever may read this entry reads it, too.")


class Reporting(OperationForm):
    """Says how it turned out to whoever relied on it."""

    note = TextField(rows=2, required=False, label="What is true instead", help_text="The curators read it.")


class Superseding(DecisionForm):
    """Lets another approved entry take its place."""

    into = forms.CharField(label="The entry that takes its place", help_text="Its handle, such as C142.")

    field_order = ("into", "notes")

    def clean_into(self) -> str:
        """Accept a handle as well as a number."""
        return str(self.cleaned_data["into"]).strip("[] ").upper().removeprefix("C")


class Assigning(DecisionForm):
    """Names who sees to it that it stays true."""

    owner = forms.CharField(help_text="A user name. They are told of whatever happens to it.")

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        del self.fields["notes"]


class ProposalForm(OperationForm):
    """Says what everybody here should know."""

    category = choice(CompanyCategory.choices)
    title = forms.CharField(required=False, help_text="Up to 80 characters. Left empty, the first line becomes it.")
    content = TextField(rows=10, help_text=CONTENT_HINT)
    importance = forms.CharField(
        widget=forms.NumberInput(attrs={"min": 1, "max": 10}),
        initial="5",
        help_text="From 1 to 10. The most important are told to every agent.",
    )
    evidence = TextField(rows=3, required=False, help_text=EVIDENCE_HINT)

    known: int = 0
    """The number of the entry that says the same, where that is why this was refused."""
    refusal: Invalid | Conflict | None = None

    def refuse(self, refusal: Invalid | Conflict) -> None:
        """Say what was refused, and remember which entry is in the way."""
        super().refuse(refusal)
        self.refusal, self.known = refusal, int(refusal.details.get("entry_id", 0))


class NewProposal(ProposalForm):
    """Says it for the first time, perhaps out of what is stored already."""

    project = project_field()
    topics = Names(required=False, help_text="Words with commas between: sessions about them hear it first.")
    source_kind = forms.CharField(required=False, widget=forms.HiddenInput)
    source_id = forms.CharField(required=False, widget=forms.HiddenInput)

    field_order = ("category", "title", "content", "importance", "project", "topics", "evidence")

    def clean(self) -> dict[str, Any]:
        """Leave out what was left empty: the operation has a default for it, or finds it in the source."""
        return {name: value for name, value in self.cleaned_data.items() if value}


class Revision(ProposalForm):
    """Says it better, before it is decided."""

    title = forms.CharField(help_text="Up to 80 characters.")
    notes = TextField(rows=2, required=False, label="What you changed", help_text="The curators read it.")

    field_order = ("category", "title", "content", "importance", "evidence", "notes")


class Withdrawal(OperationForm):
    """Takes a proposal back."""

    notes = TextField(rows=2, required=False, label="Why", help_text="It stays on record with the proposal.")


def form_of(deed: str, *, sent: QueryDict | None = None, initial: dict[str, Any] | None = None) -> DecisionForm:
    """Return the form of a decision on the page of an entry."""
    kinds: dict[str, type[DecisionForm]] = {**FORMS, "supersede": Superseding}
    return kinds.get(deed, Plain)(sent, initial=initial, auto_id=f"{deed}-%s")


def revision_of(entry: CompanyEntry) -> dict[str, Any]:
    """Return what the form shows of a proposal as it is stored."""
    return {name: getattr(entry, name) for name in ("title", "content", "category", "importance", "evidence")}
