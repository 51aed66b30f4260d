"""The outbox, for admins: deliveries that are queued, failed (with the error) or arrived, and retrying them."""

from uuid import UUID

from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.http import require_POST, require_safe

from accounts.authentication import actor_of
from bigmind.core.operations import carry_out
from bigmind.core.translation import _, gettext_lazy
from bigmind.web.pages import Tab, offset_in, own_page, tell
from curation.notifications.deliveries import count_deliveries, list_deliveries, try_again

DELIVERIES_SHOWN = 50
STATES = {"waiting": gettext_lazy("Waiting"), "failed": gettext_lazy("Failed"), "arrived": gettext_lazy("Arrived")}


@own_page
@require_safe
def deliveries(request: HttpRequest) -> HttpResponse:
    """List deliveries to the webhook and by e-mail, by state."""
    actor, wanted = actor_of(request), request.GET.get("state", "")
    counts = count_deliveries(actor)
    state = wanted if wanted in STATES else "waiting"
    filters = {"state": state, "limit": DELIVERIES_SHOWN, "offset": offset_in(request)}
    page = carry_out(list_deliveries, actor, filters)
    context = {"page": page, "state": state, "sections": _sections(counts, state)}
    return render(request, "curation/deliveries.html", context)


@own_page
@require_POST
def trying_again(request: HttpRequest, delivery_id: UUID) -> HttpResponse:
    try_again(actor_of(request), delivery_id=delivery_id)
    tell(request, _("It will be sent again now."))
    return redirect("deliveries")


def _sections(counts: dict[str, int], current: str) -> list[Tab]:
    start = reverse("deliveries")
    addresses = {state: start if state == "waiting" else f"{start}?state={state}" for state in STATES}
    return [Tab(label, addresses[state], counts[state], state == current) for state, label in STATES.items()]
