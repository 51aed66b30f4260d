"""The decision about one entry inside the Django admin: shown and carried out as in the queue, by the same services."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from django.contrib import messages
from django.http import HttpRequest

from accounts.authentication import actor_of
from curation.models import Action
from curation.proposals.briefing import Briefing, brief
from curation.templatetags.curation import past
from knowledge.models import CompanyEntry

from .deciding import REFUSED, attempt_of, decide
from .forms import DecisionForm, Plain, decision_form
from .screen import Attempt, opened

LABELS = {
    "approve": "Approve",
    "edit": "Edit and approve",
    "reject": "Reject",
    "request_changes": "Request changes",
    "verify": "Mark as verified",
    "keep": "Keep, unverified",
    "deprecate": "Deprecate",
    "restore": "Restore",
    "reopen": "Reopen",
    "undo": "Undo the last decision",
}
NO_DECISION = {Action.PROPOSE, Action.REVISE, Action.WITHDRAW, Action.UNDO}


@dataclass(frozen=True)
class AdminChoice:
    """One decision that is offered: its name, the words on its button, and what it asks for."""

    deed: str
    label: str
    form: DecisionForm

    @property
    def asks(self) -> bool:
        """Whether it needs words, and so a form to open."""
        return not isinstance(self.form, Plain)


def decision_context(request: HttpRequest, entry_id: int, attempt: Attempt | None = None) -> dict[str, Any]:
    """Return what a decision about an entry needs, with what was just refused, for the template of the admin."""
    actor = actor_of(request)
    told = brief(actor, entry_id=entry_id)
    context = opened(actor, told, attempt)
    return {**context, "choices": list(_choices(told, context)), "refused_form": attempt.form if attempt else None}


def decide_in_admin(request: HttpRequest, entry: CompanyEntry) -> tuple[Attempt | None, int]:
    """Carry out what was sent, and say so on the next page; else return what was refused, and the status for it."""
    actor, sent = actor_of(request), request.POST
    actor.require("curate")
    deed = sent.get("deed", "")
    form = decision_form(deed, sent=sent, key=sent.get("into", ""))
    decision = form.attempt(lambda told: decide(actor, entry, deed, told, sent))
    if decision is None:
        return attempt_of(deed, form, sent), REFUSED[type(form.refusal)] if form.refusal else 422
    messages.success(request, f"{past(decision.review.action)}: “{decision.entry.title}” ({decision.entry.handle}).")
    return None, 302


def _choices(told: Briefing, context: dict[str, Any]) -> Iterator[AdminChoice]:
    forms: dict[str, DecisionForm] = context["forms"]
    for deed in context["offered"]:
        if deed in forms:
            label = "Edit" if deed == "edit" and told.entry.is_approved else LABELS[deed]
            yield AdminChoice(deed, label, forms[deed])
    if told.complaints and "verify" in context["offered"]:
        yield AdminChoice("keep", LABELS["keep"], decision_form("keep"))
    if told.history and told.history[-1].action not in NO_DECISION:
        yield AdminChoice("undo", LABELS["undo"], decision_form("undo"))
