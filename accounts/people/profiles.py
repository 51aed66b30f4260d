"""Profiles: who the user is: role, preferences, and the facts that every session must know."""

from django.db import transaction

from accounts.actor import Actor
from accounts.argument_types import JobTitle, PinnedFacts, Preferences
from accounts.models import Profile
from bigmind.database.fixed_queries import FixedQuery


@transaction.atomic
def update_profile(
    actor: Actor,
    *,
    role: JobTitle | None = None,
    preferences: Preferences | None = None,
    pinned_facts: PinnedFacts | None = None,
) -> Profile:
    """Set the user's role, preferences, and the facts every session must know.

    Call this when the user tells you their role or how they like to work. Each argument replaces its old value; the
    rest stays. Returns the profile.
    """
    profile, _ = Profile.objects.select_for_update().get_or_create(user=actor.user)
    sent = {"role": role, "preferences": preferences, "pinned_facts": pinned_facts}
    for name, value in sent.items():
        if value is not None:
            setattr(profile, name, value)
    profile.save()
    return profile


def get_profile(actor: Actor) -> Profile:
    """Return the user's profile: role, preferences and pinned facts. Empty until one is set."""
    found: list[Profile] = _PROFILE(actor.user.pk)
    return found[0] if found else Profile(user=actor.user)


_PROFILE = FixedQuery(lambda user_id: Profile.objects.filter(user=user_id))
