"""Fusion: two rankings become one, and exchanges of one session lift each other."""

import pytest

from knowledge.search.fusion import RECIPES, fuse, support_neighbours


def order(scores):
    """Passages, the best first."""
    return sorted(scores, key=lambda passage: -scores[passage])


def fused(keyword, vector, **told):
    return {passage: found.score for passage, found in fuse(keyword, vector, **told).items()}


def test_what_both_arms_find_comes_before_what_one_finds():
    scores = fused({1: 0.9, 2: 0.9}, {1: 0.8, 2: 0.1, 3: 0.8, 4: 0.1})

    assert order(scores)[0] == 1


def test_poor_matches_of_words_do_not_outweigh_the_nearest_meaning():
    common_word = {1: 0.10, 2: 0.05}

    scores = fused(common_word, {3: 0.62, 1: 0.20, 2: 0.15})

    assert order(scores)[0] == 3


def test_a_passage_with_every_word_outweighs_a_meaning_that_is_a_little_nearer():
    scores = fused({1: 1.0}, {2: 0.50, 1: 0.45, 3: 0.10})

    assert order(scores)[0] == 1


def test_a_score_means_the_same_whatever_else_was_found():
    among_poor, among_good = fused({1: 0.5}, {1: 0.6, 2: 0.1}), fused({1: 0.5, 2: 1.0}, {1: 0.6, 2: 0.9, 3: -0.1})

    assert among_poor[1] == among_good[1] == pytest.approx(0.4 * 0.5 + 0.6 * 0.6)


def test_the_best_of_poor_matches_stays_poor():
    scores = fused({}, {1: 0.22, 2: 0.14, 3: 0.05})

    assert max(scores.values()) == pytest.approx(0.6 * 0.22)


@pytest.mark.parametrize("recipe", ["blend", "rrf"])
def test_what_has_no_vector_yet_is_taken_to_be_as_near_as_what_has_its_words_usually_is(recipe):
    keyword, vector = {1: 1.0, 2: 0.3, 3: 0.3, 4: 0.3}, {2: 0.2, 3: 0.3, 4: 0.9, 5: 0.1}

    unknown = fused(keyword, vector, recipe=recipe)
    usual = fused(keyword, {**vector, 1: 0.3}, recipe=recipe)

    assert unknown[1] == pytest.approx(usual[1], abs=0.02)


def test_no_missing_vector_makes_words_count_more():
    words = {1: 0.6, 2: 0.6}

    scores = fused(words, {2: 0.7, 3: 0.2})

    assert scores[1] <= scores[2]
    assert scores[1] < 1.0


def test_while_no_vector_is_there_the_order_is_that_of_the_words():
    found = fuse({1: 0.4, 2: 0.2}, {})

    assert (found[1].score, found[1].retrievers) == (0.4, ("keyword",))


def test_where_no_word_stands_the_order_is_that_of_the_meaning():
    found = fuse({}, {1: 0.1, 2: 0.7})

    assert (order({passage: one.score for passage, one in found.items()})[0], found[2].retrievers) == (2, ("vector",))


def test_nothing_found_is_nothing_fused():
    assert fuse({}, {}) == {}


def test_each_passage_says_which_arms_know_it_and_what_they_add():
    found = fuse({1: 0.5}, {1: 0.9, 2: 0.3})

    assert found[1].retrievers == ("keyword", "vector")
    assert found[1].parts == pytest.approx({"keyword": 0.2, "vector": 0.54})
    assert sum(found[1].parts.values()) == pytest.approx(found[1].score)
    assert found[2].retrievers == ("vector",)


def test_reciprocal_ranks_ask_for_places_and_not_for_scores():
    near = fused({1: 0.9, 2: 0.8}, {2: 0.9, 3: 0.8, 1: 0.1}, recipe="rrf")
    far = fused({1: 0.9, 2: 0.1}, {2: 0.2, 3: 0.1, 1: 0.0}, recipe="rrf")

    assert near == far
    assert order(near) == [2, 1, 3]


def test_the_setting_chooses_the_recipe(settings):
    settings.SEARCH_FUSION = "rrf"

    assert fused({1: 0.3, 2: 0.2}, {}) == fused({1: 0.3, 2: 0.2}, {}, recipe="rrf")


@pytest.mark.parametrize("recipe", RECIPES)
def test_every_recipe_scores_between_0_and_1(recipe):
    scores = fused({1: 1.0, 2: 0.2}, {1: 0.9, 3: -0.2}, recipe=recipe)

    assert scores
    assert all(0 <= score <= 1 for score in scores.values())


def test_what_stands_beside_the_best_exchange_is_lifted():
    talk = {number: ("talk", number) for number in range(1, 8)}
    scores = {**dict.fromkeys(talk, 0.2), 3: 0.9}

    lifted = support_neighbours(scores, talk)

    assert order(lifted)[0] == 3
    assert {passage for passage in talk if lifted[passage] > scores[passage]} == {1, 2, 4, 5}
    assert lifted[2] > lifted[1]


def test_another_session_is_not_lifted():
    scores = {1: 0.9, 2: 0.2}

    lifted = support_neighbours(scores, {1: ("talk", 1), 2: ("another talk", 2)})

    assert lifted == scores


def test_a_fact_keeps_its_place_among_exchanges_with_the_usual_neighbours():
    talk = {number: ("talk", number) for number in range(1, 101)}
    scores = {**dict.fromkeys(talk, 0.4), 999: 0.45}

    lifted = support_neighbours(scores, talk)

    assert lifted[999] == 0.45
    assert order(lifted)[0] == 999


def test_nothing_is_ever_lowered():
    talk = {1: ("talk", 1), 2: ("talk", 2), 3: ("another talk", 1)}
    scores = {1: 0.1, 2: 0.8, 3: 0.5, 4: 0.3}

    lifted = support_neighbours(scores, talk)

    assert all(lifted[passage] >= score for passage, score in scores.items())
