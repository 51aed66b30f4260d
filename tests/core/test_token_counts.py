"""The token counter: never below the tokenizers, not far above them, and additive enough to budget with."""

import json
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from bigmind.text.common_words import is_common
from bigmind.text.token_counts import COSTS, ELLIPSIS, PieceCosts, count_each, count_tokens, cut_each, cut_to_tokens

REFERENCE = json.loads(Path(__file__).with_name("token_reference.json").read_text(encoding="utf-8"))
PROSE = "Deploys to production happen on Tuesdays, before noon, and never on a Friday afternoon."
# Words, numbers, signs, blanks and scripts as memories have them, besides whatever hypothesis thinks of.
BITS = [
    *("deploy", "Kubernetes", "Größe", "getUserName", "SELECT", "é", "漢字", "かな", "한국어", "слово", "سلام"),
    *("7", "2026", "_", "__", "|", "---", "](", "!?", "…", "──", " ", "  ", "\n", "\n\n\n", "\t", "\r\n", "🎉", "👩‍💻"),
]
memories = st.lists(st.sampled_from(BITS) | st.text(max_size=5), max_size=30).map("".join)


def test_no_tokenizer_counts_more():
    counted = [(reference, count_tokens(reference["text"])) for reference in REFERENCE]

    assert len(counted) >= 150
    assert [(one["text"], count) for one, count in counted if count < max(one["tokens"].values())] == []


@pytest.mark.parametrize(("kind", "most"), [("english", 1.35), ("markdown", 1.35), ("code", 1.45), ("chinese", 1.75)])
def test_the_count_is_not_wastefully_high(kind, most):
    texts = [reference for reference in REFERENCE if reference["kind"] == kind]

    counted = sum(count_tokens(reference["text"]) for reference in texts)

    assert counted <= most * sum(reference["tokens"]["cl100k"] for reference in texts)


def test_nothing_costs_nothing():
    assert count_tokens("") == 0


@given(st.text(min_size=1, max_size=50))
def test_something_costs_something(text):
    assert count_tokens(text) >= 1


@given(memories, memories, st.sampled_from(["\n", " ", "\n\n", " | "]))
@example("2026", "0330", "\n")
def test_joined_texts_cost_what_they_cost_apart_and_one_more_at_most(one, other, between):
    parts = count_tokens(one) + count_tokens(between + other)

    whole = count_tokens(one + between + other)

    assert max(count_tokens(one), count_tokens(other)) <= whole <= parts + 1


@given(st.lists(memories, max_size=20))
def test_lines_that_fit_apart_fit_together(lines):
    apart = sum(count_tokens(line + "\n") + 1 for line in lines)

    assert count_tokens("".join(line + "\n" for line in lines)) <= apart


@pytest.mark.parametrize(
    "word", ["deploy", "deploys", "deployed", "deploying", "releases", "implementation", "ordered"]
)
def test_the_forms_of_a_common_word_are_common(word):
    assert is_common(word)


@pytest.mark.parametrize("word", ["kubectl", "xqzvk", "geschwindigkeit", "s", "ing"])
def test_other_words_are_not_common(word):
    assert not is_common(word)


def test_the_memory_of_costs_stays_small():
    costs = PieceCosts()
    costs.LIMIT = 10

    for number in range(100):
        costs[str(number)]
    costs["x" * 1000]

    assert len(costs) <= 10


def test_a_cost_is_the_same_the_second_time():
    COSTS.clear()

    assert count_tokens(PROSE) == count_tokens(PROSE)


@given(st.text(st.characters(max_codepoint=127), max_size=60))
def test_no_sign_of_ascii_costs_more_than_a_token(text):
    assert count_tokens(text) <= len(text)


@given(st.lists(st.text(max_size=40), max_size=5), st.integers(0, 12))
def test_several_texts_are_counted_and_cut_as_one_by_one(texts, budget):
    assert count_each(texts) == [count_tokens(text) for text in texts]
    assert cut_each(texts, budget) == [cut_to_tokens(text, budget) for text in texts]


def test_a_text_that_fits_is_not_cut():
    assert cut_to_tokens(PROSE, count_tokens(PROSE)) == PROSE


def test_a_text_is_cut_between_words_and_says_so():
    assert cut_to_tokens(PROSE, 8) == "Deploys to production happen on…"


@given(memories, st.integers(-2, 60))
def test_a_cut_text_is_a_beginning_within_its_budget(text, budget):
    cut = cut_to_tokens(text, budget)

    assert count_tokens(cut) <= max(budget, 0)
    assert cut == text or cut == "" or (cut.endswith(ELLIPSIS) and text.startswith(cut.removesuffix(ELLIPSIS)))


@given(
    st.lists(st.sampled_from(["word", "Größe", "👨‍👩‍👧‍👦🇩🇪", "a\u0301b", "x" * 90, "can't", "foo/bar.py"]), max_size=30)
)
def test_no_word_and_no_emoji_is_cut(words):
    text = " ".join(words)

    for budget in range(1, 40, 3):
        kept = cut_to_tokens(text, budget).removesuffix(ELLIPSIS)

        assert kept.split(" ") == words[: len(kept.split(" "))] or kept == ""


@pytest.mark.parametrize("budget", [1, 5, 40])
def test_a_word_too_long_for_the_budget_is_left_out_whole(budget):
    assert cut_to_tokens("Donaudampfschifffahrt" * 20, budget) == ELLIPSIS


def test_without_a_token_to_spend_nothing_is_left():
    assert cut_to_tokens(PROSE, 0) == ""


def test_chinese_is_cut_between_characters():
    assert cut_to_tokens("用户喜欢简短的回答并希望先听到原因", 10) == "用户喜欢…"


def test_japanese_is_not_cut_before_a_small_kana_or_within_katakana():
    kept = {cut_to_tokens("しゃしん データベース しゃしん", budget) for budget in range(1, 20)}

    assert "し…" not in kept
    assert not any(cut.endswith(("デ…", "デー…", "データ…")) for cut in kept)
