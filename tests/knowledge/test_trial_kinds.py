"""A kind of memory costs a row in the registry and its own files: two that BigMind does not have prove it.

They are added in a process of their own, before BigMind is imported: what reads the registry while it is imported has
them as well. `trial_kinds/plugin.py` has all that they cost elsewhere.
"""

import os
import subprocess
import sys
from pathlib import Path

from django.conf import settings

CASES = Path(__file__).parent / "trial_kinds" / "cases.py"


def test_whatever_knows_kinds_knows_those_that_have_a_row() -> None:
    # The environment of a test run of its own, with a database of its own.
    ours = ("BIGMIND_", "PYTEST_", "PREPARED_")
    environment = {name: value for name, value in os.environ.items() if not name.startswith(ours)}
    plugin = "tests.knowledge.trial_kinds.plugin"

    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", plugin, "-p", "no:cacheprovider", str(CASES)],
        cwd=settings.BASE_DIR,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.returncode == 0, done.stdout + done.stderr
