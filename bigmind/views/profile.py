"""A person's page, `/u/<username>/`: who they are, which agents act for them, and how much is remembered."""

from django.contrib.auth.decorators import login_required
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from accounts.authentication import actor_of
from accounts.models import Agent
from accounts.services.profiles import get_profile
from knowledge.services.upkeep import get_stats

AGENTS_SHOWN = 50


@never_cache
@login_required
@require_safe
def profile(request: HttpRequest, username: str) -> HttpResponse:
    """Show their own page to whoever is signed in. Another's answers as if there were no such person."""
    actor = actor_of(request)
    if username.casefold() != actor.user.username.casefold():
        raise Http404
    context = {
        "person": actor.user,
        "profile": get_profile(actor),
        "stats": get_stats(actor),
        "agents": Agent.objects.filter(user=actor.user).order_by("-last_seen")[:AGENTS_SHOWN],
    }
    return render(request, "accounts/profile.html", context)
