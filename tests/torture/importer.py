"""An importer in a process of its own, to be killed: `python -m tests.torture.importer <address> <key> <entries>`.

It knows nothing of an earlier start. What was imported then is sent again with the same keys, and so has no effect.
"""

import sys
import time

import httpx

from tests.torture.writes import REPLAYED

BATCH = 100
# The import is to last as long as the kills do.
PAUSE_SECONDS = 3.0
TRY_AGAIN_SECONDS = 0.2
TIMEOUT_SECONDS = 10.0


def lesson(number: int) -> str:
    """Return the content of one entry: no other has it."""
    return (
        f"Lesson {number}: when the release of service {number % 97} fails at step {number % 11}, switch the router "
        f"back first and read the log of the worker afterwards. Seen in sprint {number % 53}, confirmed twice."
    )


def import_all(client: httpx.Client, entries: int) -> None:
    """Send the entries in batches, each until it is acknowledged."""
    for first in range(0, entries, BATCH):
        numbers = range(first, min(first + BATCH, entries))
        if not _acknowledged(client, numbers):
            time.sleep(PAUSE_SECONDS)


def _acknowledged(client: httpx.Client, numbers: range) -> bool:
    """Send one batch until it is acknowledged; return whether it had been before."""
    batch = {"entries": [{"content": lesson(number), "tags": ["torture"]} for number in numbers]}
    while True:
        try:
            answer = client.post("kb/import/", json=batch, headers={"Idempotency-Key": f"lessons from {numbers[0]}"})
        except httpx.TransportError:
            time.sleep(TRY_AGAIN_SECONDS)
            continue
        if answer.status_code != 503:
            break
        time.sleep(TRY_AGAIN_SECONDS)
    report = answer.raise_for_status().json()
    # With a key an acknowledged batch is replayed, so what is new is always all of it.
    if (report["imported"], report["errors"]) != (len(numbers), []):
        raise SystemExit(f"The batch of lesson {numbers[0]} was answered with {report}.")
    return REPLAYED in answer.headers


if __name__ == "__main__":
    address, key, entries = sys.argv[1:]
    with httpx.Client(
        base_url=f"{address}/api/v1/", headers={"Authorization": f"Bearer {key}"}, timeout=TIMEOUT_SECONDS
    ) as client:
        import_all(client, int(entries))
