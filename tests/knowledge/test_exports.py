"""Export and import: there and back without loss, and twice is once."""

from datetime import timedelta
from typing import get_args
from uuid import UUID, uuid4

import pytest
from django.utils import timezone

from accounts.people.profiles import update_profile
from bigmind.core.errors import Invalid
from bigmind.core.operations import carry_out
from bigmind.environment.profile_sections import ProfileSection
from bigmind.privacy.screening.policy import collect_notices
from knowledge.context.sessions import end_session, start_session
from knowledge.conversation.chunks import append_chunk
from knowledge.exposures.feedback import give_feedback
from knowledge.memory.archive import set_aside
from knowledge.memory.facts import correct_fact, store_fact
from knowledge.memory.hypotheses import add_hypothesis, resolve_hypothesis
from knowledge.memory.notes import set_note
from knowledge.models import Chunk, Fact, Hypothesis, Note, Session
from knowledge.people.people_index import change_sharing
from knowledge.recall.recall import search_chunks
from knowledge.transfer.own_imports import import_memory
from knowledge.transfer.program_formats import ProgramName, export_memory
from tests.factories import make_actor
from tests.knowledge.factories import make_fact, make_session
from tests.lock_waits import at_once, meanwhile

pytestmark = pytest.mark.django_db

MOMENT = "2026-03-30T09:15:00Z"
EARLIER = "2026-03-30T09:14:59Z"


def _session(**fields):
    return {"id": str(uuid4()), "started_at": MOMENT, **fields}


def _chunk(seq, content):
    return {"seq": seq, "role": "user", "content": content, "created_at": MOMENT}


def _fact(number, text, **fields):
    return {"id": number, "category": "decision", "fact": text, "created_at": MOMENT, **fields}


def _belief(text, **fields):
    return {"hypothesis": text, "created_at": MOMENT, **fields}


def _take_in(actor, **kinds):
    return carry_out(import_memory, actor, {"document": kinds})


def _exported(actor):
    return export_memory(actor).model_dump(mode="json")


def _remember_a_bit_of_everything(actor):
    update_profile(actor, role="Engineer", preferences="Concise.", pinned_facts=["Uses uv"])
    start_session(actor, project="pi")
    append_chunk(actor, role="user", content="  We chose Redis.\r\n", flag_reason="decision")
    chunk = append_chunk(actor, role="system", content="Second")
    set_aside(actor, kind="chunk", id=str(chunk.pk))
    old = store_fact(actor, category="decision", fact="Deploys on Fridays.", confidence=0.4).fact
    correct_fact(actor, fact_id=old.pk, fact="Deploys on Mondays.")
    belief = add_hypothesis(actor, hypothesis="It is the cache.")
    resolve_hypothesis(actor, hypothesis_id=belief.pk, status="refuted", resolution="It was not.")
    add_hypothesis(actor, hypothesis="It is the pool.", confidence=0.2)
    set_note(actor, domain="email", key="k", content="Rule", expires_at=timezone.now() + timedelta(days=9))
    end_session(actor, one_liner="Done", topics=["a", "b"], outcome="Built.", summary="Told.", key_facts=["One"])
    start_session(actor)


def _document(actor):
    told = export_memory(actor).model_dump(mode="json", exclude={"exported_at"})
    numbers = {fact["id"]: place for place, fact in enumerate(told["facts"])}
    for fact in told["facts"]:
        fact["id"], fact["superseded_by"] = numbers[fact["id"]], numbers.get(fact["superseded_by"])
    return told


def test_a_memory_moves_to_another_person_without_loss():
    actor, heir = make_actor(), make_actor()
    _remember_a_bit_of_everything(actor)
    document = export_memory(actor).model_dump(mode="json")

    carry_out(import_memory, heir, {"document": document})

    theirs, ours = _document(heir), _document(actor)
    for told in (theirs, ours):
        for session in told["sessions"]:
            del session["id"], session["proof"]
        for thing in (*told["facts"], *told["hypotheses"]):
            thing.pop("source_session", None)
            thing.pop("session", None)
    del theirs["profile"]["updated_at"], ours["profile"]["updated_at"]
    assert theirs == ours
    assert search_chunks(heir, query="redis").total == 1


def test_an_import_never_touches_the_memory_it_came_from():
    actor, thief = make_actor(), make_actor()
    _remember_a_bit_of_everything(actor)
    before = _document(actor)
    document = export_memory(actor).model_dump(mode="json")
    document["sessions"][0]["one_liner"] = "Forged"

    carry_out(import_memory, thief, {"document": document})

    assert _document(actor) == before
    assert Session.objects.of(thief.user).filter(one_liner="Forged").exists()


def test_one_wrong_item_refuses_the_whole_document_and_names_it(actor):
    fact = {"id": 1, "category": "decision", "fact": "Fine.", "created_at": "2026-01-01T00:00:00Z"}
    document = {"format": "bigmind-memory", "version": 1, "facts": [fact, {**fact, "category": "gossip"}]}

    with pytest.raises(Invalid) as refusal:
        carry_out(import_memory, actor, {"document": document})

    assert refusal.value.problems[0]["field"] == "document.facts.1.category"
    assert not Fact.objects.exists()


def test_a_message_that_is_too_long_is_kept_in_parts_and_refuses_nothing(actor):
    long = "Every word of this was said, and not one was left out. " * 2_500
    session = _session(chunks=[_chunk(1, "First."), _chunk(2, long), _chunk(3, "Last, größer als alles.")])
    arguments = {"document": {"sessions": [session], "facts": [_fact(1, "Deploys go out on Tuesdays.")]}}

    with collect_notices() as notices:
        carry_out(import_memory, actor, arguments)
        again = carry_out(import_memory, actor, arguments)

    said = list(Chunk.objects.order_by("seq").values_list("content", flat=True))
    assert (said[0], "".join(said[1:-1]), said[-1]) == ("First.", long, "Last, größer als alles.")
    assert len(said) == 5
    assert notices == ["Messages longer than 65,536 bytes were split: 1, into 3 or fewer."]
    assert again.added["chunks"] == 0
    assert Fact.objects.exists()


def test_a_document_of_an_unknown_version_is_refused():
    with pytest.raises(Invalid, match=r"document\.version"):
        carry_out(import_memory, make_actor(), {"document": {"format": "bigmind-memory", "version": 2}})


@pytest.mark.parametrize(
    ("kinds", "field"),
    [
        ({"sessions": [_session(chunks=[_chunk(1, "One."), _chunk(1, "Two.")])]}, "sessions.0.chunks.1.seq"),
        ({"sessions": [_session(ended_at=EARLIER)]}, "sessions.0.ended_at"),
        ({"hypotheses": [_belief("It is the cache.", status="open", resolved_at=MOMENT)]}, "hypotheses.0.resolved_at"),
    ],
)
def test_what_contradicts_itself_is_refused_by_the_name_of_its_field(kinds, field, actor):
    with pytest.raises(Invalid) as refusal:
        _take_in(actor, **kinds)

    assert [problem["field"] for problem in refusal.value.problems] == [f"document.{field}"]
    assert _document(actor)["sessions"] == []


def test_a_belief_resolved_at_no_known_moment_is_resolved_now(actor):
    before = timezone.now()

    _take_in(actor, hypotheses=[_belief("It is the cache.", status="confirmed")])

    assert Hypothesis.objects.get(user=actor.user).resolved_at >= before


@pytest.mark.django_db(transaction=True)
def test_a_document_imported_many_times_at_once_is_imported_once():
    actor, heir = make_actor(), make_actor()
    _remember_a_bit_of_everything(actor)
    document = _exported(actor)

    counts = at_once(lambda _: _take_in(heir, **document), range(6))

    assert sorted(sum(imported.added.values()) > 0 for imported in counts) == [False] * 5 + [True]
    assert len(_document(heir)["hypotheses"]) == 2


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("program", ["bigmind", "mem0"])
def test_what_an_agent_keeps_while_its_session_is_imported_finds_a_place(program, actor):
    session = make_session(actor, is_open=True)
    append_chunk(actor, role="user", content="First.", session_id=str(session.pk))
    document = export_memory(actor, program=program)
    Chunk.objects.all().delete()

    imported = meanwhile(
        lambda: append_chunk(actor, role="user", content="Meanwhile.", session_id=str(session.pk)),
        lambda: import_memory(actor, document=document),
    )

    assert imported.added["chunks"] == 1
    assert set(session.chunks.values_list("seq", "content")) == {(1, "Meanwhile."), (2, "First.")}


@pytest.mark.parametrize("is_own", [True, False])
def test_what_comes_in_parts_stays_linked(is_own):
    source = make_actor()
    _remember_a_bit_of_everything(source)
    document = _exported(source)
    told_in = [session for session in document["sessions"] if session["one_liner"] == "Done"]
    reader = source if is_own else make_actor()
    Session.objects.all().delete()
    Fact.objects.all().delete()
    source.user.hypotheses.all().delete()

    _take_in(reader, sessions=document["sessions"])
    _take_in(reader, facts=document["facts"])
    _take_in(reader, hypotheses=document["hypotheses"])

    session = Session.objects.of(reader.user).get(one_liner="Done")
    old = Fact.objects.get(fact="Deploys on Fridays.")
    assert told_in
    assert {fact.source_session for fact in Fact.objects.of(reader.user)} == {session}
    assert {belief.session for belief in reader.user.hypotheses.all()} == {session}
    assert old.superseded_by == Fact.objects.get(fact="Deploys on Mondays.")


def test_chunks_of_one_session_that_came_in_parts_are_all_kept(actor):
    session = _session()
    _take_in(actor, sessions=[{**session, "chunks": [_chunk(1, "One."), _chunk(2, "Two.")]}])
    other = {**session, "chunks": [_chunk(2, "Another two."), _chunk(3, "Three.")]}

    imported = _take_in(actor, sessions=[other])
    again = _take_in(actor, sessions=[other])

    kept = Chunk.objects.filter(user=actor.user).values_list("content", flat=True)
    assert (imported.added["chunks"], again.added["chunks"]) == (2, 0)
    assert sorted(kept) == ["Another two.", "One.", "Three.", "Two."]


def test_a_chunk_finds_a_place_even_where_the_last_one_is_taken(actor):
    session = _session()
    last = 2**31 - 1
    _take_in(actor, sessions=[{**session, "chunks": [_chunk(last, "Last.")]}])

    _take_in(actor, sessions=[{**session, "chunks": [_chunk(last, "Another.")]}])

    assert list(Chunk.objects.order_by("seq").values_list("seq", "content")) == [(1, "Another."), (last, "Last.")]


def test_an_import_does_not_tell_whether_a_session_of_another_exists():
    owner, stranger = make_actor(), make_actor()
    _remember_a_bit_of_everything(owner)
    theirs = _exported(owner)["sessions"][0]
    of_nobody = {**theirs, "id": str(uuid4())}

    outcomes = [_take_in(stranger, sessions=[told]) for told in (theirs, of_nobody)]

    kept = {session.pk for session in Session.objects.of(stranger.user)}
    assert outcomes[0] == outcomes[1]
    assert len(kept) == 2
    assert kept.isdisjoint({UUID(theirs["id"]), UUID(of_nobody["id"])})


def test_an_import_takes_in_its_own_export_once_although_the_ids_were_replaced(actor):
    session = _session(one_liner="Made elsewhere")
    _take_in(actor, sessions=[session])
    exported = _exported(actor)
    Session.objects.all().delete()

    _take_in(actor, sessions=exported["sessions"])
    _take_in(actor, sessions=[session])

    assert _exported(actor)["sessions"] == exported["sessions"]


def test_what_could_not_be_stored_today_is_exported_nevertheless(actor):
    _remember_a_bit_of_everything(actor)
    Fact.objects.update(anchors=["a.py:setting", "../x"], triggers=["[removed]"], project="two\nlines")
    Note.objects.update(domain="a\u200bb", key="two\nlines", content="x" * 70_000)
    Session.objects.update(topics=["a, b", ""], one_liner="two\nlines", importance=3)
    Chunk.objects.update(content=" ", role="user")

    told = _exported(actor)

    assert told["facts"][0]["anchors"] == ["a.py:setting", "../x"]
    assert told["notes"][0]["key"] == "two\nlines"
    assert len(told["notes"][0]["content"]) == 70_000
    assert all(_exported_for(actor, program) for program in get_args(ProgramName))
    with pytest.raises(Invalid, match="anchors"):
        _take_in(make_actor(), facts=told["facts"])


def _exported_for(actor, program):
    return export_memory(actor, program=program).model_dump(mode="json")


def test_what_somebody_shares_and_said_is_told_and_not_taken_over():
    actor, reader = make_actor(), make_actor()
    session = make_session(actor, one_liner="Shown to all")
    fact = make_fact(actor)
    change_sharing(
        actor, sections=[ProfileSection.WHO, ProfileSection.HEADLINES], in_directory=True, session_ids=[session.pk]
    )
    give_feedback(actor, kind="fact", id=str(fact.pk), verdict="wrong", note="It never was.")

    told = _exported(actor)
    _take_in(reader, **told)

    assert told["sharing"]["sections"] == ["who", "headlines"]
    assert [one["text"] for one in told["sharing"]["headlines"]] == ["Shown to all"]
    assert [(one["verdict"], one["note"]) for one in told["feedback"]] == [("wrong", "It never was.")]
    again = _exported(reader)
    assert (again["sharing"], again["feedback"]) == (None, [])
