"""Several languages: each text is searched with the word forms of its own, and names are found in all of them."""

import pytest
from django.db import connection

from knowledge.indexing.passage_rewriting import read_languages
from knowledge.kb.entry_imports import NewEntry, import_entries
from knowledge.models import Passage
from knowledge.recall.semantic_search import semantic_search
from knowledge.search import language_identification as languages
from knowledge.search.language_identification import language_of
from tests.factories import make_actor
from tests.knowledge.factories import make_fact

pytestmark = pytest.mark.django_db

OTHERS = ("The router was switched off in the night.", "Le chauffage est en panne.", "Der Garten gehört der Nachbarin.")
BENT = [
    ("Die Häuser in Potsdam werden im Frühjahr gestrichen.", "Wann wird das Haus gestrichen?", "haus"),
    ("Les chevaux blessés partent à la clinique vétérinaire.", "Où soigne-t-on un cheval ?", "cheval"),
    ("Los camiones averiados se reparan en el taller.", "¿Dónde reparan un camión?", "camion"),
    ("Мои сёстры держат пасеку под Тулой.", "Что держит моя сестра?", "сестр"),
]


def test_the_model_is_unpacked_once_and_read_from_there_until_it_is_damaged(settings, tmp_path):
    settings.UNPACKED = tmp_path
    texts = [*OTHERS, *(text for text, _, _ in BENT), "x = 7"]

    def read_again():
        languages._identifier.cache_clear()
        return [language_of(text) for text in texts]

    unpacked = read_again()
    kept = {file.name: file.stat().st_mtime_ns for file in tmp_path.iterdir()}
    assert read_again() == unpacked
    assert {file.name: file.stat().st_mtime_ns for file in tmp_path.iterdir()} == kept
    for name in kept:
        (tmp_path / name).write_bytes(b"Not what it was.")
        assert read_again() == unpacked
        assert (tmp_path / name).stat().st_size > 100_000
    settings.UNPACKED = tmp_path / "nowhere"
    assert read_again() == unpacked
    assert len(set(unpacked)) > 4


def _first(actor, question: str):
    return semantic_search(actor, query=question, explain=True).items[0]


def _store_as_before(*passages: Passage) -> None:
    """Leave passages as an older version wrote them, to be read."""
    for passage in passages:
        Passage.objects.filter(pk=passage.pk).update(language="")
    with connection.cursor() as cursor:
        cursor.execute("INSERT INTO knowledge_passagereading SELECT 0, max(id) FROM knowledge_passage")


@pytest.mark.parametrize(("text", "question", "stem"), BENT)
def test_a_question_finds_the_other_forms_of_its_words(text, question, stem, actor):
    for other in (*OTHERS, text):
        make_fact(actor, other)

    first = _first(actor, question)

    assert first.excerpt == text
    assert stem in first.matched


@pytest.mark.parametrize("question", ["Wo steht maxRetryCount?", "maxRetryCount", "Où est maxRetryCount défini ?"])
def test_an_identifier_is_found_in_whatever_language_is_asked(question, actor):
    for text in (*OTHERS, "The limit stands in maxRetryCount."):
        make_fact(actor, text)

    assert _first(actor, question).excerpt == "The limit stands in maxRetryCount."


def test_an_english_term_is_found_in_another_language_by_its_english_form(actor):
    for text in (*OTHERS, "We deploy on Tuesdays, never on Fridays."):
        make_fact(actor, text)

    assert "deployed" in _first(actor, "An welchem Tag kommen unsere deployed Versionen?").matched


def test_stop_words_of_a_language_find_nothing_in_it(actor):
    make_fact(actor, "Das ist nicht das, was wir von ihr gehört haben.")
    make_fact(actor, "Der Drucker steht im Keller.")

    found = semantic_search(actor, query="Wo ist der Drucker, und von wem haben wir den?").items

    assert [hit.excerpt for hit in found] == ["Der Drucker steht im Keller."]


@pytest.mark.parametrize(("text", "question", "stem"), BENT)
def test_what_was_stored_before_answers_as_it_did_until_it_is_read(text, question, stem, actor):
    for other in (*OTHERS, text):
        make_fact(actor, other)
    _store_as_before(*Passage.objects.all())
    before = _first(actor, text)

    written = read_languages()

    assert before.excerpt == text
    assert written == 3 + ("English" in text)
    assert stem in _first(actor, question).matched
    assert read_languages() == 0


def test_english_texts_are_not_written_again(actor):
    make_fact(actor, "The router was switched off in the night.")
    make_fact(actor, "Postgres 16")
    _store_as_before(*Passage.objects.all())

    assert read_languages() == 0


def test_what_is_imported_by_the_thousand_is_indexed_in_its_language():
    import_entries(make_actor(admin=True), entries=[NewEntry(content=text, entry_type="fact") for text, *_ in BENT])

    found = Passage.objects.values_list("language", flat=True)

    assert set(found) == {"german", "french", "spanish", "russian"}


def test_what_is_too_short_to_tell_is_in_the_language_of_the_instance(settings):
    assert language_of("Anna") == "english"

    settings.LANGUAGE = "german"

    assert language_of("Anna") == "german"
    assert language_of("The invoices are paid on Fridays.") == "english"


@pytest.mark.parametrize(
    "text", ["", "  ", "LDG-4032", "max PG conns courier prod", "data-testid", "田中さんは海老", "🎉"]
)
def test_what_is_in_no_language_is_taken_to_be_english(text):
    assert language_of(text) == "english"
