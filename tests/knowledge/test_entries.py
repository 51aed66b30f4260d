"""The knowledge base: added once, found by words and meaning, shared by everybody (the flows of seed 001)."""

from uuid import uuid4

import pytest

from bigmind.core.errors import Conflict, Forbidden, Invalid, NotFound
from bigmind.core.operations import carry_out
from knowledge.models import CachedVector, Entry, Passage, PassageVector
from knowledge.services.embedding import embed_pending
from knowledge.services.entries import (
    add_entry,
    delete_entry,
    entry_stats,
    get_entry,
    get_related_entries,
    import_entries,
    list_entries,
    rebuild_embeddings,
    search_entries,
    update_entry,
)
from tests.factories import make_actor

pytestmark = pytest.mark.django_db

ROUTES = "Route ordering in vercel.json: specific routes must come before parameterized routes."
KEYS = "When deleting an entity referenced by another FK, clear those references before deleting."


def _add(actor, content, **fields):
    return add_entry(actor, content=content, **{"entry_type": "fact", **fields}).entry


def test_what_one_adds_another_finds_by_words_at_once_and_by_meaning_after_the_worker_ran():
    _add(make_actor(), ROUTES, roles=["dev"], tags=["vercel", "routing"])
    other = make_actor()

    before = search_entries(other, query="ordering of routes in vercel")
    embed_pending()
    after = search_entries(other, query="ordering of routes in vercel")

    assert [hit.arms for hit in before.items] == [("keyword",)]
    assert [hit.arms for hit in after.items] == [("keyword", "vector")]
    assert not after.fallback
    assert after.items[0].entry.content == ROUTES


def test_the_same_content_is_added_once():
    first = add_entry(make_actor(), content=ROUTES, entry_type="fact")
    again = add_entry(make_actor(), content=f"  {ROUTES}\n", entry_type="summary")

    assert (first.success, again.success, again.duplicate) == (True, False, True)
    assert again.id == first.id


def test_a_search_keeps_to_role_tags_type_and_confidence():
    actor = make_actor()
    _add(actor, ROUTES, roles=["dev"], tags=["vercel", "routing"])
    _add(actor, f"{ROUTES} For testers.", roles=["qa"], tags=["vercel"])
    _add(actor, f"{ROUTES} For everybody.", roles=["all"])
    _add(actor, f"{ROUTES} Perhaps.", confidence=0.3)
    _add(actor, f"{ROUTES} In short.", entry_type="summary")
    embed_pending()

    def found(**filters):
        return {
            hit.entry.content.removeprefix(ROUTES).strip()
            for hit in search_entries(actor, query="routes", **filters).items
        }

    assert found() == {"", "For testers.", "For everybody.", "In short."}
    assert found(role="dev") == {"", "For everybody.", "In short."}
    assert found(tags=["vercel", "routing"]) == {""}
    assert found(entry_type="summary") == {"In short."}
    assert "Perhaps." in found(min_confidence=0)


def test_related_entries_share_parents_or_two_tags():
    actor = make_actor()
    summary = _add(actor, "STORY-007: routing.", entry_type="summary")
    one = _add(actor, ROUTES, parent_id=summary.pk, tags=["vercel", "routing", "api"])
    sibling = _add(actor, "A sibling.", parent_id=summary.pk)
    alike = _add(actor, "Alike.", tags=["vercel", "routing", "api"])
    _add(actor, "Only one tag.", tags=["vercel"])

    related = get_related_entries(actor, entry_id=one.pk)

    assert related.items[0] == alike
    assert set(related.items) == {alike, summary, sibling}


def test_entries_are_listed_by_filters_in_the_order_asked_for():
    actor = make_actor()
    _add(actor, ROUTES, tags=["a", "b"], confidence=0.4)
    _add(actor, KEYS, tags=["a"], confidence=0.9)

    assert [e.content for e in list_entries(actor, tags=["a"], order_by="confidence", order="asc").items] == [
        ROUTES,
        KEYS,
    ]
    assert list_entries(actor, tags=["a", "b"]).total == 1


def test_a_change_of_content_is_found_by_its_new_words_only():
    actor = make_actor()
    entry = _add(actor, ROUTES)
    embed_pending()

    updated = update_entry(actor, id=entry.pk, content="Migrations are linted.")
    embed_pending()

    assert updated.re_embedded
    assert not update_entry(actor, id=entry.pk, tags=["db"]).re_embedded
    assert search_entries(actor, query="vercel").items[0].arms == ("vector",)
    assert search_entries(actor, query="migrations").items[0].arms == ("keyword", "vector")


def test_a_change_that_would_double_another_entry_is_refused():
    actor = make_actor()
    _add(actor, ROUTES)
    other = _add(actor, KEYS)

    with pytest.raises(Conflict, match="known already"):
        update_entry(actor, id=other.pk, content=ROUTES)


def test_members_change_their_own_entries_and_curators_any():
    entry = _add(make_actor(), ROUTES)

    with pytest.raises(Forbidden, match="somebody else"):
        update_entry(make_actor(), id=entry.pk, confidence=0.1)
    with pytest.raises(Forbidden, match="somebody else"):
        delete_entry(make_actor(), id=entry.pk)
    assert update_entry(make_actor(curator=True), id=entry.pk, confidence=0.1).entry.confidence == 0.1


def test_a_deleted_entry_is_gone_with_its_passages():
    actor = make_actor()
    entry = _add(actor, ROUTES)
    embed_pending()

    delete_entry(actor, id=entry.pk)

    assert not Passage.objects.exists()
    assert not PassageVector.objects.exists()
    with pytest.raises(NotFound):
        get_entry(actor, id=entry.pk)


def test_an_import_says_row_by_row_what_was_wrong():
    actor = make_actor()
    _add(actor, ROUTES)
    rows = [
        {"content": ROUTES},
        {"content": KEYS, "tags": ["fk"]},
        {"content": KEYS},
        {"content": "Orphan.", "parent_id": str(uuid4())},
    ]

    report = carry_out(import_entries, actor, {"entries": rows})

    assert (report.imported, report.skipped) == (1, 2)
    assert ["Entry 4" in error for error in report.errors] == [True]
    assert carry_out(import_entries, actor, {"entries": rows, "skip_existing": False}).imported == 0


def test_one_malformed_row_refuses_the_import_and_is_named():
    with pytest.raises(Invalid) as refusal:
        carry_out(
            import_entries, make_actor(), {"entries": [{"content": ROUTES}, {"content": ROUTES, "confidence": 7}]}
        )

    assert refusal.value.problems[0]["field"] == "entries.1.confidence"
    assert not Entry.objects.exists()


def test_statistics_count_types_roles_and_vectors():
    actor = make_actor()
    _add(actor, ROUTES, roles=["dev", "qa"], confidence=0.5)
    _add(actor, KEYS, entry_type="summary", roles=["dev"])

    before = entry_stats(actor)
    embed_pending()

    assert (before.total_entries, before.by_type, before.by_role) == (2, {"fact": 1, "summary": 1}, {"dev": 2, "qa": 1})
    assert (before.avg_confidence, before.waiting) == (0.75, 2)
    assert (entry_stats(actor).waiting, entry_stats(actor).cache_size) == (0, 2)


def test_only_admins_have_all_vectors_made_anew():
    with pytest.raises(Forbidden):
        rebuild_embeddings(make_actor())


def test_vectors_made_anew_serve_all_the_while():
    admin = make_actor(admin=True)
    _add(admin, ROUTES)
    embed_pending()

    progress = rebuild_embeddings(admin)

    assert (progress.total, progress.processed, progress.status) == (1, 0, "in_progress")
    assert search_entries(admin, query="routes in vercel").items[0].arms == ("keyword", "vector")
    assert not CachedVector.objects.exists()
    assert embed_pending() == 1
    assert rebuild_embeddings(admin, clear_cache=False).total == 1
