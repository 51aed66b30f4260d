"""What says nothing is left out and counted; what says something, however short, stays."""

import pytest

from knowledge.parsers.empty_phrases import row_says_nothing, says_nothing
from knowledge.parsers.sources import parse_text

RETROSPECTIVE = """# Sprint 42 Retrospective

Date: 2025-11-14
Participants: Ana, Bo, Chen

## What went well 🎉
- Pairing on the migration cut review time in half
- nothing else comes to mind

## What didn't go well
- Staging was down for two days because nobody owned the renewal of its certificate
- TBD

## Action items
| Action | Owner | Due |
|---|---|---|
| Rotate the certificates of staging | Bo | 2025-12-01 |
| - | - | - |

## Kudos
- Thanks Ana!
"""
POST_MORTEM = """# Postmortem: Checkout outage on 2025-09-03

**Status:** Complete
**Severity:** SEV-1
**Authors:** @dlin, @maria

## Summary
Checkout failed for 47 minutes because the pool of connections was exhausted.

## Timeline
| Time | Event |
|---|---|
| 14:02 | Deploy goes out |
| 14:49 | Rolled back |

## Root cause
Two workers shared one pool.

## Lessons learned
- Worker counts and pool sizes are changed together.
- Grafana: user oncall, pw t1deT4ble#99
"""
STORY = """# Lessons learned

## WRKF-1021: Node Execution Metrics (2026-01-20)

| Metric | Value |
|---|---|
| Files touched | 9 |
| Tests added | 42 |

### Blockers Hit
- **Blockers:** None

### Verification Notes
- All checks passed: ✅
- Lint: PASS (0 errors)

### Recommendations
- Check for naming conflicts before creating new types.

**Files touched:** 9
**Story points:** 3

## WRKF-1022: Docs only

No lessons this time.
"""


@pytest.mark.parametrize(
    "text",
    [
        *(
            "",
            "—",
            "---",
            "✅",
            "...",
            "n/a",
            "N/A - clean implementation",
            "None",
            "None encountered.",
            "_None_",
            "12",
        ),
        *("Blockers: None", "**Blockers:** none so far", "Files touched: 9", "**Tests added**: ~42", "Data loss: none"),
        *("No blockers", "no issues found", "Nothing to report this sprint.", "None beyond that", "TBD", "(empty)"),
        *("All checks passed: ✅", "Lint: PASS (0 errors)", "Build: ✓", "Status: Done", "All 141 tests pass", "ok"),
        *("Jira: KES-300", "Participants: Ana, Bo", "Effort: 3 h", "Duration: 47 minutes", "Keine Blocker", "Aucun"),
        "**Files touched:** 9 **Story points:** 3 **Status:** Done",
        "Date: 2025-11-14 Participants: Ana, Bo, Chen",
    ],
)
def test_it_says_nothing(text: str) -> None:
    assert says_nothing(text)


@pytest.mark.parametrize(
    "text",
    [
        *("No retries on POST.", "Never force-push.", "No tests, no review.", "Do not run tests on CI.", "Use `none`."),
        *("Default timeout: 30 s", "max_connections: 100", "None of the retries worked on Fridays.", "Node 18 only."),
        *("Nobody owned the renewal.", "Tests: run them with `make test`.", "Blockers: the VPN drops at noon."),
        *("Status: the page is cached for an hour.", "Empty carts crash checkout.", "Time zones: store UTC."),
        *("Cost: one call is 4,575 tokens.", "Review the diff, not the summary.", "Not idempotent: retry once."),
    ],
)
def test_it_says_something(text: str) -> None:
    assert not says_nothing(text)


@pytest.mark.parametrize(
    ("headings", "cells", "says"),
    [
        (["Metric", "Value"], ["Files touched", "9"], False),
        (["Phase", "Input", "Output"], ["Dev", "80,000", "9,000"], False),
        (["Action", "Owner"], ["-", "—"], False),
        (["Problem", "Fix"], ["None", ""], False),
        (["Problem", "Fix"], ["Routes clash", "Order them"], True),
        (["Setting", "Value"], ["pool size", "20"], True),
        (["ID", "Date", "Lesson", "Owner"], ["LL-02", "2025-02-10", "–", "Ada"], False),
        (["", "Lesson"], ["Doors", "Lock them"], True),
        (["Operation", "Tokens"], ["Reading the whole log", "4,575"], True),
    ],
)
def test_rows_of_tables(headings: list[str], cells: list[str], says: bool) -> None:
    assert row_says_nothing(headings, cells) is not says


def test_a_story_keeps_what_it_taught_and_its_summary_says_that() -> None:
    parsed = parse_text(STORY, "LESSONS-LEARNED.md")

    summary, lesson = parsed.entries
    advice = "Check for naming conflicts before creating new types."
    assert summary.content == f"WRKF-1021 (Node Execution Metrics): {advice}"
    assert (lesson.content, lesson.tags) == (advice, ["recommendation"])
    assert len(parsed.left_out) == 8
    assert "WRKF-1022" in parsed.left_out


def test_a_retrospective_is_read_as_the_lessons_it_holds() -> None:
    parsed = parse_text(RETROSPECTIVE, "notes/sprint-42.md")

    assert parsed.kind == "lessons"
    summary, *lessons = parsed.entries
    assert [(one.content, one.tags[0]) for one in lessons] == [
        ("Pairing on the migration cut review time in half", "went-well"),
        ("Staging was down for two days because nobody owned the renewal of its certificate", "problem"),
        ("Action: Rotate the certificates of staging; Owner: Bo; Due: 2025-12-01", "action-item"),
    ]
    assert {one.parent for one in lessons} == {summary.key}
    assert summary.content.startswith("Sprint 42 Retrospective: Staging was down")
    assert "retrospective" in summary.tags
    assert len(parsed.left_out) == 5


def test_a_post_mortem_is_one_story_with_its_cause_and_what_was_learned() -> None:
    summary, *lessons = parse_text(POST_MORTEM, "incidents/2025-09-03.md").entries

    assert summary.content.startswith("Postmortem: Checkout outage on 2025-09-03: Checkout failed for 47 minutes")
    assert "pool sizes are changed together" in summary.content
    assert "t1deT4ble#99" not in summary.content
    assert summary.metadata["date"] == "2025-09-03"
    assert [one.tags[0] for one in lessons] == ["timeline", "root-cause", "lesson", "lesson"]


def test_headings_that_name_no_topic_are_no_tags() -> None:
    text = "# Runbook: Restore it\n\nText.\n\n## When to use\n\nStale.\n\n## Rollback\n\nN/A\n\n## Snapshots\n\nAt 3.\n"

    summary, when, snapshots = parse_text(text, "ops/restore.md").entries

    assert (summary.tags, when.tags, snapshots.tags) == (["runbook"], ["runbook"], ["snapshots", "runbook"])


def test_a_log_in_a_table_and_an_underlined_report_are_lessons() -> None:
    log = "# Otter: Lessons Learned Log\n\n| ID | What happened | Lesson | Owner |\n|-|-|-|-|\n"
    log += "| LL-01 | Cron skipped an hour | Run cron in UTC | Ada |\n| LL-02 | – | – | Ada |\n"
    report = "Report INC-1\n============\n\nWhat happened\n-------------\nA disk was full.\n\n"
    report += "Why it happened\n---------------\nLogs were kept.\n\n"
    report += "What we will do differently\n---------------------------\n1. Rotate them.\n"

    rows, told = parse_text(log, "otter.md"), parse_text(report, "inc.md")

    assert [one.content for one in rows.entries] == [
        "Otter: Lessons Learned Log: Run cron in UTC.",
        "ID: LL-01; What happened: Cron skipped an hour; Lesson: Run cron in UTC; Owner: Ada",
    ]
    assert rows.left_out == ("LL-02; –; –; Ada",)
    assert told.kind == "lessons"
    assert [(one.content, one.tags) for one in told.entries[1:]] == [
        ("Logs were kept.", ["root-cause"]),
        ("Rotate them.", ["recommendation"]),
    ]


def test_what_is_to_be_stopped_says_so() -> None:
    text = "# Team retrospective\n\n## Start\n\n- Pairing\n\n## Stop\n\n- Merging on Fridays\n\n## Continue\n\n- none\n"

    summary, *lessons = parse_text(text, "retro.md").entries

    assert [one.content for one in lessons] == ["Start: Pairing", "Stop: Merging on Fridays"]
    assert "Stop: Merging on Fridays" in summary.content


@pytest.mark.parametrize(
    "text",
    [
        "# Guide\n\n## Problem\n\nIt fails.\n\n## Resolution\n\nRestart it.\n",
        "# Skill\n\n## Actions\n\n- Click.\n\n## Recommendations\n\n- Wait.\n",
        "# Lesson 1: Variables\n\n## Start here\n\nText.\n\n## Next\n\nText.\n",
    ],
)
def test_what_is_no_retrospective_stays_a_document(text: str) -> None:
    assert parse_text(text, "guide.md").kind == "markdown"
