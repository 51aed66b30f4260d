"""The numbers that SECURITY.md states are those of the code."""

import re
from datetime import timedelta
from math import log2
from pathlib import Path

import pytest

from accounts.oauth import app_tokens, client_documents, connected_apps
from accounts.people import invitations
from accounts.services import private_rows
from accounts.sign_in import attempts, links
from bigmind.embedded.web import IGNORED_BYTES
from bigmind.environment import Environment
from bigmind.settings import AUTH_PASSWORD_VALIDATORS
from bigmind.text.key_text import ALPHABET, PREFIX, RANDOM_CHARS
from bigmind.transports.request_limits import STRANGERS_BYTES

SECURITY = " ".join((Path(__file__).parents[2] / "SECURITY.md").read_text().split())
KIB = 1024
SHORTEST_PASSWORD = next(
    rule["OPTIONS"]["min_length"] for rule in AUTH_PASSWORD_VALIDATORS if "MinimumLength" in rule["NAME"]
)
WORDS = {"a": 1, "an": 1, "one": 1, "ten": 10, "fifty": 50}
MINUTES = {"minute": 1, "hour": 60, "day": 24 * 60, "week": 7 * 24 * 60, "quarter of an hour": 15}

SPANS = {
    r"a code lives for ([\w ]+?) and": app_tokens.CODE_LASTS,
    r"an access token for ([\w ]+?),": app_tokens.ACCESS_LASTS,
    r"a refresh token for ([\w ]+?) and": app_tokens.REFRESH_LASTS,
    r"60 (an hour) from an address": connected_apps.WITHIN,
    r"what nobody lets in is forgotten after ([\w ]+?)\.": connected_apps.KEPT_UNUSED,
    r"\*\*Sign-in links\*\* work once, within ([\w ]+?);": links.LIFETIME,
    r"\*\*Invitations\*\* work once, within ([\w ]+?),": invitations.LIFETIME,
    r"lock out the address, for ([\w ]+?)\.": attempts.WITHIN,
    r"their rows are open for ([\w ]+?) in that browser": private_rows.OPEN_FOR,
}
COUNTS = {
    r"\*\*Keys\*\* are (\d+) random bits": int(RANDOM_CHARS * log2(len(ALPHABET))),
    r"Anybody may introduce an app, (\d+) an hour": connected_apps.INTRODUCED_FROM_AN_ADDRESS,
    r"(\d+) KiB and 5 seconds at most": client_documents.DOCUMENT_BYTES / KIB,
    r"10 KiB and (\d+) seconds at most": client_documents.DOCUMENT_SECONDS,
    r"Passwords have (\d+) characters or more": SHORTEST_PASSWORD,
    r"(\w+) wrong tries lock a name out": attempts.TRIES,
    r"(\w+) lock out the address": attempts.TRIES_OF_AN_ADDRESS,
    r"a head that is not there after (\d+) seconds": Environment.model_fields["header_seconds"].default,
    r"a body that is not there after (\d+) is": Environment.model_fields["body_seconds"].default,
    r"no more than (\d+) KiB of a body is read": STRANGERS_BYTES / KIB,
    r"is thrown away, at most (\d+) KiB of it": IGNORED_BYTES / KIB,
    r"A web process holds ([\d,]+) connections": Environment.model_fields["connections"].default,
    r"connections, (\d+) from one address": Environment.model_fields["connections_per_address"].default,
}


@pytest.mark.parametrize("sentence", COUNTS)
def test_so_many_as_it_says(sentence: str) -> None:
    assert _number(_stated(sentence)) == COUNTS[sentence]


@pytest.mark.parametrize("sentence", SPANS)
def test_for_as_long_as_it_says(sentence: str) -> None:
    number, unit = _stated(sentence).split(" ", 1)

    assert timedelta(minutes=_number(number) * MINUTES[unit.removesuffix("s")]) == SPANS[sentence]


def test_keys_begin_as_it_says() -> None:
    assert _stated(r"a recognisable prefix \(`(\w+)`\)") == PREFIX


def _stated(sentence: str) -> str:
    """Return what stands at the one place of SECURITY.md that says this."""
    (found,) = re.findall(sentence, SECURITY)
    return str(found)


def _number(text: str) -> int:
    return WORDS.get(text) or int(text.replace(",", ""))
