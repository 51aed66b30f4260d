"""One form of words and names: a question finds them whatever their case, width and accents."""

import pytest
from django.db import connection

from knowledge.context.sessions import end_session, list_sessions, start_session
from knowledge.indexing.passage_rewriting import read_languages
from knowledge.kb.entries import add_entry
from knowledge.kb.entry_reading import list_entries
from knowledge.models import Fact
from knowledge.recall.semantic_search import semantic_search
from tests.knowledge.factories import make_fact

pytestmark = pytest.mark.django_db

OTHERS = ("The router was switched off in the night.", "Invoices are paid on Fridays.")
WRITTEN = [
    ("The café in Zürich closes at six.", "zurich cafe", {"zurich", "cafe"}),
    ("The cafe in Zurich closes at six.", "Zürich café", {"zürich", "café"}),
    ("Résumés are kept for a year.", "resumes", {"resum"}),
    ("The cafe\u0301 closes at six.", "café", {"café"}),
    ("Ｐｏｓｔｇｒｅｓ １７ runs the ledger.", "postgres 17", {"17"}),
    ("Postgres 17 runs the ledger.", "Ｐｏｓｔｇｒｅｓ", {"postgr"}),
    ("ｻｰﾊﾞｰは夜に止まります。", "サーバー", {"サー"}),
    ("The ﬁle is in the vault.", "file", {"file"}),
    ("Η Αθήνα είναι η έδρα.", "Αθηνα", {"αθηνα"}),
]


@pytest.mark.parametrize(("text", "question", "words"), WRITTEN)
def test_a_word_is_found_however_it_is_written_and_shown_as_it_was_stored(text, question, words, actor):
    for other in (*OTHERS, text):
        make_fact(actor, other)

    first = semantic_search(actor, query=question, explain=True).items[0]

    assert first.excerpt == text
    assert words <= set(first.matched)
    assert Fact.objects.filter(fact=text).exists()


def test_a_letter_of_another_alphabet_keeps_its_mark(actor):
    make_fact(actor, "Йод стоит на полке.")

    assert not semantic_search(actor, query="иод").items


def test_what_was_stored_before_is_read_again(actor):
    make_fact(actor, "The café in Zürich closes at six.")
    make_fact(actor, OTHERS[0])
    with connection.cursor() as cursor:
        cursor.execute("SET CONSTRAINTS ALL IMMEDIATE")
        cursor.execute("ALTER TABLE knowledge_passage DISABLE TRIGGER write_lexemes")
        cursor.execute("UPDATE knowledge_passage SET lexemes = to_tsvector('english', text)")
        cursor.execute("ALTER TABLE knowledge_passage ENABLE TRIGGER write_lexemes")
        cursor.execute("INSERT INTO knowledge_passagereading SELECT 0, max(id) FROM knowledge_passage")

    written = read_languages()

    assert written == 1
    assert semantic_search(actor, query="zurich", explain=True).items[0].matched == ["zurich"]


def test_tags_and_topics_are_the_same_however_they_are_written(actor):
    add_entry(actor, content="The café opens at eight.", entry_type="fact", tags=["Café Zürich"])
    session = start_session(actor, topics=["Déploiement"]).session_id
    end_session(actor, one_liner="Moved the release.", outcome="done", summary="Moved it.", session_id=str(session))

    assert list_entries(actor, tags=["cafe zurich"]).items
    assert list_sessions(actor, topic="DEPLOIEMENT").items
    assert not list_sessions(actor, topic="deploy").items
