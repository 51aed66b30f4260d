"""The handover of a new key: its text goes straight to the browser that asked for it, and is stored nowhere.

The answer that makes a key turns to the page that shows it, so that reloading never makes another one. Between the two
the text waits in a cookie of that one page. A session would write it into the database, where only its hash belongs.
"""

from urllib.parse import urlencode

from django.conf import settings
from django.http import HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import redirect
from django.urls import reverse

from accounts.keys.keys import NewKey
from accounts.keys.text import digest_of
from accounts.models import ApiKey

COOKIE = "bigmind_new_key"
WAITS_SECONDS = 300


def hand_over(new: NewKey, **chosen: str) -> HttpResponse:
    """Turn to the page that shows a new key once, with what was chosen for its snippets."""
    page = _page_of(new.key)
    query = urlencode({name: value for name, value in chosen.items() if value}, safe=",")
    response = redirect(f"{page}?{query}" if query else page)
    response.set_cookie(
        COOKIE,
        new.text,
        max_age=WAITS_SECONDS,
        path=page,
        secure=settings.SESSION_COOKIE_SECURE,
        httponly=True,
        samesite="Strict",
    )
    return response


def reveal_key(request: HttpRequest, key: ApiKey) -> str:
    """Return the text of this key if it was handed over just now, else an empty text.

    Only the key's own text counts, so a cookie from elsewhere cannot show a key that is not this person's.
    """
    text = request.COOKIES.get(COOKIE, "")
    return text if digest_of(text) == key.digest else ""


def end_handover(response: HttpResponseBase, key: ApiKey) -> None:
    """Take the text back from the browser: it has been shown."""
    response.delete_cookie(COOKIE, path=_page_of(key), samesite="Strict")


def _page_of(key: ApiKey) -> str:
    return reverse("key-new", args=[key.pk])
