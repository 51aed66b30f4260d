"""The retrieval benchmark: our corpora are whole, any BEIR folder can be read, and its measures count as BEIR does."""

import json
from collections import Counter
from pathlib import Path

import pytest

from benchmarks.retrieval.beir import CHATS, OURS, Question, read_conversations, read_corpus
from benchmarks.retrieval.measures import Quality, mean_of, quality_of
from benchmarks.retrieval.recipes import RECIPES, SHIPPED
from benchmarks.retrieval.tables import by_recipe, by_sort, half_of, tables_of

SORTS = {"abbreviation", "conversation", "detail", "identifier", "language", "long", "paraphrase", "several", "short"}


@pytest.fixture(scope="module")
def ours():
    return read_corpus(OURS)


@pytest.fixture
def folder(tmp_path):
    """A folder as BEIR's data sets have it: titles may be empty, grades above 1, questions without a judgement."""
    documents = [
        {"_id": "d1", "title": "Tea", "text": "Green tea is steeped at 80 degrees.", "metadata": {}},
        {"_id": "d2", "title": "", "text": "Black tea needs boiling water."},
        {"_id": "d3", "title": "Empty", "text": " "},
    ]
    queries = [{"_id": "1", "text": "How hot for green tea?"}, {"_id": "2", "text": "Nobody judged this."}]
    (tmp_path / "corpus.jsonl").write_text("".join(json.dumps(row) + "\n" for row in documents))
    (tmp_path / "queries.jsonl").write_text("".join(json.dumps(row) + "\n\n" for row in queries))
    (tmp_path / "qrels").mkdir()
    judgements = "query-id\tcorpus-id\tscore\n1\td1\t2\n1\td2\t0\n"
    (tmp_path / "qrels" / "test.tsv").write_text(judgements)
    return tmp_path


def test_our_corpus_has_what_the_targets_ask_for(ours):
    kinds = Counter(document.metadata["kind"] for document in ours.documents)

    assert len(ours.documents) >= 320
    assert len(ours.questions) >= 220
    assert kinds["chunk"] >= 100
    assert set(kinds) == {"fact", "note", "hypothesis", "entry", "summary", "chunk"}


def test_every_sort_of_question_is_asked_several_times(ours):
    sorts = Counter(question.sort for question in ours.questions)

    assert set(sorts) == SORTS
    assert min(sorts.values()) >= 10


@pytest.mark.parametrize("path", [OURS, CHATS], ids=["ours", "chats"])
def test_every_question_is_answered_by_what_is_there(path):
    corpus = read_corpus(path)
    asked = path.joinpath("queries.jsonl").read_text().splitlines()

    ids = {document.id for document in corpus.documents}

    assert len(corpus.questions) == len(asked)
    assert all(question.answers and question.answers.keys() <= ids for question in corpus.questions)


@pytest.mark.parametrize("path", [OURS, CHATS], ids=["ours", "chats"])
def test_nothing_is_there_twice(path):
    corpus = read_corpus(path)

    for things in (
        [document.id for document in corpus.documents],
        [document.text.casefold() for document in corpus.documents],
        [question.id for question in corpus.questions],
        [question.text.casefold() for question in corpus.questions],
    ):
        assert len(things) == len(set(things))


@pytest.mark.parametrize("path", [OURS, CHATS], ids=["ours", "chats"])
def test_the_exchanges_of_a_session_follow_each_other(path):
    places: dict[str, list[int]] = {}
    for document in read_corpus(path).documents:
        if document.metadata["kind"] == "chunk":
            places.setdefault(document.metadata["session"], []).append(document.metadata["seq"])

    assert len(places) >= 12
    assert all(numbers == list(range(1, len(numbers) + 1)) for numbers in places.values())


def test_both_halves_have_enough_questions(ours):
    halves = Counter(half_of(question) for question in ours.questions)

    assert min(halves["A"], halves["B"]) >= 110


def test_a_folder_of_beir_is_read_with_what_was_judged(folder):
    corpus = read_corpus(folder)

    assert [document.id for document in corpus.documents] == ["d1", "d2"]
    assert [(question.id, question.answers) for question in corpus.questions] == [("1", {"d1": 2})]


@pytest.mark.django_db
def test_a_folder_of_beir_is_remembered_and_every_recipe_measured(folder):
    tables = tables_of(read_corpus(folder))

    assert "2 documents, 1 questions" in tables
    assert all(f"| {name} | " in tables for name in RECIPES)
    assert f"| {SHIPPED} | 1.000 | 1.000 | 1.000 |" in tables


def test_another_split_will_do_when_there_is_no_test_split(folder):
    (folder / "qrels" / "test.tsv").rename(folder / "qrels" / "dev.tsv")

    assert len(read_corpus(folder).questions) == 1


def test_a_folder_without_judgements_is_refused_by_its_name(folder):
    (folder / "qrels" / "test.tsv").unlink()

    with pytest.raises(FileNotFoundError, match=r"qrels/test\.tsv is missing"):
        read_corpus(folder)


def test_quality_counts_what_is_among_the_first_ten():
    ranking = ["x1", "a", "x2", "b", *(f"y{number}" for number in range(6)), "c"]

    quality = quality_of(ranking, {"a": 1, "b": 1, "c": 1})

    assert quality.recall == pytest.approx(2 / 3)
    assert quality.mrr == 0.5
    assert quality.ndcg == pytest.approx((1 / 1.58496 + 1 / 2.32193) / (1 + 1 / 1.58496 + 1 / 2), abs=1e-4)


def test_a_perfect_ranking_has_the_best_quality_and_an_empty_one_none():
    assert quality_of(["a", "b"], {"a": 2, "b": 1}) == Quality(1.0, 1.0, 1.0)
    assert quality_of([], {"a": 1}) == Quality(0.0, 0.0, 0.0)
    assert mean_of([Quality(1.0, 1.0, 1.0), Quality(0.0, 0.0, 0.0)]) == Quality(0.5, 0.5, 0.5)


def test_the_table_has_a_row_for_each_recipe_and_none_for_sorts_that_nobody_named():
    questions = [Question("1", "How hot?", {"d1": 1}), Question("2", "How long?", {"d2": 1})]
    judged = {"words": [Quality(1.0, 0.5, 0.6), Quality(0.0, 0.0, 0.0)]}

    lines = by_recipe(judged, questions)

    assert lines[2].startswith("| words | 0.500 | 0.250 | 0.300 |")
    assert by_sort(judged, questions) == []


def test_the_conversations_of_the_documentation_can_be_read(tmp_path):
    page = Path("docs/benchmarks.md").read_text(encoding="utf-8")
    (tmp_path / "own.json").write_text(page.partition("```json\n")[2].partition("```")[0], encoding="utf-8")

    [corpus] = read_conversations(tmp_path / "own.json")

    assert [one.text for one in corpus.documents] == ["Ruth: I signed up for pottery."]
    assert [(one.text, one.answers, one.sort) for one in corpus.questions] == [
        ("What is Ruth learning?", {"1": 1}, "one step")
    ]


@pytest.mark.django_db
def test_conversations_are_remembered_turn_by_turn_and_every_recipe_measured(tmp_path):
    turns = [
        {"id": "1", "session": "monday", "speaker": "Ruth", "text": "I signed up for pottery.", "date": "2026-10-10"},
        {"id": "2", "session": "monday", "speaker": "Daniel", "text": "Nice, I bake bread these days."},
    ]
    asked = [{"text": "What is Ruth learning?", "answers": ["1"], "sort": "one step"}, {"text": "No?", "answers": []}]
    (tmp_path / "own.json").write_text(json.dumps([{"name": "Ruth", "turns": turns, "questions": asked}]))

    [tables] = [tables_of(corpus) for corpus in read_conversations(tmp_path / "own.json")]

    assert "2 documents, 1 questions" in tables
    assert all(f"| {name} | " in tables for name in RECIPES)
    assert "| one step | 1 | " in tables
