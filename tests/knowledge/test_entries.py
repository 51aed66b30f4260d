"""The knowledge base: added once, found by words and meaning, shared by everybody (the flows of seed 001)."""

from uuid import uuid4

import pytest

from bigmind.core.errors import Conflict, Forbidden, NotFound
from bigmind.core.operations import carry_out
from knowledge.indexing.embedding import embed_pending
from knowledge.indexing.re_embedding import rebuild_embeddings
from knowledge.kb.entries import add_entry, delete_entry, update_entry
from knowledge.kb.entry_imports import import_entries
from knowledge.kb.entry_reading import entry_stats, get_entry, get_related_entries, list_entries, search_entries
from knowledge.memory.trigger_levels import set_entry_trigger_level
from knowledge.models import CachedVector, Entry, Passage, PassageVector
from tests.factories import make_actor
from tests.lock_waits import meanwhile

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


def test_a_search_keeps_to_role_tags_type_and_confidence(actor):
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


def test_related_entries_share_parents_or_two_tags_and_are_counted_though_few_are_shown(actor):
    summary = _add(actor, "STORY-007: routing.", entry_type="summary")
    one = _add(actor, ROUTES, parent_id=summary.pk, tags=["vercel", "routing", "api"])
    sibling = _add(actor, "A sibling.", parent_id=summary.pk)
    alike = _add(actor, "Alike.", tags=["vercel", "routing", "api"])
    _add(actor, "Only one tag.", tags=["vercel"])

    related, few = get_related_entries(actor, entry_id=one.pk), get_related_entries(actor, entry_id=one.pk, limit=1)

    assert related.items[0] == alike
    assert set(related.items) == {alike, summary, sibling}
    assert (few.items, few.total) == ([alike], 3)


def test_entries_are_listed_by_filters_in_the_order_asked_for(actor):
    _add(actor, ROUTES, tags=["a", "b"], confidence=0.4)
    _add(actor, KEYS, tags=["a"], confidence=0.9)

    assert [e.content for e in list_entries(actor, tags=["a"], order_by="confidence", order="asc").items] == [
        ROUTES,
        KEYS,
    ]
    assert list_entries(actor, tags=["a", "b"]).total == 1


def test_a_change_of_content_is_found_by_its_new_words_only_and_a_deleted_entry_by_none(actor):
    entry = _add(actor, ROUTES)
    embed_pending()

    updated = update_entry(actor, id=entry.pk, content="Migrations are linted.")
    embed_pending()

    assert updated.re_embedded
    assert not update_entry(actor, id=entry.pk, tags=["db"]).re_embedded
    assert search_entries(actor, query="vercel").items[0].arms == ("vector",)
    assert search_entries(actor, query="migrations").items[0].arms == ("keyword", "vector")
    delete_entry(actor, id=entry.pk)
    assert not Passage.objects.exists()
    assert not PassageVector.objects.exists()
    with pytest.raises(NotFound):
        get_entry(actor, id=entry.pk)


def test_a_change_that_would_double_another_entry_is_refused(actor):
    _add(actor, ROUTES)
    other = _add(actor, KEYS)

    with pytest.raises(Conflict, match="known already"):
        update_entry(actor, id=other.pk, content=ROUTES)


def test_members_change_their_own_entries_and_curators_any():
    entry = _add(make_actor(), ROUTES)

    with pytest.raises(Forbidden, match="someone else"):
        update_entry(make_actor(), id=entry.pk, confidence=0.1)
    with pytest.raises(Forbidden, match="someone else"):
        delete_entry(make_actor(), id=entry.pk)
    assert update_entry(make_actor(curator=True), id=entry.pk, confidence=0.1).entry.confidence == 0.1


def test_a_curators_key_that_may_only_write_changes_their_own_entries_alone(curator):
    narrow = make_actor(curator.user, scopes=["read", "write"])
    own, other = _add(curator, ROUTES), _add(make_actor(), KEYS)

    assert update_entry(narrow, id=own.pk, confidence=0.1).entry.confidence == 0.1
    with pytest.raises(Forbidden, match="someone else"):
        update_entry(narrow, id=other.pk, confidence=0.1)
    with pytest.raises(Forbidden, match="someone else"):
        delete_entry(narrow, id=other.pk)
    assert delete_entry(make_actor(curator.user, scopes=["read", "write", "curate"]), id=other.pk)


def test_an_import_says_row_by_row_what_was_wrong(actor):
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


def test_one_malformed_row_is_named_and_the_others_are_imported():
    rows = [{"content": ROUTES}, {"content": KEYS, "confidence": 7}, "no entry at all", {"contents": KEYS}]

    report = carry_out(import_entries, make_actor(), {"entries": rows})

    assert report.imported == Entry.objects.count() == 1
    assert [error.partition(":")[0] for error in report.errors] == ["Entry 2", "Entry 3", "Entry 4"]
    assert "confidence must be 1 or less" in report.errors[0]


def test_statistics_count_types_roles_and_vectors(actor):
    _add(actor, ROUTES, roles=["dev", "qa"], confidence=0.5)
    _add(actor, KEYS, entry_type="summary", roles=["dev"])

    before = entry_stats(actor)
    embed_pending()

    assert (before.total_entries, before.by_type, before.by_role) == (2, {"fact": 1, "summary": 1}, {"dev": 2, "qa": 1})
    assert (before.avg_confidence, before.waiting) == (0.75, 2)
    assert (entry_stats(actor).waiting, entry_stats(actor).cache_size) == (0, 2)


def test_vectors_that_an_admin_has_made_anew_serve_all_the_while():
    admin = make_actor(admin=True)
    _add(admin, ROUTES)
    embed_pending()

    progress = rebuild_embeddings(admin)

    assert (progress.total, progress.processed, progress.status) == (1, 0, "in_progress")
    assert search_entries(admin, query="routes in vercel").items[0].arms == ("keyword", "vector")
    assert not CachedVector.objects.exists()
    assert embed_pending() == 1
    assert rebuild_embeddings(admin, clear_cache=False).total == 1
    with pytest.raises(Forbidden):
        rebuild_embeddings(make_actor())


def test_what_says_nearly_the_same_is_added_with_a_pointer_to_it():
    known = _add(make_actor(), ROUTES)
    _add(make_actor(), KEYS)

    added = add_entry(make_actor(), content=f"Note: {ROUTES}", entry_type="fact")

    assert (added.duplicate, [one.id for one in added.similar]) == (False, [known.pk])
    assert 0.9 <= added.similar[0].similarity < 1
    assert ROUTES.startswith(added.similar[0].excerpt)
    assert get_entry(make_actor(), id=added.id).similar_to == known


@pytest.mark.parametrize(
    "content",
    [
        "Route ordering in nginx: the longest prefix wins, whatever its place in the file.",
        "Specific routes.",
        f"{ROUTES} {KEYS}",
        "Migrations are linted.",
    ],
)
def test_what_only_shares_words_points_nowhere(content):
    _add(make_actor(), ROUTES)

    added = add_entry(make_actor(), content=content, entry_type="fact")
    embed_pending()

    assert added.similar == []
    assert get_entry(make_actor(), id=added.id).similar_to is None


def test_changed_content_points_anew_and_a_pointer_does_not_outlive_what_it_points_to(actor):
    known, other = _add(actor, ROUTES), _add(actor, "Migrations are linted.")

    changed = update_entry(actor, id=other.pk, content=f"Note: {ROUTES}").entry
    delete_entry(actor, id=known.pk)

    assert changed.similar_to_id == known.pk
    assert get_entry(actor, id=other.pk).similar_to is None


def test_a_search_that_finds_nothing_names_what_there_is():
    _add(make_actor(), ROUTES, tags=["vercel"])

    found = search_entries(make_actor(), query="wercel")
    hopeless = search_entries(make_actor(), query="qqqq")

    assert found.items == []
    assert found.did_you_mean == ["vercel"]
    assert hopeless.did_you_mean == []


def test_a_search_that_found_something_tells_it_whatever_it_may_cost(actor):
    _add(actor, f"{KEYS} " * 100 + ROUTES)

    (hit,) = search_entries(actor, query="vercel routes", max_tokens=100).items

    assert "vercel" in hit.excerpt.casefold()


@pytest.mark.django_db(transaction=True)
def test_of_two_changes_at_once_neither_undoes_the_other(curator):
    entry = _add(curator, ROUTES, triggers=["error: route"])

    meanwhile(
        lambda: update_entry(curator, id=entry.pk, metadata={"reviewed": True}),
        lambda: update_entry(curator, id=entry.pk, confidence=0.5),
    )
    meanwhile(
        lambda: update_entry(curator, id=entry.pk, tags=["vercel"]),
        lambda: set_entry_trigger_level(curator, id=entry.pk, level="advise"),
    )

    entry.refresh_from_db()
    assert (entry.metadata, entry.confidence, entry.tags) == ({"reviewed": True}, 0.5, ["vercel"])
    assert entry.trigger_levels == {"": "advise"}


@pytest.mark.django_db(transaction=True)
def test_the_text_that_another_entry_gets_meanwhile_is_refused_in_words(actor):
    one, other = _add(actor, ROUTES), _add(actor, KEYS)

    with pytest.raises(Conflict, match="known already") as refused:
        meanwhile(
            lambda: update_entry(actor, id=one.pk, content="Deploys run at noon."),
            lambda: update_entry(actor, id=other.pk, content="Deploys run at noon."),
        )

    assert refused.value.details == {"entry_id": str(one.pk)}
