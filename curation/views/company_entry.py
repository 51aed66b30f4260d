"""The page of one company entry: text, provenance and history, with the forms of readers and curators."""

from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.http import require_POST, require_safe

from accounts.authentication import actor_of
from bigmind.core.operations import carry_out
from bigmind.core.translation import _
from bigmind.database.rls import rls_bypass
from bigmind.web.forms import OperationForm, UnsentForm
from bigmind.web.pages import own_page, tell
from bigmind.web.words import choices_in_words
from curation.decisions.company_trigger_levels import set_trigger_level
from curation.decisions.entry_details import CompanyEntryDetail, assign_owner, comment, get_company_entry
from curation.decisions.who_may_decide import may_decide
from curation.notifications.notices import mark_read
from curation.proposals.briefing import COMPLAINTS_SHOWN
from curation.proposals.proposer_context import grounds_of
from knowledge.exposures.exposures import counts_of
from knowledge.exposures.feedback import give_feedback, open_complaints
from knowledge.models import CompanyEntry, Feedback, Kind, TriggerLevel
from knowledge.views.triggers import triggers_of

from .entry_story import tell_story
from .forms import Assigning, Reporting, Saying


@own_page
@require_safe
def entry(request: HttpRequest, pk: int) -> HttpResponse:
    """Show one entry with its history and discussion; its reader's notices of it count as read."""
    mark_read(actor_of(request), entry_id=pk)
    return _page(request, pk)


@own_page
@require_POST
def discussing(request: HttpRequest, pk: int) -> HttpResponse:
    """Add a comment."""
    form = Saying(request.POST, auto_id="comment-%s")
    saved = form.carry_out(comment, actor_of(request), entry_id=pk)
    if saved is None:
        return _page(request, pk, status=422, comment=form)
    tell(request, _("Your comment is visible to everyone who may read this."))
    return redirect(f"{reverse('company-entry', args=[pk])}#comment-{saved.pk}")


@own_page
@require_POST
def reporting(request: HttpRequest, pk: int) -> HttpResponse:
    """Report it as useful, wrong or outdated."""
    actor, form = actor_of(request), Reporting(request.POST, auto_id="feedback-%s")
    given = form.carry_out(give_feedback, actor, kind="company", id=str(pk), verdict=request.POST.get("verdict", ""))
    if given is None:
        return _page(request, pk, status=422, feedback=form)
    tell(request, _("Thank you. %(consequence)s") % {"consequence": given.consequence})
    return redirect("company-entry", pk)


@own_page
@require_POST
def assigning(request: HttpRequest, pk: int) -> HttpResponse:
    """Assign it to another owner."""
    form = Assigning(request.POST, auto_id="assign-%s")
    given = form.carry_out(assign_owner, actor_of(request), entry_id=pk, revision=request.POST.get("revision", ""))
    if given is None:
        return _page(request, pk, status=form.status, assign=form)
    tell(request, _("%(handle)s belongs to %(owner)s now.") % {"handle": given.handle, "owner": given.owner})
    return redirect("company-entry", pk)


@own_page
@require_POST
def leveling(request: HttpRequest, pk: int) -> HttpResponse:
    """Decide how far its triggers go."""
    actor = actor_of(request)
    actor.require("curate")
    names = ("level", "revision")
    arguments = {"entry_id": pk, **{name: request.POST.get(name, "") for name in names}}
    review = carry_out(set_trigger_level, actor, arguments)
    undo = f"{reverse('curation-undo', args=[pk])}?revision={review.entry.revision}"
    tell(request, _("%(notes)s Applies to hooks within minutes.") % {"notes": review.notes}, undo=undo)
    return redirect(f"{reverse('company-entry', args=[pk])}#triggers")


def _page(
    request: HttpRequest,
    pk: int,
    *,
    status: int = 200,
    assign: Assigning | None = None,
    comment: OperationForm | None = None,
    feedback: OperationForm | None = None,
) -> HttpResponse:
    actor = actor_of(request)
    detail = get_company_entry(actor, entry_id=pk)
    shown = detail.entry
    context = {
        "entry": shown,
        "detail": detail,
        "steps": [] if shown.is_copy else tell_story(actor, detail),
        "verified_by": _last_verifier(detail),
        **triggers_of(
            actor,
            Kind.COMPANY,
            shown,
            choices=choices_in_words(TriggerLevel.choices) if may_decide(actor) and not shown.is_copy else (),
            holds=shown.is_approved,
        ),
        "is_mine": shown.proposed_by_id == actor.user.pk,
        "me": actor.user,
        "grounds": grounds_of(actor, shown),
        "verdict": Feedback.objects.filter(user=actor.user, kind=Kind.COMPANY, source_id=str(pk)).first(),
        "comment": comment or UnsentForm(Saying, "comment-%s"),
        "feedback": feedback or UnsentForm(Reporting, "feedback-%s"),
        "refused": assign or comment or feedback,
        "counts": counts_of(actor, Kind.COMPANY, pk) if shown.is_approved else None,
        **(_for_curators(shown, assign) if may_decide(actor) and not shown.is_copy else {}),
    }
    return render(request, "curation/company_entry.html", context, status=status)


def _last_verifier(detail: CompanyEntryDetail) -> str:
    """Return who verified it last, as far as its history is visible. Approving and editing verify, too."""
    moment = detail.entry.verified_at
    verifiers = (
        step.by_name for step in detail.history if moment and step.after.get("verified_at") == moment.isoformat()
    )
    return next(verifiers, "")


def _for_curators(shown: CompanyEntry, assign: Assigning | None) -> dict[str, Any]:
    owner = shown.owner.username if shown.owner else ""
    with rls_bypass():
        complaints = open_complaints(Kind.COMPANY).filter(source_id=str(shown.pk)).select_related("user")
        voices = list(complaints[:COMPLAINTS_SHOWN])
    return {
        "decides": True,
        "assign": assign or Assigning(initial={"owner": owner}, auto_id="assign-%s"),
        "briefing": {"complaints": voices},
    }
