"""Policy: a text that gives a secret away is stored with a notice, stored without the secret, or refused."""

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

from django.conf import settings
from pydantic import AfterValidator, ValidationInfo
from pydantic_core import PydanticCustomError

from . import Secret, find_secrets, redact

NOTICES = 10
ARRIVING = "arriving"
"""The context of a validation whose texts come from outside and are about to be stored: personal ones are screened."""
ERROR = "secret"
"""How pydantic calls a text that is refused for a secret."""
_NOTICES: ContextVar[tuple[list[str], int] | None] = ContextVar("notices", default=None)


@contextmanager
def collect_notices(most: int = NOTICES) -> Iterator[list[str]]:
    """Collect notices for the caller about texts that are screened inside this block. ASCII, to fit into headers."""
    notices: list[str] = []
    token = _NOTICES.set((notices, most))
    try:
        yield notices
    finally:
        _NOTICES.reset(token)


def screen(text: str, info: ValidationInfo) -> str:
    """Return a personal text as BIGMIND_SECRETS wants it stored.

    Raises:
        ValueError: it gives a secret away, and the policy is `block`.
    """
    if info.context != ARRIVING or not (secrets := find_secrets(text)):
        return text
    field = info.field_name or "A text"
    if settings.SECRETS_POLICY == "block":
        raise _refusal(secrets)
    if settings.SECRETS_POLICY == "redact":
        add_notice(f"{field} held what looks like a secret ({_kinds(secrets)}). It was removed before it was stored.")
        return redact(text)
    add_notice(
        f"{field} holds what looks like a secret ({_kinds(secrets)}). It was stored as it is. If it is real, correct "
        "or erase what you stored, and say where the secret is kept instead."
    )
    return text


def refuse_secrets(text: str) -> str:
    """Return a text that others will read, unchanged.

    Raises:
        ValueError: it gives a secret away; the message says of what kind, and what to do.
    """
    if secrets := find_secrets(text):
        raise _refusal(secrets)
    return text


def refuse_secrets_in_json(value: dict[str, Any]) -> dict[str, Any]:
    """Return a JSON object that others will read, unchanged.

    Raises:
        ValueError: it gives a secret away, under whatever name.
    """
    refuse_secrets(json.dumps(value, ensure_ascii=False))
    return value


Screened = AfterValidator(screen)
"""Marks a personal text that is stored."""

NoSecrets = AfterValidator(refuse_secrets)
"""Marks a text that others will read."""


def _refusal(secrets: Sequence[Secret]) -> PydanticCustomError:
    advice = "holds what looks like a secret ({kinds}). Leave it out, and say where it is kept instead"
    return PydanticCustomError(ERROR, advice, {"kinds": _kinds(secrets)})


def _kinds(secrets: Sequence[Secret]) -> str:
    return ", ".join(list(dict.fromkeys(secret.kind for secret in secrets))[:5])


def add_notice(sentence: str) -> None:
    """Add a notice for the caller about what was sent. ASCII, because REST sends notices in a header."""
    notices, most = _NOTICES.get() or ([], 0)
    if len(notices) < most and sentence not in notices:
        notices.append(sentence)
