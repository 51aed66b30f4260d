"""Late interaction: the words of a question and of a passage are compared one by one, and weigh what they weigh."""

import numpy as np
import pytest

from knowledge.embeddings.minilm import embed_minilm
from knowledge.embeddings.providers import provider
from knowledge.indexing.embedding import embed_pending
from knowledge.memory.facts import store_fact
from knowledge.models import CachedVector, Kind
from knowledge.search.filters import Filters
from knowledge.search.hybrid import search
from knowledge.search.late_interaction import PassageTokens, similarities, weigh_tokens


@pytest.fixture
def built_in(settings):
    settings.EMBEDDING_PROVIDER = "builtin"


def compare(question, texts, weights):
    tokens = weigh_tokens(question, embed_minilm([question]).tokens[0], weights)
    signs = {number: one.signs.tobytes() for number, one in enumerate(embed_minilm(texts).tokens)}
    return similarities(tokens, signs, bytes_each=48)


def test_a_text_meets_its_own_words_and_one_about_something_else_hardly():
    alike = compare(
        "green tea", ["green tea", "Green tea, please.", "The invoice is late."], {"green": 1.0, "tea": 1.0}
    )

    assert alike[0] == pytest.approx(1.0)
    assert alike[0] > alike[1] > alike[2] + 0.2


def test_rare_words_decide():
    texts = ["The harbour opens at six.", "The clinic opens at nine."]
    weights = {"when": 0.1, "harbour": 0.1, "clinic": 5.0, "open": 0.1}

    alike = compare("When does the clinic by the harbour open?", texts, weights)

    assert alike[1] > alike[0]


def test_passages_chosen_among_many_meet_a_question_as_all_of_them_do():
    texts = ["The harbour opens at six.", "Tea.", "The clinic opens at nine."]
    weights = {"when": 0.1, "clinic": 5.0, "open": 0.1}
    alike = compare("When does the clinic open?", texts, weights)
    question = weigh_tokens(
        "When does the clinic open?", embed_minilm(["When does the clinic open?"]).tokens[0], weights
    )
    signs = [one.signs.tobytes() for one in embed_minilm(texts).tokens]

    chosen = PassageTokens.of(signs, bytes_each=48).choose(np.array([2, 0]))

    assert (question.weights @ chosen.nearest(question.signs)).tolist() == pytest.approx([alike[2], alike[0]])


def test_a_question_without_words_and_no_passages_are_no_error():
    assert compare("?!", ["Tea."], {}) == {}
    tokens = weigh_tokens("tea", embed_minilm(["tea"]).tokens[0], {"tea": 1.0})
    assert similarities(tokens, {}, bytes_each=48) == {}


@pytest.mark.django_db
def test_a_finding_says_how_well_its_words_meet_those_of_the_question(built_in, actor):
    store_fact(actor, category="codebase", fact="The kiln in the pottery reaches 1,240 degrees.")
    embed_pending()

    (found,) = search("How hot does the kiln get?", owner=actor.user, filters=Filters([Kind.FACT]), limit=5).items

    assert found.late is not None
    assert found.late > 0.2


@pytest.mark.django_db
def test_what_an_older_version_embedded_gets_its_tokens_later(built_in, actor):
    store_fact(actor, category="codebase", fact="The kiln reaches 1,240 degrees.")
    embed_pending()
    CachedVector.objects.update(tokens=None)

    before = search("How hot is the kiln?", owner=actor.user, filters=Filters([Kind.FACT]), limit=5).items[0]
    embed_pending()
    after = search("How hot is the kiln?", owner=actor.user, filters=Filters([Kind.FACT]), limit=5).items[0]

    assert before.late is None
    assert after.late is not None
    assert before.score == pytest.approx(after.score)


@pytest.mark.django_db
def test_an_embedder_that_tells_no_tokens_is_asked_for_none(actor):
    store_fact(actor, category="codebase", fact="The kiln reaches 1,240 degrees.")
    embed_pending()

    assert provider().space.startswith("hashing")
    assert CachedVector.objects.filter(tokens=None).exists()
    assert search("kiln", owner=actor.user, filters=Filters([Kind.FACT]), limit=5).items[0].late is None
