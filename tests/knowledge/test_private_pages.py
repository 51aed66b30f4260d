"""Every page about a memory: for its owner only, in no cache, and as quick with many rows as with few."""

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils import timezone

import bigmind.urls  # noqa: F401 - it registers the converters that these routes use
from knowledge.models import Chunk, Fact, Hypothesis, Kind, Note, Passage, Session
from tests.knowledge.factories import make_session

pytestmark = pytest.mark.django_db

KINDS = {
    "fact": "fact_id",
    "session": "session_id",
    "chunk": "chunk_id",
    "note": "note_id",
    "hypothesis": "hypothesis_id",
}
LISTS = [
    "memory-timeline",
    "home",
    "memory",
    "memory-facts",
    "memory-sessions",
    "memory-notes",
    "memory-hypotheses",
    "memory-aside",
]


def test_a_kind_or_an_id_that_makes_no_sense_is_not_found(browser):
    for kind, thing in [
        ("secret", "1"),
        ("fact", "one"),
        ("session", "1"),
        ("note", "9" * 40),
        ("fact", "\0"),
        ("summary", "1"),
    ]:
        for name in ("memory-set-aside", "memory-restore", "memory-erase"):
            assert browser.post(reverse(name, args=[kind, thing])).status_code == 404


def test_pages_are_kept_in_no_cache(browser):
    for name in LISTS:
        assert "no-store" in browser.get(reverse(name))["Cache-Control"]


def test_the_number_of_queries_does_not_depend_on_how_much_is_remembered(browser, actor):
    session = make_session(actor, is_open=True)
    addresses = [reverse(name) for name in [*LISTS, "memory-context"]]
    addresses += [reverse("memory-session", args=[session.pk]), "/?query=remembered"]
    _remember(session, 3)
    few = [_queries(browser, address) for address in addresses]
    _remember(session, 60)

    many = [_queries(browser, address) for address in addresses]

    # Of what is found, each kind is read with one query: the best twenty of many may well be of fewer kinds.
    assert all(later <= before for before, later in zip(few, many, strict=True))
    assert max(many) <= 36


def _queries(client, address: str) -> int:
    with CaptureQueriesContext(connection) as queries:
        assert client.get(address).status_code == 200
    return len(queries)


def _remember(session, times: int) -> None:
    """Store so many of each kind, and as many facts that were set aside, without the services: they take their time."""
    user, now = session.user, timezone.now()
    numbers = range(Fact.objects.count(), Fact.objects.count() + times)
    told = {"user": user, "project": "atlas"}
    Session.objects.bulk_create(
        Session(one_liner="Done", topics=["a"], started_at=now, ended_at=now, **told) for _ in numbers
    )
    Chunk.objects.bulk_create(
        Chunk(session=session, user=user, content="It was remembered.", seq=number + 1) for number in numbers
    )
    Note.objects.bulk_create(Note(domain="d", key=str(number), content="remembered", **told) for number in numbers)
    Hypothesis.objects.bulk_create(Hypothesis(hypothesis="remembered", session=session, **told) for _ in numbers)
    facts = Fact.objects.bulk_create(
        Fact(fact="remembered", category="identity", digest=str(number), source_session=session, **told)
        for number in numbers
    )
    Fact.objects.bulk_create(
        Fact(fact="was so", category="identity", deprecated_at=now, superseded_by=facts[0], **told) for _ in numbers
    )
    for kind, things in {
        Kind.FACT: facts,
        Kind.SUMMARY: Session.objects.of(user),
        Kind.CHUNK: Chunk.objects.filter(user=user),
        Kind.NOTE: Note.objects.of(user),
        Kind.HYPOTHESIS: Hypothesis.objects.filter(user=user),
    }.items():
        Passage.objects.bulk_create(
            (Passage(kind=kind, source_id=str(thing.pk), owner=user, text="remembered") for thing in things),
            ignore_conflicts=True,
        )
