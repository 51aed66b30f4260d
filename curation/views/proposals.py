"""The pages of proposers: propose, follow, revise and withdraw proposals."""

from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods, require_safe

from accounts.actor import Actor
from accounts.authentication import actor_of
from bigmind.core.errors import Conflict
from bigmind.core.operations import carry_out
from bigmind.core.translation import _, gettext_lazy
from bigmind.text.token_counts import count_tokens
from bigmind.web.forms import Question, choice, form_data
from bigmind.web.pages import own_page, read_number, tell
from curation.argument_types import CONTENT_TOKENS
from curation.decisions.entry_details import readable_entry
from curation.models import Review
from curation.proposals.proposals import (
    PromotedText,
    Proposal,
    list_my_proposals,
    promote_to_global,
    require_own_proposal,
    revise_proposal,
    source_of,
    withdraw_proposal,
)
from knowledge.models import CompanyEntry, Status

from .company import sections_for
from .entry_story import changes_since, steps_since
from .forms import NewProposal, ProposalForm, Revision, Withdrawal, initial_of

MINE_SHOWN = 20
STATUSES = {
    Status.PENDING: gettext_lazy("Waiting for a curator"),
    Status.CHANGES_REQUESTED: gettext_lazy("Waiting for you"),
    Status.APPROVED: gettext_lazy("Approved"),
    Status.REJECTED: gettext_lazy("Rejected"),
    Status.DEPRECATED: gettext_lazy("Deprecated"),
    Status.SUPERSEDED: gettext_lazy("Superseded"),
}
TYPED_BY_USER = "user"
"""The origin of a proposal that a user typed into the form."""


class OwnProposals(Question):
    """Filters your own proposals."""

    status = choice(STATUSES.items(), blank=gettext_lazy("Any"), required=False)


@own_page
@require_http_methods(["GET", "HEAD", "POST"])
def propose(request: HttpRequest) -> HttpResponse:
    """Propose an entry, from scratch or from a stored item. A duplicate is linked, and the typed text stays."""
    actor, sent = actor_of(request), form_data(request)
    source = _source(actor, request) if sent is None else None
    begun = {"title": request.GET.get("title", ""), "source_kind": "", "source_id": ""}
    form = NewProposal(sent, initial=_initial_of(source) if source else begun)
    made: Proposal | None = form.attempt(lambda values: carry_out(promote_to_global, actor, _with_origin(values)))
    if made and not made.duplicate:
        tell(request, _describe(made))
        return redirect("company-entry", made.entry.pk)
    known = made.entry if made else _find_known(form)
    return _form_page(request, form, known=known, is_duplicate=made is not None)


@own_page
@require_safe
def mine(request: HttpRequest) -> HttpResponse:
    """List your proposals with the decisions, the reasons, and what to do next."""
    actor, form = actor_of(request), OwnProposals(request.GET)
    page = form.answer(list_my_proposals, actor, limit=MINE_SHOWN)
    sections = sections_for(actor, current="company-mine")
    return render(request, "curation/company_mine.html", {"form": form, "page": page, "sections": sections})


@own_page
@require_http_methods(["GET", "HEAD", "POST"])
def revising(request: HttpRequest, pk: int) -> HttpResponse:
    """Revise a proposal that is not decided yet. If it has changed meanwhile, show what changed."""
    actor = actor_of(request)
    require_own_proposal(actor, pk)
    shown = readable_entry(actor, pk)
    form = Revision(form_data(request), initial=initial_of(Revision, shown))
    revision = request.POST.get("revision", "")
    revised = form.carry_out(revise_proposal, actor, entry_id=pk, revision=revision)
    if revised:
        tell(request, _("Saved. It waits for a curator again."))
        return redirect("company-entry", pk)
    overtaken = isinstance(form.refusal, Conflict)
    context = _changes_since(shown, revision) if overtaken else {}
    return _form_page(request, form, entry=shown, status=409 if overtaken else 200, **context)


@own_page
@require_http_methods(["GET", "HEAD", "POST"])
def withdrawing(request: HttpRequest, pk: int) -> HttpResponse:
    """Ask for confirmation, then withdraw a proposal."""
    actor = actor_of(request)
    require_own_proposal(actor, pk)
    shown = readable_entry(actor, pk)
    form = Withdrawal(form_data(request))
    if form.carry_out(withdraw_proposal, actor, entry_id=pk):
        tell(
            request,
            _("%(handle)s is withdrawn. It stays on record, and nobody else is notified.") % {"handle": shown.handle},
        )
        return redirect("company-mine")
    return render(request, "curation/company_withdraw.html", {"form": form, "entry": shown})


def _source(actor: Actor, request: HttpRequest) -> PromotedText | None:
    kind, id = (request.GET.get(name, "").strip() or None for name in ("source_kind", "source_id"))
    return source_of(actor, kind, id)


def _initial_of(source: PromotedText) -> dict[str, Any]:
    return {"content": source.text, "project": source.project, "source_kind": source.kind, "source_id": source.id}


def _with_origin(values: dict[str, Any]) -> dict[str, Any]:
    """Set the origin of a typed proposal. One from a stored item keeps the origin of that item."""
    return values if "source_kind" in values else {**values, "origin": TYPED_BY_USER}


def _find_known(form: ProposalForm) -> CompanyEntry | None:
    return CompanyEntry.objects.filter(pk=form.known).first() if form.known else None


def _describe(made: Proposal) -> str:
    if made.held_back:
        return _("Proposed as %(handle)s. %(held_back)s") % {"handle": made.entry.handle, "held_back": made.held_back}
    if made.entry.is_approved:
        return _("%(handle)s is company knowledge now. New sessions will know this.") % {"handle": made.entry.handle}
    return _("Proposed as %(handle)s. A curator will decide, and you will be notified.") % {"handle": made.entry.handle}


def _changes_since(shown: CompanyEntry, revision: str) -> dict[str, Any]:
    seen = read_number(revision) or 0
    history: list[Review] = list(shown.reviews.order_by("number"))
    return {"changes": changes_since(history, seen), "steps_since": steps_since(history, seen)}


def _form_page(request: HttpRequest, form: ProposalForm, *, status: int = 200, **context: Any) -> HttpResponse:
    tokens = count_tokens(str(form["content"].value() or ""))
    limits = {"tokens": tokens, "token_limit": CONTENT_TOKENS}
    return render(request, "curation/company_propose.html", {"form": form, **limits, **context}, status=status)
