"""What BigMind does with the trial kinds, of which nothing but their rows and their own files tells it."""

from typing import Any

import pytest
from django.apps import apps
from django.core.management import call_command
from django.db.migrations import CreateModel
from django.db.migrations.autodetector import MigrationAutodetector
from django.db.migrations.loader import MigrationLoader
from django.db.migrations.state import ProjectState
from django.urls import reverse

from accounts.actor import Actor, acts
from accounts.people.user_deletion import delete_user, describe_deletion
from bigmind.core.errors import Invalid, NotFound
from bigmind.database.rls import rls_bypass, rls_scope
from bigmind.gate import perform
from bigmind.operations import CATALOGUE
from bigmind.privacy.scrub.scrubbing import scrub_text
from bigmind.views.imports import _count_phrase
from knowledge.capture.events import _has_stored
from knowledge.exposures.insights import growth_of_memory, look_at_knowledge
from knowledge.indexing.index_gaps import find_gaps, mend_gaps
from knowledge.kinds import erase_own
from knowledge.memory.timeline import see_timeline
from knowledge.models import CompanyEntry, Feedback, Passage, ReceiptText, Serving
from tests.factories import browser_of, make_actor, make_key, make_user
from tests.knowledge.factories import make_session

from .models import Rumour, Signpost
from .services import index_signpost, put_up_signpost, store_rumour

pytestmark = pytest.mark.django_db

TEXT = "The quokka of the night shift restarts the queue."
WAY = "Signs to the quokka stand beside the old gate."


def call(actor: Actor, name: str, **arguments: Any) -> Any:
    return perform(CATALOGUE[name], actor, arguments, transport="mcp").value


def text_of(actor: Actor, name: str, **arguments: Any) -> str:
    return perform(CATALOGUE[name], actor, arguments, transport="mcp").markdown()


def page(actor: Actor, route: str, **asked: str) -> str:
    return browser_of(actor.user).get(reverse(route), asked).content.decode()


@pytest.fixture
def actor() -> Actor:
    return make_actor()


def acting_with_a_key() -> tuple[Actor, Any]:
    user = make_user()
    key = make_key(user).key
    return Actor.of(user, key=key), key


@pytest.mark.parametrize("operation", ["memory_semantic_search", "memory_recall"])
def test_both_are_found(actor: Actor, operation: str) -> None:
    rumour, signpost = store_rumour(actor, TEXT), put_up_signpost(WAY)

    hits = {hit.kind: hit.id for hit in call(actor, operation, query="quokka").items}

    assert hits == {"rumour": str(rumour.number), "signpost": str(signpost.pk)}
    assert f"R{rumour.number}" in text_of(actor, operation, query="quokka queue")
    assert {hit.kind for hit in call(make_actor(), operation, query="quokka").items} == {"signpost"}


def test_a_search_is_narrowed_to_either(actor: Actor) -> None:
    store_rumour(actor, TEXT)
    put_up_signpost(WAY)

    for kind in ("rumour", "signpost"):
        assert {hit.kind for hit in call(actor, "memory_semantic_search", query="quokka", kinds=[kind]).items} == {kind}
        assert f'value="{kind}"' in page(actor, "home", query="quokka")


def test_pages_show_hits_with_their_addresses(actor: Actor) -> None:
    rumour, signpost = store_rumour(actor, TEXT), put_up_signpost(WAY)

    shown = page(actor, "home", query="quokka")

    assert reverse("memory-rumour", args=[rumour.pk]) in shown
    assert reverse("signpost", args=[signpost.pk]) in shown
    assert 'data-of="folder"' in shown


def test_a_rumour_is_archived_and_brought_back(actor: Actor) -> None:
    rumour = store_rumour(actor, TEXT)

    call(actor, "memory_set_aside", kind="rumour", id=f"R{rumour.number}")
    assert call(actor, "memory_semantic_search", query="quokka").items == []
    assert TEXT in page(actor, "memory-aside")
    call(actor, "memory_restore", kind="rumour", id=str(rumour.number))

    assert [hit.kind for hit in call(actor, "memory_semantic_search", query="quokka").items] == ["rumour"]


def test_a_rumour_is_erased_with_the_lines_that_told_it(actor: Actor) -> None:
    rumour = store_rumour(actor, TEXT)
    ReceiptText.objects.create(user=actor.user, kind="rumour", source_id=str(rumour.pk), text=TEXT, digest="1" * 64)
    client = browser_of(actor.user)

    client.post(reverse("memory-erase", args=["rumour", rumour.pk]))

    assert not Rumour.objects.exists()
    assert not Passage.objects.filter(kind="rumour").exists()
    assert not ReceiptText.objects.exists()


def test_nobody_reaches_the_rumours_of_others(actor: Actor) -> None:
    rumour = store_rumour(actor, TEXT)
    other = make_actor()

    with pytest.raises(NotFound):
        erase_own(other, "rumour", rumour.pk)
    with pytest.raises(NotFound):
        call(other, "memory_feedback", kind="rumour", id=str(rumour.pk), verdict="useful")


def test_a_rumour_is_counted(actor: Actor) -> None:
    store_rumour(actor, TEXT)

    assert call(actor, "memory_get_stats").rumours == 1
    assert "1 rumours" in text_of(actor, "memory_get_stats")
    assert growth_of_memory(actor.user)[-1].numbers["Rumours"] == 1
    assert reverse("memory-rumours") in page(actor, "memory")
    assert reverse("memory-rumours") in page(actor, "insights-knowledge")


def test_a_signpost_is_counted_among_what_everybody_knows(actor: Actor, settings: Any) -> None:
    settings.BIGMIND_MODE = "team"
    put_up_signpost(WAY)

    assert look_at_knowledge(actor, whose="everybody").growth[-1].numbers["Signposts"] == 1
    assert reverse("signposts") in page(actor, "insights-knowledge", whose="everybody")


def test_a_memory_with_rumours_is_exported_and_imported(actor: Actor) -> None:
    rumour = store_rumour(actor, TEXT, project="depot")
    document = call(actor, "memory_export").model_dump(mode="json")
    other = make_actor()

    imported = call(other, "memory_import", document=document)

    assert (imported.added["rumours"], imported.known["rumours"]) == (1, 0)
    brought = Rumour.objects.get(user=other.user)
    assert (brought.text, brought.project, brought.created_at) == (TEXT, "depot", rumour.created_at)
    assert [hit.id for hit in call(other, "memory_semantic_search", query="quokka").items] == [str(brought.number)]
    assert call(other, "memory_import", document=document).added["rumours"] == 0
    assert (_count_phrase("rumours", 1), _count_phrase("rumours", 2)) == ("1 rumour", "2 rumours")


def test_signposts_are_exported_with_what_everybody_shares(tmp_path: Any) -> None:
    put_up_signpost(WAY)

    call_command("export", str(tmp_path / "all"), only=["signposts"])

    assert (tmp_path / "all" / "signposts" / "signposts.txt").read_text() == WAY


def test_what_a_key_wrote_of_both_is_forgotten() -> None:
    actor, key = acting_with_a_key()
    with acts(actor):
        store_rumour(actor, TEXT)
        put_up_signpost(WAY)
    store_rumour(actor, "The okapi was typed on a page.")

    counted = call(actor, "memory_forget_source", key=str(key.pk))
    assert (counted.rumours, counted.signposts, Rumour.objects.count()) == (1, 1, 2)
    done = text_of(actor, "memory_forget_source", key=str(key.pk), dry_run=False)

    assert "1 rumours, 1 signposts" in done
    assert [rumour.text for rumour in Rumour.objects.all()] == ["The okapi was typed on a page."]
    assert not Signpost.objects.exists()
    assert not Passage.objects.filter(text__contains="quokka").exists()


def test_a_signpost_that_others_wrote_too_is_left_to_people() -> None:
    actor, key = acting_with_a_key()
    with acts(actor):
        signpost = put_up_signpost(WAY)
    with acts(acting_with_a_key()[0]):
        index_signpost(signpost)

    done = call(actor, "memory_forget_source", key=str(key.pk), dry_run=False)

    assert (done.signposts, done.look_at) == (0, [f"signpost {signpost.pk}"])
    assert Signpost.objects.exists()


def test_a_session_takes_the_rumours_along_that_were_heard_in_it(actor: Actor) -> None:
    session = make_session(actor)
    assert not _has_stored(session)
    store_rumour(actor, TEXT, session=session)
    assert _has_stored(session)

    assert call(actor, "memory_forget_source", session_id=str(session.pk), dry_run=False).rumours == 1

    assert not Rumour.objects.exists()


def test_rumours_go_with_their_user(actor: Actor) -> None:
    store_rumour(actor, TEXT)
    with rls_scope(actor.user.pk):
        assert (1, "rumour") in describe_deletion(actor.user).going

    delete_user(actor.user)

    with rls_bypass():
        assert not Rumour.objects.exists()
        assert not Passage.objects.filter(kind="rumour").exists()


def test_a_rumour_is_on_the_timeline(actor: Actor) -> None:
    rumour = store_rumour(actor, TEXT, project="depot")
    store_rumour(make_actor(), "Not yours.")

    (event,) = see_timeline(actor, kind="rumour", project="depot").items

    assert (event.kind, event.what, event.id, event.title) == ("rumour", "stored", str(rumour.pk), TEXT)
    shown = page(actor, "memory-timeline")
    assert reverse("memory-rumour", args=[rumour.pk]) in shown
    assert "Rumour" in shown


def test_both_are_given_feedback_and_named_by_their_handles(actor: Actor) -> None:
    rumour, signpost = store_rumour(actor, TEXT), put_up_signpost(WAY)

    call(actor, "memory_feedback", id=f"R{rumour.number}", verdict="useful")
    call(actor, "memory_feedback", id=f"signpost:{signpost.pk}", verdict="wrong")

    said = set(Feedback.objects.values_list("kind", "source_id", "verdict"))
    assert said == {("rumour", str(rumour.pk), "useful"), ("signpost", str(signpost.pk), "wrong")}
    with pytest.raises(Invalid, match="the handle of a rumour"):
        call(actor, "memory_erase_fact", fact_id=f"R{rumour.number}")


def test_both_are_promoted(actor: Actor) -> None:
    rumour, signpost = store_rumour(actor, TEXT, project="depot"), put_up_signpost(WAY)

    for kind, thing in (("rumour", rumour), ("signpost", signpost)):
        told = {"category": "standard", "title": kind, "source_kind": kind, "source_id": str(thing.pk)}
        proposed = CompanyEntry.objects.get(pk=call(actor, "memory_promote_to_global", **told).entry.id)
        assert (proposed.source_kind, proposed.source_id, proposed.content) == (kind, str(thing.pk), thing.text)


def test_a_project_is_spelled_as_in_a_rumour(actor: Actor) -> None:
    store_rumour(actor, TEXT, project="Freight-API")

    stored = call(actor, "memory_store_fact", category="decision", fact="It is slow.", project="freight api")

    assert stored.fact.project == "Freight-API"


def test_a_session_says_that_either_helped(actor: Actor) -> None:
    session = make_session(actor, is_open=True)
    rumour, signpost = store_rumour(actor, TEXT), put_up_signpost(WAY)

    cited = [f"R{rumour.number}", f"signpost:{signpost.pk}"]
    call(actor, "memory_end_session", one_liner="Found it", session_id=str(session.pk), used=cited)

    said = Serving.objects.filter(session=session, cited=True).values_list("kind", "source_id")
    assert set(said) == {("rumour", str(rumour.pk)), ("signpost", str(signpost.pk))}


def test_a_text_is_removed_from_both() -> None:
    admin = make_actor(admin=True)
    store_rumour(admin, TEXT)
    put_up_signpost(WAY)

    scrub_text(admin, text="quokka", why="A trial.")

    for model in (Rumour, Signpost, Passage):
        assert not model.objects.filter(text__contains="quokka").exists()
        assert model.objects.exists()


def test_a_golden_question_looks_for_a_signpost() -> None:
    signpost = put_up_signpost(WAY)

    golden = call(
        make_actor(curator=True), "golden_pin", question="Where is the quokka?", kind="signpost", id=str(signpost.pk)
    )

    assert golden.place == 1


def test_the_check_of_the_index_notices_what_has_no_passages(actor: Actor) -> None:
    store_rumour(actor, TEXT)
    put_up_signpost(WAY)
    Passage.objects.all().delete()

    found = {(gap.kind, gap.count) for gap in find_gaps() if gap.gap == "passages"}
    assert {("rumour", 1), ("signpost", 1)} <= found
    mend_gaps()

    assert set(Passage.objects.values_list("kind", flat=True)) == {"rumour", "signpost"}


def test_nothing_but_their_tables_is_missing_in_migrations() -> None:
    loader = MigrationLoader(None)
    detected = MigrationAutodetector(loader.project_state(), ProjectState.from_apps(apps)).changes(loader.graph)

    missing = [operation for migrations in detected.values() for one in migrations for operation in one.operations]
    assert {type(operation) for operation in missing} == {CreateModel}
    assert {operation.name for operation in missing} == {"Rumour", "Signpost"}


def test_rls_hides_rumours_also_from_queries_without_a_filter(actor: Actor) -> None:
    store_rumour(actor, TEXT)

    with rls_scope(make_user().pk):
        assert not Rumour.objects.exists()
    with rls_scope(actor.user.pk):
        assert Rumour.objects.exists()
