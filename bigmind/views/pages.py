"""Pages of the instance: the system page, the choice of how pages look, and the way into the admin."""

from django.contrib.auth.decorators import login_required
from django.contrib.auth.views import redirect_to_login
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import redirect, render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_POST, require_safe

from accounts.authentication import actor_of
from bigmind.context_processors import COMFORTABLE, DENSITY_COOKIE, THEME_COOKIE, THEMES
from bigmind.core.translation import _
from bigmind.navigation import counts_in, navigation_of
from bigmind.observability.system import system_state
from bigmind.web.pages import ADMIN, ONE_YEAR, is_own_address


@require_POST
def choose_theme(request: HttpRequest) -> HttpResponse:
    """Keep the theme or the density that was chosen and turn back to the page; anything else is the default again."""
    back = request.POST.get("next", "")
    response = redirect(back if is_own_address(request, back) else "/")
    for name, cookie, known in (("theme", THEME_COOKIE, THEMES), ("density", DENSITY_COOKIE, (COMFORTABLE,))):
        chosen = request.POST.get(name, "")
        if chosen in known:
            response.set_cookie(
                cookie, chosen, max_age=ONE_YEAR, secure=request.is_secure(), httponly=True, samesite="Lax"
            )
        elif name in request.POST:
            response.delete_cookie(cookie, samesite="Lax")
    return response


def admin_sign_in(request: HttpRequest) -> HttpResponse:
    """Send who is not signed in to the sign-in page, and refuse who is but may not enter."""
    if request.user.is_authenticated:
        raise PermissionDenied(_("Only curators and admins may enter here."))
    return redirect_to_login(request.GET.get("next", ADMIN))


@never_cache
@login_required
@require_safe
def counts(request: HttpRequest) -> HttpResponse:
    """Tell a page that stays open what the navigation counts by now: asked now and then, so it is small."""
    navigation = navigation_of(request)
    return JsonResponse({"counts": counts_in(navigation) if navigation else {}})


@never_cache
@login_required
@require_safe
def system(request: HttpRequest) -> HttpResponse:
    """Show versions, parts, what waits, what runs, what is slow and what fails."""
    return render(request, "system/system.html", {"state": system_state(actor_of(request))})
