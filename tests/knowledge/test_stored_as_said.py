"""What is said is stored as it was said: lasting truths and passing remarks, in four languages, whatever the words."""

from pathlib import Path

import pytest

from accounts.people.profiles import update_profile
from bigmind.gate import perform
from bigmind.operations import CATALOGUE
from knowledge.context.start_context import get_context
from knowledge.memory.facts import store_fact
from knowledge.truth.doubtful_facts import why_doubtful


def read_texts(name):
    lines = (Path(__file__).parent / "as_said" / name).read_text().splitlines()
    return [line for line in lines if line and not line.startswith("#")]


def store(actor, text):
    said = {"category": "codebase", "fact": text}
    return perform(CATALOGUE["memory_store_fact"], actor, said, transport="mcp")


LASTING, PASSING = read_texts("lasting.txt"), read_texts("passing.txt")
BYTES = ["  Two  spaces,\ta tab\nand a line end.  ", "“Curly” quotes — and a dash…", "a\u0301 is not á", "`code` | <b>"]


@pytest.mark.django_db
# One of each of the few kinds of sentences: that none is called doubtful is asked of all.
@pytest.mark.parametrize("texts", [LASTING[::5], PASSING[::4], BYTES], ids=["lasting", "passing", "bytes"])
def test_every_text_is_stored_byte_for_byte(texts, actor):
    stored = [store(actor, text).value for text in texts]

    assert [one.fact.fact for one in stored] == texts
    assert not any(one.duplicate for one in stored)


def test_there_are_enough_of_them():
    assert len(LASTING) >= 200
    assert len(PASSING) >= 100


def test_no_lasting_truth_is_called_doubtful():
    assert [text for text in LASTING if why_doubtful(text)] == []


@pytest.mark.parametrize(
    ("text", "doubt"),
    [
        ("The build fails right now.", "passing"),
        ("Der Drucker ist im Moment kaputt.", ""),
        ("¡Hola!", "a greeting"),
        ("Danke schön!", "a greeting"),
        ("- **[decision]** (F12, 2026-01-02) Deploys on Tuesday.", "a line of the start context"),
        ("…", ""),
    ],
)
def test_what_a_text_says_of_itself_is_a_label(text, doubt):
    assert why_doubtful(text) == doubt


@pytest.mark.django_db
def test_a_doubtful_fact_is_told_last_with_its_reason(actor):
    reply = store(actor, "The build fails right now.")
    store_fact(actor, category="decision", fact="Deployments need two approvals.")

    told = get_context(actor).markdown

    assert "reads like passing news, so a start tells it last" in reply.markdown()
    assert "passing) The build fails right now." in told


@pytest.mark.django_db
def test_what_the_profile_says_already_is_stored_and_named(actor):
    update_profile(actor, pinned_facts=["Answers in German."])

    stored = store_fact(actor, category="preference", fact="Answers in German.")

    assert stored.fact.pk
    assert stored.in_profile == "pinned facts"
