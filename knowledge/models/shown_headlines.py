"""ShownHeadline: the headline of a session that its owner shows to others."""

from django.db import models
from django.db.models import F

from accounts.models import User
from bigmind.privacy.masking import PrivateModel

from .sessions import Session


class ShownHeadlineQuerySet(models.QuerySet["ShownHeadline"]):
    """Shown headlines, in the words of those who ask for them."""

    def of(self, user: User) -> "ShownHeadlineQuerySet":
        return self.filter(session__user=user)

    def in_view(self) -> "ShownHeadlineQuerySet":
        """Those that still stand as they were chosen: a session set aside or reworded is shown no more."""
        return self.filter(session__set_aside_at=None, session__one_liner=F("text"))

    def newest_first(self) -> "ShownHeadlineQuerySet":
        """In the order people read them."""
        return self.order_by("-session__started_at", "-pk")


class ShownHeadline(PrivateModel):
    """One headline that was chosen, in the words that were chosen: an agent that rewords it shows nothing new."""

    owned_by = "session__user"

    session = models.OneToOneField(Session, models.CASCADE, primary_key=True, related_name="shown_headline")
    text = models.CharField(max_length=120)
    chosen_at = models.DateTimeField(auto_now=True)

    objects = ShownHeadlineQuerySet.as_manager()

    def __str__(self) -> str:
        return self.text
