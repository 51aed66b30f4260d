"""A lessons-learned document, with all the irregularities of one that grew, becomes entries."""

from pathlib import Path

import pytest

from bigmind.core.errors import Invalid
from knowledge.parsers.entries import SourceEntry, changes
from knowledge.parsers.lessons_learned import parse_lessons

DOCUMENT = (Path(__file__).parent / "LESSONS-LEARNED.md").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def entries() -> list[SourceEntry]:
    return parse_lessons(DOCUMENT, "plans/stories/LESSONS-LEARNED.md")


def lessons_of(entries: list[SourceEntry], story: str) -> list[SourceEntry]:
    return [entry for entry in entries if entry.source_story == story and entry.parent]


def one(entries: list[SourceEntry], words: str) -> SourceEntry:
    (found,) = [entry for entry in entries if words in entry.content and entry.entry_type == "fact"]
    return found


def test_each_story_has_one_summary_and_its_lessons_hang_below_it(entries):
    summaries = [entry for entry in entries if entry.entry_type == "summary"]
    facts = [entry for entry in entries if entry.entry_type == "fact"]

    assert (len(summaries), len(facts)) == (32, 222)
    assert {entry.parent for entry in facts} <= {entry.key for entry in summaries}
    assert all(entry.source_file == "plans/stories/LESSONS-LEARNED.md" for entry in entries)
    assert len({entry.key for entry in entries}) == len(entries)


@pytest.mark.parametrize(
    ("story", "title", "date"),
    [
        ("STORY-003", "Scaffold the album API", "2025-11-04"),
        ("STORY-005", "Paging for album lists", "2025-11-12"),
        ("STORY-009", "Search albums", "2025-11-27"),
        ("STORY-010", "Password reset", "2025-12-03"),
        ("STORY-013", "Nightly thumbnails", "2025-12-17"),
        ("WRKF-1020", "Cancel a run", "2026-01-06"),
        ("STORY-015", "GDPR export", "2026-01-14"),
        ("STORY-018", "Migrate to PostgreSQL 16", "2026-01-25"),
        ("STORY-022", "GraphQL for partners", "2026-02-18"),
        ("STORY-026", "Feature flags cleanup", "2026-03-16"),
        ("STORY-030", "Agents read the knowledge base", "2026-04-10"),
        ("BUGFIX-88A", "Sessions lost after deployment", "2026-03-11"),
    ],
)
def test_headings_and_dates_are_understood_however_they_are_written(entries, story, title, date):
    (summary,) = [entry for entry in entries if entry.key == story]

    assert (summary.metadata["title"], summary.metadata["date"]) == (title, date)
    assert summary.content.startswith(f"{story} ({title})")
    assert summary.roles == ["pm", "dev", "qa"]


@pytest.mark.parametrize(
    ("words", "tags"),
    [
        ("`createHandler` factory", ["reuse", "pattern", "api-core", "zod"]),
        ("Route ordering in `vercel.json`", ["blocker", "routing", "vercel"]),
        ("Reproducing the Safari failure", ["time-sink"]),
        ("Checked with `EXPLAIN`", ["verification", "foreign-key"]),
        ("Every foreign key needs an index", ["recommendation", "foreign-key", "postgres"]),
        ("costs about 4,575 tokens", ["tokens", "optimization", "high-cost"]),
        ("Exports are encrypted at rest", ["data-protection"]),
    ],
)
def test_a_lesson_is_tagged_with_its_section_and_with_what_it_mentions(entries, words, tags):
    assert one(entries, words).tags == tags


def test_sections_and_stories_are_one_however_they_are_written_and_wherever_they_go_on(entries):
    continued = lessons_of(entries, "STORY-016")

    assert {entry.key.split("/")[1] for entry in lessons_of(entries, "STORY-011")} == {
        "reuse",
        "blocker",
        "recommendation",
    }
    assert len([entry for entry in lessons_of(entries, "STORY-012") if "recommendation" in entry.tags]) == 3
    assert any("pg_try_advisory_lock" in entry.content for entry in continued)
    assert {entry.parent for entry in continued} == {"STORY-016"}


@pytest.mark.parametrize(
    ("words", "part"),
    [
        pytest.param("SignatureDoesNotMatch", "```ts\nconst key = segments", id="the code that illustrates it"),
        pytest.param("Local and deployed routers", "- The smoke test only called the list.", id="nested bullets"),
        pytest.param("300 mails", "Notifications: One mail per comment", id="the bold label above it"),
        pytest.param(
            "Waiting for preview deployments",
            "What: Waiting for preview deployments; Cost: 1 h; Cause: 7 minutes each, 9 times",
            id="the columns of its row",
        ),
    ],
)
def test_a_lesson_has(entries, words, part):
    assert part in one(entries, words).content


def test_wrapped_lines_are_joined_and_what_says_nothing_is_no_lesson(entries):
    assert one(entries, "parses the body with Zod").content.count("\n") == 0
    said = {entry.content.strip(" .").casefold() for entry in entries}
    assert said.isdisjoint({"none", "n/a", "nothing to report"})
    assert not [entry for entry in entries if "Append only" in entry.content]
    (summary,) = [entry for entry in entries if entry.key == "STORY-008"]
    assert "Every foreign key needs an index on the referencing side." in summary.content


def test_parsing_again_changes_nothing(entries):
    again = parse_lessons(DOCUMENT, "plans/stories/LESSONS-LEARNED.md")

    assert str(changes(entries, again)) == "0 added, 0 changed, 0 removed, 254 unchanged"


def test_an_edit_of_the_document_touches_only_what_it_says(entries):
    edited = DOCUMENT.replace("release it when it fails or is a day old", "release it when it fails or is an hour old")
    edited = edited.replace(
        "- Colours only from tokens; ", "- Never test this on a Friday.\n- Colours only from tokens; "
    )
    edited = edited.replace("- Record the exit code and the memory peak of every job.", "")

    found = changes(entries, parse_lessons(edited, "plans/stories/LESSONS-LEARNED.md"))

    assert [entry.content for entry in found.added] == ["Never test this on a Friday."]
    assert [entry.content for entry in found.removed] == ["Record the exit code and the memory peak of every job."]
    # A summary that is told by its lessons changes with them.
    assert {entry.key.split("/")[0] for entry in found.changed} == {"STORY-013", "STORY-016", "STORY-017"}


def test_a_document_without_story_numbers_has_stories_by_their_titles():
    text = "# Lessons\n\n## Checkout\n\n### Blockers\n\n- Stripe was down.\n\n"
    text += "## Basket\n\n### Recommendations\n\n- Cache it.\n"

    entries = parse_lessons(text, "lessons.md")

    assert [(entry.key, entry.parent) for entry in entries if entry.parent] == [
        ("checkout/blocker/stripe-was-down", "checkout"),
        ("basket/recommendation/cache-it", "basket"),
    ]


def test_a_document_that_is_only_sections_is_one_story():
    entries = parse_lessons(
        "# Lessons\n\n## Recommendations\n\n- Cache it.\n\n## Blockers\n\n- Stripe.\n", "lessons.md"
    )

    assert [entry.key for entry in entries] == ["lessons", "lessons/recommendation/cache-it", "lessons/blocker/stripe"]


def test_a_lesson_longer_than_an_entry_is_refused_with_its_line():
    text = f"## STORY-1: Long\n\n### Blockers\n\n- {'word ' * 20_000}\n"

    with pytest.raises(Invalid, match=r"lessons.md, line 5: content is .* bytes; the limit is 65,536"):
        parse_lessons(text, "lessons.md")
