"""T59: what the owner of the tables has to do, the worker does that works: indexes over vectors, and statistics."""

from collections.abc import Callable

import pytest

from tests.drill.production import Production, put_passages
from tests.embedded.instance import eventually

pytestmark = pytest.mark.drill

SHARED = 11_500
"""Of more than 10,000 shared vectors there is to be an index."""
MADE_WITHIN = 60.0


def test_the_worker_that_works_makes_indexes_and_statistics(company: Production, report: Callable[[str], None]) -> None:
    with company.load("Before the index") as load:
        load.go_on()
    put_passages(company, SHARED, "Shared", embedded=True)
    before = _analysed(company)

    company.send("knowledge.tasks.embed_pending")
    company.send("knowledge.tasks.keep_indexes")

    try:
        eventually(lambda: bool(_indexes(company)) and _analysed(company) > before, within=MADE_WITHIN)
    finally:
        made = f"indexes {_indexes(company)}, analysed {_analysed(company) - before} × since"
        report(f"of {SHARED:,} shared vectors: {made}")


def _indexes(company: Production) -> list[str]:
    found = company.query("SELECT indexname FROM pg_indexes WHERE indexname LIKE 'knowledge_near_%%'")
    return [name for (name,) in found]


def _analysed(company: Production) -> int:
    asked = "SELECT analyze_count FROM pg_stat_user_tables WHERE relname = 'knowledge_passagevector'"
    ((count,),) = company.query(asked)
    return int(count)
