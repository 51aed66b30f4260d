"""How hard the torture is. `TORTURE_SCALE=0.1` makes a quick run of it; without it the run is full."""

import os

SCALE = float(os.environ.get("TORTURE_SCALE", "1"))


def scaled(full: int, *, at_least: int = 2) -> int:
    """Return what a full number comes to in this run."""
    return max(at_least, round(full * SCALE))


# T2: many of them walk along every limit of the document, whatever the scale.
CASES = 5_000
CASES_OF_EACH = scaled(50)
# T3: each one of the calls, or one in so many.
EACH_HOSTILE_CALL = max(1, round(1 / SCALE))
# T29
FLOODED_SECONDS = scaled(60, at_least=15)
# T8
CONTENDERS = scaled(200)
# How soon a killed part has to be back, whatever the scale.
READY_WITHIN = 15.0
# How soon all is embedded, after the last restart of the worker.
EMBEDDED_WITHIN = 60.0
# A machine with other work to do may be slow, but a write that takes this long is a lost one.
PATIENCE = 120.0
# T18
AGENTS = 4
STORED_BEFORE = scaled(300, at_least=30)
KILLED_MIGRATIONS = scaled(10, at_least=3)
BESIDE_SECONDS = scaled(30, at_least=5)
