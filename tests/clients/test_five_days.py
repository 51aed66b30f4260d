"""Five days of work in a real client, with a crash and an absence: on the fifth, all that was learnt is known."""

import re
import struct
import subprocess
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import psutil
import pytest

from tests.clients.conftest import new_client
from tests.clients.dialects import Step
from tests.clients.installed import ClaudeCode, Codex, GeminiCli, RealClient
from tests.clients.model import ModelStandIn
from tests.embedded.instance import Instance

pytestmark = pytest.mark.clients

DAY = 86_400
SOURCE = Path(__file__).with_name("moved_clock.c")
VECTORS_WITHIN = 6
"""Seconds in which a worker has embedded what a conversation stored."""
OLD, NEW = "Rates are rounded to whole cents.", "Rates are rounded to four digits since the audit."
ELSEWHERE = "Invoices are numbered by branch and year."


@dataclass(frozen=True)
class Learnt:
    """Something that an agent stored, and what somebody asks about it on the fifth day."""

    words: str
    question: str


LEARNT = (
    Learnt("four digits", "How are rates rounded?"),
    Learnt("429 without Retry-After", "What does the carrier API answer when we call too often?"),
    Learnt("missing index on lane_id", "Why is the nightly import slow?"),
    Learnt("shipment_jobs", "What is the queue table called?"),
    Learnt("frozen from 18 December", "When are deploys frozen?"),
    Learnt("freight_test", "Which database do tests use?"),
    Learnt("small pull requests", "How large should a pull request be?"),
    Learnt("Built the rate importer", "What did we do on the first day?"),
)


def _fact(text: str, category: str = "decision", **more: object) -> Step:
    return Step("memory_store_fact", {"category": category, "fact": text, **more})


def _end(headline: str, outcome: str) -> Step:
    return Step("memory_end_session", {"one_liner": headline, "outcome": outcome, "topics": ["freight"]})


FIRST_DAY = (
    _fact(OLD),
    Step(
        "memory_flag_important",
        {"content": "The carrier API answers 429 without Retry-After, so we wait 20 seconds.", "flag_reason": "Found."},
    ),
    _fact("The nightly import is slow because of the missing index on lane_id.", "codebase"),
    _end("Built the rate importer", "It reads what carriers send. Next: the currencies."),
)


@dataclass
class Week:
    """One BigMind whose clock is moved, and the clients of one person in it."""

    kind: type[RealClient]
    folder: Path
    instance: Instance
    models: ExitStack
    variables: dict[str, str]

    def client(self, project: str, window: str = "") -> RealClient:
        """Return a client with hooks, at work on a project."""
        client = new_client(self.kind, self.models.enter_context(ModelStandIn()), self.folder / f"{project}{window}")
        client.folder = client.folder.rename(client.folder.with_name(project))
        client.connect_with_hooks(self.instance.url, self.instance.key)
        client.variables = self.variables
        return client

    def sleep(self) -> None:
        """Let the night pass."""
        time.sleep(VECTORS_WITHIN)
        offset = Path(self.variables["MOVED_CLOCK"])
        (ahead,) = struct.unpack("q", offset.read_bytes())
        with offset.open("r+b") as file:
            file.write(struct.pack("q", ahead + DAY))


@pytest.fixture(params=[ClaudeCode, Codex, GeminiCli], ids=lambda kind: kind.name)
def week(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Week]:
    """A BigMind of one person, as `bigmind up` starts it."""
    library, offset = tmp_path / "moved_clock.so", tmp_path / "offset"
    subprocess.run(["cc", "-shared", "-fPIC", "-O2", "-o", str(library), str(SOURCE)], check=True)
    offset.write_bytes(struct.pack("q", 0))
    variables = {"LD_PRELOAD": str(library), "MOVED_CLOCK": str(offset)}
    with ExitStack() as models:
        instance = Instance.prepare(tmp_path / "bigmind", **variables).start()
        try:
            yield Week(request.param, tmp_path, instance, models, variables)
        finally:
            instance.hurry()


def test_what_four_days_taught_is_known_on_the_fifth(week: Week) -> None:
    freight, beside, billing = week.client("freight-api"), week.client("freight-api", "-2"), week.client("billing")
    prompts = []

    def ask(client: RealClient, prompt: str, *steps: Step) -> str:
        """Let a client answer a prompt, and return what its model had read before it did anything."""
        prompts.append(prompt)
        client.model.play(*steps)
        client.ask(prompt)
        return client.model.first.read.replace(prompt, "", 1)

    # The first day: two projects.
    ask(freight, "Build the importer of freight rates, please.", *FIRST_DAY)
    ask(billing, "Number the invoices somehow.", _fact(ELSEWHERE), _end("Numbered the invoices", "Done."))
    week.sleep()

    # The second day: two windows at once, of which one is killed.
    with ThreadPoolExecutor() as pool:
        pool.submit(
            ask,
            freight,
            "Rename that table.",
            _fact("The queue table is called shipment_jobs.", "codebase"),
            _end("Renamed the queue table", "Nothing is left to do."),
        )
        with _killed(beside):
            ask(
                beside,
                "Look at the calendar of the release.",
                _fact("Deploys are frozen from 18 December.", "constraint"),
                beside.runs("sleep 90"),
            )
    week.sleep()

    # The third day: nothing answers for a while, and a decision changes.
    week.instance.stop()
    ask(freight, "Which tests are there?")
    week.instance.start()
    number = re.search(r"\bF(\d+)\b[^\n]*whole cents", ask(freight, "Read the audit."))
    assert number, "the decision of the first day is not in the start"
    ask(
        freight,
        "Note what the audit says.",
        _fact(NEW, supersedes=[int(number[1])]),
        _fact("Tests use the database freight_test.", "codebase"),
    )
    week.sleep()

    # The fourth day: questions, and a preference.
    for learnt in LEARNT[:3]:
        ask(freight, learnt.question)
    ask(freight, "I like them small.", _fact("Prefers small pull requests.", "preference"))
    week.sleep()

    earlier, missed = list(prompts), []
    for learnt in LEARNT:
        read = ask(freight, learnt.question)

        if learnt.words not in read:
            missed.append(learnt.words)
        assert [line for line in read.splitlines() if ELSEWHERE in line and "billing" not in line] == []
        assert [prompt for prompt in earlier if prompt in read] == []
        assert OLD not in read or read.index(NEW) < read.index(OLD)
    assert missed == []


@contextmanager
def _killed(client: RealClient) -> Iterator[None]:
    """Kill a client, and what it started, while it waits for a command."""

    def kill() -> None:
        until = time.monotonic() + 60
        while time.monotonic() < until and not any(
            "sleep 90" in " ".join(_words(one)) for one in psutil.process_iter()
        ):
            time.sleep(0.2)
        for process in psutil.process_iter():
            if str(client.home.folder) in _environment(process).get("HOME", ""):
                with suppress(psutil.Error):
                    process.kill()

    with ThreadPoolExecutor() as pool:
        pool.submit(kill)
        yield


def _words(process: psutil.Process) -> list[str]:
    with suppress(psutil.Error):
        return process.cmdline()
    return []


def _environment(process: psutil.Process) -> dict[str, str]:
    with suppress(psutil.Error):
        return process.environ()
    return {}
