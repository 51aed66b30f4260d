"""Codes as the app of a person makes them, from the secret that the page shows."""

import re
import time
from types import SimpleNamespace
from unittest.mock import patch

from allauth.mfa.totp.internal import auth
from django.test import Client
from django.urls import reverse

from accounts.models import User
from accounts.sign_in.second_factors import Enrolment, begin_enrolment, set_up_second_factor

PERIOD = 30


def code_of(secret: str, *, later: int = 0) -> str:
    """Return the code that an app shows now, or `later` periods on."""
    return code_at(secret, time.time() // PERIOD + later)


def code_at(secret: str, period: float) -> str:
    """Return the code of a period."""
    return str(auth.format_hotp_value(auth.hotp_value(secret.replace(" ", ""), int(period))))


def secret_on(page: str) -> str:
    """Return the secret that the page of the enrolment shows as text."""
    found = re.search(r"<code>([A-Z2-7 ]{32,})</code>", page)
    assert found is not None
    return found.group(1)


def with_second_factor(user: User) -> tuple[Enrolment, list[str]]:
    """Give somebody a second factor, with the code before the one that counts now; return it and the recovery codes."""
    enrolment, _ = begin_enrolment()
    now = time.time()  # At the end of a period, the code would be too old when it is looked at.
    with patch.object(auth, "time", SimpleNamespace(time=lambda: now)):
        return enrolment, set_up_second_factor(user, enrolment, code=code_at(enrolment.secret, now // PERIOD - 1))


def enrol(client: Client, **said: str) -> tuple[str, str]:
    """Set a second factor up on the page; return the secret and the answer."""
    secret = secret_on(client.get(reverse("second-factor-set-up")).text)
    answer = client.post(reverse("second-factor-set-up"), {"code": code_of(secret), **said})
    return secret, answer.text
