"""Forgetting a source: what a key, an agent or a session wrote goes everywhere, and nothing else does (T19)."""

from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from accounts.actor import Actor
from accounts.models import ApiKey
from bigmind.core.errors import Invalid, NotFound
from bigmind.gate import perform
from bigmind.operations import CATALOGUE
from curation.decisions.forgetting import forget_source
from knowledge.context.start_context import get_context
from knowledge.indexing.embedding import embed_pending
from knowledge.memory.facts import store_fact
from knowledge.models import CachedVector, CompanyEntry, Entry, Fact, Note, Passage, Reference, Session, Writing
from knowledge.references.editing import update_reference
from knowledge.transfer.program_formats import export_memory
from tests.curation.factories import decide_at_latest, propose
from tests.factories import make_actor, make_key, make_user
from tests.lock_waits import meanwhile

pytestmark = pytest.mark.django_db

WORD = "Zanzibar"


def call(actor: Actor, name: str, **arguments: Any) -> Any:
    return perform(CATALOGUE[name], actor, arguments, transport="mcp").value


def acting_with_a_key(user: Any = None, **options: Any) -> tuple[Actor, ApiKey]:
    user = user or make_user()
    key = make_key(user, **options).key
    return Actor.of(user, key=key), key


def write_everything(actor: Actor) -> CompanyEntry:
    """Store one of everything through the gate, as an agent does, and let a curator approve what it proposes."""
    session = call(actor, "memory_start_session", project=WORD)
    call(actor, "memory_store_fact", category="decision", fact=f"{WORD} fact")
    call(actor, "memory_flag_important", content=f"{WORD} chunk", session_id=str(session.session_id))
    call(actor, "memory_add_hypothesis", hypothesis=f"{WORD} belief")
    call(actor, "knowledge_set", domain="email", key="rule", content=f"{WORD} note")
    call(actor, "kb_add", content=f"{WORD} entry", entry_type="fact")
    call(actor, "kb_bulk_import", entries=[{"content": f"{WORD} imported {n}"} for n in range(2)])
    proposal = call(actor, "memory_promote_to_global", category="standard", title=WORD, content=f"{WORD} rule")
    call(actor, "memory_end_session", one_liner=f"{WORD} session", session_id=str(session.session_id))
    return decide_at_latest(make_actor(curator=True), entry_id=proposal.entry.id, action="approve").entry


def test_what_a_key_wrote_is_gone_from_everything() -> None:
    actor, key = acting_with_a_key()
    entry = write_everything(actor)
    embed_pending()
    digests = set(Passage.objects.filter(text__contains=WORD).values_list("digest", flat=True))

    done = forget_source(actor, key=key.pk, dry_run=False)

    assert not Passage.objects.filter(text__contains=WORD).exists()
    assert not CachedVector.objects.filter(digest__in=digests).exists()
    assert WORD not in get_context(actor).markdown + export_memory(actor).model_dump_json()
    assert (done.facts, done.notes, done.entries, done.sessions, done.proposals) == (1, 1, 3, 1, 1)
    entry.refresh_from_db()
    assert entry.status == "pending"


def test_a_dry_run_counts_the_same_and_forgets_nothing() -> None:
    actor, key = acting_with_a_key()
    write_everything(actor)
    before = Passage.objects.count()

    told = forget_source(actor, key=key.pk)

    assert Passage.objects.count() == before
    assert (told.facts, told.chunks, told.entries, told.proposals) == (1, 1, 3, 1)


def test_what_the_person_and_other_keys_wrote_stays() -> None:
    actor, key = acting_with_a_key()
    other, _ = acting_with_a_key(actor.user)
    store_fact(actor, category="decision", fact="Typed on a page.")
    call(other, "memory_store_fact", category="decision", fact="From another key.")
    write_everything(actor)

    forget_source(actor, key=key.pk, dry_run=False)

    assert set(Fact.objects.values_list("fact", flat=True)) == {"Typed on a page.", "From another key."}


def test_only_what_was_written_since_a_moment_goes() -> None:
    actor, key = acting_with_a_key()
    call(actor, "memory_store_fact", category="decision", fact="Long ago.")
    Writing.objects.update(at=timezone.now() - timedelta(days=9))
    call(actor, "memory_store_fact", category="decision", fact="Just now.")

    forget_source(actor, key=key.pk, since=timezone.now() - timedelta(days=1), dry_run=False)

    assert list(Fact.objects.values_list("fact", flat=True)) == ["Long ago."]


def test_a_session_takes_along_what_was_learned_in_it(actor):
    session = call(actor, "memory_start_session")
    call(actor, "memory_store_fact", category="decision", fact="Learned in it.")
    call(actor, "memory_end_session", one_liner="Poisoned")
    call(actor, "memory_store_fact", category="decision", fact="Learned later.")

    forget_source(actor, session_id=str(session.session_id), dry_run=False)

    assert list(Fact.objects.values_list("fact", flat=True)) == ["Learned later."]
    assert not Session.objects.exists()


def test_an_entry_of_somebody_else_that_it_changed_is_left_to_people() -> None:
    author, curator = make_actor(), make_user(role="curator")
    actor, key = acting_with_a_key(curator, scopes=["read", "write", "curate"])
    entry = call(author, "kb_add", content="Theirs.", entry_type="fact").entry
    call(actor, "kb_update", id=str(entry.id), content="Changed.")

    done = forget_source(actor, key=key.pk, dry_run=False)

    assert Entry.objects.count() == 1
    assert done.look_at == [f"entry {entry.id}"]


def test_a_session_that_it_only_corrected_stays_and_is_named() -> None:
    user = make_user()
    trusted, _ = acting_with_a_key(user)
    suspect, key = acting_with_a_key(user)
    session = call(trusted, "memory_start_session")
    call(trusted, "memory_flag_important", content="We keep PostgreSQL.")
    call(trusted, "memory_end_session", one_liner="Chose a database")
    call(suspect, "memory_correct_session", session_id=str(session.session_id), one_liner="Chose another")

    done = forget_source(suspect, key=key.pk, dry_run=False)

    assert Session.objects.count() == 1
    assert f"summary {session.session_id}" in done.look_at


def test_what_a_stolen_key_of_a_curator_approved_waits_again() -> None:
    curator, key = acting_with_a_key(make_user(role="curator"), scopes=["read", "write", "curate"])
    entry = propose()
    call(curator, "memory_approve_global", entry_id=entry.pk, revision=entry.revision, action="approve")

    forget_source(make_actor(admin=True), key=key.pk, dry_run=False)

    entry.refresh_from_db()
    assert entry.status == "pending"


def test_nobody_forgets_what_the_key_of_another_wrote_but_an_admin_may() -> None:
    actor, key = acting_with_a_key()
    call(actor, "knowledge_set", domain="email", key="rule", content=WORD)

    with pytest.raises(NotFound):
        forget_source(make_actor(curator=True), key=key.pk, dry_run=False)
    forget_source(make_actor(admin=True), key=key.pk, dry_run=False)

    assert not Note.objects.exists()


def test_what_is_meant_has_to_be_said() -> None:
    with pytest.raises(Invalid, match="key or agent, session_id, app, source_file or origin is required"):
        forget_source(make_actor(), since=timezone.now(), dry_run=False)


def _import(actor: Actor, content: str, source: str = "") -> None:
    draft = {"key": "deploy", "kind": "guide", "title": "Deploying", "content": content}
    call(actor, "references_import", collection="helios", drafts=[draft], source=source)


def test_documentation_that_a_key_imported_is_gone_with_its_history() -> None:
    actor, key = acting_with_a_key(make_user(role="curator"), scopes=["read", "write", "curate"])
    _import(actor, f"{WORD} first")
    _import(actor, f"{WORD} second")

    done = forget_source(actor, key=key.pk, dry_run=False)

    assert done.references == 1
    assert not Reference.objects.exists()
    assert not Passage.objects.filter(text__contains=WORD).exists()


def test_documentation_that_a_key_reworded_goes_out_of_sight_until_people_looked() -> None:
    careful, _ = acting_with_a_key(make_user(role="curator"), scopes=["read", "write", "curate"])
    actor, key = acting_with_a_key(make_user(role="curator"), scopes=["read", "write", "curate"])
    _import(careful, "As it should be.")
    _import(actor, f"{WORD} instead")

    done = forget_source(actor, key=key.pk, dry_run=False)

    reference = Reference.objects.get()
    assert reference.removed_at
    assert f"reference {reference.pk}" in done.look_at
    assert not Passage.objects.filter(text__contains=WORD).exists()
    _import(careful, "As it should be.")
    assert Reference.objects.current().get().content == "As it should be."


@pytest.mark.django_db(transaction=True)
def test_documentation_that_a_person_edits_meanwhile_stays_in_sight() -> None:
    careful, _ = acting_with_a_key(make_user(role="curator"), scopes=["read", "write", "curate"])
    actor, key = acting_with_a_key(make_user(role="curator"), scopes=["read", "write", "curate"])
    _import(careful, "As it should be.")
    _import(actor, f"{WORD} instead")

    forgotten = meanwhile(
        lambda: update_reference(careful, reference_id=Reference.objects.get().pk, content="As it is."),
        lambda: forget_source(actor, key=key.pk, dry_run=False),
    )

    assert forgotten.references == 0
    assert Reference.objects.current().get().content == "As it is."


def test_documentation_is_recalled_by_its_file_by_curators_alone() -> None:
    curator, member = make_actor(curator=True), make_actor()
    _import(curator, f"{WORD} in a file", source="poisoned.json")

    others = forget_source(member, source_file="poisoned.json")
    counted = forget_source(curator, source_file="poisoned.json")

    assert (others.references, counted.references) == (0, 1)
