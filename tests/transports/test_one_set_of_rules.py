"""What one client reads of the rules in one request: each rule once, and none that contradicts another."""

import re

import pytest

from accounts.connecting.instruction_files import rules_in_file
from bigmind.core.agent_rules import WRITING, Writing
from bigmind.operations import CATALOGUE
from tests.capture.hooking import HookedClient, choose_mode
from tests.factories import make_key, make_user
from tests.serving import Served
from tests.transports.mcp_wire import Wire, text_of

CALLED_TO_START = re.compile(r"(?i)call (?:this first|memory_start_session|memory_get_context first)")
RULE = re.compile(r"\b(START|RECALL|STORE|HOW|CORRECT|END): (.+?)(?=\n| RECALL: |$)")
CONDITION = "unless"
MODES = [*WRITING, "read-only key"]


class Reader:
    """A person's Claude Code with BigMind connected, and everything that its model reads of the rules."""

    def __init__(self, served: Served, *, has_hooks: bool, mode: str) -> None:
        self.user, self.has_hooks = make_user(), has_hooks
        self.writing: Writing = "read_only" if mode == "read-only key" else mode  # type: ignore[assignment]
        scopes = {"read"} if mode == "read-only key" else {"read", "write"}
        self.key = make_key(self.user, scopes=scopes).text
        if mode not in {"automatic", "read-only key"}:
            choose_mode(self.user, mode)
        self.hooks = HookedClient(self.user, key=self.key)
        self.started = self.hooks.start() if has_hooks else ""
        self.wire = Wire(served, self.key, revision="2025-11-25")
        self.instructions = self.wire.initialize("claude-code")["instructions"]

    @property
    def texts(self) -> dict[str, str]:
        """All that stands in one request, by where it comes from."""
        texts = {
            "file": rules_in_file(has_hooks=self.has_hooks),
            "server instructions": self.instructions,
            "guide": text_of(self.wire.call("memory_get_instructions")),
        }
        return texts | ({"hook": self.started} if self.has_hooks else {})


@pytest.fixture(params=[(hooks, mode) for hooks in (False, True) for mode in MODES], ids=str)
def reader(request: pytest.FixtureRequest, served: Served) -> Reader:
    has_hooks, mode = request.param
    return Reader(served, has_hooks=has_hooks, mode=mode)


def test_every_rule_has_one_wording(reader: Reader) -> None:
    rules: dict[str, set[str]] = {}
    for text in reader.texts.values():
        for name, words in RULE.findall(text):
            rules.setdefault(name, set()).add(words)

    # A file outlives what its user chooses, and says only where the choice is said. Memory that only reads opens no
    # session, by which hooks could be known.
    rules["HOW"].discard("the user chooses how memory is written; BigMind says it when a conversation starts.")
    if reader.writing == "read_only":
        del rules["START"]
    assert {name: words for name, words in rules.items() if len(words) > 1} == {}
    assert {"RECALL", "HOW"} <= rules.keys()


def test_how_memory_is_written_is_said_in_one_way(reader: Reader) -> None:
    said = {sentence for sentence in WRITING.values() for text in reader.texts.values() if sentence in text}

    assert said == {WRITING[reader.writing]}
    assert "do not wait" not in rules_in_file()
    assert all(re.search(r"(?i)unasked|always call", text) is None for text in reader.texts.values())


def test_nobody_is_asked_to_start_what_a_hook_has_opened(reader: Reader) -> None:
    orders = [line for text in reader.texts.values() for line in text.splitlines() if CALLED_TO_START.search(line)]

    # Read-only memory opens no session by which hooks could be known, so there the condition stands.
    assert not (orders and reader.has_hooks and reader.writing != "read_only")
    assert all(CONDITION in line for line in orders)
    # Obeying all of them reads the context once: each order ends where a hook or an earlier call has brought it.
    assert bool(orders) or reader.has_hooks


def test_descriptions_of_tools_hold_in_every_state() -> None:
    starts = CATALOGUE["memory_start_session"].description

    assert CALLED_TO_START.search(starts)
    assert CONDITION in starts
    assert "unasked" not in "".join(operation.description for operation in CATALOGUE.values())


def test_the_prompt_that_begins_a_conversation_has_opened_its_session(served: Served) -> None:
    wire = Wire(served, make_key().text)

    text = wire.send("prompts/get", {"name": "bigmind_init"}).json()["result"]["messages"][0]["content"]["text"]

    assert "is open" in text
    assert not CALLED_TO_START.search(text)
    assert WRITING["automatic"] in text
