"""Deleting a user: what they have decided stays, and their name leaves it."""

from accounts.models import User
from accounts.services.erasure_reports import Erased
from curation.models import Review
from curation.notifications.notices import take_author_from_notices
from curation.notifications.webhook_messages import take_author_from_webhooks


def take_names_of(user: User, erased: Erased) -> None:
    """Remove a user's name from the history of company knowledge, from notices to others, and from deliveries.

    The history itself stays, with the user's id: the seals cover the id and not the name, so they stay valid
    (decision 0012).
    """
    # First: until the name leaves the history, that says how notices and messages call them.
    take_author_from_notices(user)
    take_author_from_webhooks(user)
    reviews = Review.objects.filter(by_id_kept=user.pk)
    erased.counts["steps of the history without a name"] = reviews.update(by=None, by_name="", agent_name="")
