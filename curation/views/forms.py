"""Forms of proposals, decisions, comments and feedback: each has the fields of its operation."""

from typing import Any, cast

from django import forms
from django.http import QueryDict
from django.utils.translation import gettext_noop

from bigmind.core.errors import Conflict, Invalid
from bigmind.core.translation import _, gettext_lazy
from bigmind.web.forms import Names, OperationForm, TextField, UnsentForm, choice
from knowledge.models import CompanyCategory, CompanyEntry
from knowledge.views.pages import anchors_field, project_field
from knowledge.views.triggers import triggers_field

# What is chosen is stored and read by agents, so it stays English; the page shows it in the reader's language.
REASONS = {
    "duplicate": gettext_noop("Duplicate: this is known already."),
    "vague": gettext_noop("Too vague: nobody could act on it."),
    "untrue": gettext_noop("Not true."),
    "private": gettext_noop("Private or personal."),
    "secret": gettext_noop("Contains a secret."),
    "scope": gettext_noop("Out of scope: it does not concern everybody."),
    "documentation": gettext_noop("Better as documentation."),
}
OUTDATED = {
    "outdated": gettext_noop("Outdated: it was true once."),
    "untrue": gettext_noop("Not true."),
    "documentation": gettext_noop("Better as documentation."),
}

CONTENT_HINT = gettext_lazy("Markdown, up to 500 tokens: one thing, for everybody.")
EVIDENCE_HINT = gettext_lazy("What shows that it is true: links, figures.")


def importance_field(*, initial: str = "") -> forms.CharField:
    """Return the field for how important an entry is."""
    return forms.CharField(
        widget=forms.NumberInput(attrs={"min": 1, "max": 10}),
        initial=initial,
        help_text=gettext_lazy("From 1 to 10. The most important reach every agent."),
    )


class DecisionForm(OperationForm):
    """A decision with an optional note to the proposer."""

    refusal: Invalid | Conflict | None = None

    notes = TextField(rows=2, required=False, label=gettext_lazy("Note to the proposer"))

    def refuse(self, refusal: Invalid | Conflict) -> None:
        """Show the refusal, and keep it: after a conflict the page shows what changed."""
        super().refuse(refusal)
        self.refusal = refusal

    @property
    def status(self) -> int:
        """The status of a page that shows it again."""
        return 409 if isinstance(self.refusal, Conflict) else 422

    @property
    def loses(self) -> list[dict[str, Any]]:
        """The golden questions that would lose what they must find, if it was refused because of them."""
        return self.refusal.details.get("loses", []) if self.refusal else []

    @property
    def sent_again(self) -> list[tuple[str, Any]]:
        """The fields that repeat the decision nevertheless. This step has no shortcut, so that it is deliberate."""
        data = cast("QueryDict", self.data)
        sent = [(name, value) for name, value in data.items() if name not in {"csrfmiddlewaretoken", "losing"}]
        return [
            *sent,
            *(("losing", number) for number in [*data.getlist("losing"), *(one["id"] for one in self.loses)]),
        ]


class Plain(DecisionForm):
    """A decision without fields."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["notes"].widget = forms.HiddenInput()


class Editing(DecisionForm):
    """Edits the text, and approves it."""

    title = forms.CharField()
    content = TextField(rows=9, label=gettext_lazy("Text"), help_text=CONTENT_HINT)
    category = choice(CompanyCategory.choices)
    importance = importance_field()
    anchors = anchors_field()

    triggers = triggers_field(rows=3)

    field_order = ("title", "content", "category", "importance", "anchors", "triggers", "notes")


class Reasoned(DecisionForm):
    """Rejects, with a reason that the proposer reads."""

    reasons = REASONS

    notes = TextField(
        rows=2,
        required=False,
        label=gettext_lazy("In your own words"),
        help_text=gettext_lazy("The proposer and their agent read it."),
    )

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        radios = forms.RadioSelect(choices=[(name, _(reason)) for name, reason in self.reasons.items()])
        self.fields["reason"] = forms.CharField(required=False, label=_("Reason"), widget=radios)
        self.order_fields(["reason", "notes"])

    def clean(self) -> dict[str, Any]:
        """Join the chosen reason and the typed one."""
        values = dict(self.cleaned_data)
        reasons = (self.reasons.get(values.pop("reason", ""), ""), values.get("notes", "").strip())
        if not any(reasons):
            self.add_error("notes", _("Choose a reason, or write one: the proposer will read it."))
        return {**values, "notes": " ".join(part for part in reasons if part)}


class DeprecationForm(Reasoned):
    """Deprecates an approved entry."""

    reasons = OUTDATED


class AskingForChanges(DecisionForm):
    """Requests changes."""

    notes = TextField(
        rows=3,
        label=gettext_lazy("What should change"),
        help_text=gettext_lazy("The proposer and their agent read it."),
    )


class Merging(DecisionForm):
    """Merges the proposal into an approved entry."""

    content = TextField(
        rows=6,
        label=gettext_lazy("What it will say"),
        help_text=gettext_lazy("Add anything new, or leave as is to merge credit only."),
    )

    field_order = ("content", "notes")


class Superseding(DecisionForm):
    """Replaces the entry by another approved one."""

    into = forms.CharField(
        label=gettext_lazy("The entry that takes its place"), help_text=gettext_lazy("Its handle, such as C142.")
    )

    field_order = ("into", "notes")

    def clean_into(self) -> str:
        """Accept a handle as well as a number."""
        return str(self.cleaned_data["into"]).strip("[] ").upper().removeprefix("C")


class Commenting(OperationForm):
    """Adds a comment without deciding."""

    text = TextField(
        rows=2,
        label=gettext_lazy("Your comment"),
        help_text=gettext_lazy("Everyone who may read the entry can read it, too."),
    )


FORMS: dict[str, type[DecisionForm]] = {
    "approve": Plain,
    "edit": Editing,
    "reject": Reasoned,
    "request_changes": AskingForChanges,
    "merge": Merging,
    "supersede": Superseding,
    "verify": Plain,
    "keep": Plain,
    "deprecate": DeprecationForm,
    "restore": Plain,
    "reopen": Plain,
}
"""The form of each action. An unknown action gets an empty form, and the operation refuses it."""


def decision_form(
    action: str, *, sent: QueryDict | None = None, initial: dict[str, Any] | None = None, key: object = ""
) -> DecisionForm:
    """Return the form of a decision, as sent or as first shown. `key` makes ids unique when a page has it twice."""
    return FORMS.get(action, Plain)(sent, initial=initial, auto_id=f"{action}{key}-%s")


def first_form(action: str, initial: dict[str, Any], *, key: object = "") -> DecisionForm | UnsentForm:
    """Return the form of a decision as it is first shown."""
    return decision_form(action, initial=initial, key=key) if initial else UnsentForm(FORMS[action], f"{action}-%s")


def initial_of(form: type[OperationForm], entry: CompanyEntry) -> dict[str, Any]:
    """Return the initial values of a form for a stored entry: of all its fields, because what is sent replaces them."""
    return {name: getattr(entry, name) for name in form.base_fields if name != "notes"}


class Saying(Commenting):
    """Adds a comment to an entry."""

    text = TextField(
        rows=3,
        label=gettext_lazy("Your comment"),
        help_text=gettext_lazy("Markdown. Everyone who may read this entry can read it, too."),
    )


class Reporting(OperationForm):
    """Reports how useful or correct an entry turned out to be."""

    note = TextField(
        rows=2,
        required=False,
        label=gettext_lazy("What is true instead"),
        help_text=gettext_lazy("The curators read it."),
    )


class Assigning(DecisionForm):
    """Assigns an owner, who keeps the entry up to date."""

    owner = forms.CharField(help_text=gettext_lazy("A user name. They are notified of every change."))

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        del self.fields["notes"]


class ProposalForm(OperationForm):
    """The fields of a proposal."""

    category = choice(CompanyCategory.choices)
    title = forms.CharField(
        required=False, help_text=gettext_lazy("Up to 80 characters. Left empty, the first line becomes it.")
    )
    content = TextField(rows=10, help_text=CONTENT_HINT)
    importance = importance_field(initial="5")
    evidence = TextField(rows=3, required=False, help_text=EVIDENCE_HINT)
    anchors = anchors_field()
    triggers = triggers_field()

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
    topics = Names(
        required=False, help_text=gettext_lazy("Words with commas between: sessions about them hear it first.")
    )
    source_kind = forms.CharField(required=False, widget=forms.HiddenInput)
    source_id = forms.CharField(required=False, widget=forms.HiddenInput)

    field_order = ("category", "title", "content", "importance", "project", "topics", "evidence", "anchors", "triggers")

    def clean(self) -> dict[str, Any]:
        """Drop empty fields: the operation has defaults for them, or finds them in the source."""
        return {name: value for name, value in self.cleaned_data.items() if value}


class Revision(ProposalForm):
    """Revises a proposal that is not decided yet."""

    title = forms.CharField(help_text=gettext_lazy("Up to 80 characters."))
    notes = TextField(
        rows=2, required=False, label=gettext_lazy("What you changed"), help_text=gettext_lazy("The curators read it.")
    )

    field_order = ("category", "title", "content", "importance", "evidence", "anchors", "triggers", "notes")


class Withdrawal(OperationForm):
    """Withdraws a proposal."""

    notes = TextField(
        rows=2,
        required=False,
        label=gettext_lazy("Why"),
        help_text=gettext_lazy("It stays on record with the proposal."),
    )
