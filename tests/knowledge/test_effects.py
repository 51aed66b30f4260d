"""Proof of use by holdout: what is withheld and counted, what that shows to whom, and that off changes nothing."""

import hashlib
import re

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from accounts.actor import Actor
from bigmind.core.errors import Forbidden
from bigmind.core.rls import rls_scope
from curation.proposals.queue import list_queue
from curation.services.weekly_letter import write_weekly_letter
from knowledge.capture.policies import set_policy
from knowledge.models import DIGEST_CHARS, CompanyEntry, HoldoutDraw, Kind, Session, SessionOutcome
from knowledge.services.context import get_context
from knowledge.services.context_receipts import receipt_of
from knowledge.services.effects import counts_of, effects_of, mark_harmful
from knowledge.services.exposures import Exposure, tally_servings
from knowledge.services.facts import correct_fact, deprecate_fact
from knowledge.services.feedback import give_feedback
from knowledge.services.holdout import is_withheld
from knowledge.services.outcomes import note_question, note_work
from knowledge.services.recall import recall
from knowledge.services.sessions import end_session, start_session
from tests.capture.hooking import HookedClient
from tests.curation.factories import approved_entry, decide_at_latest
from tests.factories import make_actor, make_agent, make_user
from tests.knowledge.factories import make_fact

pytestmark = pytest.mark.django_db
QUESTION = "How are invoices numbered per year?"


@pytest.fixture(autouse=True)
def _in_a_team(settings) -> None:
    settings.BIGMIND_MODE, settings.HOLDOUT_PERCENT = "team", 50


def _agent(consent: str = "shared") -> Actor:
    """Return an agent of someone who agreed on their page."""
    user = make_user()
    if consent:
        set_policy(make_actor(user), holdout=consent)
    return make_agent(user, "claude-code")


def _compared(entry: CompanyEntry, *, told: int, without: int, people: int = 8) -> None:
    """Let sessions of these people have so many corrections, give or take one, with the entry and without it."""
    users, now = [make_user() for _ in range(people)], timezone.now()
    sessions = [Session(user=users[number % people], started_at=now, ended_at=now) for number in range(120)]
    Session.objects.bulk_create(sessions)
    draw = {"kind": "company", "source_id": str(entry.pk), "version": entry.digest[:24]}
    HoldoutDraw.objects.bulk_create(
        HoldoutDraw(session=session, user=session.user, withheld=number % 3 == 0, **draw)
        for number, session in enumerate(sessions)
    )
    SessionOutcome.objects.bulk_create(
        SessionOutcome(session=session, user=session.user, corrections=(told if number % 3 else without) + spread)
        for number, session in enumerate(sessions)
        for spread in [number // 3 % 3 - 1]
    )


def test_without_consent_every_answer_is_that_of_a_world_without_holdout(settings):
    entry, agent = approved_entry(content="Invoices are numbered per year."), _agent("all")
    fact = make_fact(agent, fact="Invoices are numbered per year by Ada.")
    settings.HOLDOUT = "off"
    of_session = start_session(agent).session

    def answers() -> list[str]:
        told = recall(agent, query=QUESTION)
        return [get_context(agent).markdown, repr([(hit.kind, hit.id, hit.excerpt, hit.score) for hit in told.items])]

    before = answers()
    settings.HOLDOUT, settings.HOLDOUT_PERCENT = "consent", 100
    withheld = answers()
    settings.HOLDOUT = "off"

    assert answers() == before
    assert entry.title in before[0]
    assert fact.fact in before[0]
    assert withheld[1] == "[]"
    assert set(HoldoutDraw.objects.values_list("session", flat=True)) == {of_session.pk}


def test_nobody_takes_part_who_did_not_agree(settings):
    approved_entry()
    silent, declined, agreed = _agent(""), _agent("never"), _agent("shared")
    settings.HOLDOUT = "consent"
    for agent in (silent, declined, agreed):
        start_session(agent)
    assert {draw.user for draw in HoldoutDraw.objects.all()} == {agreed.user}

    settings.HOLDOUT = "everyone"
    for agent in (silent, declined):
        start_session(agent)

    assert {draw.user for draw in HoldoutDraw.objects.all()} == {agreed.user, silent.user}
    with pytest.raises(Forbidden, match="Only the user may agree"):
        set_policy(make_actor(silent.user, scopes={"read", "write"}), holdout="all")


def test_what_is_about_safety_and_what_is_private_is_always_told(settings):
    settings.HOLDOUT_PERCENT = 100
    safe, other = approved_entry(topics=["Safety"]), approved_entry()
    agent = _agent("shared")
    fact = make_fact(agent, fact="Ada deploys on Mondays.")

    told = start_session(agent).context.markdown

    assert safe.title in told
    assert fact.fact in told
    assert other.title not in told
    assert [draw.source_id for draw in HoldoutDraw.objects.all()] == [str(other.pk)]


def test_a_draw_can_be_made_again_and_is_told_after_the_session(settings):
    entries, agent = [approved_entry() for _ in range(4)], _agent()
    started = start_session(agent)
    draws = {one.source_id: one.withheld for one in HoldoutDraw.objects.all()}

    assert set(HoldoutDraw.objects.values_list("percent", flat=True)) == {50}
    assert draws.keys() == {str(entry.pk) for entry in entries}
    assert all(is_withheld(started.session.pk, Exposure("company", id), 50) is lot for id, lot in draws.items())
    assert {entry.title in started.context.markdown for entry in entries if draws[str(entry.pk)]} <= {False}
    receipt = receipt_of(started.session)
    assert receipt
    assert not receipt.withheld
    ended = end_session(agent, session_id=str(started.session.pk), one_liner="Done")
    receipt = receipt_of(ended)
    assert receipt
    assert {line.id for line in receipt.withheld} == {id for id, lot in draws.items() if lot}


def test_a_session_is_judged_by_what_its_agent_asks_corrects_tests_and_commits():
    agent = _agent("")
    first = start_session(agent).session
    fact = make_fact(agent, fact="Deploys go out on Mondays.")
    recall(agent, query=QUESTION)
    recall(agent, query="invoices, per year: how numbered?!")
    new = correct_fact(agent, fact_id=fact.number, fact="Deploys go out on Tuesdays.")
    deprecate_fact(agent, fact_id=new.number, reason="They go out daily.")
    give_feedback(agent, kind="company", id=approved_entry().handle, verdict="wrong")
    note_work(first, passed=2, failed=1, failing=True, commits=["1a2b3c4 Number invoices.", "2b3c4d5 Sort them."])
    note_work(first, passed=3, failed=1, failing=False, commits=["1a2b3c4 Number invoices."])
    end_session(agent, session_id=str(first.pk), one_liner="Done")
    second = start_session(agent).session
    recall(agent, query=QUESTION)
    note_work(second, passed=0, failed=0, failing=False, commits=['3c4d5e6 Revert "Number invoices."'])

    one, two = SessionOutcome.objects.get(session=first), SessionOutcome.objects.get(session=second)
    assert (one.searches, one.repeated, one.corrections) == (2, 2, 3)
    assert (one.tests_passed, one.tests_failed, one.failing, one.commits, one.reverted) == (3, 1, False, 2, 1)
    assert (two.searches, two.repeated, two.commits, two.reverted) == (1, 0, 0, 0)


def test_what_helps_is_told_in_plain_words_and_what_harms_goes_back_to_the_queue(client: Client):
    helping, harming, idle = approved_entry(), approved_entry(), approved_entry()
    _compared(helping, told=1, without=3)
    _compared(harming, told=3, without=1)
    _compared(idle, told=2, without=2)
    curator = make_actor(curator=True)
    start_session(make_agent(curator.user, "claude-code"))
    tally_servings()

    assert mark_harmful() == 1
    assert [item.entry for item in list_queue(curator, why="harmful").items] == [harming]
    effect = effects_of(curator, "company", [helping.pk])[str(helping.pk)]
    assert effect.in_words.startswith("Sessions that were told this had 2.0 fewer setbacks, between 1.")
    assert effect.in_words.endswith("; 120 sessions.")
    assert effect.verdict == "helps"
    assert effects_of(curator, "company", [idle.pk])[str(idle.pk)].verdict == "unclear"
    client.force_login(curator.user)
    assert "does harm" in client.get(reverse("company-entry", args=[harming.pk])).text

    decide_at_latest(curator, entry_id=harming.pk, action="verify")

    assert not list_queue(curator, why="harmful").items


def test_what_looks_harmful_is_withheld_more_often_until_a_curator_has_looked(settings):
    settings.HOLDOUT_PERCENT = 20
    harming, other, agent = approved_entry(), approved_entry(), _agent()
    _compared(harming, told=3, without=1)
    _compared(other, told=3, without=1, people=2)
    first = start_session(agent).session
    start_session(_agent(""))  # Nothing is withheld from it: it receives both.
    tally_servings()

    def percents(session: Session) -> dict[str, int]:
        return dict(HoldoutDraw.objects.filter(session=session).values_list("source_id", "percent"))

    mark_harmful()
    assert percents(start_session(agent).session) == {str(harming.pk): 50, str(other.pk): 20}
    recall(make_agent(agent.user, "claude-code"), query=f"{harming.title} {harming.content}")
    assert percents(first) == {str(harming.pk): 20, str(other.pk): 20}

    decide_at_latest(make_actor(curator=True), entry_id=harming.pk, action="verify")
    mark_harmful()
    assert percents(start_session(agent).session) == {str(harming.pk): 20, str(other.pk): 20}


def test_a_worse_time_in_which_less_was_withheld_is_not_taken_for_harm():
    entry, now = approved_entry(), timezone.now()
    users = [make_user() for _ in range(8)]
    draw = {"kind": "company", "source_id": str(entry.pk), "version": entry.digest[:24]}
    for percent, every, corrections in [(20, 5, 4), (50, 2, 1)]:
        sessions = [Session(user=users[number % 8], started_at=now, ended_at=now) for number in range(120)]
        Session.objects.bulk_create(sessions)
        HoldoutDraw.objects.bulk_create(
            HoldoutDraw(session=one, user=one.user, withheld=number % every == 0, percent=percent, **draw)
            for number, one in enumerate(sessions)
        )
        SessionOutcome.objects.bulk_create(
            SessionOutcome(session=one, user=one.user, corrections=corrections + number % 3 - 1)
            for number, one in enumerate(sessions)
        )

    effect = effects_of(make_actor(), "company", [entry.pk])[str(entry.pk)]

    assert (effect.verdict, effect.sessions, effect.withheld) == ("unclear", 240, 84)
    assert effect.setbacks
    assert abs(effect.setbacks.difference) < 0.1


def test_an_effect_over_few_people_is_not_shown(settings):
    entry, reader = approved_entry(), make_actor()
    _compared(entry, told=1, without=3, people=2)

    effect = effects_of(reader, "company", [entry.pk])[str(entry.pk)]

    assert (effect.verdict, effect.measures) == ("", [])
    assert effect.in_words == "Not enough yet to say: fewer than 3 colleagues took part."
    assert counts_of(reader, "company", entry.pk) is None
    settings.BIGMIND_MODE = "personal"
    assert effects_of(reader, "company", [entry.pk])[str(entry.pk)].verdict == "helps"


def test_what_one_or_two_colleagues_said_of_a_thing_is_in_no_count():
    entry, reader = approved_entry(), make_actor()
    for number in range(5):
        colleague = make_actor()
        start_session(colleague)
        end_session(colleague, one_liner="Done", **{"used" if number < 3 else "misleading": [entry.handle]})

    counts = counts_of(reader, "company", entry.pk)

    assert (counts.told, counts.cited, counts.misled) == (5, 3, 0)


@pytest.mark.parametrize("people", [1, 2, 3])
def test_what_did_harm_to_few_people_is_not_marked_for_every_curator(people, settings):
    entry = approved_entry()
    _compared(entry, told=3, without=1, people=people)

    assert mark_harmful() == 0
    settings.BIGMIND_MODE = "personal"
    assert mark_harmful() == 1


@pytest.mark.parametrize("people", [1, 2])
def test_of_one_or_two_others_it_does_not_even_show_that_there_are_any(client, people):
    entry, reader = approved_entry(), make_actor()
    client.force_login(reader.user)
    before = effects_of(reader, "company", [entry.pk])

    _compared(entry, told=1, without=3, people=people)

    assert effects_of(reader, "company", [entry.pk]) == before
    assert before[str(entry.pk)].in_words in client.get(reverse("company-entry", args=[entry.pk])).text


def test_one_person_alone_from_whom_it_was_withheld_does_not_show():
    entry, reader = approved_entry(), make_actor()
    _compared(entry, told=1, without=3)
    HoldoutDraw.objects.filter(withheld=True).delete()
    before = effects_of(reader, "company", [entry.pk])

    HoldoutDraw.objects.filter(pk=HoldoutDraw.objects.values("pk")[:1]).update(withheld=True)

    assert effects_of(reader, "company", [entry.pk]) == before


def test_what_reads_otherwise_now_is_compared_anew():
    entry = approved_entry()
    _compared(entry, told=1, without=3)
    CompanyEntry.objects.filter(pk=entry.pk).update(digest="0" * 64)

    assert effects_of(make_actor(), "company", [entry.pk])[str(entry.pk)].sessions == 0


def test_each_sees_the_effect_of_their_own_facts_alone():
    agent, other = _agent("all"), _agent("all")
    fact = make_fact(agent, fact="Deploys go out on Mondays.")
    start_session(agent)
    session = Session.objects.get()
    end_session(agent, session_id=str(session.pk), one_liner="Done")

    with rls_scope(agent.user.pk):
        assert effects_of(agent, Kind.FACT, [fact.pk])[str(fact.pk)].sessions == 1
    with rls_scope(other.user.pk):
        assert effects_of(other, Kind.FACT, [fact.pk])[str(fact.pk)].sessions == 0
        assert not HoldoutDraw.objects.exists()
        assert not SessionOutcome.objects.exists()


def test_hooks_withhold_before_a_prompt_and_bring_what_came_of_the_conversation(settings):
    entry, agent = approved_entry(content="Invoices are numbered per year."), _agent()
    claude = HookedClient(agent.user)
    settings.HOLDOUT_PERCENT = 100

    assert entry.handle not in claude.start()
    assert entry.handle not in claude.prompt(QUESTION)
    claude.prompt("Write the numbering, please.")
    claude.prompt(f"{QUESTION} Again!")
    claude.end(headline="Numbered", passed=2, failed=1, failing=True, commits=["1a2b3c4 Number invoices."])

    (outcome,) = SessionOutcome.objects.all()
    assert (outcome.searches, outcome.repeated) == (0, 1)
    assert (outcome.tests_passed, outcome.tests_failed, outcome.failing, outcome.commits) == (2, 1, True, 1)
    receipt = receipt_of(outcome.session)
    assert receipt
    assert [line.id for line in receipt.withheld] == [str(entry.pk)]


def test_of_questions_and_commits_digests_are_kept_that_nobody_makes_without_the_secret_key(settings):
    def kept_of(agent: Actor) -> tuple[list[str], list[str]]:
        session = start_session(agent).session
        note_question(session, "Numbered invoices?", by_agent=True)
        note_work(session, passed=1, failed=0, failing=False, commits=["1a2b3c4 Number invoices."])
        outcome = SessionOutcome.objects.get(session=session)
        end_session(agent, session_id=str(session.pk), one_liner="Done")
        return outcome.asked, outcome.committed

    ada, bob = _agent(), _agent()
    of_ada, of_bob, again = kept_of(ada), kept_of(bob), kept_of(ada)
    settings.SECRET_KEY = "another one"
    with_another_key = kept_of(ada)

    assert of_ada == again
    kept = [*of_ada[0], *of_ada[1], *of_bob[0], *of_bob[1], *with_another_key[0], *with_another_key[1]]
    assert len(set(kept)) == 6
    assert all(re.fullmatch(f"[0-9a-f]{{{DIGEST_CHARS}}}", digest) for digest in kept)
    for text in ("Number invoices.", "invoices numbered", "Numbered invoices?"):
        assert hashlib.sha256(text.encode()).hexdigest()[:DIGEST_CHARS] not in kept
    assert not any(user.pk.hex[:8] in "".join(kept) for user in (ada.user, bob.user))


def test_the_letter_and_the_story_of_an_entry_say_how_much_it_helped(client):
    entry = approved_entry(content="Invoices are numbered per year.")
    _compared(entry, told=1, without=3)
    reader = _agent("")
    session = start_session(reader).session
    end_session(reader, session_id=str(session.pk), one_liner="Done", used=[entry.handle])

    (helped,) = [part for part in write_weekly_letter(reader).parts if part.name == "helped"]
    client.force_login(reader.user)
    page = client.get(reverse("company-entry", args=[entry.pk])).content.decode()

    (sentence,) = {effects_of(reader, Kind.COMPANY, [entry.pk])[str(entry.pk)].in_words}
    assert "fewer setbacks" in sentence
    assert helped.lines[0].note == f"Helped in 1 of 1 session that had it. {sentence}"
    assert "Compared with sessions from which it was withheld" in page
    assert page.count(sentence) >= 2
