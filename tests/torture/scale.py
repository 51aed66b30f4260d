"""How hard the torture is. `TORTURE_SCALE=0.1` makes a quick run of it; without it the run is full."""

import os

SCALE = float(os.environ.get("TORTURE_SCALE", "1"))


def scaled(full: int, *, at_least: int = 2) -> int:
    """Return what a full number comes to in this run."""
    return max(at_least, round(full * SCALE))


# T5
WRITERS = scaled(50)
KILLS_OF_EACH = scaled(20)
# T9
LOGICAL_WRITES = scaled(1000)
TRIES = 5
TRIED_FROM = scaled(20)
# T8
CONTENDERS = scaled(200)

# How soon a killed part has to be back, whatever the scale.
READY_WITHIN = 15.0
# A machine with other work to do may be slow, but a write that takes this long is a lost one.
PATIENCE = 120.0
