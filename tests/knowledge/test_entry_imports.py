"""Bulk import: many rows at once, by the same rules as one, with a word about every row that was left out."""

import json
from contextlib import suppress
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from bigmind.core.errors import BigMindError
from bigmind.core.operations import carry_out
from bigmind.database.bulk_copy import copy_new
from knowledge.indexing.embedding import embed_pending
from knowledge.kb.entries import add_entry, update_entry
from knowledge.kb.entry_imports import import_entries
from knowledge.kb.entry_reading import get_entry, search_entries
from knowledge.models import Entry, Passage, PassageVector
from tests.factories import make_actor

pytestmark = pytest.mark.django_db

ROUTES = "Route ordering in vercel.json: specific routes must come before parameterized routes."
LONG = "\n\n".join(f"## Part {n}\n\n" + f"The lesson of part {n} is long. " * 20 for n in range(6))


def _import(actor, rows, **options):
    return carry_out(import_entries, actor, {"entries": rows, **options})


def test_an_imported_entry_is_like_one_that_was_added(actor):
    embed_pending()
    parent = add_entry(actor, content="STORY-007: routing.", entry_type="summary").entry
    said = {
        "content": f"{ROUTES}\tA tab, a backslash \\N, “quotes”, 漢字.",
        "entry_type": "template",
        "roles": ["dev", "qa"],
        "tags": ["vercel", "a, b"],
        "source_file": "LESSONS.md",
        "source_story": "STORY-007",
        "confidence": 0.25,
        "metadata": {"gate": ["PASS", None, {"x": 1.5}]},
        "project": "shop",
    }

    _import(actor, [{**said, "parent_id": str(parent.pk)}])

    entry = Entry.objects.exclude(pk=parent.pk).get()
    assert {name: getattr(entry, name) for name in said} == said
    assert (entry.parent, entry.created_by, entry.created_at is None) == (parent, actor.user, False)
    assert PassageVector.objects.filter(passage__source_id=str(entry.pk), vector=None).count() == 1
    assert Passage.objects.get(source_id=str(entry.pk)).project == "shop"


def test_imported_entries_are_found_by_words_at_once_and_by_meaning_after_the_worker_ran(actor):
    _import(actor, [{"content": ROUTES}, {"content": LONG}])

    before = search_entries(actor, query="ordering of vercel routes")
    embed_pending()
    after = search_entries(actor, query="ordering of vercel routes")

    assert [hit.arms for hit in before.items] == [("keyword",)]
    assert after.items[0].arms == ("keyword", "vector")
    assert Passage.objects.filter(ordinal__gt=0).exists()


def test_a_section_is_found_by_the_headings_above_it_and_shown_without_them(actor):
    rows = [{"content": "## Examples\n\nAdd two lines.", "metadata": {"headings": ["Compressing answers", "Examples"]}}]
    _import(actor, rows)

    [hit] = search_entries(actor, query="compressing").items

    assert "Compressing" not in hit.excerpt
    update_entry(actor, id=hit.entry.pk, content="## Examples\n\nAdd three lines.")
    assert search_entries(actor, query="compressing").items


def test_whoever_stores_the_same_a_moment_earlier_wins_and_nobody_fails():
    theirs = Entry.objects.create(content="Theirs.", digest="same")

    stored = copy_new([Entry(content="Ours.", digest="same"), Entry(content="Other.", digest="other")], unique="digest")

    assert [entry.content for entry in stored] == ["Other."]
    assert Entry.objects.get(digest="same") == theirs


def test_an_import_without_rows_does_nothing():
    report = _import(make_actor(), [])

    assert (report.imported, report.skipped, report.errors) == (0, 0, [])


def test_what_is_nearly_known_is_imported_and_points_to_it_once_the_worker_has_looked(actor):
    known = add_entry(actor, content=ROUTES, entry_type="fact").entry
    embed_pending()

    _import(actor, [{"content": f"{ROUTES[:-1]}!"}, {"content": "Something else altogether."}])
    embed_pending()

    pointing = dict(Entry.objects.exclude(pk=known.pk).values_list("content", "similar_to"))
    assert pointing == {f"{ROUTES[:-1]}!": known.pk, "Something else altogether.": None}
    assert get_entry(actor, id=known.pk).similar_to is None


@pytest.mark.parametrize("field", ["roles", "tags"])
@pytest.mark.parametrize(
    "names",
    [
        *(["dev"], ["designer"], "dev, qa", "dev", ["dev", "dev"], ["Dev"], [" dev "], []),
        *([""], ["x" * 101], [f"n{number}" for number in range(51)], [1], ["a\u200bb"], ["ghp_" + "a1B2" * 9]),
    ],
    ids=str,
)
def test_roles_and_tags_are_the_same_at_every_entrance(field: str, names: Any, tmp_path: Path) -> None:
    actor = make_actor(admin=True)
    there = Entry.objects.create(content="changed", digest="1")
    (tmp_path / "seed.yaml").write_text(json.dumps({"entries": [{"content": "seeded", field: names}]}))
    entrances = (
        lambda: carry_out(add_entry, actor, {"content": "added", "entry_type": "fact", field: names}),
        lambda: carry_out(import_entries, actor, {"entries": [{"content": "imported", field: names}]}),
        lambda: carry_out(update_entry, actor, {"id": there.pk, field: names}),
        lambda: call_command("kb_seed", str(tmp_path / "seed.yaml"), stderr=StringIO(), stdout=StringIO()),
    )

    for enter in entrances:
        with suppress(BigMindError, CommandError):
            enter()

    there.refresh_from_db()
    told = [getattr(entry, field) for entry in Entry.objects.exclude(pk=there.pk)]
    assert told in ([], [getattr(there, field)] * 3)
