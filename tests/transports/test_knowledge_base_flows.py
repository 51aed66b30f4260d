"""The flows of the knowledge base's first design (seed 001), each through an MCP client against the served system."""

import json
from collections.abc import Awaitable, Callable
from io import StringIO
from pathlib import Path
from typing import Any

import anyio
import httpx2
import pytest
from django.core.management import call_command
from mcp import Client
from mcp.client.streamable_http import streamable_http_client

from accounts.models import Role, User
from knowledge.services.embedding import embed_pending
from tests.copies import serving_copy
from tests.factories import make_key, make_user
from tests.serving import Served

LESSONS = (Path(__file__).parents[1] / "knowledge" / "parsers" / "LESSONS-LEARNED.md").read_text(encoding="utf-8")
# The first stories are enough here: `tests/knowledge/parsers` reads the whole document.
SOME_LESSONS = LESSONS.partition("## STORY-011")[0]
STORIES, FACTS = 7, 51
ROUTES = (
    "Route ordering in vercel.json: specific routes must come before parameterized routes. "
    "Place /api/mocs/stats/by-category before /api/mocs/:id."
)
FOREIGN_KEYS = (
    "When deleting an entity referenced by another FK (e.g., coverImageId on albums), "
    "clear those references BEFORE deleting to prevent FK constraint violations."
)
SIZING = (
    "STORY-016 (MOC File Upload Management): 57 ACs was too large - split into smaller stories. "
    "Write tests alongside code, not after."
)
PROOF = "# Proof of {{ story }}\n\n| criterion | evidence |\n|---|---|\n"

Call = Callable[..., Awaitable[dict[str, Any]]]
Flow = Callable[[Call], Awaitable[Any]]


def _through_mcp(served: Served, key: str, flow: Flow) -> Any:
    """Let one client work through a flow; a tool that refuses gives `{"refusal": …}`."""

    async def run() -> Any:
        http = httpx2.AsyncClient(headers={"Authorization": f"Bearer {key}"}, timeout=30)
        async with Client(
            streamable_http_client(f"{served.mcp}?toolsets=kb&structured=full", http_client=http)
        ) as client:

            async def call(tool: str, **arguments: Any) -> dict[str, Any]:
                result = await client.call_tool(tool, arguments)
                if result.is_error:
                    return {"refusal": result.content[0].text}  # type: ignore[union-attr]
                return dict(result.structured_content or {})

            return await flow(call)

    return anyio.run(run)


@pytest.fixture
def admin(served: Served) -> User:
    """Who owns what the commands import."""
    return make_user("root", role=Role.ADMIN)


@pytest.fixture
def key(admin: User) -> str:
    """What the client sends."""
    return make_key(admin, scopes=["read", "write", "admin"]).text


@pytest.fixture
def _as_served(settings: Any) -> None:
    """Make vectors with the model that the server asks."""
    settings.EMBEDDING_PROVIDER = "builtin"


def _run(*words: str) -> str:
    output = StringIO()
    call_command(*words, stdout=output, stderr=output)
    return output.getvalue()


def _contents(found: dict[str, Any]) -> list[str]:
    return [item["entry"]["content"] if "entry" in item else item["content"] for item in found["items"]]


async def _add_the_examples(call: Call) -> dict[str, str]:
    """Add what seed 001 shows as examples: a summary with two facts below it, and a template."""
    summary = await call(
        "kb_add",
        content=SIZING,
        entry_type="summary",
        roles=["pm", "dev", "qa"],
        tags=["story-sizing", "testing", "process"],
        source_story="STORY-016",
    )
    fact = {"entry_type": "fact", "roles": ["dev"], "parent_id": summary["id"]}
    routes = await call("kb_add", content=ROUTES, tags=["vercel", "routing", "api", "pattern"], confidence=0.9, **fact)
    keys = await call("kb_add", content=FOREIGN_KEYS, tags=["database", "foreign-key", "pattern"], **fact)
    path = "plans/stories/UAT/WRKF-000/_templates/PROOF-TEMPLATE.md"
    proof = await call(
        "kb_add", content=PROOF, entry_type="template", roles=["qa"], tags=["proof", "template"], source_file=path
    )
    added = {"summary": summary, "routes": routes, "keys": keys, "proof": proof}
    assert all(one["success"] and not one["duplicate"] for one in added.values())
    return {name: one["id"] for name, one in added.items()}


def test_what_is_added_is_read_listed_and_found_related(served: Served, key: str) -> None:
    async def flow(call: Call) -> None:
        ids = await _add_the_examples(call)

        routes = await call("kb_get", id=ids["routes"])
        related = await call("kb_get_related", entry_id=ids["routes"], limit=5)
        facts = await call("kb_list", entry_type="fact", order_by="confidence", order="asc")
        both = await call("kb_list", tags=["vercel", "routing"])
        first = await call("kb_list", limit=1, offset=0)

        assert (routes["content"], routes["parent_id"], routes["confidence"]) == (ROUTES, ids["summary"], 0.9)
        assert {item["id"] for item in related["items"]} == {ids["keys"], ids["summary"]}
        assert _contents(facts) == [ROUTES, FOREIGN_KEYS]
        assert _contents(both) == [ROUTES]
        assert (len(first["items"]), first["total"]) == (1, 4)

    _through_mcp(served, key, flow)


@pytest.mark.usefixtures("_as_served")
def test_a_search_keeps_to_role_tags_type_limit_and_confidence(served: Served, key: str) -> None:
    async def prepare(call: Call) -> None:
        await _add_the_examples(call)
        doubtful = "Perhaps the order of routes in vercel.json does not matter."
        await call("kb_add", content=doubtful, entry_type="fact", confidence=0.3)

    async def flow(call: Call) -> None:
        question = {"query": "vercel route ordering"}

        found = await call("kb_search", **question)
        for_testers = await call("kb_search", role="qa", **question)
        tagged = await call("kb_search", tags=["foreign-key"], **question)
        templates = await call("kb_search", entry_type="template", **question)
        one = await call("kb_search", limit=1, **question)
        everything = await call("kb_search", min_confidence=0, **question)

        assert found["items"][0]["entry"]["content"] == ROUTES
        assert set(found["items"][0]["arms"]) == {"keyword", "vector"}
        assert not found["fallback"]
        assert ROUTES not in _contents(for_testers)
        assert _contents(tagged) == [FOREIGN_KEYS]
        assert _contents(templates) == [PROOF]
        assert _contents(one) == [ROUTES]
        assert not any("Perhaps" in content for content in _contents(found))
        assert any("Perhaps" in content for content in _contents(everything))

    _through_mcp(served, key, prepare)
    embed_pending()
    _through_mcp(served, key, flow)


def test_a_duplicate_is_refused_with_the_id_of_the_known_entry(served: Served, key: str) -> None:
    async def flow(call: Call) -> None:
        ids = await _add_the_examples(call)

        again = await call("kb_add", content=f"{ROUTES}\n", entry_type="summary")
        doubled = await call("kb_update", id=ids["keys"], content=ROUTES)

        assert (again["success"], again["duplicate"], again["id"]) == (False, True, ids["routes"])
        assert ids["routes"] in doubled["refusal"]

    _through_mcp(served, key, flow)


def test_an_update_embeds_anew_only_when_the_content_changed(served: Served, key: str) -> None:
    async def flow(call: Call) -> None:
        ids = await _add_the_examples(call)

        validated = await call("kb_update", id=ids["keys"], confidence=1.0, metadata={"gate_result": "PASS"})
        reworded = await call("kb_update", id=ids["keys"], content="Zeppelins are cleared before mooring.")
        found = await call("kb_search", query="zeppelins")

        assert (validated["success"], validated["re_embedded"]) == (True, False)
        assert validated["entry"]["metadata"] == {"gate_result": "PASS"}
        assert (reworded["success"], reworded["re_embedded"]) == (True, True)
        assert _contents(found) == ["Zeppelins are cleared before mooring."]

    _through_mcp(served, key, flow)


def test_what_is_deleted_is_gone_and_its_children_stay(served: Served, key: str) -> None:
    async def flow(call: Call) -> None:
        ids = await _add_the_examples(call)

        await call("kb_delete", id=ids["summary"])
        gone = await call("kb_get", id=ids["summary"])
        child = await call("kb_get", id=ids["routes"])

        assert "There is no entry" in gone["refusal"]
        assert child["parent_id"] is None

    _through_mcp(served, key, flow)


def test_a_bulk_import_skips_what_is_known_or_reports_it(served: Served, key: str) -> None:
    rows = [{"content": f"Lesson {number}.", "tags": ["bulk"]} for number in range(250)]

    async def flow(call: Call) -> None:
        known = await call("kb_add", content="Lesson 7.", entry_type="fact")

        first = await call("kb_bulk_import", entries=rows)
        again = await call("kb_bulk_import", entries=rows[:3], skip_existing=False)
        stats = await call("kb_stats")

        assert (first["imported"], first["skipped"], first["errors"]) == (249, 1, [])
        assert (again["imported"], again["skipped"], len(again["errors"])) == (0, 0, 3)
        assert stats["total_entries"] == 250
        assert known["success"]

    _through_mcp(served, key, flow)


@pytest.mark.usefixtures("_as_served")
def test_vectors_are_made_anew_while_search_goes_on(served: Served, key: str) -> None:
    async def rebuild(call: Call) -> dict[str, Any]:
        return {
            "progress": await call("kb_rebuild_embeddings", clear_cache=True),
            "found": await call("kb_search", query="vercel route ordering"),
            "stats": await call("kb_stats"),
        }

    _through_mcp(served, key, _add_the_examples)
    embed_pending()
    seen = _through_mcp(served, key, rebuild)
    made = embed_pending()
    after = _through_mcp(served, key, lambda call: call("kb_stats"))

    progress = seen["progress"]
    assert (progress["total"], progress["processed"], progress["status"]) == (4, 0, "in_progress")
    assert seen["found"]["items"][0]["entry"]["content"] == ROUTES
    assert (seen["stats"]["waiting"], seen["stats"]["cache_size"]) == (4, 0)
    assert (made, after["waiting"], after["cache_size"]) == (4, 0, 4)


def test_statistics_count_types_roles_and_confidence(served: Served, key: str) -> None:
    async def flow(call: Call) -> None:
        await _add_the_examples(call)

        stats = await call("kb_stats")

        assert stats["total_entries"] == 4
        assert stats["by_type"] == {"fact": 2, "summary": 1, "template": 1}
        assert stats["by_role"] == {"pm": 1, "dev": 3, "qa": 2}
        assert stats["avg_confidence"] == pytest.approx((1 + 0.9 + 1 + 1) / 4)
        assert stats["last_updated"]

    _through_mcp(served, key, flow)


def test_while_the_embedder_is_away_words_answer_and_say_so(
    served: Served, key: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("BIGMIND_EMBEDDING_PROVIDER", "openai")
    monkeypatch.setenv("BIGMIND_EMBEDDING_URL", "http://127.0.0.1:9/v1")
    monkeypatch.setenv("BIGMIND_EMBEDDING_MODEL", "all-minilm")

    async def flow(call: Call) -> dict[str, Any]:
        await _add_the_examples(call)
        return await call("kb_search", query="vercel route ordering")

    with serving_copy(tmp_path / "log.txt") as (without_embedder, _):
        found = _through_mcp(without_embedder, key, flow)

    assert found["fallback"]
    assert found["items"][0]["entry"]["content"] == ROUTES
    assert found["items"][0]["arms"] == ["keyword"]


@pytest.mark.usefixtures("_as_served")
def test_a_file_of_lessons_is_parsed_seeded_searched_edited_imported_again_and_synced(
    served: Served, key: str, tmp_path: Path
) -> None:
    source, file = tmp_path / "LESSONS-LEARNED.md", tmp_path / "lessons-learned.yaml"
    source.write_text(SOME_LESSONS, encoding="utf-8")

    _run("kb_parse", str(source), "--output", str(file))
    first = _seed(file)
    embed_pending()
    seen = _through_mcp(served, key, _look_around)

    assert (len(first["added"]), first["refused"]) == (STORIES + FACTS, [])
    assert seen["stats"]["by_type"] == {"summary": STORIES, "fact": FACTS}
    assert seen["stats"]["waiting"] == 0
    assert seen["routes"]["entry"]["source_story"] == "STORY-007"
    assert seen["stories"] == STORIES
    assert seen["meaning"]["entry"]["source_story"] == "STORY-008"

    _edit(source)
    _run("kb_parse", str(source), "--output", str(file))
    again, once_more = _seed(file), _seed(file)

    # The summary of STORY-004 retells its lessons, so it changed with them.
    assert [key.split("/")[0] for key in again["changed"]] == ["STORY-004", "STORY-007"]
    assert [key.rpartition("/")[2] for key in again["added"]] == ["walruses-need-a-bucket-of-their-own"]
    assert [key.rpartition("/")[2] for key in again["removed"]] == ["the-svg-was-accepted-see-recommendation"]
    assert again["unchanged"] == STORIES + FACTS - 3
    assert (once_more["added"], once_more["changed"], len(once_more["removed"])) == ([], [], 1)

    _write_learnings(tmp_path / "_implementation")
    told = _run("sync_pending", str(tmp_path))
    found = _through_mcp(served, key, lambda call: call("kb_search", query="axolotl types"))

    assert "Added 2 from 1 files" in told
    stories = {hit["entry"]["content"]: hit["entry"]["source_story"] for hit in found["items"]}
    assert stories["Check axolotl types for naming conflicts."] == "WRKF-1099"
    assert "Nothing waits" in _run("sync_pending", str(tmp_path))


def test_an_error_that_was_met_before_is_answered_with_its_lesson(served: Served, key: str) -> None:
    lesson = "`Error: connect ECONNREFUSED 127.0.0.1:5432`: the database was not up. Fix: start it with `pnpm db:up`."

    async def flow(call: Call) -> dict[str, Any]:
        await call("kb_add", content=lesson, entry_type="fact", source_story="STORY-003")
        return await call(
            "lesson_for", error="\x1b[31mError: connect ECONNREFUSED ::1:6543\x1b[0m\n    at node:net:1:1"
        )

    found = _through_mcp(served, key, flow)

    first = found["items"][0]
    assert (first["why"], first["is_weak"], first["source_story"]) == ("same error", False, "STORY-003")
    assert first["fix"] == "start it with `pnpm db:up`."


def _seed(file: Path) -> dict[str, Any]:
    report: dict[str, Any] = json.loads(_run("kb_seed", str(file), "--json"))["sources"][0]
    return report


async def _look_around(call: Call) -> dict[str, Any]:
    routes = await call("kb_search", query="vercel.json route ordering", role="dev", tags=["routing"])
    meaning = await call("kb_search", query="remove rows that others point to without breaking integrity", limit=10)
    stories = await call("kb_list", entry_type="summary", limit=100)
    about_keys = [hit for hit in meaning["items"] if "foreign key" in hit["entry"]["content"].casefold()]
    return {
        "stats": await call("kb_stats"),
        "routes": routes["items"][0],
        "meaning": about_keys[0],
        "stories": stories["total"],
    }


def _edit(source: Path) -> None:
    """Correct one lesson further on, take one away, add one."""
    text = source.read_text(encoding="utf-8")
    text = text.replace("otherwise `stats` is taken for an id", "otherwise `stats` is always taken for an id")
    text = text.replace("- The SVG was accepted. See recommendation.\n", "")
    text = text.replace(
        "- Refuse SVG for user uploads", "- Walruses need a bucket of their own.\n- Refuse SVG for user uploads"
    )
    source.write_text(text, encoding="utf-8")


def _write_learnings(folder: Path) -> None:
    folder.mkdir()
    (folder / "LEARNINGS.yaml").write_text(
        "story_id: WRKF-1099\nkb_available: false\npending_sync: true\nentries:\n"
        "  - type: summary\n    content: 'WRKF-1099: Axolotl tank.'\n"
        "  - type: fact\n    category: recommendation\n    content: Check axolotl types for naming conflicts.\n"
    )
