"""Proof of use: what sessions were told, which of it they say helped or misled, and what follows from it."""

from collections.abc import Callable, Iterable
from datetime import datetime

import pytest
from django.utils import timezone

from accounts.actor import Actor
from accounts.models import SCOPES
from bigmind.core.errors import Invalid, NotFound
from knowledge.context.company import most_relevant
from knowledge.context.sessions import end_session, erase_session, start_session
from knowledge.context.start_context import get_context
from knowledge.exposures.context_receipts import GONE, receipt_of
from knowledge.exposures.exposures import UseCounts, counts_of, tally_servings
from knowledge.exposures.feedback import give_feedback
from knowledge.exposures.insights import look_at_knowledge
from knowledge.exposures.uncited_entries import CITING, PEOPLE_ASKED, SESSIONS_ASKED
from knowledge.kb.company import search_global
from knowledge.memory.facts import erase_fact
from knowledge.models import CompanyEntry, Feedback, Proof, Receipt, Serving, Session
from knowledge.recall.semantic_search import semantic_search
from tests.curation.factories import approved_entry, decide_at_latest
from tests.factories import make_actor, make_agent, make_key
from tests.knowledge.factories import make_company, make_fact, make_facts, make_session

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("in_a_team")]


def _ranked() -> list[int]:
    return [entry.pk for entry in most_relevant("", [])]


def _told(actor: Actor, *, used: list[str] | None = None, misleading: list[str] | None = None) -> Session:
    session = start_session(actor).session
    return end_session(actor, session_id=str(session.pk), one_liner="Done", used=used, misleading=misleading)


def _told_at_once(actors: Iterable[Actor], *, used: Callable[[Actor], list[CompanyEntry]] | None) -> None:
    """Store a session for each, as the services do: it was told all that is approved, and says what it `used`."""
    entries, now = CompanyEntry.objects.approved(), timezone.now()
    sessions = Session.objects.bulk_create(Session(user=actor.user, started_at=now, ended_at=now) for actor in actors)
    cited = {actor.user: used(actor) for actor in actors} if used else {}
    Serving.objects.bulk_create(
        Serving(
            session=session,
            user=session.user,
            kind="company",
            source_id=str(entry.pk),
            answered=bool(used),
            cited=entry in cited.get(session.user, []),
        )
        for session in sessions
        for entry in entries
    )
    tally_servings()


def _many(people: int = PEOPLE_ASKED, sessions: int = SESSIONS_ASKED) -> list[Actor]:
    """Return for each of so many sessions who had it."""
    actors = [make_actor() for _ in range(people)]
    return [actors[number % people] for number in range(sessions)]


def test_what_a_start_context_tells_is_counted_once_for_each_session():
    entry = approved_entry()
    actor = make_actor()

    start_session(actor)
    start_session(actor)

    tally_servings()
    assert Proof.objects.get(entry=entry).served == 2


def test_what_was_used_is_cited_once_four_people_say_so_and_the_rest_is_not():
    helpful, silent = approved_entry(), approved_entry()

    def counts() -> dict[int, tuple[int, int, int, bool]]:
        tally_servings()
        return {
            one.entry_id: (one.served, one.cited, one.misled, one.last_cited_at is not None)
            for one in Proof.objects.all()
        }

    for _ in range(CITING - 1):
        _told(make_actor(), used=[helpful.handle])
    assert counts() == {helpful.pk: (3, 0, 0, False), silent.pk: (3, 0, 0, False)}

    _told(make_actor(), used=[helpful.handle])

    assert counts() == {helpful.pk: (4, 4, 0, True), silent.pk: (4, 0, 0, False)}


@pytest.mark.parametrize("is_own", [False, True])
def test_in_personal_mode_a_citation_counts_at_once_also_of_what_one_proposed(settings, is_own, actor):
    settings.BIGMIND_MODE = "personal"
    entry = approved_entry(actor if is_own else None)

    _told(actor, used=[f"[{entry.handle.lower()}]"])

    assert Proof.objects.get(entry=entry).cited == 1


def test_what_misled_goes_back_to_the_curators_with_one_voice_also_where_it_helped_as_well(actor):
    entry = approved_entry()

    _told(actor, misleading=[entry.handle])
    _told(actor, used=[entry.handle], misleading=[entry.handle])

    voice = Feedback.objects.get(kind="company", source_id=str(entry.pk))
    assert (voice.user, voice.verdict) == (actor.user, "wrong")
    proof = Proof.objects.get(entry=entry)
    assert (proof.cited, proof.misled) == (0, 2)


def test_a_reason_that_was_given_before_is_kept(actor):
    entry = approved_entry()
    give_feedback(actor, kind="company", id=entry.handle, verdict="outdated", note="Since May it is daily.")

    _told(actor, misleading=[entry.handle])

    assert Feedback.objects.get(kind="company").note == "Since May it is daily."


@pytest.mark.parametrize("written", ["F{}", "(F{})", "f{}", "fact:{}", "FACT:{}"])
def test_a_fact_is_cited_by_its_kind_and_id_or_the_handle_that_the_context_tells(written, actor):
    fact = make_fact(actor)

    session = _told(actor, used=[written.format(fact.pk)])

    assert session.ended_at is not None
    assert list(session.servings.values_list("kind", "source_id", "cited")) == [("fact", str(fact.pk), True)]


@pytest.mark.parametrize("handle", ["C", "the first one", "fact", "app:12", "person:12", "X12"])
def test_what_is_no_handle_is_refused_and_the_session_stays_open(handle, actor):
    session = start_session(actor).session

    with pytest.raises(Invalid, match=r"^used has .* is no handle"):
        end_session(actor, one_liner="Done", used=[handle])

    session.refresh_from_db()
    assert Serving.objects.count() == 0


def test_a_foreign_handle_answers_like_one_that_does_not_exist():
    foreign, actor = make_fact(make_actor()), make_actor()
    start_session(actor)

    with pytest.raises(NotFound, match=f"There is no fact {foreign.pk} that you can see"):
        end_session(actor, one_liner="Done", used=[f"fact:{foreign.pk}"])


def test_what_was_deprecated_meanwhile_can_still_be_cited_by_who_was_told_it():
    entry, actor = approved_entry(), make_actor()
    start_session(actor)
    decide_at_latest(make_actor(curator=True), entry_id=entry.pk, action="deprecate", notes="It changed.")

    session = end_session(actor, one_liner="Done", used=[entry.handle])

    assert session.servings.get().cited


def test_a_search_of_an_agent_serves_its_open_session_and_that_of_a_person_nothing(agent, actor):
    entry = approved_entry(title="Retry policy", content="Clients retry three times.")
    session, _ = start_session(agent).session, start_session(actor)
    Serving.objects.all().delete()

    for who in (agent, actor):
        search_global(who, query="retry policy")
    semantic_search(agent, query="retry policy")

    assert list(Serving.objects.values_list("session", "kind", "source_id")) == [(session.pk, "company", str(entry.pk))]


def test_what_is_told_often_and_never_cited_comes_behind_all_others():
    ignored = approved_entry(importance=10)
    others = [approved_entry(importance=1) for _ in range(5)]
    _told_at_once(_many(), used=lambda _: others)

    context = get_context(make_actor())

    assert [line.id for line in context.chosen["company"]] == [str(other.pk) for other in reversed(others)]
    assert _ranked()[-1] == ignored.pk
    assert CompanyEntry.objects.get(pk=ignored.pk).is_approved


def test_citations_bring_it_back_and_no_place_tells_of_fewer_than_four():
    ignored, other = approved_entry(importance=10), approved_entry(importance=1)
    _told_at_once(_many(), used=lambda _: [other])
    places = []

    for _ in range(CITING):
        places.append(_ranked().index(ignored.pk))
        _told(make_actor(), used=[ignored.handle])
        places.append(_ranked().index(ignored.pk))
        tally_servings()

    assert places == [1] * 2 * CITING
    assert _ranked()[0] == ignored.pk


@pytest.mark.parametrize("citing", range(CITING))
def test_whether_an_entry_falls_behind_does_not_tell_whether_one_to_three_people_cited_it(citing: int):
    entry, other = approved_entry(importance=10), approved_entry(importance=1)
    actors = _many()

    _told_at_once(actors, used=lambda actor: [other, entry] if actor in actors[:citing] else [other])

    assert _ranked()[0] == other.pk


@pytest.mark.parametrize(
    ("people", "says"),
    [
        ([2] * PEOPLE_ASKED, False),
        ([SESSIONS_ASKED], True),
        ([SESSIONS_ASKED - 2, *[1] * (PEOPLE_ASKED - 1)], True),
    ],
    ids=[
        "sessions that do not say what they used",
        "one person alone",
        "one person with many sessions and others with one each",
    ],
)
def test_nothing_is_pushed_out_by(people, says):
    entry, other = approved_entry(importance=10), approved_entry(importance=1)

    actors = [actor for actor, sessions in [(make_actor(), number) for number in people] for _ in range(sessions)]
    _told_at_once(actors, used=(lambda _: [other]) if says else None)

    assert _ranked() == [entry.pk, other.pk]


@pytest.mark.parametrize("keys", [1, 3])
def test_citing_what_one_proposed_or_owns_counts_nothing_however_many_keys_do_it(keys: int):
    author, owner = make_actor(), make_actor()
    ignored, other = approved_entry(author, importance=10), approved_entry(importance=1)
    CompanyEntry.objects.filter(pk=ignored.pk).update(owner=owner.user)
    _told_at_once(_many(), used=lambda _: [other])

    for user in (author.user, owner.user):
        for number in range(keys):
            agent = make_agent(user, f"client {number}").agent
            _told(Actor.of(user, key=make_key(user, scopes=SCOPES).key, agent=agent), used=[ignored.handle])

    assert _ranked()[-1] == ignored.pk
    tally_servings()
    assert _ranked()[-1] == ignored.pk
    assert Proof.objects.get(entry=ignored).cited == 0


def test_what_an_erased_session_said_no_longer_counts():
    entry, actor = approved_entry(), make_actor()
    session = _told(actor, used=[entry.handle])

    erase_session(actor, session_id=str(session.pk))

    tally_servings()
    assert not Proof.objects.exists()
    assert not Serving.objects.exists()


def test_the_receipt_says_what_was_told_why_and_what_it_cost(actor):
    entry = approved_entry(importance=7, topics=["retries"])
    fact = make_fact(actor, "Atlas deploys on Tuesdays.", project="atlas")
    earlier = make_session(actor, one_liner="Chose a queue")

    started = start_session(actor, project="atlas", topics=["retries"])

    receipt = receipt_of(started.session)
    told = {(line.tier, line.kind, line.id): line for line in receipt.lines}
    assert told["G", "company", str(entry.pk)].why == "about retries, importance 7"
    assert told["1", "fact", str(fact.pk)].why == "about the project atlas"
    assert told["1", "session", str(earlier.pk)].title == "Chose a queue"
    assert receipt.tokens == started.context.tokens
    assert sum(line.tokens for line in receipt.lines) <= receipt.tokens


def test_when_it_was_last_cited_shows_of_ones_own_sessions_and_of_three_others():
    entry, reader = approved_entry(), make_actor()
    session = start_session(reader).session

    def last_cited() -> tuple[datetime | None, ...]:
        on_page = look_at_knowledge(reader).items
        return receipt_of(session).lines[0].last_cited_at, *(item.last_cited_at for item in on_page)

    for _ in range(2):
        _told(make_actor(), used=[entry.handle])
    of_two = last_cited()
    own = _told(reader, used=[entry.handle])
    of_oneself = last_cited()
    for _ in range(2):
        third = _told(make_actor(), used=[entry.handle])

    assert of_two == (None, None)
    assert of_oneself == (own.ended_at, own.ended_at)
    assert last_cited() == (third.ended_at, third.ended_at)


def test_a_receipt_keeps_no_text_of_what_was_erased(actor):
    fact = make_fact(actor, "My cat is called Zanzibar.")
    session = start_session(actor).session

    erase_fact(actor, fact_id=fact.pk)

    assert [line.title for line in receipt_of(session).lines] == [GONE]
    assert "Zanzibar" not in str(Receipt.objects.get().lines)


def test_the_start_takes_as_many_queries_however_much_it_tells(django_assert_max_num_queries, actor):
    make_company(approved_entry(), [f"Rule {number}." for number in range(7)])
    make_facts(actor, [f"Fact {number}." for number in range(8)])

    with django_assert_max_num_queries(24):
        start_session(actor, project="atlas", topics=["retries"])


def test_what_one_or_two_colleagues_said_of_a_thing_is_in_no_count_nor_that_there_are_any():
    entry, reader = approved_entry(), make_actor()
    counts = []
    for number in range(5):
        _told(make_actor(), **{"used" if number < 3 else "misleading": [entry.handle]})
        counts.append(counts_of(reader, "company", entry.pk))

    assert counts[:2] == [None, None]
    assert counts[-1] == UseCounts(served=5, cited=3, misled=0)


def test_of_a_fact_its_owner_reads_the_counts_of_their_own_sessions():
    owner = make_actor()
    fact = make_fact(owner, fact="Deploys go out on Mondays.")
    _told(owner, used=[f"F{fact.number}"])

    assert counts_of(owner, "fact", fact.pk) == UseCounts(served=1, cited=1, misled=0)
    assert counts_of(make_actor(), "fact", fact.pk) is None
