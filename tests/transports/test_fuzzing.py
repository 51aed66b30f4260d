"""A taste of what `make torture` sends (T2): along every limit of the operations that each agent has."""

from pathlib import Path

from accounts.models import SCOPES, Role
from bigmind.operations import CATALOGUE
from tests.factories import make_key, make_user
from tests.serving import serving
from tests.transports.fuzzing import fuzz


def test_no_case_breaks_the_server_or_the_promise_of_the_document(transactional_db: None, tmp_path: Path) -> None:
    key = make_key(make_user(role=Role.ADMIN), scopes=SCOPES).text

    with serving(tmp_path / "log.txt", BIGMIND_RATE_LIMIT="0") as (served, _):
        found = fuzz(served.url, key, tmp_path, "--phases", "examples,coverage", "--include-tag", "core")

    assert found.operations == sum(operation.toolset == "core" for operation in CATALOGUE.values())
    assert found.failures == [], found.printed
