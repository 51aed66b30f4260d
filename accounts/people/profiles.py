"""Profiles: Tier 0, who the user is."""

from django.db import transaction

from accounts.actor import Actor
from accounts.models import Profile
from accounts.vocabulary import JobTitle, PinnedFacts, Preferences


@transaction.atomic
def update_profile(
    actor: Actor,
    *,
    role: JobTitle | None = None,
    preferences: Preferences | None = None,
    pinned_facts: PinnedFacts | None = None,
) -> Profile:
    """Say who the user is: role, preferences, and the facts every session must know.

    Call this when the user tells you their role or how they like to work. What you send replaces what was there; the
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
    """Return the user's profile: role, preferences and pinned facts. Empty when nothing was told yet."""
    try:
        return Profile.objects.get(user=actor.user)
    except Profile.DoesNotExist:
        return Profile(user=actor.user)
