"""T2: thousands of requests made from the OpenAPI document, right and wrong; each answer is what it promises."""

import json

import pytest

from accounts.models import SCOPES
from bigmind.operations import CATALOGUE
from tests.embedded.instance import command
from tests.torture.scale import CASES, CASES_OF_EACH
from tests.transports.fuzzing import fuzz

pytestmark = pytest.mark.torture


def test_thousands_of_cases_break_neither_the_server_nor_the_promise_of_the_document(bigmind, tmp_path, report):
    (admin,) = json.loads(command(bigmind.home, "user_list", "--json").stdout)
    key = command(bigmind.home, "key_create", admin["username"], "--scopes", ",".join(SCOPES), "--quiet")

    found = fuzz(
        bigmind.url,
        key.stdout.strip(),
        tmp_path,
        *("--phases", "examples,coverage,fuzzing", "--max-examples", str(CASES_OF_EACH)),
    )

    report(f"{found.cases} cases of {found.operations} operations: {len(found.failures)} answers against the document")
    assert found.operations == len(CATALOGUE)
    assert found.failures == [], found.printed
    assert found.cases >= CASES
