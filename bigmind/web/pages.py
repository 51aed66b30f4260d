"""What pages share: access, the position in a list, messages for the next page, and the way back."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import wraps
from typing import Any

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.utils.http import url_has_allowed_host_and_scheme
from django.views.decorators.cache import never_cache

from bigmind.core.errors import BigMindError, NotFound

View = Callable[..., HttpResponse]
ADMIN = "/admin/"
"""Where the admin site is. Asking Django for it makes the tables of all of its addresses: 45 ms of a first request."""
FOR_PROGRAMS = ("/api/", "/hooks/")
"""How the paths begin at which programs show a key. `/mcp` is not part of Django."""
ONE_YEAR = 60 * 60 * 24 * 365
"""How long a browser keeps a choice that is no one's secret, in seconds."""


@dataclass(frozen=True)
class Tab:
    """One tab of a page: its label, its address, and how much is behind it, where that is a number."""

    label: str
    address: str
    count: int | None = None
    is_current: bool = False


def is_for_programs(path: str) -> bool:
    """Whether a key opens what is at this path, no session does, and what is refused there is a problem document."""
    return path.startswith(FOR_PROGRAMS)


def own_page(view: View) -> View:
    """Make a view a page of the signed-in user.

    It is never cached, and what is not theirs is answered as if it did not exist.
    """

    @wraps(view)
    def page(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        try:
            return view(request, *args, **kwargs)
        except NotFound as error:
            raise Http404 from error

    return never_cache(login_required(page))


def read_number(raw: str) -> int | None:
    """Return the number that was sent; None where it is none, or too large for any row."""
    return int(raw) if raw.isascii() and raw.isdecimal() and len(raw) < 19 else None


def offset_in(request: HttpRequest) -> int:
    """Return where in a list the page begins: what the address says, or 0 when that is no number."""
    text = request.GET.get("offset", "")
    return int(text) if text.isdecimal() and len(text) < 10 else 0


def way_back(request: HttpRequest, *, otherwise: str, gone: str = "") -> HttpResponse:
    """Turn back to the page that `next` names, if it is one of ours and not the page of what is gone."""
    target = request.POST.get("next") or request.GET.get("next", "")
    return redirect(target if is_own_address(request, target) and target != gone else otherwise)


def with_retry_after(response: HttpResponse, refusal: BigMindError) -> HttpResponse:
    """Let an answer say when to come again, where the refusal does."""
    if "retry_after" in refusal.details:
        response["Retry-After"] = str(refusal.details["retry_after"])
    return response


def is_own_address(request: HttpRequest, target: str) -> bool:
    """Whether an address that was sent leads to a page of ours, and not elsewhere.

    A word is none: `redirect` would take it for the name of a page, and find none.
    """
    return target.startswith(("/", "http://", "https://")) and url_has_allowed_host_and_scheme(
        target, allowed_hosts={request.get_host()}, require_https=request.is_secure()
    )


def tell(request: HttpRequest, text: str, *, undo: str = "") -> None:
    """Say on the next page what was done; `undo` is the address whose button takes it back."""
    messages.success(request, text, extra_tags=undo)
