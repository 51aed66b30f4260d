"""The recipe of search, as somebody notices it: what is current, what was said when, slips, and other scripts."""

from datetime import UTC, datetime, timedelta

import pytest
from django.utils import timezone

from knowledge.context.sessions import start_session
from knowledge.conversation.chunks import append_chunk, index_chunk
from knowledge.indexing.embedding import embed_pending
from knowledge.memory.facts import store_fact
from knowledge.models import Chunk, Fact, Kind
from knowledge.recall.semantic_search import semantic_search
from knowledge.search.filters import Filters
from knowledge.search.frequencies import forget_statistics
from knowledge.search.hybrid import search
from knowledge.search.spelling import forget_vocabularies
from knowledge.truth.fact_index import index_fact
from tests.factories import make_actor
from tests.knowledge.factories import make_fact, make_note

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def _no_statistics():
    forget_statistics()
    forget_vocabularies()


def ask(actor, question, **told):
    found = search(question, owner=actor.user, filters=Filters([Kind.FACT, Kind.CHUNK]), limit=10, **told)
    return [item.text for item in found.items]


def remember(actor, *facts):
    for days, text in enumerate(reversed(facts), start=1):
        fact = store_fact(actor, category="codebase", fact=text).fact
        Fact.objects.filter(pk=fact.pk).update(created_at=timezone.now() - timedelta(days=days))
        index_fact(Fact.objects.get(pk=fact.pk))
    embed_pending()


@pytest.mark.parametrize("embedder", ["hashing", "builtin"])
def test_the_current_fact_comes_before_those_it_has_overtaken(settings, embedder):
    settings.EMBEDDING_PROVIDER = embedder
    actor = make_actor()
    remember(
        actor,
        "The ledger database runs on PostgreSQL 14.",
        "The ledger database runs on MariaDB.",
        "The ledger database runs on Oracle 19.",
        "The ledger is closed on Fridays.",
    )

    found = ask(actor, "What does the ledger database run on?")

    assert found[:3] == [f"The ledger database runs on {name}." for name in ("Oracle 19", "MariaDB", "PostgreSQL 14")]


def test_what_was_said_on_the_day_that_the_question_names_comes_first(actor):
    session = str(start_session(actor).session_id)
    for day in range(1, 15):
        chunk = append_chunk(actor, role="user", content=f"For lunch I had dish {day * 7}.", session_id=session)
        Chunk.objects.filter(pk=chunk.pk).update(created_at=datetime(2026, 6, day, 12, tzinfo=UTC))
        index_chunk(Chunk.objects.select_related("session", "user").get(pk=chunk.pk))
    embed_pending()
    wednesday = datetime(2026, 6, 10, 18, tzinfo=UTC)

    assert ask(actor, "What did I have for lunch yesterday?", asked_at=wednesday)[0] == "For lunch I had dish 63."
    assert ask(actor, "What did I have for lunch last Friday?", asked_at=wednesday)[0] == "For lunch I had dish 35."


@pytest.mark.parametrize("slip", ["potery", "pottrey", "pottary", "poottery"])
def test_a_misspelt_word_finds_what_was_meant(slip, actor):
    remember(actor, "Ruth goes to the pottery on Thursdays.", "Ruth goes to the market on Fridays.", "Ben likes tea.")

    found = search(f"When is the {slip}?", owner=actor.user, filters=Filters([Kind.FACT]), limit=3)

    assert found.items[0].text == "Ruth goes to the pottery on Thursdays."
    assert found.items[0].keyword


def test_no_word_of_somebody_else_corrects_a_question():
    stranger, actor = make_actor(), make_actor()
    remember(stranger, "The Xylotherm is in the cellar.")
    remember(actor, "The boiler is in the cellar.")

    alone = search("Where is the Xylothurm?", owner=actor.user, filters=Filters([Kind.FACT]), limit=3)

    assert [item.text for item in alone.items] == ["The boiler is in the cellar."]
    assert alone.items[0].keyword is None


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        ("王芳对什么过敏？", "王芳对花生过敏，聚餐时不要点花生。"),
        ("証明書はいつ更新しますか？", "本番サーバーの証明書は毎年六月に更新します。"),
        ("계약서는 누가 검토하나요?", "계약서는 반드시 법무팀의 검토를 받습니다."),
    ],
)
def test_scripts_without_spaces_are_found_by_words(question, answer, actor):
    remember(
        actor, answer, "仓库的温度不能超过二十五度。", "図書室は土曜日も開いています。", "도서관은 월요일에 쉽니다."
    )

    found = search(question, owner=actor.user, filters=Filters([Kind.FACT]), limit=4).items

    assert found[0].text == answer
    assert found[0].keyword is not None
    assert found[0].keyword > 0.3


BELIEFS = (
    "Decaffeinated coffee only after two o'clock.",
    "An aisle seat is worth paying for.",
    "My daughter is afraid of dogs.",
    "Estimates should be ranges.",
    "I keep six months of expenses in a savings account.",
    "Code reviews should take less than a day.",
)
ORDER = "Order me a coffee at four in the afternoon."


def test_of_many_facts_the_few_that_matter_are_shown_and_the_others_at_the_next_offset(settings):
    settings.EMBEDDING_PROVIDER = "builtin"
    actor = make_actor()
    remember(actor, *BELIEFS)

    first = semantic_search(actor, query=ORDER)
    then = semantic_search(actor, query=ORDER, offset=1)

    assert [hit.excerpt for hit in first.items] == [BELIEFS[0]]
    assert (first.total, first.left) == (len(BELIEFS), len(BELIEFS) - 1)
    assert {hit.excerpt for hit in then.items} == {*BELIEFS[1:]}


def test_a_list_of_longer_texts_is_shown_to_its_end(settings):
    settings.EMBEDDING_PROVIDER = "builtin"
    actor = make_actor()
    remember(actor, *BELIEFS)
    make_note(actor, "A note about the office plants.")
    embed_pending()

    assert len(semantic_search(actor, query=ORDER).items) == len(BELIEFS) + 1


def test_facts_without_vectors_are_all_shown(actor):
    for belief in BELIEFS:
        make_fact(actor, f"{belief} Coffee.")

    assert len(semantic_search(actor, query=ORDER).items) == len(BELIEFS)
