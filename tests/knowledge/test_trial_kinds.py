"""A kind of memory costs a row in the registry and its own files: two that BigMind does not have prove it.

They are added in a process of their own, before BigMind is imported: what reads the registry while it is imported has
them as well.

Some places are about particular kinds, and a new one is left out of them until someone wants it there: what a session
starts with (`services/context.py`, and its receipts), what hooks act
on (`capture/triggers.py`), what tidying suggests, and what goes to other programs (`transfer/program_formats.py`). What
others complain of is shown where a kind has a page for that.
"""

import os
import subprocess
import sys

from django.conf import settings

from tests.knowledge.trial_kinds.rows import ROWS

PLUGIN = "tests.knowledge.trial_kinds.plugin"
CASES = "tests/knowledge/trial_kinds/cases.py"
ELSEWHERE = {
    "knowledge.kinds": "The row.",
    "knowledge.models.passages": "The name of the row, which code that is about this kind alone calls it by.",
    "knowledge.urls": "A page is a row there, whatever it is about.",
}
"""Where a kind costs a line outside its own files, and why."""


def test_whatever_knows_kinds_knows_those_that_have_a_row() -> None:
    # The environment of a test run of its own, with a database of its own.
    ours = ("BIGMIND_", "PYTEST_", "PREPARED_")
    environment = {name: value for name, value in os.environ.items() if not name.startswith(ours)}

    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", PLUGIN, "-p", "no:cacheprovider", CASES],
        cwd=settings.BASE_DIR,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.returncode == 0, done.stdout + done.stderr


def test_a_kind_costs_nothing_elsewhere_without_a_reason() -> None:
    assert ROWS.keys() == ELSEWHERE.keys()
