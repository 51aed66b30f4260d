"""What surrounds every page: that somebody is signed in, in which browser and from where, is noted."""

from collections.abc import Callable

import structlog
from django.db import DatabaseError
from django.http import HttpRequest, HttpResponse

from accounts.models import User
from accounts.services.sign_ins import note_sign_in

GetResponse = Callable[[HttpRequest], HttpResponse]

log = structlog.get_logger()


class SignInMiddleware:
    """Notes who uses which session, after the answer: by then somebody has signed in, or out.

    An answer that did not ask who is there is left alone, and so is one that tells of trouble.
    """

    def __init__(self, get_response: GetResponse) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        response = self.get_response(request)
        if request.session.accessed and request.session.session_key and response.status_code < 500:
            self._note(request, request.session.session_key)
        return response

    def _note(self, request: HttpRequest, session_key: str) -> None:
        """Note it. The page is ready by then, and is shown even if this fails."""
        try:
            if isinstance(request.user, User):
                note_sign_in(
                    request.user,
                    session_key,
                    user_agent=request.headers.get("User-Agent", ""),
                    address=request.META.get("REMOTE_ADDR", ""),
                )
        except DatabaseError as error:
            log.warning("A sign-in was not noted.", error=str(error))
