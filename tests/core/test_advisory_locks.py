"""Advisory locks: each purpose has a number of its own."""

import re
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).parent.parent.parent
NUMBER = re.compile(r"^_?(?:LOCK|TURNS) = (\d+)$", re.MULTILINE)


def test_no_two_purposes_share_the_number_of_a_lock() -> None:
    files = (
        path for package in ("bigmind", "accounts", "knowledge", "curation") for path in ROOT.glob(f"{package}/**/*.py")
    )
    numbers = Counter(number for path in files for number in NUMBER.findall(path.read_text()))

    assert len(numbers) > 10
    assert [number for number, times in numbers.items() if times > 1] == []
