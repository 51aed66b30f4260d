"""Forms for decisions. Each has the fields of its decision; which entry and which revision the page adds itself."""

from typing import Any

from django import forms
from django.http import QueryDict

from bigmind.core.errors import Conflict, Invalid
from bigmind.web.forms import OperationForm, TextField, choice
from knowledge.models import CompanyCategory, CompanyEntry

REASONS = {
    "duplicate": "Duplicate: this is known already.",
    "vague": "Too vague: nobody could act on it.",
    "untrue": "Not true.",
    "private": "Private or personal.",
    "secret": "Contains a secret.",
    "scope": "Out of scope: it does not concern everybody.",
    "documentation": "Better as documentation.",
}
OUTDATED = {
    "outdated": "Outdated: it was true once.",
    "untrue": "Not true.",
    "documentation": "Better as documentation.",
}


class DecisionForm(OperationForm):
    """Decides, with a word to the proposer."""

    refusal: Invalid | Conflict | None = None

    notes = TextField(rows=2, required=False, label="A word to the proposer")

    def refuse(self, refusal: Invalid | Conflict) -> None:
        """Say what was refused, and keep it: who was slower is shown what changed."""
        super().refuse(refusal)
        self.refusal = refusal

    @property
    def contradicts(self) -> list[dict[str, Any]]:
        """The approved entries that it may contradict, when it was refused for them."""
        return self.refusal.details.get("contradicts", []) if self.refusal else []

    @property
    def sent_again(self) -> list[tuple[str, Any]]:
        """What to send to decide the same in spite of them: the second step, which no key takes."""
        sent = [(name, value) for name, value in self.data.items() if name not in {"csrfmiddlewaretoken", "despite"}]
        return [*sent, *(("despite", one["entry_id"]) for one in self.contradicts)]


class Plain(DecisionForm):
    """Decides without a word."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["notes"].widget = forms.HiddenInput()


class Editing(DecisionForm):
    """Says it better, and approves that."""

    title = forms.CharField()
    content = TextField(rows=9, label="Text", help_text="Markdown, up to 500 tokens: one thing, for everybody.")
    category = choice(CompanyCategory.choices)
    importance = forms.CharField(
        widget=forms.NumberInput(attrs={"min": 1, "max": 10}), help_text="From 1 to 10. The most important are told."
    )

    field_order = ("title", "content", "category", "importance", "notes")


class Reasoned(DecisionForm):
    """Decides against it, with a reason that the proposer reads."""

    reasons = REASONS

    notes = TextField(
        rows=2, required=False, label="In your own words", help_text="The proposer and their agent read it."
    )

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        radios = forms.RadioSelect(choices=list(self.reasons.items()))
        self.fields["reason"] = forms.CharField(required=False, widget=radios)
        self.order_fields(["reason", "notes"])

    def clean(self) -> dict[str, Any]:
        """Make one text of the reason that was chosen and what was written."""
        told = dict(self.cleaned_data)
        said = (self.reasons.get(told.pop("reason", ""), ""), told.get("notes", "").strip())
        if not any(said):
            self.add_error("notes", "Choose a reason, or write one: the proposer will read it.")
        return {**told, "notes": " ".join(part for part in said if part)}


class DeprecationForm(Reasoned):
    """Sets aside what was approved."""

    reasons = OUTDATED


class AskingForChanges(DecisionForm):
    """Says what is missing."""

    notes = TextField(rows=3, label="What should change", help_text="The proposer and their agent read it.")


class Merging(DecisionForm):
    """Lets an approved entry say it too."""

    content = TextField(rows=6, label="What it will say", help_text="Add what is new. Unchanged, only the credit is.")

    field_order = ("content", "notes")


class Commenting(OperationForm):
    """Says something without deciding."""

    text = TextField(rows=2, label="Your comment", help_text="Whoever may read the entry reads it, too.")


FORMS: dict[str, type[DecisionForm]] = {
    "approve": Plain,
    "edit": Editing,
    "reject": Reasoned,
    "request_changes": AskingForChanges,
    "merge": Merging,
    "supersede": Plain,
    "verify": Plain,
    "keep": Plain,
    "deprecate": DeprecationForm,
    "restore": Plain,
    "reopen": Plain,
}
"""What a decision asks for. What is not known here is refused by the operation."""


def decision_form(
    deed: str, *, sent: QueryDict | None = None, initial: dict[str, Any] | None = None, key: object = ""
) -> DecisionForm:
    """Return the form of a decision: as it was sent, or as it is first shown. `key` tells two of a kind apart."""
    return FORMS.get(deed, Plain)(sent, initial=initial, auto_id=f"{deed}{key}-%s")


def initial_of(entry: CompanyEntry) -> dict[str, Any]:
    """Return what the form shows of an entry as it is stored."""
    return {name: getattr(entry, name) for name in ("title", "content", "category", "importance")}
