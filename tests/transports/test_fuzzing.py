"""A taste of what `make torture` sends (T2): along every limit of three operations, of a body, a path and a query."""

from itertools import chain
from pathlib import Path

from tests.serving import Served
from tests.transports.fuzzing import fuzz
from tests.transports.hostile import key_for_everything

NAMES = ("memory_store_fact", "memory_deprecate_fact", "memory_search_chunks")


def test_no_case_breaks_the_server_or_the_promise_of_the_document(served: Served, tmp_path: Path) -> None:
    only = chain.from_iterable(("--include-operation-id", name) for name in NAMES)

    found = fuzz(served.url, key_for_everything().text, tmp_path, "--phases", "examples,coverage", *only)

    assert found.operations == len(NAMES)
    assert found.failures == [], found.printed
