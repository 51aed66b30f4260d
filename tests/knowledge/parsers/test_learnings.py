"""LEARNINGS.yaml: what waits is read, and what arrived is marked without touching the rest of the file."""

from datetime import UTC, datetime

import pytest
import yaml

from bigmind.core.errors import Invalid
from knowledge.parsers.learnings import mark_synced, mark_text, pending_in, read_learnings

WHEN = datetime(2026, 1, 24, 15, 30, tzinfo=UTC)
PENDING = """\
# _implementation/LEARNINGS.yaml
story_id: WRKF-1021   # the node metrics
synced_at:
kb_available: false
pending_sync: true

entries:
  - id: local-1
    type: summary
    content: "WRKF-1021: Node Execution Metrics..."

  # Said by the reviewer.
  - type: fact
    category: recommendation
    content: "Check for naming conflicts before creating new types."
    parent_id: local-1

  - {type: fact, category: reuse, content: "RetryMetrics pattern from `@repo/api-client`"}
author: dev-implement-learnings
"""
SUMMARY, ADVICE, REUSE = (
    "summary/wrkf-1021-node-execution-metrics",
    "recommendation/check-for-naming-conflicts-before-creating-new-types",
    "reuse/retrymetrics-pattern-from-repo-api-client",
)


def test_what_waits_is_read_with_parents_roles_and_tags():
    learnings = pending_in(PENDING, "LEARNINGS.yaml")

    summary, advice, reuse = learnings.entries
    assert learnings.story == "WRKF-1021"
    assert (summary.key, summary.entry_type, summary.roles) == (SUMMARY, "summary", ["pm", "dev", "qa"])
    assert (advice.key, advice.parent, advice.tags) == (ADVICE, SUMMARY, ["recommendation"])
    # It names no parent, and the file has one summary.
    assert (reuse.key, reuse.parent, reuse.tags) == (REUSE, SUMMARY, ["reuse", "pattern", "api-client"])
    assert {entry.source_story for entry in learnings.entries} == {"WRKF-1021"}


@pytest.mark.parametrize(
    "head", ["kb_available: true\n", "kb_available: true\npending_sync: false\n", "synced_at: 2026-01-24T15:30:00Z\n"]
)
def test_a_file_that_has_arrived_has_nothing_to_tell(head):
    learnings = pending_in(
        f"story_id: A-1\n{head}entries:\n  - id: 1f\n    type: fact\n    content: a\n", "LEARNINGS.yaml"
    )

    assert learnings.entries == ()


@pytest.mark.parametrize("head", ["kb_available: false\n", "pending_sync: true\n"])
def test_either_sign_says_that_something_waits(head):
    learnings = pending_in(f"story_id: A-1\n{head}entries:\n  - type: fact\n    content: a\n", "LEARNINGS.yaml")

    assert [entry.content for entry in learnings.entries] == ["a"]


def test_what_arrived_is_marked_and_everything_else_stays(tmp_path):
    path = tmp_path / "LEARNINGS.yaml"
    path.write_text(PENDING, encoding="utf-8")

    mark_synced(path, {SUMMARY: "id-s", ADVICE: "id-a", REUSE: "id-r"}, WHEN)

    text = path.read_text(encoding="utf-8")
    assert text == (
        PENDING.replace("synced_at:\n", "synced_at: 2026-01-24T15:30:00Z\n")
        .replace("kb_available: false", "kb_available: true")
        .replace("pending_sync: true", "pending_sync: false")
        .replace("id: local-1\n    type", "id: id-s\n    type")
        .replace("  - type: fact\n", "  - id: id-a\n    type: fact\n")
        .replace("parent_id: local-1", "parent_id: id-s")
        .replace("- {type: fact, category: reuse", "- {id: id-r, parent_id: id-s, type: fact, category: reuse")
    )
    assert read_learnings(path).entries == ()
    assert list(tmp_path.iterdir()) == [path]


def test_a_sync_that_was_interrupted_goes_on_where_it_stopped():
    partly = mark_text(PENDING, "LEARNINGS.yaml", {SUMMARY: "id-s"}, WHEN)

    rest = pending_in(partly, "LEARNINGS.yaml")
    done = mark_text(partly, "LEARNINGS.yaml", {entry.key: f"id-{entry.key}" for entry in rest.entries}, WHEN)

    assert [(entry.key, entry.parent) for entry in rest.entries] == [(ADVICE, SUMMARY), (REUSE, SUMMARY)]
    assert rest.known == {SUMMARY: "id-s"}
    loaded = yaml.safe_load(done)
    assert (loaded["kb_available"], loaded["pending_sync"]) == (True, False)
    assert [entry.get("parent_id") for entry in loaded["entries"]] == [None, "id-s", "id-s"]


def test_marking_twice_changes_nothing_more():
    ids = {SUMMARY: "id-s", ADVICE: "id-a", REUSE: "id-r"}
    once = mark_text(PENDING, "LEARNINGS.yaml", ids, WHEN)

    assert mark_text(once, "LEARNINGS.yaml", ids, WHEN) == once


def test_a_file_that_changed_meanwhile_is_not_marked():
    with pytest.raises(Invalid, match="has no entry summary/gone"):
        mark_text(PENDING, "LEARNINGS.yaml", {"summary/gone": "id"}, WHEN)


@pytest.mark.parametrize(
    ("text", "refusal"),
    [
        ("pending_sync: true\nentries:\n  - type: fact\n", "LEARNINGS.yaml, line 3, entry 1: content"),
        ("pending_sync: true\nentries:\n  - type: novel\n    content: a\n", "entry 1: entry_type must be one of"),
        ("pending_sync: true\nentries: all\n", "line 2: entries must be a list"),
        ("- a\n", "is not a LEARNINGS.yaml"),
        ("a: &a 1\nb: *a\n", "has an alias or anchor"),
    ],
)
def test_a_refusal_says_where(text, refusal):
    with pytest.raises(Invalid, match=refusal):
        pending_in(text, "LEARNINGS.yaml")
