"""Signing in to the admin: by the same door as everywhere else."""

from django.contrib.auth.views import redirect_to_login
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse

ADMIN = "/admin/"


def admin_sign_in(request: HttpRequest) -> HttpResponse:
    """Send who is not signed in to the sign-in page, and refuse who is but may not enter."""
    if request.user.is_authenticated:
        raise PermissionDenied("Only curators and admins may enter here.")
    return redirect_to_login(request.GET.get("next", ADMIN))
