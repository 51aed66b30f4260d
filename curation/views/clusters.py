"""Clusters of the queue: entries that repeat or contradict each other, side by side, decided at once."""

from dataclasses import dataclass
from typing import Any

from django.contrib import messages
from django.http import HttpRequest, HttpResponse, QueryDict
from django.shortcuts import render
from django.urls import reverse
from django.utils.http import urlencode
from django.views.decorators.http import require_http_methods

from accounts.actor import Actor
from accounts.authentication import actor_of
from bigmind.core.errors import Invalid, NotFound
from bigmind.core.translation import _, gettext_lazy
from bigmind.web.forms import TextField, form_data
from bigmind.web.pages import is_own_address, own_page, read_number, tell, way_back
from curation.decisions.clusters import ProposalCluster, cluster_of, decide_cluster, keep_all
from curation.decisions.deciding import Decision
from curation.decisions.entry_details import readable_entry
from curation.decisions.who_may_decide import waits_for_others
from curation.templatetags.curation import past
from knowledge.models import CompanyEntry

from .forms import DecisionForm
from .queue_queries import QueueQuestion, address_of, next_after, query_string


class ClusterForm(DecisionForm):
    """Settles a cluster. The buttons say which one is correct."""

    notes = TextField(
        rows=2,
        required=False,
        label=gettext_lazy("Reason"),
        help_text=gettext_lazy(
            "The proposers of what is rejected read it. Left empty, they read which one holds instead."
        ),
    )


@dataclass(frozen=True)
class ClusterCard:
    """One text of a cluster, as a choice: whether it may hold, and the one with which it is compared."""

    entry: CompanyEntry
    may_hold: bool
    compared_with: CompanyEntry


@own_page
@require_http_methods(["GET", "HEAD", "POST"])
def cluster(request: HttpRequest, entry_id: int) -> HttpResponse:
    """Show what belongs together with an entry, and decide about all of it."""
    actor = actor_of(request)
    actor.require("curate")
    entry = readable_entry(actor, entry_id)
    try:
        found = cluster_of(actor, entry_id=entry_id)
    except NotFound:
        messages.info(request, _("Nothing repeats or contradicts this one any more."))
        return way_back(request, otherwise=address_of(entry_id, request))
    form = ClusterForm(form_data(request), auto_id="cluster-%s")
    if request.method != "POST":
        return _page(request, actor, entry, found, form)
    if request.POST.get("holds") == "all":
        keep_all(actor, entry_ids=[one.pk for one in found.entries])
        tell(request, _("They are no longer shown as one. Each waits for its own decision."))
        return way_back(request, otherwise=address_of(entry_id, request))
    gone = [one.pk for one in found.entries]
    following = next_after(actor, entry_id, QueueQuestion(request).filters(), without=gone)
    if decision := form.attempt(lambda values: _decide(actor, found, values, request.POST)):
        if request.GET.get("next"):  # The queue shows the last decision by itself; where one goes back to need not.
            tell(request, f"{past(decision.review.action)}: “{decision.entry.title}” ({decision.entry.handle}).")
        return way_back(request, otherwise=address_of(following, request))
    return _page(request, actor, entry, found, form, status=form.status)


def _decide(actor: Actor, found: ProposalCluster, values: dict[str, Any], sent: QueryDict) -> Decision:
    holds = read_number(sent.get("holds", ""))
    entries = {one.pk: one for one in found.entries}
    if holds not in entries:
        raise Invalid.of("holds", _("is required: choose the correct one"))
    return decide_cluster(
        actor,
        holds=holds,
        revisions={
            pk: read_number(sent.get(f"revision-{pk}", "")) or 0 for pk, one in entries.items() if not one.is_copy
        },
        notes=values["notes"].strip(),
        losing=[read_number(raw) or 0 for raw in sent.getlist("losing")[:20]],
    )


def _page(
    request: HttpRequest,
    actor: Actor,
    entry: CompanyEntry,
    found: ProposalCluster,
    form: ClusterForm,
    status: int = 200,
) -> HttpResponse:
    back = request.GET.get("next", "")
    context = {
        "entry": entry,
        "cluster": found,
        "cards": [_card(actor, found, one) for one in found.entries],
        "form": form,
        "kept": query_string(request),
        "back": back if is_own_address(request, back) else address_of(entry.pk, request),
        "decide_at": reverse("curation-cluster", args=[entry.pk]) + _address_parts(request, back),
    }
    return render(request, "curation/cluster.html", context, status=status)


def _address_parts(request: HttpRequest, back: str) -> str:
    """Return the filters of the queue and the page to go back to, as they are sent along with the decision."""
    query = query_string(request)
    return f"{query}{'&' if query else '?'}{urlencode({'next': back})}" if back else query


def _card(actor: Actor, found: ProposalCluster, entry: CompanyEntry) -> ClusterCard:
    entries = {one.pk: one for one in found.entries}
    pair = next((pair for pair in found.pairs if entry.pk in {pair.entry_id, pair.other_id}), None)
    beside = entries[pair.partner_of(entry.pk)] if pair else next(one for one in found.entries if one != entry)
    return ClusterCard(entry, not waits_for_others(actor, entry), beside)
