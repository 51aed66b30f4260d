"""The language of a person: what they chose, else what their browser asks for, else English."""

from typing import Annotated

from django.conf import settings
from django.utils.translation import get_supported_language_variant
from django.utils.translation.trans_real import parse_accept_lang_header
from pydantic import AfterValidator, Field

from accounts.models import User
from bigmind.text.hygiene import echo


def _require_known(code: str) -> str:
    if code and code not in dict(settings.LANGUAGES):
        known = ", ".join(dict(settings.LANGUAGES))
        raise ValueError(f"is no language that BigMind speaks: {echo(code)}. Use one of {known}")
    return code


Language = Annotated[
    str,
    Field(max_length=16, description="Such as de; empty: that of the browser."),
    AfterValidator(_require_known),
]


def language_of(user: User | None, *, browser: str = "") -> str:
    """Return the language in which someone reads pages and mails.

    `browser` is its header `Accept-Language`, if anything. What is not spoken here counts as not said.
    """
    preferred = [user.language] if user and user.language else []
    for code in [*preferred, *(code for code, _ in parse_accept_lang_header(browser.lower()))]:
        try:
            return get_supported_language_variant(code)
        except LookupError:
            continue
    return settings.LANGUAGE_CODE
