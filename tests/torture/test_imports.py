"""T4: whatever is killed during an import, every entry is there once, and soon has its vector."""

import json
import random
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import Self

import psutil
import pytest

from tests.embedded.instance import ROOT, Instance, command, environment
from tests.knowledge.embeddings.endpoint import Answer, Endpoint
from tests.torture.conftest import Start
from tests.torture.importer import lesson
from tests.torture.scale import (
    EMBEDDED_WITHIN,
    IMPORTED,
    IMPORTER_KILLS,
    PATIENCE,
    SEEDED,
    WORKER_KILLS,
)
from tests.torture.vectors import (
    right_vectors,
    seconds_until_embedded,
    settings_for,
    texts_with_a_wrong_vector,
    vectors_of_each_text,
    waiting,
)
from tests.torture.writes import findable_texts, query

pytestmark = [pytest.mark.torture, pytest.mark.alone]

# So long does the endpoint take for a batch: time enough to be killed while waiting for it.
BATCH_SECONDS = 0.25


def test_kill_9_of_worker_and_importer_loses_and_doubles_nothing(running: Start, report: Callable[[str], None]) -> None:
    expected = Counter(map(lesson, range(IMPORTED)))
    kills = random.Random(4)

    with Endpoint(Answer(right_vectors, delay=BATCH_SECONDS)) as endpoint, running(**settings_for(endpoint)) as bigmind:
        with Importer(bigmind) as importer:
            for kill in range(1, WORKER_KILLS):
                _kill_at_work(bigmind, endpoint, kills)
                if kill * IMPORTER_KILLS // WORKER_KILLS > importer.killed:
                    importer.kill_and_start_again()
            importer.kill_and_start_again()
            importer.finish()
        _kill_at_work(bigmind, endpoint, kills)
        left = waiting(bigmind)
        took = seconds_until_embedded(bigmind, within=EMBEDDED_WITHIN)

        sent = sum(len(asked["input"]) for asked in endpoint.requests)
        report(f"{IMPORTED} entries; worker killed {WORKER_KILLS} times, importer {importer.killed} times")
        report(f"at the last start {left} had no vector; after {took:.1f} s all had; {sent} texts were sent for them")
        assert _entries(bigmind.home) == expected
        assert findable_texts(bigmind.home) == vectors_of_each_text(bigmind.home) == expected
        assert texts_with_a_wrong_vector(bigmind.home) == []


def test_kill_9_of_the_seed_command_loses_and_doubles_nothing(
    running: Start, report: Callable[[str], None], tmp_path: Path
) -> None:
    file, expected = tmp_path / "lessons.yaml", Counter(map(lesson, range(SEEDED)))
    # JSON is YAML.
    file.write_text(json.dumps({"entries": [{"content": lesson(number)} for number in range(SEEDED)]}))

    with running(BIGMIND_EMBEDDING_PROVIDER="hashing") as bigmind:
        for kill in range(1, IMPORTER_KILLS + 1):
            _kill_the_seed_command(bigmind, file, SEEDED * kill // (IMPORTER_KILLS + 1))
        left = SEEDED - _entries(bigmind.home).total()
        seeded = command(bigmind.home, "kb_seed", str(file), "--json")
        took = seconds_until_embedded(bigmind, within=EMBEDDED_WITHIN)

        report(f"{SEEDED} entries; kb_seed killed {IMPORTER_KILLS} times, after which {left} were left to add")
        report(f"{took:.1f} s after its end all had their vector")
        (source,) = json.loads(seeded.stdout)["sources"]
        assert (len(source["added"]), source["unchanged"]) == (left, SEEDED - left)
        assert _entries(bigmind.home) == expected
        assert findable_texts(bigmind.home) == vectors_of_each_text(bigmind.home) == expected
        assert texts_with_a_wrong_vector(bigmind.home) == []


class Importer:
    """The process that imports, for the length of a `with`."""

    def __init__(self, instance: Instance) -> None:
        self.killed = 0
        self._command = [sys.executable, "-m", "tests.torture.importer", instance.url, instance.key, str(IMPORTED)]

    def __enter__(self) -> Self:
        self._process = subprocess.Popen(self._command, cwd=ROOT)
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._process.kill()
        self._process.wait()

    def kill_and_start_again(self) -> None:
        """Kill it, and start one that knows nothing of it."""
        self._process.kill()
        self._process.wait()
        self.killed += 1
        self._process = subprocess.Popen(self._command, cwd=ROOT)

    def finish(self) -> None:
        """Return when it has imported everything."""
        assert self._process.wait(PATIENCE + IMPORTED / 10) == 0


def _kill_at_work(instance: Instance, endpoint: Endpoint, kills: random.Random) -> None:
    """Kill the worker while the endpoint works for it, and return when another is in its place."""
    asked, give_up = len(endpoint.requests), time.monotonic() + PATIENCE
    while len(endpoint.requests) == asked and waiting(instance):
        assert time.monotonic() < give_up, "The worker does nothing any more."
        time.sleep(0.05)
    time.sleep(kills.uniform(0, 2 * BATCH_SECONDS))
    victim = _worker(instance)
    victim.kill()
    while (worker := _worker(instance)) is None or worker == victim:
        assert time.monotonic() < give_up, "The worker was not started again."
        time.sleep(0.05)


def _worker(instance: Instance) -> psutil.Process | None:
    """Return the worker that runs now; none when something ended while we looked."""
    try:
        return instance.processes().get("worker")
    except psutil.Error:
        return None


def _kill_the_seed_command(instance: Instance, file: Path, when: int) -> None:
    """Start the command, and kill it when at least so many entries are stored."""
    seeding = subprocess.Popen(
        [sys.executable, "manage.py", "kb_seed", str(file)], cwd=ROOT, env=environment(instance.home)
    )
    give_up = time.monotonic() + PATIENCE
    while _entries(instance.home).total() < when:
        assert time.monotonic() < give_up, "The command adds nothing."
        time.sleep(0.05)
    seeding.kill()
    seeding.wait()


def _entries(home: Path) -> Counter[str]:
    return Counter(content for (content,) in query(home, "SELECT content FROM knowledge_entry"))
