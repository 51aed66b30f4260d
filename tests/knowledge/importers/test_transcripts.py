"""Past conversations with coding agents: what of them becomes memory, and what never does."""

import json
from datetime import UTC, datetime

import pytest
from django.core.management import CommandError, call_command

from curation.decisions.forgetting import forget_source
from curation.services.foreign_imports import import_bundle
from knowledge.lessons.lookup import lesson_for
from knowledge.models import Chunk, Session
from knowledge.parsers.archives import bundle_of
from tests.factories import make_actor

from . import transcripts

pytestmark = pytest.mark.django_db

CLIENTS = {
    "claude-code": transcripts.claude_code,
    "codex": transcripts.codex,
    "gemini-cli": transcripts.gemini_cli,
}


@pytest.fixture(params=CLIENTS)
def client(request):
    return request.param


def _bring_in(actor, client, folder, *, name="auto", dry_run=False):
    return import_bundle(actor, bundle_of(CLIENTS[client](folder)), name=name, dry_run=dry_run)


def test_a_conversation_becomes_a_session_with_its_dates_project_and_exchanges(tmp_path, client, actor):
    report = _bring_in(actor, client, tmp_path)

    session = Session.objects.get(user=actor.user)
    said = list(Chunk.objects.filter(flag_reason__startswith="One of").order_by("seq").values_list("role", "content"))
    assert (report.format, report.refused) == (client, [])
    assert session.project == "freight-api"
    assert session.started_at == datetime(2026, 5, 4, 10, 1, tzinfo=UTC)
    assert session.ended_at == datetime(2026, 5, 4, 10, 11, tzinfo=UTC)
    assert session.one_liner in {"Mend the rate tests", ""}
    assert [ref.rpartition("/")[2] for ref in session.narrative.code_refs] == ["pyproject.toml"]
    assert said == [
        ("user", transcripts.FIRST),
        ("assistant", transcripts.FIXED),
        ("user", transcripts.SECOND),
        ("assistant", "Understood."),
    ]


def test_of_what_tools_printed_only_an_error_and_its_fix_is_kept(tmp_path, client, actor):
    _bring_in(actor, client, tmp_path)

    fix = Chunk.objects.get(flag_reason__startswith="An error")
    kept = "\n".join(Chunk.objects.values_list("content", flat=True))
    assert "No module named 'freight_rates'" in fix.content
    assert "pyproject.toml" in fix.content.partition("## Fix")[2]
    assert transcripts.FIXED in fix.content
    assert "SECRET OUTPUT" not in kept
    assert "hidden" not in kept
    assert "4 passed" not in kept


def test_what_was_marked_private_does_not_come_in(tmp_path, client):
    _bring_in(make_actor(), client, tmp_path)

    assert not Chunk.objects.filter(content__contains="sister").exists()


def test_the_error_is_known_when_its_owner_meets_it_again_and_to_nobody_else(tmp_path, client, actor):
    _bring_in(actor, client, tmp_path)

    known = lesson_for(actor, error="ModuleNotFoundError: No module named 'freight_rates'")
    others = lesson_for(make_actor(), error="ModuleNotFoundError: No module named 'freight_rates'")

    assert [transcripts.FIXED in one.fix for one in known.own] == [True]
    assert others.own == []


def test_twice_is_once_a_rehearsal_stores_nothing_and_one_step_takes_it_back(tmp_path, client, actor):
    rehearsed = _bring_in(actor, client, tmp_path, dry_run=True)
    stored_by_rehearsal = Session.objects.count()
    first = _bring_in(actor, client, tmp_path, name=client)
    second = _bring_in(actor, client, tmp_path)
    forget_source(actor, agent=first.agent, dry_run=False)

    assert (rehearsed.added, stored_by_rehearsal) == (first.added, 0)
    assert first.added["sessions"] == 1
    assert not any(second.added.values())
    assert Session.objects.count() == Chunk.objects.count() == 0


def test_a_conversation_that_went_on_gains_what_is_new(tmp_path, actor):
    _bring_in(actor, "codex", tmp_path)
    (record,) = tmp_path.rglob("*thread-1.jsonl")
    more = {"type": "item_completed", "item": {"type": "UserMessage", "content": [{"type": "text", "text": "Thanks."}]}}
    line = {"timestamp": "2026-05-04T11:00:00Z", "type": "event_msg", "payload": more}
    transcripts.write_lines(tmp_path / "more.jsonl", [line])
    record.write_text(record.read_text() + (tmp_path / "more.jsonl").read_text() + "{broken\n")
    (tmp_path / "more.jsonl").unlink()

    report = import_bundle(actor, bundle_of(tmp_path), name="codex")

    assert (report.added["sessions"], report.added["chunks"]) == (0, 1)
    assert len(report.refused) == 1
    assert Chunk.objects.order_by("seq").last().content == "Thanks."


@pytest.mark.parametrize("wrong", [[], {}, None, 7, "9" * 5_000, "²", [[]]])
def test_a_record_that_holds_anything_is_read_as_far_as_it_makes_sense(tmp_path, client, wrong):
    CLIENTS[client](tmp_path)
    for record in tmp_path.rglob("*.jsonl"):
        first, *lines = map(json.loads, record.read_text().splitlines())
        spoilt = [_spoil(line, key, wrong) for line in lines for key in _keys(line)]
        output = {"type": "function_call_output", "call_id": "c1", "output": f"Exit code: {wrong}"}
        spoilt += [{"timestamp": "2026-05-04T10:04:30Z", "type": "response_item", "payload": output}, {"type": wrong}]
        # Of two lines with one id the last counts in Gemini CLI, and the first in Claude Code.
        ordered = [*spoilt, *lines] if client == "gemini-cli" else [*lines, *spoilt]
        transcripts.write_lines(record, [first, *ordered])
        transcripts.write_lines(record.with_name("session-other.jsonl"), [{"type": wrong, "projectHash": wrong}])

    report = import_bundle(make_actor(), bundle_of(tmp_path), name=client)

    assert report.added["sessions"] >= 1


def _keys(line):
    """Every key of a line, and of what it holds."""
    for key, value in line.items():
        yield (key,)
        if isinstance(value, dict):
            yield from ((key, *inner) for inner in _keys(value))


def _spoil(line, path, wrong):
    key, *rest = path
    return {**line, key: _spoil(line[key], rest, wrong) if rest else wrong}


def test_records_are_found_where_their_program_keeps_them(tmp_path, client, monkeypatch, capsys, settings, actor):
    homes = {"claude-code": ".claude/projects", "codex": ".codex/sessions", "gemini-cli": ".gemini/tmp"}
    CLIENTS[client](tmp_path / homes[client])
    monkeypatch.setenv("HOME", str(tmp_path))
    for variable in ("CLAUDE_CONFIG_DIR", "CODEX_HOME", "GEMINI_CLI_HOME"):
        monkeypatch.delenv(variable, raising=False)

    call_command("memory_import_from", client, user=actor.user.username)

    assert Session.objects.of(actor.user).count() == 1
    with pytest.raises(CommandError, match="Give a path"):
        call_command("memory_import_from", "mem0", user=actor.user.username)
