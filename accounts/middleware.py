"""What surrounds every page: records sign-ins, and redirects people who must set up a second factor."""

from collections.abc import Callable

import structlog
from django.conf import settings
from django.db import DatabaseError
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect

from accounts.models import User
from accounts.sign_in.second_factors import has_second_factor, must_have_second_factor
from accounts.sign_in.sign_ins import note_sign_in
from accounts.views.confirming import ask_to_confirm
from accounts.views.sign_in import came_by_sso
from bigmind.database.read_only import is_read_only
from bigmind.web.pages import is_for_programs

GetResponse = Callable[[HttpRequest], HttpResponse]

log = structlog.get_logger()


class SignInMiddleware:
    """Records who uses which session, after the response: by then a user has signed in, or out.

    Responses that did not look at the user are left alone, and so are errors.
    """

    def __init__(self, get_response: GetResponse) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        response = self.get_response(request)
        if is_read_only():
            return response
        if request.session.accessed and request.session.session_key and response.status_code < 500:
            self._note(request, request.session.session_key)
        return response

    def _note(self, request: HttpRequest, session_key: str) -> None:
        """Record it. The page is ready by then, and is shown even if this fails."""
        try:
            if isinstance(request.user, User):
                note_sign_in(
                    request.user,
                    session_key,
                    user_agent=request.headers.get("User-Agent", ""),
                    address=request.META.get("REMOTE_ADDR", ""),
                )
        except DatabaseError as error:
            log.warning("A sign-in was not noted.", error=error)


class ProofMiddleware:
    """Redirects people who must set up a second factor to that page, and lets them see nothing else.

    Who came from the company's own sign-in has one there. Keys are no browsers: what they open asks nobody. Those who
    change people, keys or invitations in the Django admin are asked to confirm it first, as on pages about them.
    """

    OPEN = frozenset(
        {"second-factor", "second-factor-set-up", "sign-in", "sign-in-code", "sso", "sso-callback", "sign-out", "theme"}
    )

    def __init__(self, get_response: GetResponse) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        return self.get_response(request)

    def process_view(self, request: HttpRequest, *_: object) -> HttpResponse | None:
        """Redirect to the page that asks; None lets the view answer."""
        assert request.resolver_match is not None
        name = request.resolver_match.view_name
        is_asked = settings.REQUIRE_MFA != "nobody" and name not in self.OPEN and not is_for_programs(request.path_info)
        if is_asked and _owes_second_factor(request):
            return redirect("second-factor")
        changes = request.method == "POST" and name.startswith("admin:accounts_")
        return ask_to_confirm(request) if changes and request.user.is_authenticated else None


def _owes_second_factor(request: HttpRequest) -> bool:
    user = request.user
    if not isinstance(user, User) or not must_have_second_factor(user):
        return False
    return not came_by_sso(request) and not has_second_factor(user)
