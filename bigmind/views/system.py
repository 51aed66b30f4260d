"""The system page, for admins: how this BigMind is."""

from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from accounts.authentication import actor_of
from bigmind.observability.system.state import system_state


@never_cache
@login_required
@require_safe
def system(request: HttpRequest) -> HttpResponse:
    """Show versions, parts, what waits, what runs, what is slow and what fails."""
    return render(request, "system/system.html", {"state": system_state(actor_of(request))})
