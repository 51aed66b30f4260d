"""What a person alone sees is numbered for them: no number tells how much others write, and none is given twice."""

from concurrent.futures import ThreadPoolExecutor
from uuid import uuid4

import pytest
from django.db import connection, transaction

from accounts.actor import Actor
from accounts.people.user_deletion import delete_user
from bigmind.core.errors import NotFound
from bigmind.core.private_row_numbers import NumberRows, number_of
from bigmind.text.hygiene import digest
from knowledge.kinds import KINDS
from knowledge.memory.facts import erase_fact, list_facts, own_fact, store_fact
from knowledge.memory.hypotheses import add_hypothesis
from knowledge.memory.notes import set_note
from knowledge.models import Fact
from tests.factories import make_actor

pytestmark = pytest.mark.django_db


def test_what_others_write_leaves_no_gap() -> None:
    ada, eve = make_actor(), make_actor()
    before = _store(ada, "Prefers pytest.")
    _store_many(eve, 50)

    after = _store(ada, "Prefers ruff.")

    assert after.number == before.number + 1


def test_facts_notes_and_hypotheses_never_share_a_number() -> None:
    ada = make_actor()

    fact = _store(ada, "Prefers pytest.")
    note = set_note(ada, domain="email", key="rules", content="Be brief.")
    belief = add_hypothesis(ada, hypothesis="I believe it is the pool.")

    assert [fact.number, note.number, belief.number] == [1, 2, 3]


def test_the_same_number_is_another_fact_for_another_person() -> None:
    ada, eve = make_actor(), make_actor()
    mine, theirs = _store(ada, "Prefers pytest."), _store(eve, "Prefers unittest.")

    assert mine.number == theirs.number
    assert own_fact(ada, mine.number) == mine
    assert own_fact(eve, mine.number) == theirs


def test_the_id_of_somebody_elses_row_names_nothing() -> None:
    ada, eve = make_actor(), make_actor()
    _store(ada, "Prefers pytest.")
    theirs = _store(eve, "Prefers unittest.")

    with pytest.raises(NotFound):
        own_fact(ada, theirs.pk)


def test_a_number_is_not_given_again_once_its_thing_is_erased() -> None:
    ada = make_actor()
    erased = _store(ada, "Prefers pytest.").number
    erase_fact(ada, fact_id=erased)

    assert _store(ada, "Prefers ruff.").number > erased


def test_rows_written_in_bulk_are_numbered_like_others() -> None:
    ada, eve = make_actor(), make_actor()
    for actor in (ada, eve, ada):
        _store_many(actor, 3)

    assert sorted(fact.number for fact in Fact.objects.of(ada.user)) == [1, 2, 3, 4, 5, 6]


def test_handles_from_before_stay_true_and_new_ones_begin_above_them() -> None:
    ada, eve = make_actor(), make_actor()
    numbering = NumberRows("knowledge_fact", "memory")
    with connection.schema_editor() as editor:
        numbering._end(None, editor)
    old = [_store(who, text) for who, text in ((ada, "Prefers pytest."), (eve, "Prefers nose."), (ada, "Uses ruff."))]
    assert [fact.pk for fact in old] == [fact.number for fact in old]

    connection.check_constraints()
    with connection.schema_editor() as editor:
        numbering._begin(None, editor)

    assert [own_fact(ada, old[0].pk), own_fact(ada, old[2].pk)] == [old[0], old[2]]
    assert _store(ada, "Uses mypy.").number == old[2].pk + 1
    assert _store(eve, "Uses pyright.").number == old[1].pk + 1
    assert [fact.fact for fact in list_facts(ada).items] == ["Uses mypy.", "Uses ruff.", "Prefers pytest."]


@pytest.mark.django_db(transaction=True)
def test_agents_of_one_person_that_write_at_once_do_not_wait_for_each_other() -> None:
    ada = make_actor()

    def write(place: int) -> int:
        with transaction.atomic():
            number = _write(ada, str(place)).number
        connection.close()
        return number

    with transaction.atomic():
        held = _write(ada, "Not committed yet.").number
        with ThreadPoolExecutor(4) as agents:
            numbers = list(agents.map(write, range(8)))

    assert len({held, *numbers}) == 9


def test_with_their_person_their_numbers_go() -> None:
    ada = make_actor()
    _store(ada, "Prefers pytest.")
    assert len(_sequences_of(ada)) == 3

    delete_user(ada.user)

    assert _sequences_of(ada) == []


def _store(actor: Actor, text: str) -> Fact:
    return store_fact(actor, category="decision", fact=text).fact


def _write(actor: Actor, text: str) -> Fact:
    return Fact.objects.create(user=actor.user, category="decision", fact=text, digest=digest(text))


def _store_many(actor: Actor, count: int) -> None:
    texts = [f"Thing {place} of {uuid4()}." for place in range(count)]
    Fact.objects.bulk_create(
        Fact(user=actor.user, category="decision", fact=text, digest=digest(text)) for text in texts
    )
    assert number_of(Fact.objects.of(actor.user).latest("pk").pk) >= count


def _sequences_of(actor: Actor) -> list[str]:
    with connection.cursor() as cursor:
        cursor.execute("SELECT sequencename FROM pg_sequences WHERE sequencename ~ %s", [f"_{actor.user.id_block}$"])
        return [name for (name,) in cursor.fetchall()]


def test_every_private_row_that_a_page_or_a_tool_names_is_numbered() -> None:
    with connection.cursor() as cursor:
        cursor.execute("SELECT tgrelid::regclass::text FROM pg_trigger WHERE tgname LIKE '%\\_numbered'")
        numbered = {name for (name,) in cursor.fetchall()}
    own = {row.model._meta.db_table for row in KINDS.values() if row.own and row.read_id is int}

    assert own <= numbered
    assert numbered - own == {
        "accounts_agent",
        "accounts_signin",
        "knowledge_conversation",
        "knowledge_hookevent",
        "knowledge_session",  # beside its UUID
        "knowledge_unansweredquestion",
    }
