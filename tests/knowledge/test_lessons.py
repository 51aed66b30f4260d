"""Déjà-vu: an error that was met before is answered with its lesson, the fix and where it comes from."""

import hashlib
import re
import threading
from concurrent.futures import ThreadPoolExecutor
from time import sleep

import pytest
from django.db import connection, transaction

from bigmind.core.errors import Invalid
from bigmind.core.operations import carry_out
from bigmind.gate import perform
from bigmind.operations import CATALOGUE
from knowledge.indexing.embedding import embed_pending
from knowledge.kb.entries import add_entry, delete_entry, update_entry
from knowledge.kb.entry_imports import import_entries
from knowledge.lessons.lookup import lesson_for
from knowledge.memory.facts import store_fact
from knowledge.models import EntryFingerprint, LessonAsked
from knowledge.models.person_digests import DIGEST_CHARS, digest_of_person
from tests.factories import make_actor

pytestmark = pytest.mark.django_db

TRACE = """\
Traceback (most recent call last):
  File "/srv/shop/payments.py", line 120, in charge
    gateway.charge(order, timeout=30)
shop.errors.GatewayTimeout: Gateway gate-7 did not answer order 123 within 30s
"""
SAME_AGAIN = "\x1b[31m2026-02-01 09:00:00 ERROR web: failed\n" + TRACE.replace("120", "131").replace(
    "/srv/shop", "/home/ada/shop"
).replace("gate-7", "gate-12").replace("order 123", "order 9001").replace("30s", "45s")
LESSON = f"""\
# Payments hang on Fridays

```
{TRACE}```

## Cause

The gateway drains its pool at noon.

## Fix

Retry once with the key of the first try.
"""
ELSEWHERE = TRACE.replace("payments.py", "refunds.py").replace("in charge", "in refund")


def _add(actor, content, **fields):
    return add_entry(actor, content=content, entry_type="fact", **fields).entry


def test_the_same_error_with_other_values_finds_its_lesson_with_fix_and_source():
    ada = make_actor()
    entry = _add(ada, LESSON, source_file="plans/LESSONS-LEARNED.md", source_story="STORY-31", confidence=0.9)
    _add(ada, "GatewayTimeout is a type of ours; gateways are configured in `gateways.toml`.")

    found = lesson_for(make_actor(), error=SAME_AGAIN)

    first = found.items[0]
    assert (first.entry, first.why, first.is_weak, first.score) == (entry, "same error", False, 1.0)
    assert first.fix == "Retry once with the key of the first try."
    assert (first.entry.source_file, first.entry.source_story) == ("plans/LESSONS-LEARNED.md", "STORY-31")
    assert first.author == str(ada.user)
    assert found.error == "GatewayTimeout: gateway gate-<n> did not answer order <n> within <n>"


def test_the_same_message_raised_elsewhere_says_so_and_comes_second(actor):
    elsewhere = _add(actor, f"```\n{ELSEWHERE}```\nFix: refund by hand.")
    here = _add(actor, LESSON)

    found = lesson_for(actor, error=SAME_AGAIN)

    assert [(item.entry, item.why) for item in found.items] == [(here, "same error"), (elsewhere, "same message")]


def test_a_message_without_its_traceback_is_the_same_error():
    entry = _add(make_actor(), LESSON)

    found = lesson_for(make_actor(), error="GatewayTimeout: Gateway gate-1 did not answer order 5 within 10s")

    assert [(item.entry, item.why) for item in found.items] == [(entry, "same error")]


def test_an_error_nobody_quoted_is_answered_by_words():
    entry = _add(make_actor(), "S3 answers SignatureDoesNotMatch for names with a plus: encode each path segment.")
    embed_pending()

    found = lesson_for(make_actor(), error="SignatureDoesNotMatch: encode the path")

    assert [(item.entry, item.why, item.is_weak) for item in found.items] == [(entry, "words", False)]
    assert "path" in found.items[0].matched


def test_what_only_shares_a_word_or_two_is_called_weak_or_left_out(actor):
    near = _add(actor, "A TypeError in the cart came from a price that was a text.")
    _add(actor, "Offices close at six; the last one out turns off the lights.")

    found = lesson_for(actor, error="TypeError: unsupported operand types for subtraction between date and datetime")

    assert [(item.entry, item.is_weak) for item in found.items] == [(near, True)]
    assert "Nothing here is surely about this error" in found.next_step


def test_where_nothing_is_near_the_answer_is_empty_and_says_what_to_do_next():
    _add(make_actor(), "Offices close at six; the last one out turns off the lights.")

    found = lesson_for(make_actor(), error=TRACE)

    assert found.items == []
    assert "kb_add" in found.next_step


def test_a_lesson_that_is_no_longer_trusted_is_weak_and_comes_last(actor):
    doubted = _add(actor, LESSON, confidence=0.2)
    trusted = _add(actor, f"```\n{ELSEWHERE}```", confidence=0.8)

    found = lesson_for(actor, error=TRACE)

    assert [(item.entry, item.is_weak) for item in found.items] == [(trusted, False), (doubted, True)]


def test_an_entry_is_known_by_the_errors_it_quotes_now(actor):
    entry = _add(actor, LESSON)

    update_entry(actor, id=entry.pk, content="Gateways are healthy since May.")
    assert lesson_for(actor, error=TRACE).items == []
    update_entry(actor, id=entry.pk, content=LESSON)
    assert lesson_for(actor, error=TRACE).items[0].entry == entry
    delete_entry(actor, id=entry.pk)

    assert not EntryFingerprint.objects.exists()


def test_imported_entries_are_known_by_the_errors_they_quote(actor):
    carry_out(import_entries, actor, {"entries": [{"content": LESSON}, {"content": "No error in here."}]})

    assert lesson_for(actor, error=SAME_AGAIN).items[0].why == "same error"


def test_recurrences_are_counted_by_fingerprint_and_nothing_else_of_the_log_is_kept():
    entry = _add(make_actor(), LESSON)

    counts = [lesson_for(make_actor(), error=text).asked_before for text in (TRACE, SAME_AGAIN, TRACE)]

    asked = LessonAsked.objects.get()
    assert counts == [0, 1, 2]
    assert (asked.times, asked.entry) == (3, entry)
    names = {field.name for field in LessonAsked._meta.fields}
    assert names == {"id", "fingerprint", "entry", "times", "last_asked", "people"}


def test_who_asked_is_kept_as_digests_that_nobody_makes_without_the_secret_key(settings):
    _add(make_actor(), LESSON)
    ada, bob = make_actor(), make_actor()
    for actor in (ada, bob, ada):
        lesson_for(actor, error=TRACE)
    asked = LessonAsked.objects.get()
    kept = asked.people
    of_another_error = digest_of_person(ada.user.pk, "another fingerprint")

    settings.SECRET_KEY = "another one"
    lesson_for(ada, error=TRACE)
    asked.refresh_from_db()

    assert len(set(kept)) == 2
    assert all(re.fullmatch(f"[0-9a-f]{{{DIGEST_CHARS}}}", digest) for digest in kept)
    for actor in (ada, bob):
        plain = f"{actor.user.pk} {asked.fingerprint}".encode()
        assert hashlib.sha256(plain).hexdigest()[:DIGEST_CHARS] not in kept
        assert actor.user.pk.hex[:8] not in "".join(kept)
    assert of_another_error not in kept
    assert len(set(asked.people) - set(kept)) == 1


def test_how_often_is_told_once_three_others_asked(settings):
    settings.BIGMIND_MODE = "team"
    _add(make_actor(), LESSON)
    reader, *others = [make_actor() for _ in range(5)]

    asking = [reader, others[0], reader, others[1], others[1], reader, others[2], reader, others[3], others[0]]
    counts = [lesson_for(actor, error=TRACE).asked_before for actor in asking]

    assert counts == [0, 0, 0, 0, 0, 0, 6, 7, 8, 9]


@pytest.mark.django_db(transaction=True)
def test_of_people_who_ask_at_once_all_are_counted():
    _add(make_actor(), LESSON)
    lesson_for(make_actor(), error=TRACE)
    actors = [make_actor() for _ in range(3)]
    begun = threading.Barrier(len(actors))

    def ask(actor):
        try:
            # Each has read the row before any of them has written it.
            with transaction.atomic():
                begun.wait(30)
                lesson_for(actor, error=TRACE)
                sleep(0.2)
        finally:
            connection.close()

    with ThreadPoolExecutor(len(actors)) as threads:
        list(threads.map(ask, actors))

    asked = LessonAsked.objects.get()
    assert (asked.times, len(asked.people)) == (4, 4)


def test_nobody_learns_that_others_met_an_error_nobody_wrote_about():
    lesson_for(make_actor(), error=TRACE)

    assert lesson_for(make_actor(), error=TRACE).asked_before == 0


def test_what_somebody_keeps_to_themselves_is_no_lesson_for_others():
    store_fact(make_actor(), category="codebase", fact="GatewayTimeout: did not answer order means Zanzibar is closed.")

    assert lesson_for(make_actor(), error=TRACE).items == []


def test_an_agent_reads_fix_and_source_as_quoted_text():
    _add(make_actor(), LESSON, source_story="STORY-31")

    told = perform(CATALOGUE["lesson_for"], make_actor(), {"error": SAME_AGAIN}, transport="mcp").markdown()

    assert "**Seen before: same error**" in told
    assert "STORY-31" in told
    assert "```shared entry: what to do\nRetry once with the key of the first try.\n```" in told


@pytest.mark.parametrize(
    ("error", "refusal"),
    [
        ("x" * (64 * 1024 + 1), "error is 65,537 bytes; the limit is 65,536"),
        ("", "error is empty"),
        ("a\0b", "error has a NUL character"),
    ],
)
def test_what_cannot_be_read_is_refused_in_words(error, refusal):
    with pytest.raises(Invalid, match=refusal):
        carry_out(lesson_for, make_actor(), {"error": error})
