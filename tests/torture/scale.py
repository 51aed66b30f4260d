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
# T10
ROTATIONS = scaled(100)
KEYS = scaled(10_000)
REFUSED_WITHIN = 1.0
# T4
IMPORTED = scaled(10_000)
SEEDED = scaled(2000)
WORKER_KILLS = scaled(50)
IMPORTER_KILLS = scaled(5)
# T5
WRITERS = scaled(50)
KILLS_OF_EACH = scaled(20)
# T29
FLOODED_SECONDS = scaled(60, at_least=15)
# T30
WEB_KILLS = scaled(20, at_least=4)
# T6
AWAY_SECONDS = scaled(300)
AGENTS = 4
# T7
WRITES_IN_TROUBLE = scaled(60, at_least=20)
# T9
LOGICAL_WRITES = scaled(1000)
TRIES = 5
TRIED_FROM = scaled(20)
# T8
CONTENDERS = scaled(200)
# A list read to its end
WALKED = scaled(10_000, at_least=500)
# T36
REFERENCES = scaled(20_000, at_least=1000)
# T33
ROWS = scaled(5_000, at_least=20)
# T17
ROUND_TRIPPED = scaled(10_000, at_least=200)

# How soon a killed part has to be back, whatever the scale.
READY_WITHIN = 15.0
# How soon all is embedded, after the last restart of the worker and after Redis is back.
EMBEDDED_WITHIN = 60.0
DRAINED_WITHIN = 120.0
# How much longer than usual a write may take while the embedder is in trouble.
SLOWER_AT_MOST = 1.2
# A machine with other work to do may be slow, but a write that takes this long is a lost one.
PATIENCE = 120.0
# T18
STORED_BEFORE = scaled(300, at_least=30)
KILLED_MIGRATIONS = scaled(10, at_least=3)
BESIDE_SECONDS = scaled(30, at_least=5)
