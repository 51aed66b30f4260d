"""Deleting a user: what they have decided stays, and their name leaves it."""

from django.db.models import F, Q, Value
from django.db.models.functions import Replace

from accounts.models import User
from accounts.services.erasures import Erased
from curation.models import Comment, Delivery, Notice, Review

FORMER_USER = "a former user"


def take_names_of(user: User, erased: Erased) -> None:
    """Remove a user's name from the history of company knowledge, from notices to others, and from deliveries.

    The history itself stays, with the user's id: the seals cover the id and not the name, so they stay valid
    (decision 0012).
    """
    names = {str(user), user.username}
    reviews = Review.objects.filter(by_id_kept=user.pk)
    erased.counts["steps of the history without a name"] = reviews.update(by=None, by_name="", agent_name="")
    about = Q(review__by_id_kept=user.pk) | Q(entry__in=Comment.objects.filter(by=user).values("entry"))
    for name in names:
        Notice.objects.filter(about, text__contains=name).update(
            text=Replace(F("text"), Value(name), Value(FORMER_USER))
        )
        Delivery.objects.filter(body__data__by=name).delete()
