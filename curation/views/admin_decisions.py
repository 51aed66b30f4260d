"""Decisions in the Django admin: shown and made as in the queue, by the same services."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from django.contrib import messages
from django.http import HttpRequest

from accounts.authentication import actor_of
from bigmind.core.translation import _, gettext_lazy
from curation.decisions.overlaps import open_pairs
from curation.models import Action
from curation.proposals.briefing import Briefing, gather_briefing
from curation.templatetags.curation import past
from knowledge.models import CompanyEntry

from .deciding import attempt_of, decide
from .forms import DecisionForm, Plain, decision_form
from .queue import Attempt, describe_open_entry

LABELS = {
    "approve": gettext_lazy("Approve"),
    "edit": gettext_lazy("Edit and approve"),
    "reject": gettext_lazy("Reject"),
    "request_changes": gettext_lazy("Request changes"),
    "verify": gettext_lazy("Mark as verified"),
    "keep": "Keep, unverified",
    "deprecate": gettext_lazy("Deprecate"),
    "supersede": gettext_lazy("Supersede by another entry"),
    "restore": gettext_lazy("Restore"),
    "reopen": gettext_lazy("Reopen"),
    "undo": gettext_lazy("Undo the last decision"),
}
NO_DECISION = {Action.PROPOSE, Action.REVISE, Action.WITHDRAW, Action.UNDO}


@dataclass(frozen=True)
class AdminChoice:
    """A decision that is offered: its action, the label of its button, and its form."""

    action: str
    label: str
    form: DecisionForm

    @property
    def asks(self) -> bool:
        """Whether it has fields to fill in, and so a form to open."""
        return not isinstance(self.form, Plain)


def decision_context(request: HttpRequest, entry_id: int, attempt: Attempt | None = None) -> dict[str, Any]:
    """Return the template context for a decision about an entry, with the attempt that was just refused, if any."""
    actor = actor_of(request)
    briefing = gather_briefing(actor, entry_id=entry_id)
    context = describe_open_entry(actor, briefing, attempt)
    context["together"] = open_pairs([entry_id]).exists()
    return {**context, "choices": list(_choices(briefing, context)), "refused_form": attempt.form if attempt else None}


def decide_in_admin(request: HttpRequest, entry: CompanyEntry) -> tuple[Attempt | None, int]:
    """Carry out the decision that was sent, and leave a message; else return the refused attempt and its status."""
    actor, sent = actor_of(request), request.POST
    actor.require("curate")
    action = sent.get("decision", "")
    form = decision_form(action, sent=sent, key=sent.get("into", ""))
    decision = form.attempt(lambda values: decide(actor, entry.pk, action, values, sent))
    if decision is None:
        return attempt_of(action, form, sent), form.status
    messages.success(request, f"{past(decision.review.action)}: “{decision.entry.title}” ({decision.entry.handle}).")
    return None, 302


def _choices(briefing: Briefing, context: dict[str, Any]) -> Iterator[AdminChoice]:
    forms: dict[str, DecisionForm] = context["forms"]
    for action in context["offered"]:
        if action in forms:
            label = _("Edit") if action == "edit" and briefing.entry.is_approved else LABELS[action]
            yield AdminChoice(action, label, forms[action])
    if briefing.complaints and "verify" in context["offered"]:
        yield AdminChoice("keep", LABELS["keep"], decision_form("keep"))
    if briefing.history and briefing.history[-1].action not in NO_DECISION:
        yield AdminChoice("undo", LABELS["undo"], decision_form("undo"))
