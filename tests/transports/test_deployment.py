"""Behind a proxy with TLS: Django's own check of a deployment is clean, and no request is sent round in circles."""

import json
import os
from pathlib import Path
from typing import Any

import pytest

from tests.copies import run_in_copy

ASKED = """
import json
from django.core.management import call_command
from django.test import Client
call_command("check", deploy=True, fail_level="WARNING")
answers = [
    Client().get("/static/css/base.css", headers={"Host": "bigmind.example.com", **told})
    for told in ({}, {"X-Forwarded-Proto": "https"})
]
print(json.dumps([[one.status_code, one.headers.get("Strict-Transport-Security")] for one in answers]))
"""
YEAR = "max-age=31536000"


@pytest.mark.parametrize(
    ("chosen", "promise"),
    [({}, YEAR), ({"BIGMIND_HSTS": "preload"}, f"{YEAR}; includeSubDomains; preload")],
    ids=["as it comes", "preload"],
)
def test_a_company_server_passes_the_check_of_django_and_redirects_nobody(
    chosen: dict[str, str], promise: str, tmp_path: Path
) -> None:
    company = {
        "BIGMIND_HOME": str(tmp_path),
        "BIGMIND_MODE": "team",
        "BIGMIND_PUBLIC_URL": "https://bigmind.example.com",
        "BIGMIND_DATABASE_URL": "postgres://nobody@127.0.0.1:9/none",
        "DJANGO_SETTINGS_MODULE": "bigmind.settings",
    }

    plain, forwarded = _asked({**company, **chosen})

    assert plain == [200, None]
    assert forwarded == [200, promise]


def _asked(variables: dict[str, str]) -> Any:
    others = {name: value for name, value in os.environ.items() if not name.startswith(("BIGMIND_", "DJANGO_"))}
    return json.loads(run_in_copy(ASKED, others | variables).splitlines()[-1])
