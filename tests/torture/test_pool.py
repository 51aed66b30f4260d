"""T2 again, through PgBouncer in the mode `transaction`: what answers without a pool answers alike behind one."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from accounts.models import SCOPES
from bigmind.operations import CATALOGUE
from tests.embedded.instance import Instance, command
from tests.growing.server import two_roles
from tests.pool import Pool
from tests.torture.scale import CASES_OF_EACH
from tests.transports.fuzzing import fuzz

pytestmark = pytest.mark.torture


@pytest.fixture
def pooled() -> Iterator[tuple[Instance, dict[str, str]]]:
    """Yield a BigMind behind a pool, and the variables by which commands reach its database."""
    with two_roles(migrated=True) as (server, folder):
        (folder / "pool").mkdir()
        with Pool(folder / "pool", server.application_url) as pool:
            variables = {**server.variables, "BIGMIND_DATABASE_URL": pool.url, "BIGMIND_RATE_LIMIT": "0"}
            instance = Instance(folder / "home", **variables)
            try:
                yield instance.start(), variables
            finally:
                instance.hurry()


def test_thousands_of_cases_answer_behind_a_pool_as_without_one(
    pooled: tuple[Instance, dict[str, str]], tmp_path: Path, report: Callable[[str], None]
) -> None:
    bigmind, variables = pooled
    (admin,) = json.loads(command(bigmind.home, "user_list", "--json", **variables).stdout)
    made = command(bigmind.home, "key_create", admin["username"], "--scopes", ",".join(SCOPES), "--quiet", **variables)

    found = fuzz(
        bigmind.url,
        made.stdout.strip(),
        tmp_path,
        *("--phases", "examples,coverage,fuzzing", "--max-examples", str(CASES_OF_EACH)),
    )

    report(f"{found.cases} cases of {found.operations} operations: {len(found.failures)} answers against the document")
    assert found.operations == len(CATALOGUE)
    assert found.failures == [], found.printed
