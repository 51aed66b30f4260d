"""Every call of the five designs that BigMind unifies is taken as they write it."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from django.core.management import call_command
from mcp import types

from accounts.models import User
from bigmind.operations import CATALOGUE
from bigmind.transports.mcp.request_context import RequestContext
from bigmind.transports.mcp.tools import call_tool
from knowledge.models import Chunk, CompanyEntry, Entry, Fact, Hypothesis, Note, Session
from tests.factories import make_agent, make_user
from tests.knowledge.factories import make_reference

pytestmark = pytest.mark.django_db

Say = Callable[..., str]

SUMMARY: dict[str, Any] = {"content": "Clean implementation.", "entry_type": "summary", "source_story": "WRKF-1021"}
SUMMARY |= {"roles": ["pm", "dev", "qa"], "tags": ["wrkf", "orchestrator"], "confidence": 1.0}
RULE = {"category": "standard", "title": "Python 3.12", "content": "Python 3.12 is required on every server."}


@pytest.fixture
def user() -> User:
    return make_user(username="pplate", display_name="Patrick Plate", role="admin")


@pytest.fixture
def say(user: User) -> Say:
    return _caller(user)


def _caller(user: User) -> Say:
    context = RequestContext(make_agent(user, "claude-code"), frozenset({"all"}), "designs")

    def say(name: str, /, *, is_error: bool = False, **arguments: Any) -> str:
        result = call_tool(context, types.CallToolRequestParams(name=name, arguments=arguments))
        text = "\n".join(part.text for part in result.content)  # type: ignore[union-attr]
        assert bool(result.is_error) is is_error, text
        return text

    return say


def test_the_calls_of_the_memory_are_taken(say: Say, user: User) -> None:
    say("memory_start_session", user_id="pplate")
    say("memory_get_context")
    say("memory_store_fact", category="preference", fact="Prefers Python and the FastMCP pattern.")
    say("memory_flag_important", content="We chose PostgreSQL.", flag_reason="A decision.")
    say("memory_append_chunk", role="user", content="Remember the pattern.", flag_reason="They asked.")
    say("memory_search_chunks", query="PostgreSQL")
    say("memory_update_profile", role="Engineer", preferences="Concise responses.", pinned_facts="- Uses uv\n- macOS")
    say("memory_add_hypothesis", hypothesis="I believe the cache is stale because of the clock.", confidence=0.7)
    number = Hypothesis.objects.get(user=user).number
    say("memory_list_hypotheses", status="open")
    say("memory_resolve_hypothesis", hypothesis_id=number, status="confirmed", resolution="It was the clock.")
    say("memory_list_sessions", topic="bigmind")
    say("memory_deprecate_fact", fact_id=Fact.objects.get(user=user).number, reason="It changed.")
    say(
        "memory_end_session",
        one_liner="BigMind born",
        topics="bigmind,founding,identity",
        outcome="It works.",
        summary="We built it.",
        key_facts="- It has a name\n- It remembers",
        code_refs="src/server.py",
        importance=8,
    )
    session = Session.objects.get(user=user)
    say("memory_get_session_detail", session_id=str(session.pk))

    assert session.topics == ["bigmind", "founding", "identity"]
    assert session.summary.key_facts == ["It has a name", "It remembers"]
    assert user.profile.pinned_facts == ["Uses uv", "macOS"]


def test_the_calls_about_the_company_are_taken_without_a_revision(say: Say) -> None:
    say("memory_promote_to_global", **RULE, importance=7)
    entry = CompanyEntry.objects.get()
    say("memory_list_global", category="standard", limit=20)
    say("memory_search_global", query="which Python is required", limit=5)
    say("memory_approve_global", entry_id=entry.pk, action="deprecate", notes="Too old.")
    say("memory_approve_global", entry_id=entry.pk, action="restore", notes="Not so old.")

    entry.refresh_from_db()
    assert entry.status == "approved"


def test_the_upkeep_calls_are_taken(say: Say, user: User) -> None:
    say("memory_get_stats")
    say("memory_health_check", stale_days=30)
    say("memory_get_instructions")
    say("memory_get_profile_url")
    say("memory_open_profile")
    say("memory_export", output_path=None)

    assert "90" not in say("memory_vacuum", days=30)
    assert Chunk.objects.filter(user=user).count() == 0


def test_the_calls_of_the_knowledge_base_are_taken(say: Say) -> None:
    say("kb_add", **SUMMARY)
    parent = str(Entry.objects.get().pk)
    fact = {"content": "Check for naming conflicts.", "entry_type": "fact", "roles": ["dev"], "tags": ["naming"]}
    say("kb_add", **fact, source_file="LESSONS-LEARNED.md", parent_id=parent, confidence=0.8, metadata={"phase": 3})
    child = str(Entry.objects.get(entry_type="fact").pk)
    say("kb_search", query="naming", role="dev", tags=["naming"], entry_type="fact", limit=10, min_confidence=0.7)
    say("kb_search", query="package scaffolding template", role="all")
    say("kb_get", id=child)
    say("kb_get_related", entry_id=child, limit=5)
    say(
        "kb_list",
        role="dev",
        tags=["naming"],
        entry_type="fact",
        limit=20,
        offset=0,
        order_by="created_at",
        order="asc",
    )
    say("kb_update", id=child, confidence=1.0, metadata={"validated_at": "2026-01-24", "gate_result": "PASS"})
    say("kb_bulk_import", entries=[{**fact, "content": "Another one."}], skip_existing=True)
    say("kb_rebuild_embeddings", batch_size=100, clear_cache=True)
    say("kb_stats")
    say("kb_delete", id=child)

    assert Entry.objects.count() == 2


def test_the_calls_of_the_documentation_are_taken(say: Say) -> None:
    make_reference("helios gw users list", category="google-workspace")
    make_reference("GET /api/v1/users", kind="api")
    say("search_knowledge", query="list users command", type="all", category="google-workspace", limit=5)
    say("search_knowledge", query="create group API", type="api")
    say("get_command", command="helios gw users list")
    say("list_commands", category="all")
    say("list_commands")
    say("get_api_endpoint", method="GET", path="/api/v1/users")
    say("get_api_endpoint", path="/api/v1/users")


def test_the_calls_of_the_notes_are_taken(say: Say, user: User) -> None:
    say("knowledge_set", domain="email", key="dymon-packages", content="Ask about the Mini 20.")
    say("knowledge_get", domain="email", key="dymon-packages")
    say("knowledge_get", domain="email")
    say("knowledge_get")
    say("knowledge_rename", domain="email", old_key="dymon-packages", new_key="packages")
    say("knowledge_delete", domain="email", key="packages")

    assert not Note.objects.filter(user=user).exists()


def test_a_blank_text_for_what_may_be_left_out_is_as_if_it_were() -> None:
    for operation in CATALOGUE.values():
        required = operation.input_schema.get("required", [])
        optional = [argument for argument in operation.input_schema.get("properties", {}) if argument not in required]

        for blank in ("", "  ", "\n"):
            assert operation.forgive(dict.fromkeys(optional, blank)) == {}, operation.name


@pytest.mark.parametrize("own", ["pplate", "PPLATE", "Patrick Plate", "", " ", None, "id"])
def test_ones_own_name_or_id_says_nothing_new(say: Say, user: User, own: str | None) -> None:
    say("memory_store_fact", category="preference", fact="Prefers tea.", user_id=str(user.pk) if own == "id" else own)

    assert Fact.objects.get().user == user


def test_another_persons_name_or_id_is_refused_like_one_that_nobody_has(say: Say, user: User) -> None:
    other = make_user(username="cora", display_name="Cora")
    _caller(other)("memory_store_fact", category="preference", fact="Prefers coffee.")

    answers = {
        say("memory_list_facts", user_id=named, is_error=True)
        for named in ("cora", "Cora", str(other.pk), "nobody", "00000000-0000-4000-8000-000000000000")
    }

    assert answers == {"user_id is not yours. A call is about the person whose key it carries: leave user_id out."}


def test_no_agent_has_a_file_written(say: Say, tmp_path: Path) -> None:
    text = say("memory_export", output_path=str(tmp_path / "memory.json"))

    assert "no file was written" in text
    assert "/memory/export/" in text
    assert list(tmp_path.iterdir()) == []


def test_the_owner_at_the_command_line_has_a_file_written_which_nobody_else_reads(
    say: Say, user: User, tmp_path: Path
) -> None:
    say("memory_store_fact", category="preference", fact="Prefers tea.")
    path = tmp_path / "memory.json"

    call_command("op", "memory_export", f"output_path={path}", "--user", "pplate")

    assert "Prefers tea." in path.read_text()
    assert path.stat().st_mode & 0o777 == 0o600
