"""Fusion: two rankings become one, and exchanges of one session lift each other."""

from datetime import UTC, datetime, timedelta

import pytest

from knowledge.search.fusion import RECIPES, Turn, add_late, fuse, support_neighbours, weigh_turns
from knowledge.search.newest_first import pair_facts, put_newest_first


def order(scores):
    """Passages, the best first."""
    return sorted(scores, key=lambda passage: -scores[passage])


def fused(keyword, vector, **told):
    return {passage: found.score for passage, found in fuse(keyword, vector, **told).items()}


@pytest.mark.parametrize(
    ("keyword", "vector", "first"),
    [
        pytest.param({1: 0.9, 2: 0.9}, {1: 0.8, 2: 0.1, 3: 0.8, 4: 0.1}, 1, id="what both find"),
        pytest.param({1: 0.10, 2: 0.05}, {3: 0.62, 1: 0.20, 2: 0.15}, 3, id="the nearest meaning before a common word"),
        pytest.param({1: 1.0}, {2: 0.50, 1: 0.45, 3: 0.10}, 1, id="every word before a meaning a little nearer"),
    ],
)
def test_first_comes(keyword, vector, first):
    assert order(fused(keyword, vector))[0] == first


def test_a_score_means_the_same_whatever_else_was_found():
    among_poor, among_good = fused({1: 0.5}, {1: 0.6, 2: 0.1}), fused({1: 0.5, 2: 1.0}, {1: 0.6, 2: 0.9, 3: -0.1})

    assert among_poor[1] == among_good[1] == pytest.approx(0.4 * 0.5**2 + 0.6 * 0.6)


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


def test_with_one_arm_the_order_is_that_of_it_and_nothing_found_is_nothing_fused():
    words, meaning = fuse({1: 0.4, 2: 0.2}, {}), fuse({}, {1: 0.1, 2: 0.7})

    assert words[1].score > words[2].score
    assert words[1].retrievers == ("keyword",)
    assert order({passage: one.score for passage, one in meaning.items()})[0] == 2
    assert meaning[2].retrievers == ("vector",)
    assert fuse({}, {}) == {}


def test_each_passage_says_which_arms_know_it_and_what_they_add():
    found = fuse({1: 0.5}, {1: 0.9, 2: 0.3})

    assert found[1].retrievers == ("keyword", "vector")
    assert found[1].parts == pytest.approx({"keyword": 0.1, "vector": 0.54})
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


def test_another_session_is_not_lifted_and_nothing_ever_lowered():
    talk = {1: ("talk", 1), 2: ("talk", 2), 3: ("another talk", 1)}
    scores = {1: 0.1, 2: 0.8, 3: 0.5, 4: 0.3}

    lifted = support_neighbours(scores, talk)

    assert all(lifted[passage] >= score for passage, score in scores.items())
    assert support_neighbours({1: 0.9, 2: 0.2}, {1: ("talk", 1), 2: ("another talk", 2)}) == {1: 0.9, 2: 0.2}


def test_a_fact_keeps_its_place_among_exchanges_with_the_usual_neighbours():
    talk = {number: ("talk", number) for number in range(1, 101)}
    scores = {**dict.fromkeys(talk, 0.4), 999: 0.45}

    lifted = support_neighbours(scores, talk)

    assert lifted[999] == 0.45
    assert order(lifted)[0] == 999


NOON = datetime(2026, 5, 4, 12, tzinfo=UTC)


def turn(session, seq, *, role="user", is_long=False, asks=False, speaker=""):
    return Turn((session, seq), NOON, role, is_long, asks, speaker)


def test_of_facts_about_one_thing_the_newest_comes_first_although_an_older_one_is_nearer():
    ages = {number: (NOON + timedelta(days=number), number) for number in (1, 2, 3)}
    same = {frozenset((1, 2)), frozenset((1, 3)), frozenset((2, 3))}

    ranked = put_newest_first([1, 3, 9, 2], ages, same)

    assert ranked == [3, 2, 9, 1]


def test_a_newer_fact_about_something_else_stays_where_it_is():
    ages = {number: (NOON + timedelta(days=number), number) for number in (1, 2)}

    assert put_newest_first([1, 2], ages, set()) == [1, 2]


@pytest.mark.parametrize(("cosine", "apart", "is_same"), [(0.6, 0.02, True), (0.6, 0.2, False), (0.9, 0.2, True)])
def test_the_worse_a_fact_fits_the_more_alike_it_has_to_be_to_what_it_replaces(cosine, apart, is_same):
    texts = {1: "Ruth lives in the town of Ghent.", 2: "Ruth lives in the town of Porto."}

    same = pair_facts([(1, 2, cosine)], {1: 0.6, 2: 0.6 - apart}, texts, "Where does Ruth live?")

    assert bool(same) is is_same


def test_facts_about_two_things_whose_name_the_question_has_are_not_about_the_same():
    texts = {1: "The port of machine 3 is 80.", 2: "The port of machine 13 is 80.", 3: "The port of machine 3 is 81."}
    near = [(1, 2, 0.95), (1, 3, 0.95), (2, 3, 0.9)]

    same = pair_facts(near, dict.fromkeys(texts, 0.6), texts, "Which port does machine 3 have?")

    assert same == {frozenset((1, 3))}


def test_late_interaction_moves_what_it_compared_by_how_it_differs_and_nothing_else():
    moved = add_late({1: 0.5, 2: 0.5, 3: 0.5}, {1: 0.6, 2: 0.4})

    assert moved == pytest.approx({1: 0.55, 2: 0.45, 3: 0.5})


def test_neighbours_lift_short_turns_and_no_long_ones():
    scores = {1: 0.7, 2: 0.2, 3: 0.2, 4: 0.7, 5: 0.2}
    turns = {1: turn("a", 1), 2: turn("a", 2), 4: turn("b", 1), 5: turn("b", 2, is_long=True, role="assistant")}

    weighed = weigh_turns(scores, turns, "where?")

    assert weighed[2] > 0.2
    assert weighed[5] == weighed[3] == 0.2


def test_what_the_user_said_counts_more_where_somebody_speaks_at_length_only():
    turns = {1: turn("a", 1), 2: turn("b", 1), 3: turn("b", 2, is_long=True, role="assistant")}

    weighed = weigh_turns({1: 0.4, 2: 0.4, 3: 0.4}, turns, "where?")

    assert weighed[2] > weighed[1] == weighed[3]


def test_a_turn_that_asks_counts_less_and_one_of_somebody_named_more():
    turns = {1: turn("a", 1), 2: turn("a", 5, asks=True), 3: turn("a", 9, speaker="ruth")}

    weighed = weigh_turns({1: 0.4, 2: 0.4, 3: 0.4}, turns, "What is Ruth's job?")

    assert weighed[3] > weighed[1] > weighed[2]
