"""The outbox, for admins: deliveries that are queued or failed, with the error, and retrying them."""

from typing import Annotated, Literal
from uuid import UUID

from django.db import transaction
from django.db.models import Count, Q, QuerySet
from pydantic import Field

from accounts.actor import Actor
from bigmind.core.errors import Conflict, NotFound
from bigmind.core.pages import Page, page_of
from bigmind.core.vocabulary import Limit, Offset
from curation.models import Delivery

from .deliveries import send_again

DeliveryState = Annotated[Literal["waiting", "failed", "arrived"], Field(description="What became of it.")]
_STATES = {
    "waiting": Q(delivered_at=None, given_up_at=None),
    "failed": Q(delivered_at=None, given_up_at__isnull=False),
    "arrived": Q(delivered_at__isnull=False),
}


def list_deliveries(
    actor: Actor, *, state: DeliveryState = "waiting", limit: Limit = 50, offset: Offset = 0
) -> Page[Delivery]:
    """List deliveries in one state, the latest first. For admins."""
    actor.require("admin")
    rows: QuerySet[Delivery] = Delivery.objects.filter(_STATES[state]).select_related("to")
    return page_of(rows.order_by("-created_at", "pk"), limit=limit, offset=offset)


def count_deliveries(actor: Actor) -> dict[str, int]:
    """Count the deliveries by state, in one query. For admins."""
    actor.require("admin")
    return Delivery.objects.aggregate(**{state: Count("pk", filter=rule) for state, rule in _STATES.items()})


@transaction.atomic
def try_again(actor: Actor, *, delivery_id: UUID) -> Delivery:
    """Queue a failed delivery again. For admins; returns it.

    Raises:
        NotFound: it is deleted already.
        Conflict: it has arrived.
    """
    actor.require("admin")
    delivery = Delivery.objects.select_for_update(of=("self",)).filter(pk=delivery_id).first()
    if delivery is None:
        raise NotFound("There is no such delivery any more.", hint="They are forgotten after 30 days.")
    if delivery.delivered_at:
        raise Conflict("It has arrived already.")
    send_again(delivery)
    return delivery
