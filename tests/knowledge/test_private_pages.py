"""Every page about a memory: for its owner only, in no cache, and as quick with many rows as with few."""

import re
import uuid

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils import timezone

import bigmind.urls  # noqa: F401 - it registers the converters that these routes use
from knowledge.kb.entries import add_entry
from knowledge.models import Chunk, Fact, Hypothesis, Kind, Note, Passage, Session
from knowledge.urls import urlpatterns
from tests.factories import make_actor
from tests.knowledge.factories import make_chunk, make_fact, make_hypothesis, make_note, make_session

pytestmark = pytest.mark.django_db

MAKERS = {
    "fact_id": make_fact,
    "session_id": make_session,
    "chunk_id": make_chunk,
    "note_id": make_note,
    "hypothesis_id": make_hypothesis,
}
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
POSTED_ONLY = {
    "apps-bootstrap",
    "apps-default",
    "apps-run",
    "app-map-rebuild",
    "memory-restore",
    "memory-hypothesis-resolve",
    "memory-import-confirm",
    "insights-gap-settle",
    "insights-question-forget",
    "captured-exclude",
    "captured-forget-event",
}


def _addresses(actor) -> list[tuple[str, str]]:
    """Every address of this app that names a thing: with one of the actor's in it, and with one that is nobody's."""
    pairs, made = [], {argument: maker(actor).pk for argument, maker in MAKERS.items()}
    for pattern in urlpatterns:
        for argument, id in made.items():
            if argument in str(pattern.pattern):
                pairs.append((reverse(pattern.name, args=[id]), reverse(pattern.name, args=[_nobody(argument)])))
        if "thing_id" in str(pattern.pattern):
            for kind, argument in KINDS.items():
                args = [kind, made[argument]], [kind, _nobody(argument)]
                pairs.append((reverse(pattern.name, args=args[0]), reverse(pattern.name, args=args[1])))
    return pairs


def _nobody(argument: str) -> object:
    return uuid.uuid4() if argument == "session_id" else 2**62


def _body(page, address: str) -> str:
    """What is said, without what differs from request to request: the address, its id, the token against forgery."""
    said = page.text.replace(address, "")
    return re.sub(r'(csrfmiddlewaretoken" value=|Request ID \([^)]*\): <code>)[^>]+', "", said)


_SHARED = {"part": "entity", "slug": "helios", "collection": "helios", "reference_id": uuid.uuid4()}
"""Where pages of what everybody shares are; a number, where nothing is said here."""


def test_every_page_asks_strangers_to_sign_in(client):
    actor = make_actor()
    made = {argument: maker(actor).pk for argument, maker in MAKERS.items()}
    entry = add_entry(actor, content="Shared, but not with strangers.", entry_type="fact").entry
    let_in = []

    for pattern in urlpatterns:
        path = str(pattern.pattern)
        arguments = [id for argument, id in made.items() if argument in path]
        if "thing_id" in path:
            arguments = ["fact", made["fact_id"]]
        if "entry_id" in path:
            arguments = [entry.pk]
        if path.startswith(("apps/", "docs/")):
            arguments = [_SHARED.get(one, 1) for one in re.findall(r"<(?:\w+:)?(\w+)>", path)]
        if "conversation_id" in path:
            arguments = [1] * path.count("_id>")
        if "gap_id" in path or "question_id" in path:
            arguments = [1]
        address = reverse(pattern.name, args=arguments)
        page = client.post(address) if pattern.name in POSTED_ONLY else client.get(address)
        if page.status_code != 302 or not page.url.startswith(reverse("sign-in")):
            let_in.append(pattern.name)

    assert let_in == []


def test_what_is_someone_elses_is_answered_like_what_does_not_exist(client):
    ada, eve = make_actor(), make_actor()
    addresses = _addresses(ada)
    client.force_login(eve.user)

    for foreign, nobodys in addresses:
        for ask in (client.get, client.post):
            theirs, none = ask(foreign), ask(nobodys)
            assert (theirs.status_code, _body(theirs, foreign)) == (none.status_code, _body(none, nobodys))
            assert theirs.status_code in {404, 405}
    assert len(addresses) > 20


def test_a_kind_or_an_id_that_makes_no_sense_is_not_found(client):
    client.force_login(make_actor().user)

    for kind, thing in [
        ("secret", "1"),
        ("fact", "one"),
        ("session", "1"),
        ("note", "9" * 40),
        ("fact", "\0"),
        ("summary", "1"),
    ]:
        for name in ("memory-set-aside", "memory-restore", "memory-erase"):
            assert client.post(reverse(name, args=[kind, thing])).status_code == 404


def test_a_form_that_another_site_sends_is_refused():
    actor = make_actor()
    client = Client(enforce_csrf_checks=True)
    client.force_login(actor.user)

    refused = [client.post(address).status_code for address, _ in _addresses(actor)]
    named = ("memory-fact-new", "memory-note-new", "memory-hypothesis-new", "memory-profile", "memory-import")
    refused += [client.post(reverse(name)).status_code for name in named]

    assert set(refused) == {403}


def test_pages_are_kept_in_no_cache(client):
    client.force_login(make_actor().user)

    for name in LISTS:
        assert "no-store" in client.get(reverse(name))["Cache-Control"]


def test_one_persons_lists_and_searches_hold_nothing_of_anothers(client):
    ada, eve = make_actor(), make_actor()
    for maker, words in ((make_fact, "Secret one."), (make_note, "Secret two."), (make_hypothesis, "Secret three.")):
        maker(ada, words)
    make_session(ada, one_liner="Secret four", topics=["secret"])
    make_chunk(ada, content="Secret five.")
    client.force_login(eve.user)

    pages = [client.get(reverse(name)) for name in LISTS] + [client.get("/", {"query": "secret"})]

    assert all("Secret" not in page.text for page in pages)


def test_the_number_of_queries_does_not_depend_on_how_much_is_remembered(client):
    actor = make_actor()
    session = make_session(actor, is_open=True)
    client.force_login(actor.user)
    addresses = [reverse(name) for name in [*LISTS, "memory-context"]]
    addresses += [reverse("memory-session", args=[session.pk]), "/?query=remembered"]
    _remember(session, 3)
    few = [_queries(client, address) for address in addresses]
    _remember(session, 60)

    many = [_queries(client, address) for address in addresses]

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
