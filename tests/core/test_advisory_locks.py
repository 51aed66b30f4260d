"""Advisory locks: each purpose has a number of its own, or transactions would wait that have nothing in common."""

import re
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).parents[2]
PACKAGES = ("bigmind", "accounts", "knowledge", "curation")
LOCK = re.compile(r"^(?:_TURNS|_?LOCK|ADVISORY_LOCK|MIGRATION_LOCK) = ([^#\n]+)", re.MULTILINE)


def test_no_two_purposes_share_the_number_of_a_lock() -> None:
    sources = (path.read_text() for package in PACKAGES for path in (ROOT / package).rglob("*.py"))
    numbers = Counter(number.strip() for source in sources for number in LOCK.findall(source))

    assert len(numbers) > 15
    assert [number for number, times in numbers.items() if times > 1] == []
