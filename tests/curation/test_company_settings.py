"""The settings of a company server: what could not work, or would send a key where others read it, is refused."""

from typing import Any

import pytest
from pydantic import ValidationError

from accounts.keys import new_key_text
from bigmind.environment import Environment

KEY = new_key_text()
ADDRESS = "https://bigmind.example.com"


def _settings(**said: Any) -> Environment:
    return Environment(**{"company_url": ADDRESS, "company_key": KEY, **said})


@pytest.mark.parametrize(
    "address",
    [
        ADDRESS,
        f"{ADDRESS}/",
        "https://10.0.0.7:7700",
        "http://localhost:7701",
        "http://127.0.0.1:7701",
        "http://[::1]:1",
    ],
)
def test_an_address_with_tls_or_on_this_machine_is_taken(address: str) -> None:
    assert _settings(company_url=address).company_url == address.rstrip("/")


@pytest.mark.parametrize(
    ("said", "words"),
    [
        ({"company_url": "http://bigmind.example.com"}, "must be https"),
        ({"company_url": "http://10.0.0.7"}, "must be https"),
        ({"company_url": "https://ada:secret@bigmind.example.com"}, "without a path, a name or a password"),
        ({"company_url": "https://bigmind.example.com/api"}, "without a path"),
        ({"company_url": "ftp://bigmind.example.com"}, "must look like"),
        ({"company_url": "https://bigmind.example.com:99999"}, "port from 1 to 65535"),
        ({"company_key": ""}, "needs BIGMIND_COMPANY_KEY"),
        ({"company_key": "hunter2"}, "is no key"),
        ({"mode": "team"}, "must be personal"),
        ({"company_url": "http://localhost:7700"}, "this BigMind itself"),
    ],
)
def test_what_cannot_work_is_refused_without_showing_the_key(said: dict[str, Any], words: str) -> None:
    with pytest.raises(ValidationError, match=words) as refused:
        _settings(**said)

    assert KEY not in str(refused.value)
    assert "hunter2" not in str(refused.value)


def test_plain_text_in_a_private_network_has_to_be_permitted() -> None:
    assert _settings(company_url="http://10.0.0.7", company_plain_http=True).company_plain_http


def test_without_an_address_nothing_is_connected() -> None:
    assert Environment().company_url == ""
