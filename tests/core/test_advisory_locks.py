"""Advisory locks: each purpose has a number of its own, or transactions would wait that have nothing in common."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
PACKAGES = ("bigmind", "accounts", "knowledge", "curation")
NUMBERED = re.compile(r"\bwait_for_turn\((?!lock: |AdvisoryLock\.)|pg_(?:try_)?advisory_\w*lock\(\d")


def test_every_number_of_a_lock_stands_in_the_one_list() -> None:
    paths = (path for package in PACKAGES for path in (ROOT / package).rglob("*.py"))

    assert [path.name for path in paths if NUMBERED.search(path.read_text())] == []
