"""From a proposal with a trigger to an act that is held; the programs are the real ones, each in a process."""

import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any
from unittest import mock

import pytest

from accounts.actor import Actor
from accounts.connecting.act_program import FRESH_SECONDS, OLD_SECONDS, TriggerSet
from accounts.connecting.hook_files import HookConfig, HookFolder
from accounts.connecting.hooks import ACT_FILE
from accounts.models import User
from bigmind.triggers import ERROR, AgentAct, act_of, compile_trigger
from bigmind.triggers.shell import read_commands
from curation.decisions.company_trigger_levels import set_trigger_level
from curation.decisions.deciding import approve_global
from curation.proposals.proposals import promote_to_global
from knowledge.capture.forgetting import forget_old_captures
from knowledge.capture.policies import set_policy
from knowledge.capture.triggers import renew_triggers
from knowledge.memory.facts import store_fact
from knowledge.memory.trigger_levels import set_fact_triggers
from knowledge.memory.who_sees_firings import FiringCount, count_firings
from knowledge.models import CapturePolicy, CompanyEntry, Fact, Firing, Kind
from tests.capture.hooking import HookedClient
from tests.curation.factories import approved_entry
from tests.factories import make_actor, make_key, make_user

pytestmark = pytest.mark.django_db

TRIGGER = "command: git push --force unless --dry-run"


class Machine:
    """A person's machine with the program for acts, told by a BigMind that answers in this process."""

    def __init__(self, folder: Path, claude: HookedClient, client: str = "claude-code") -> None:
        self.claude, self.client = claude, client
        self.hooks = HookFolder(folder / "bigmind" / "hooks")
        self.hooks.write(HookConfig(client, "http://127.0.0.1:9", claude.key, places=["user"]))
        self.work = folder / "work"
        self.work.mkdir()
        (self.hooks.folder / "triggers").mkdir()
        self.file = self.hooks.folder / "triggers" / f"{client}.set"

    def exchange(self) -> None:
        """Do what the hook program does at a start: hand over what was noted, and keep the triggers."""
        noted = self.hooks.folder / "acts" / f"{self.client}.jsonl"
        acts = [json.loads(line) for line in noted.read_text().splitlines()] if noted.exists() else []
        noted.unlink(missing_ok=True)
        known = self.file.read_text().partition("\n")[0] if self.file.exists() else ""
        own = {"settings": True, "triggers": known, "acts": acts}
        told = self.claude.send("Triggers", own=own)["bigmind"]["triggers"]
        if told:
            self.file.write_text(told)

    def act(self, command: str, session: str = "s1", **keys: Any) -> dict[str, Any]:
        """Let the client ask before a command; return its answer."""
        event = {"hook_event_name": "PreToolUse", "tool_name": "Bash", "tool_input": {"command": command}}
        return self.tell({**event, "session_id": session, **keys})

    def tell(self, event: dict[str, Any]) -> dict[str, Any]:
        # Nothing is fetched: it was just now.
        asked = self.hooks.folder / "triggers" / f"{self.client}.asked"
        asked.touch()
        command = [sys.executable, "-I", "-S", str(self.hooks.folder / ACT_FILE), self.client]
        environment = {"HOME": str(self.work), "PATH": os.environ["PATH"]}
        raw = json.dumps({"cwd": str(self.work), **event}).encode()
        done = subprocess.run(command, input=raw, capture_output=True, env=environment, cwd=self.work, timeout=20)
        assert (done.returncode, done.stderr) == (0, b"")
        answer = json.loads(done.stdout)
        assert isinstance(answer, dict)
        return answer


def reason_in(answer: dict[str, Any]) -> tuple[str, str]:
    told = answer.get("hookSpecificOutput", {})
    return str(told.get("permissionDecision", "")), str(told.get("permissionDecisionReason", ""))


def test_a_trigger_goes_from_its_proposal_to_an_act_that_is_held(tmp_path: Path, settings: Any) -> None:
    settings.BIGMIND_MODE = "team"
    ada, grace = make_actor(make_user("ada")), make_actor(make_user("grace", role="curator"))
    machine = Machine(tmp_path, HookedClient(ada.user))
    machine.exchange()
    assert machine.act("git push --force origin main") == {}  # nothing is known of it yet
    assert machine.act("git status") == {}
    machine.exchange()

    entry = promote_to_global(
        ada,
        category="standard",
        title="Never force-push main",
        content="Rewriting main lost a day of work in May. Push a revert instead.",
        triggers=[TRIGGER],
    ).entry
    approve_global(grace, entry_id=entry.pk, action="approve", revision=entry.revision)
    machine.exchange()
    assert machine.act("git push -f") == {}  # in the shadow it is counted only

    def decide(level: Any) -> None:
        machine.exchange()
        entry.refresh_from_db()
        set_trigger_level(grace, entry_id=entry.pk, level=level, revision=entry.revision)
        machine.exchange()

    decide("advise")
    decided, reason = reason_in(machine.act("cd app && sudo git push --force"))
    assert decided == "deny"
    assert "Push a revert instead." in reason
    assert "do it again: it will go through" in reason
    assert f"[C{entry.pk}]" in reason
    assert "approved by" in reason
    assert machine.act("git push --force") == {}  # told, and done nevertheless
    assert machine.act("git push --force --dry-run", "s2") == {}
    assert reason_in(machine.act("git push --force", "s2"))[0] == "deny"

    decide("ask")
    assert reason_in(machine.act("git push --force", "s3"))[0] == "ask"
    allowed = f"Yes, bigmind allow C{entry.pk}."
    machine.tell({"hook_event_name": "UserPromptSubmit", "prompt": allowed, "session_id": "s3"})
    assert machine.act("git push --force", "s3") == {}

    decide("block")
    decided, reason = reason_in(machine.act("git push --force", "s3"))
    assert decided == "deny"
    assert "doing it again will not help" in reason
    assert f"/company/{entry.pk}/" in reason
    decide("off")
    machine.exchange()
    assert machine.act("git push --force", "s4") == {}

    counted = {(one.level, one.count) for one in count_firings(ada, Kind.COMPANY, entry.pk)}
    assert counted == {("shadow", 1), ("advise", 3), ("ask", 2), ("block", 1)}
    entry.refresh_from_db()
    steps = [review.notes for review in entry.reviews.filter(action="set_level").order_by("number")]
    assert count_firings(grace, Kind.COMPANY, entry.pk) == []  # what one person did is nobody else's
    assert steps[0].startswith("For everyone: advise. Nothing is counted of it yet.")
    assert steps[-1].startswith("For everyone: off.")


def test_a_set_that_somebody_changed_or_that_is_of_another_key_is_not_used(tmp_path: Path) -> None:
    ada = make_actor(make_user("ada"))
    fact = store_fact(ada, category="constraint", fact="Migrations are never edited.").fact
    set_fact_triggers(ada, fact_id=fact.number, triggers=["path: db/migrations/*"])
    machine = Machine(tmp_path, HookedClient(ada.user))
    machine.exchange()
    edit = {"hook_event_name": "PreToolUse", "tool_name": "Edit", "tool_input": {"file_path": "db/migrations/1.py"}}

    assert "Migrations are never edited." in reason_in(machine.tell({**edit, "session_id": "s1"}))[1]

    signed = machine.file.read_text()
    machine.file.write_text(signed.replace("never edited", "to be deleted, all of them"))
    assert machine.tell({**edit, "session_id": "s2"}) == {}
    machine.file.write_text(signed)
    long_ago = time.time() - 8 * 24 * 3600
    os.utime(machine.file, (long_ago, long_ago))
    assert reason_in(machine.tell({**edit, "session_id": "s3"}))[0] == "deny"  # it advises still, and blocks nothing
    machine.hooks.write(HookConfig("claude-code", "http://127.0.0.1:9", "bm_other", places=["user"]))
    assert machine.tell({**edit, "session_id": "s4"}) == {}


def test_a_set_that_was_fetched_while_the_clock_ran_ahead_is_fetched_again(tmp_path: Path) -> None:
    machine = Machine(tmp_path, HookedClient(make_user("ada")))
    machine.exchange()
    config = {"folder": str(machine.hooks.folder), "client": machine.client, "key": machine.claude.key}
    ages = []

    for ahead in (0, 30, 365 * 24 * 3600):
        os.utime(machine.file, (time.time() + ahead,) * 2)
        ages.append(TriggerSet(config).age)

    assert [age < FRESH_SECONDS for age in ages] == [True, True, False]
    assert max(ages) < OLD_SECONDS  # what the clock did takes no level from them


def test_a_trigger_that_cannot_be_read_any_more_takes_no_other_from_anybody() -> None:
    ada = make_actor(make_user("ada"))
    for text in ("Migrations are never edited.", "Tests are never skipped."):
        fact = store_fact(ada, category="constraint", fact=text).fact
        set_fact_triggers(ada, fact_id=fact.number, triggers=["path: db/migrations/*"])
    Fact.objects.filter(fact__startswith="Tests").update(triggers=["[removed 2026-11-23: leaked]", "path: tests/*"])

    told = renew_triggers(Actor.of(ada.user, key=make_key(ada.user).key), "")

    assert {one[3] for item in json.loads(told.splitlines()[1])["items"] for one in item["t"]} == {
        "path: db/migrations/*",
        "path: tests/*",
    }


def test_a_find_within_a_find_is_one_command_each() -> None:
    commands = read_commands("find . -exec " * 1_000 + "rm -rf a ;")
    both = read_commands("find . -name a -exec rm -r {} \\; -execdir sh -c 'chmod 777 b' +")

    assert len(commands) < 3_000
    assert ["rm", "-rf", "a"] in [one.words for one in commands]
    assert [one.words[0] for one in both] == ["find", "rm", "sh", "chmod"]


def test_an_error_and_a_prompt_are_answered_with_what_is_known_of_them(tmp_path: Path) -> None:
    ada = make_actor(make_user("ada"))
    triggers = ["error: connection refused … 5432", "prompt: deploy* friday"]
    fact = store_fact(ada, category="decision", fact="The database sleeps: make db-up starts it.").fact
    set_fact_triggers(ada, fact_id=fact.number, triggers=triggers)
    machine = Machine(tmp_path, HookedClient(ada.user))
    machine.exchange()
    failed = {"hook_event_name": "PostToolUse", "tool_name": "Bash", "tool_input": {"command": "make test"}}

    after = machine.tell({**failed, "tool_response": {"stderr": "Connection refused: port 5432"}, "session_id": "s1"})
    before = machine.tell({"hook_event_name": "UserPromptSubmit", "prompt": "On Friday we deploy.", "session_id": "s2"})

    for answer in (after, before):
        assert "make db-up" in answer["hookSpecificOutput"]["additionalContext"]


def test_nothing_is_rendered_for_a_hook_that_has_the_newest_set() -> None:
    ada = make_actor(make_user("ada"))
    fact = store_fact(ada, category="constraint", fact="Migrations are never edited.").fact
    set_fact_triggers(ada, fact_id=fact.number, triggers=["path: db/migrations/*"])
    reader = Actor.of(ada.user, key=make_key(ada.user).key)
    first = renew_triggers(reader, "")

    with mock.patch("knowledge.capture.triggers.render_to_string", side_effect=AssertionError):
        assert renew_triggers(reader, first.partition("\n")[0]) == ""
        Fact.objects.filter(pk=fact.pk).update(fact="Migrations are edited by nobody.")
        with pytest.raises(AssertionError):
            renew_triggers(reader, first.partition("\n")[0])

    assert "edited by nobody" in renew_triggers(reader, first.partition("\n")[0])


@pytest.mark.parametrize(
    ("printed", "later", "another"),
    [
        (
            "FileNotFoundError: [Errno 2] No such file or directory: '/tmp/x/1.txt'",
            "FileNotFoundError: [Errno 2] No such file or directory: 'C:\\data\\b.csv'",
            "FileExistsError: [Errno 17] File exists: '/tmp/x/1.txt'",
        ),
        (
            "dial tcp 127.0.0.1:5432: connect: connection refused after 30s (3f2a1bcd-aa)",
            "  dial tcp [fe80::1]:99: connect: connection refused after 1s (9a8b7c6d-ee)",
            "dial tcp 127.0.0.1:5432: i/o timeout",
        ),
        (
            "src/a.ts:12:3 error TS2345: Argument of type 'string' is not assignable",
            "lib/b.ts:7:1 error TS2345: Argument of type 'Date' is not assignable",
            "src/a.ts:12:3 error TS2304: Cannot find name 'x'",
        ),
    ],
)
def test_an_error_as_it_was_printed_fires_on_the_next_one_like_it(printed: str, later: str, another: str) -> None:
    kind, wanted, _ = compile_trigger(f"error like: {printed}")

    fired = [AgentAct(ERROR, text=f"Traceback\n{text}\n").fires(kind, wanted) for text in (printed, later, another)]

    assert fired == [True, True, False]


@pytest.mark.parametrize(
    ("event", "tool", "told", "is_error"),
    [  # as Claude Code 2.1.197, Codex 0.169.0 and Gemini CLI 0.61.0 tell their hooks
        ("PostToolUse", "Bash", {"stdout": "connection refused", "stderr": "", "interrupted": False}, False),
        ("PostToolUse", "Bash", {"stdout": "", "stderr": "connection refused", "interrupted": False}, True),
        ("PostToolUseFailure", "Bash", "Exit code 3\nconnection refused", True),
        ("PostToolUse", "Bash", "connection refused\n", True),  # Codex tells of both in the same way
        (
            "AfterTool",
            "run_shell_command",
            {"llmContent": "Output: connection refused\nProcess Group PGID: 1\n"},
            False,
        ),
        (
            "AfterTool",
            "run_shell_command",
            {"llmContent": "Output: connection refused\nExit Code: 3\nProcess Group PGID: 1\n"},
            True,
        ),
    ],
)
def test_what_only_prints_the_words_of_an_error_is_none(event: str, tool: str, told: Any, is_error: bool) -> None:
    where = "error" if event == "PostToolUseFailure" else "tool_response"

    act = act_of({"hook_event_name": event, "tool_name": tool, "tool_input": {"command": "make"}, where: told})

    assert (act is not None and act.fires(*compile_trigger("error: connection refused")[:2])) == is_error


def test_who_keeps_no_record_is_counted_nowhere(tmp_path: Path, settings: Any) -> None:
    settings.BIGMIND_MODE = "team"
    ada, grace = make_actor(make_user("ada")), make_actor(make_user("grace", role="curator"))
    entry = approved_entry(triggers=[TRIGGER])
    for _ in range(3):
        _do(make_user(), entry)
    before = _answers_about(grace, entry)
    machine = Machine(tmp_path, HookedClient(ada.user))
    machine.exchange()
    machine.act("git push --force")
    machine.exchange()
    assert [one.count for one in count_firings(grace, Kind.COMPANY, entry.pk)] == [4]

    machine.act("git push --force")  # noted before she chose
    set_policy(ada, acts="off")
    CompanyEntry.objects.filter(pk=entry.pk).update(trigger_levels={"": "block"})
    machine.exchange()
    held = reason_in(machine.act("git push --force"))[0]  # and her program knows it from now on

    assert held == "deny"
    assert not (machine.hooks.folder / "acts" / "claude-code.jsonl").exists()
    machine.exchange()
    assert not Firing.objects.filter(user=ada.user).exists()
    assert _answers_about(grace, entry) == before


def test_what_fired_for_who_keeps_no_record_since_long_goes_as_well() -> None:
    ada, bob, entry = make_user("ada"), make_user("bob"), approved_entry()
    for person in (ada, bob):
        _do(person, entry)
    CapturePolicy.objects.create(user=ada, acts="off")

    forget_old_captures()

    assert [one.user for one in Firing.objects.all()] == [bob]


@pytest.mark.parametrize("others", [1, 2])
def test_a_trigger_cannot_ask_what_one_of_few_colleagues_did(others: int, settings: Any) -> None:
    settings.BIGMIND_MODE = "team"
    grace, entry = make_actor(make_user("grace", role="curator")), approved_entry()
    _do(grace.user, entry)
    before = _answers_about(grace, entry)

    for _ in range(others):
        _do(make_user(), entry)

    assert _answers_about(grace, entry) == before
    for _ in range(3 - others):
        _do(make_user(), entry)
    assert [one.count for one in count_firings(grace, Kind.COMPANY, entry.pk)] == [4]


def _do(user: User, entry: CompanyEntry) -> None:
    """Let an agent of someone do something on which a trigger of an entry fires."""
    keys = {"user": user, "told_id": "1", "client": "claude-code"}
    Firing.objects.create(**keys, kind="company", source_id=str(entry.pk), level="shadow", brought=False)


def _answers_about(actor: Actor, entry: CompanyEntry) -> list[FiringCount]:
    return count_firings(actor, Kind.COMPANY, entry.pk)
