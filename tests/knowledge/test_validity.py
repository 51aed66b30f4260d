"""When facts hold: from a day, until a day, until something else took their place, and what held then."""

from datetime import UTC, datetime, timedelta

import pytest
from django.utils import timezone

from bigmind.core.errors import Invalid
from bigmind.core.operations import carry_out
from bigmind.gate import perform
from bigmind.operations import CATALOGUE
from knowledge.context.start_context import get_context
from knowledge.indexing.embedding import embed_pending
from knowledge.memory.facts import correct_fact, deprecate_fact, erase_fact, list_facts, restore_fact, store_fact
from knowledge.models import Fact, Passage
from knowledge.recall.recall import recall
from knowledge.recall.semantic_search import semantic_search
from knowledge.tidying.answers import tidy
from knowledge.transfer.own_imports import import_memory
from knowledge.transfer.program_formats import export_memory
from knowledge.truth.fact_index import index_replaced_facts
from tests.factories import make_actor

pytestmark = pytest.mark.django_db

HEROKU, FLY = "The shop is hosted on Heroku.", "The shop is hosted on Fly."
LAST_YEAR = timezone.now().year - 1


def day(month, date=1, year=LAST_YEAR):
    return datetime(year, month, date, tzinfo=UTC)


def store(actor, fact, *, at=None, **said):
    stored = store_fact(actor, fact=fact, **{"category": "decision", **said}).fact
    if at:
        Fact.objects.filter(pk=stored.pk).update(created_at=at)
        Passage.objects.filter(kind="fact", source_id=str(stored.pk)).update(created_at=at)
    return stored


def moved(actor):
    """Heroku since January, Fly since May."""
    old = store(actor, HEROKU, at=day(1))
    new = store(actor, FLY, valid_from=day(5), supersedes=[old.number])
    embed_pending()
    return old, new


def texts(reply):
    return [getattr(one, "fact", None) or one.excerpt for one in reply.items]


def say(actor, name, **arguments):
    return perform(CATALOGUE[name], actor, arguments, transport="mcp").markdown()


def test_a_fact_whose_last_day_has_passed_is_not_told_at_a_start(actor):
    store(actor, HEROKU, valid_until=day(5))
    store(actor, FLY)

    told = get_context(actor).markdown

    assert HEROKU not in told
    assert FLY in told


def test_a_recall_and_a_list_say_that_a_fact_is_past_and_put_what_holds_first(actor):
    store(actor, FLY)
    store(actor, HEROKU, valid_until=day(5))
    embed_pending()

    found = recall(actor, query="Where is the shop hosted?")

    assert texts(found) == [FLY, HEROKU]
    assert found.items[1].validity == f"held until {LAST_YEAR}-05-01"
    assert f"held until {LAST_YEAR}-05-01" in say(actor, "memory_recall", query="Where is the shop hosted?")
    assert f"held until {LAST_YEAR}-05-01" in say(actor, "memory_list_facts")


def test_a_start_says_until_when_something_holds(actor):
    end = timezone.now() + timedelta(days=30)
    store(actor, FLY, valid_until=end)

    (line,) = [line for line in get_context(actor).markdown.splitlines() if FLY in line]

    assert f"until {timezone.localtime(end):%Y-%m-%d}" in line


def test_what_held_then_is_found_although_it_was_replaced_since(actor):
    moved(actor)

    for search in (recall, semantic_search):
        assert texts(search(actor, query="Where is the shop hosted?")) == [FLY]
        then = search(actor, query="Where is the shop hosted?", as_of=f"March {LAST_YEAR}")
        assert texts(then) == [HEROKU]
        assert then.as_of == f"{LAST_YEAR}-03-01 to {LAST_YEAR}-03-31"
        assert then.items[0].validity == f"held until {LAST_YEAR}-05-01, then F2"


def test_the_list_tells_what_held_then_and_says_so(actor):
    moved(actor)

    assert texts(list_facts(actor)) == [FLY]
    assert texts(list_facts(actor, as_of=f"{LAST_YEAR}-03-15")) == [HEROKU]
    assert texts(list_facts(actor, as_of="now")) == [FLY]
    assert texts(list_facts(actor, as_of=f"{LAST_YEAR - 1}-03-15")) == []
    assert f"_What held on {LAST_YEAR}-03-15" in say(actor, "memory_list_facts", as_of=f"{LAST_YEAR}-03-15")


def test_a_question_about_then_gets_what_held_then(actor):
    moved(actor)
    store(actor, "Our migration took place.", valid_from=day(5))
    embed_pending()

    for when in (f"in March {LAST_YEAR}", "before the migration", "before we migrated", f"before May {LAST_YEAR}"):
        assert texts(recall(actor, query=f"Where was the shop hosted {when}?"))[0] == HEROKU, when


def test_a_question_about_now_gets_what_holds_although_it_says_before(actor):
    moved(actor)
    store(actor, "Our migration took place.", valid_from=day(5))
    embed_pending()

    found = texts(recall(actor, query="What is to be checked on the shop hosted anywhere before the migration?"))

    assert HEROKU not in found


def test_facts_that_never_held_together_do_not_contradict_each_other(actor):
    store(actor, HEROKU, valid_until=day(5))

    now = store_fact(actor, category="decision", fact=FLY)
    assert not [one for one in now.similar if one.contradicts]
    late = store_fact(actor, category="decision", fact="The shop is hosted on Azure.", valid_until=day(2))
    assert now.fact.pk not in [one.id for one in late.similar if one.contradicts]


def test_facts_that_hold_together_still_do(actor):
    store(actor, HEROKU, valid_from=day(1))

    assert store_fact(actor, category="decision", fact=FLY, valid_from=day(5)).similar[0].contradicts


def test_what_is_to_replace_a_fact_later_lets_it_hold_until_then(actor):
    start = timezone.now() + timedelta(days=30)
    old = store(actor, HEROKU)
    store(actor, FLY, valid_from=start, supersedes=[old.number])

    lines = get_context(actor).markdown.splitlines()

    shown = f"{timezone.localtime(start):%Y-%m-%d}"
    assert any(HEROKU in line and f"until {shown}" in line for line in lines)
    assert any(FLY in line and f"from {shown}" in line for line in lines)


def test_what_was_set_aside_as_wrong_never_held(actor):
    wrong = store(actor, HEROKU, at=day(1))
    deprecate_fact(actor, fact_id=wrong.number, reason="A misunderstanding.")

    assert texts(list_facts(actor, as_of=f"{LAST_YEAR}-03-15")) == []
    assert texts(recall(actor, query="Where is the shop hosted?", as_of=f"{LAST_YEAR}-03-15")) == []
    assert not Passage.objects.filter(kind="fact", source_id=str(wrong.pk)).exists()


def test_a_correction_takes_the_days_along_or_gets_new_ones(actor):
    fact = store(actor, HEROKU, valid_from=day(1))

    same = correct_fact(actor, fact_id=fact.number, fact=HEROKU, valid_until=day(5))
    other = correct_fact(actor, fact_id=fact.number, fact="The shop was hosted on Heroku.")

    assert (same.pk, same.validity) == (fact.pk, f"held from {LAST_YEAR}-01-01 until {LAST_YEAR}-05-01")
    assert (other.valid_from, other.valid_until) == (day(1), day(5))
    with pytest.raises(Invalid, match="valid_until is not after valid_from"):
        correct_fact(actor, fact_id=other.number, fact=HEROKU, valid_until=day(1))


def test_what_is_past_and_is_said_again_holds_anew_beside_its_past(actor):
    old = store(actor, HEROKU, at=day(1), valid_until=day(5))

    again = store_fact(actor, category="decision", fact=HEROKU)

    assert (again.duplicate, again.fact.is_past) == (False, False)
    assert [one.pk for one in list_facts(actor).items] == [again.fact.pk]
    assert [one.pk for one in list_facts(actor, as_of=f"{LAST_YEAR}-03-15").items] == [old.pk]


def test_erasing_takes_what_was_replaced_out_of_every_search_as_well(actor):
    old, new = moved(actor)

    erase_fact(actor, fact_id=new.number)
    assert not Passage.objects.filter(kind="fact").exists()

    restore_fact(actor, fact_id=old.number)
    assert texts(recall(actor, query="Where is the shop hosted?")) == [HEROKU]


def test_the_days_move_with_an_export():
    actor, other = make_actor(), make_actor()
    moved(actor)
    store(actor, "Lives in Lisbon.", category="identity", valid_until=day(8))

    import_memory(other, document=export_memory(actor))

    assert texts(list_facts(other, as_of=f"{LAST_YEAR}-03-15")) == texts(list_facts(actor, as_of=f"{LAST_YEAR}-03-15"))
    assert texts(recall(other, query="Where is the shop hosted?", as_of=f"{LAST_YEAR}-03-15"))[0] == HEROKU
    assert Fact.objects.of(other.user).get(fact="Lives in Lisbon.").valid_until == day(8)


@pytest.mark.parametrize("as_of", ["whenever it was", "05/06/2026", "before the flood", "9999-13-01", "before"])
def test_a_time_that_nobody_knows_is_refused_with_what_to_send(as_of):
    with pytest.raises(Invalid, match="as_of"):
        list_facts(make_actor(), as_of=as_of)


def test_agents_may_name_days_in_words(actor):
    say(actor, "memory_store_fact", category="decision", fact=HEROKU, until="yesterday")

    assert Fact.objects.of(actor.user).get().is_past


def test_what_an_older_version_took_out_of_the_index_comes_back(actor):
    old, _ = moved(actor)
    Passage.objects.filter(source_id=str(old.pk)).delete()

    assert (index_replaced_facts(), index_replaced_facts()) == (1, 0)

    assert texts(recall(actor, query="Where is the shop hosted?", as_of=f"March {LAST_YEAR}")) == [HEROKU]
    assert texts(recall(actor, query="Where is the shop hosted?")) == [FLY]


def test_what_is_past_is_no_contradiction_to_settle_any_more(actor):
    store(actor, HEROKU)
    newer = store(actor, FLY)
    assert [one.concern for one in carry_out(tidy, actor, {}).suggestions] == ["contradiction"]

    correct_fact(actor, fact_id=newer.number, fact=FLY, valid_until=timezone.now())

    assert carry_out(tidy, actor, {}).suggestions == []
    assert HEROKU in get_context(actor).markdown
