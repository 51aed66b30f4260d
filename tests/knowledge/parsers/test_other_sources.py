"""Templates, instruction files, decision records and any other markdown become entries."""

import pytest

from knowledge.parsers.adrs import parse_adr
from knowledge.parsers.markdown import parse_markdown
from knowledge.parsers.sources import parse_instructions, parse_template

NYGARD = """\
# 6. Use PostgreSQL for search

Date: 2025-03-04

## Status

Superseded by [12. Use Elasticsearch](0012-elasticsearch.md)

## Context

We need search, and have PostgreSQL.

## Decision

We will use `tsvector` columns.

## Consequences

No new service.
"""
MADR = """\
---
status: proposed
date: 2026-02-03
deciders: [Ann, Bo]
---

# Choose a queue

## Context and Problem Statement

Work must not be lost.

## Considered Options

* Redis
* The row is the queue

## Decision Outcome

Chosen option: "The row is the queue", because nothing is lost.

### Consequences

* Good, because a crash costs a minute.
"""


class TestTemplates:
    def test_the_whole_file_is_one_entry(self):
        text = "# Proof Template\n\n## Evidence\n\n- …\n\n"

        (entry,) = parse_template(text, "plans/stories/UAT/WRKF-000/_templates/PROOF-TEMPLATE.md")

        assert (entry.content, entry.entry_type, entry.metadata["title"]) == (text, "template", "Proof Template")
        assert entry.roles == ["dev"]
        assert entry.tags == ["uat", "proof", "documentation", "template"]

    @pytest.mark.parametrize(
        ("path", "roles", "tag"),
        [
            ("docs/architecture/ADR-TEMPLATE.md", ["dev", "pm"], "adr"),
            ("operations/RUNBOOK.md", ["dev"], "operations"),
            ("templates/QA-VERIFY.md", ["qa"], "verify"),
            ("templates/STORY.md", ["pm"], "story"),
            ("templates/anything.md", ["dev", "qa"], "anything"),
        ],
    )
    def test_roles_and_tags_come_from_the_path(self, path, roles, tag):
        (entry,) = parse_template("# T\n", path)

        assert entry.roles == roles
        assert tag in entry.tags


class TestInstructionFiles:
    def test_bullets_and_short_sections_are_rules_for_developers(self):
        text = (
            "# Project\n\n@AGENTS.md\n\n## Commands\n\nRun the tests:\n\n```sh\npnpm test\n```\n\n"
            "## Style\n\nAlways:\n\n- Use `pnpm`, never npm.\n- Types before code.\n  - Also in tests.\n"
        )

        entries = parse_instructions(text, "CLAUDE.md")

        assert [entry.content for entry in entries] == [
            "Commands: Run the tests:\n\n```sh\npnpm test\n```",
            "Use `pnpm`, never npm.",
            "Types before code.\n- Also in tests.",
        ]
        assert {tuple(entry.roles) for entry in entries} == {("dev",)}
        assert entries[1].tags == ["instruction", "style", "pnpm"]
        assert entries[1].metadata == {"headings": ["Project", "Style"], "context": "Always"}

    def test_rules_without_any_markdown_are_read_too(self):
        entries = parse_instructions("Use tabs.\n", ".cursorrules")

        assert [entry.content for entry in entries] == ["Use tabs."]

    def test_what_a_rule_applies_to_is_kept(self):
        text = '---\ndescription: x\nglobs: "*.ts"\n---\n\n- No default exports.\n'

        (entry,) = parse_instructions(text, ".cursor/rules/ts.mdc")

        assert entry.metadata["globs"] == "*.ts"


class TestDecisionRecords:
    def test_a_superseded_record_says_by_what_and_is_passed_over_by_searches(self):
        summary, decision = parse_adr(NYGARD, "docs/adr/0006-postgresql-search.md")

        assert (summary.key, decision.key, decision.parent) == ("adr-0006", "adr-0006/decision", "adr-0006")
        assert decision.content == "ADR 6: Use PostgreSQL for search: We will use `tsvector` columns."
        assert "No new service." in summary.content
        assert summary.metadata == {
            "status": "superseded",
            "superseded_by": "12. Use Elasticsearch",
            "date": "2025-03-04",
        }
        assert max(summary.confidence, decision.confidence) < 0.5

    def test_front_matter_says_the_status(self):
        summary, decision = parse_adr(MADR, "docs/decisions/choose-a-queue.md")

        assert (summary.metadata["status"], summary.metadata["date"]) == ("proposed", "2026-02-03")
        assert decision.content.startswith("ADR: Choose a queue: Chosen option: ")
        assert "a crash costs a minute" in summary.content
        assert summary.confidence == 0.6

    def test_a_record_without_a_status_holds(self):
        summary = parse_adr("# 1. Record decisions\n\n## Decision\n\nYes.\n", "0001-record.md")[0]

        assert (summary.metadata["status"], summary.confidence) == ("accepted", 1.0)

    @pytest.mark.parametrize("line", ["* Status: rejected", "**Status:** rejected", "Status: rejected 2025-01-01"])
    def test_a_status_above_the_sections_counts(self, line):
        summary = parse_adr(f"# Title\n\n{line}\n\n## Context\n\nWhy.\n", "adr.md")[0]

        assert summary.metadata["status"] == "rejected"


class TestMarkdown:
    def test_a_document_is_a_summary_and_its_sections_facts_with_what_stands_below(self):
        text = "# Deploying\n\nHow.\n\n## Roll out\n\nSlowly.\n\n### Canary\n\nOne node.\n\n## Roll back\n\nFast.\n"

        entries = parse_markdown(text, "docs/deploying.md")

        assert [(entry.key, entry.entry_type, entry.parent) for entry in entries] == [
            ("deploying", "summary", ""),
            ("deploying/roll-out", "fact", "deploying"),
            ("deploying/roll-back", "fact", "deploying"),
        ]
        assert entries[0].content == "# Deploying\n\nHow."
        assert entries[1].content == "## Roll out\n\nSlowly.\n\n### Canary\n\nOne node."
        assert entries[1].metadata == {"headings": ["Deploying", "Roll out"]}

    def test_a_long_section_is_split_at_its_subheadings(self):
        body = "word " * 10_000
        text = f"# Doc\n\n## Long\n\nIntro.\n\n### One\n\n{body}\n\n### Two\n\n{body}\n\n## Short\n\nEnd.\n"

        entries = parse_markdown(text, "doc.md")

        assert [(entry.key, entry.entry_type, entry.parent) for entry in entries] == [
            ("doc", "summary", ""),
            ("doc/long", "summary", "doc"),
            ("doc/long/one", "fact", "doc/long"),
            ("doc/long/two", "fact", "doc/long"),
            ("doc/short", "fact", "doc"),
        ]

    def test_a_long_section_without_subheadings_is_split_between_paragraphs(self):
        paragraphs = "\n\n".join(f"{number} " + "word " * 5_000 for number in range(5))

        entries = parse_markdown(f"# Doc\n\n## Long\n\n{paragraphs}\n\n## End\n\nE.\n", "doc.md")

        pieces = [entry for entry in entries if entry.key.startswith("doc/long")]
        assert len(pieces) == 3
        assert all(piece.content.startswith("## Long\n\n") for piece in pieces)
        assert [f"{number} word" in "".join(piece.content for piece in pieces) for number in range(5)] == [True] * 5

    def test_a_document_without_headings_is_one_entry(self):
        (entry,) = parse_markdown("Just this.\n", "note.md")

        assert (entry.key, entry.content) == ("note", "Just this.")

    def test_headings_in_code_are_no_headings(self):
        (entry,) = parse_markdown("# Doc\n\n```sh\n# not a heading\n## nor this\n```\n", "doc.md")

        assert "# not a heading" in entry.content

    def test_an_empty_document_has_no_entries(self):
        assert parse_markdown("\n\n", "empty.md") == []


STORIES = """# A list of post-mortems

## Contents

- [Time](#time)

## Time

[Quay](https://quay.test/2024). Certificates ended a day early, because the year was counted without its leap day.

[Crane](https://crane.test/a). A clock jumped back by one second, and the scheduler waited for it to come again.

**Ferry**. Two clocks of one cluster drifted apart by nine seconds, so that every lock was given out twice.

## Contributors

- Ada Lovelace
- Grace Hopper
"""


def test_each_story_of_a_list_of_post_mortems_is_an_entry():
    document, time, *stories = parse_markdown(STORIES, "README.md")

    assert time.content == "Time: Quay; Crane; Ferry"
    assert [story.content.split(".")[0] for story in stories] == [
        "[Quay](https://quay",
        "[Crane](https://crane",
        "**Ferry**",
    ]
    assert {story.parent for story in stories} == {time.key}
    assert time.parent == document.key


@pytest.mark.parametrize(
    ("written", "status", "confidence"),
    [
        ("## Status\n\n- Superseded by [ADR 9](0009.md)", "superseded", 0.2),
        ("## Status: Decided", "accepted", 1.0),
        ("Status: withdrawn\nDate: 2024-03-01", "rejected", 0.2),
        ("## Status\n\n**On hold**", "on hold", 1.0),
    ],
)
def test_the_status_of_a_decision_is_kept_however_it_is_written(written, status, confidence):
    summary = parse_adr(f"# 7. Use queues\n\n{written}\n\n## Context\n\nMany writers.\n", "docs/adr/0007.md")[0]

    assert (summary.metadata["status"], summary.confidence) == (status, confidence)
