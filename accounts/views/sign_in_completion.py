"""The last step of signing in: a user is signed in, or asked for the code of their second factor first."""

import time
from dataclasses import asdict, dataclass
from typing import Literal

from django.contrib.auth import login, logout
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect

from accounts.models import User
from accounts.services.audit import audit
from accounts.sign_in.second_factors import has_second_factor
from bigmind.web.pages import is_own_address

Door = Literal["password", "link", "invitation", "sso"]

WAITS_SECONDS = 600
_WAITING = "waiting_for_code"
_DOOR = "signed_in_by"


@dataclass(frozen=True)
class PendingSignIn:
    """A user who has passed the first step, and still has to enter a code."""

    user: str
    password_state: str
    door: Door
    wanted: str
    since: float


def enter(request: HttpRequest, user: User, *, door: Door, wanted: str) -> HttpResponse:
    """Sign a user in and turn to the page they wanted; ask for a code first where they have a second factor.

    Whoever comes from the company's own sign-in is not asked: that one has second factors of its own.
    """
    if door == "sso" or not has_second_factor(user):
        sign_in_as(request, user, door=door)
        return redirect(wanted)
    # Whoever was signed in here before is not any more, and nothing of their session goes on.
    logout(request)
    waiting = PendingSignIn(str(user.pk), user.get_session_auth_hash(), door, wanted, time.time())
    request.session[_WAITING] = asdict(waiting)
    return redirect("sign-in-code")


def sign_in_as(request: HttpRequest, user: User, *, door: Door) -> None:
    """Sign a user in, and remember by which method."""
    login(request, user)
    audit("signed_in", about=user, by=user, door=door)
    request.session.pop(_WAITING, None)
    request.session[_DOOR] = door


def came_by_sso(request: HttpRequest) -> bool:
    """Whether the signed-in user came from the company's own sign-in."""
    return request.session.get(_DOOR) == "sso"


def who_waits(request: HttpRequest) -> tuple[User, PendingSignIn] | None:
    """Return who still has to enter a code in this browser; None when nobody has, or the first step has expired."""
    kept = request.session.get(_WAITING)
    if not isinstance(kept, dict):
        return None
    waiting = PendingSignIn(**kept)
    user = User.objects.filter(pk=waiting.user, is_active=True).first()
    is_late = time.time() - waiting.since > WAITS_SECONDS
    if user is None or is_late or user.get_session_auth_hash() != waiting.password_state:
        del request.session[_WAITING]
        return None
    return user, waiting


def next_page(request: HttpRequest) -> str:
    """Return where to go next: the page that asked to sign in, if it is one of ours."""
    wanted = request.POST.get("next", request.GET.get("next", ""))
    return wanted if is_own_address(request, wanted) else "/"
