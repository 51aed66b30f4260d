"""The second wall: whatever a service forgets, PostgreSQL shows a request no private rows of others."""

import json
from dataclasses import replace

import pytest
from django.apps import apps
from django.db import DatabaseError, IntegrityError, connection, transaction

from accounts.models import User
from bigmind.database.fixed_queries import FixedQuery
from bigmind.database.rls import EVERYBODY, NOBODY, SETTING, rls_bypass, rls_scope, token_of
from bigmind.gate import perform
from bigmind.operations import CATALOGUE
from knowledge.kinds import KINDS
from knowledge.models import Chunk, Fact, Hypothesis, Kind, Note, Session, Summary
from knowledge.search import hybrid
from knowledge.search.filters import scope_of_owner
from tests.copies import run_in_copy
from tests.factories import browser_of, make_actor, make_user
from tests.serving import environment_of_a_server
from tests.transports.isolation import SECRET, own_everything

pytestmark = pytest.mark.django_db

OUTSIDE = {
    "accounts.Alert": "one line to one person, which others write: that a key ends, or how a question to them begins",
    "accounts.Agent": "the directory names them",
    "accounts.ApiKey": "asked before anybody is known; only hashes",
    "accounts.Call": "admins count what all do; names and durations, no content",
    "accounts.Instance": "the directory lists them, as far as people share their agents; counts, no content",
    "accounts.AuditEvent": "admins read all; what was done to people and keys",
    "accounts.ErasureReport": "ids, counts and keyed digests; admins read all",
    "accounts.Invitation": "asked before anybody is known; only hashes",
    "accounts.SettingOverride": "settings, which admins chose; no secrets",
    "accounts.Sharing": "says what others may see",
    "accounts.SignIn": "asked before anybody is known",
    "accounts.SignInLink": "asked before anybody is known; only hashes",
    "curation": "company knowledge, and what is said about it",
    "knowledge.AmbiguousName": "app maps are shared with everybody",
    "knowledge.AppRun": "as app maps: how far the reading of an outside system is",
    "knowledge.Healing": "as app maps: what was mended in them",
    "knowledge.CompanyEntry": "company knowledge",
    "knowledge.Entry": "shared with everybody",
    "knowledge.Gap": "shared with everybody, as far as three others asked",
    "knowledge.Passage": "an answer names no passage whose thing is not read, too: decision 0014",
    "knowledge.PassageVector": "as passages; numbers alone",
    "knowledge.Reference": "documentation is shared with everybody",
    "knowledge.ReferenceDrift": "as documentation: what is to be decided",
    "knowledge.ReferenceImport": "as documentation: who brought it in",
    "knowledge.ReferenceVersion": "as documentation: what it said before",
    "knowledge.Recall": "asked with every call; handles, no text",
    "knowledge.Writing": "who wrote what when; no content",
    "account": "asked before anybody is known: addresses",
    "mfa": "asked before anybody has entered; secrets are encrypted",
    "socialaccount": "asked before anybody is known: who somebody is elsewhere",
    "admin.LogEntry": "the log of the admin site",
}


@pytest.fixture
def no_first_wall(monkeypatch):
    """Services that have forgotten whose rows they read."""
    for model in (Session, Fact, Note):
        monkeypatch.setattr(type(model.objects.all()), "of", lambda rows, user: rows)
    # Built for each call, so that they forget, too, and no other test gets what was built here.
    monkeypatch.setattr(FixedQuery, "__call__", lambda one, *values: list(one._compiled.__wrapped__.args[0](*values)))
    private = {Kind.FACT: Fact, Kind.CHUNK: Chunk, Kind.SUMMARY: Session, Kind.NOTE: Note, Kind.HYPOTHESIS: Hypothesis}
    for kind, model in private.items():
        forgetful = replace(KINDS[kind], visible=lambda user, model=model: model.objects.all())
        monkeypatch.setitem(KINDS, kind, forgetful)


def said(outcome):
    return json.dumps(outcome.to_data()) + outcome.markdown()


@pytest.mark.parametrize("name", ["memory_list_facts", "memory_list_sessions", "memory_get_context", "knowledge_get"])
def test_an_operation_that_forgets_whose_rows_it_reads_still_shows_only_ones_own(no_first_wall, name):
    owner, stranger = make_actor(), make_actor()
    own_everything(owner)
    assert SECRET in said(perform(CATALOGUE[name], owner, {}, transport="rest"))

    answer = said(perform(CATALOGUE[name], stranger, {}, transport="rest"))

    assert SECRET not in answer


def test_a_search_that_asks_in_someone_elses_scope_still_shows_nothing_of_theirs(no_first_wall, monkeypatch):
    owner, stranger = make_actor(), make_actor()
    own_everything(owner)
    monkeypatch.setattr(hybrid, "scopes_of", lambda *_: [scope_of_owner(owner.user), scope_of_owner(None)])
    search = CATALOGUE["memory_semantic_search"]
    assert SECRET in said(perform(search, owner, {"query": SECRET}, transport="rest"))

    answer = said(perform(search, stranger, {"query": SECRET}, transport="rest"))

    assert SECRET not in answer.replace(f'"query": "{SECRET}"', "")


def test_a_page_that_forgets_whose_rows_it_reads_still_shows_only_ones_own(no_first_wall):
    own_everything(make_actor())
    browser = browser_of(make_user())

    page = browser.get("/memory/facts/").content.decode()

    assert SECRET not in page


def test_nothing_is_written_in_someone_elses_name():
    owner, stranger = make_user(), make_user()

    with pytest.raises(DatabaseError, match="row-level security"), transaction.atomic(), rls_scope(stranger.pk):
        Note.objects.create(user=owner, domain="work", key="city", content="Zanzibar")

    assert not Note.objects.exists()


@pytest.mark.parametrize("mark", ["", ":", ":0", ":{other}"])
def test_whoever_injects_a_statement_sees_no_more_by_saying_who_they_are(mark):
    owner, stranger = make_user(), make_user()
    Note.objects.create(user=owner, domain="work", key="city", content="Zanzibar")
    of_another_session = token_of(str(owner.pk), 1).partition(":")[2]

    injected = f"SET LOCAL {SETTING} = '{owner.pk}{mark.format(other=of_another_session)}'"

    with rls_scope(stranger.pk), connection.cursor() as cursor:
        seen_before = Note.objects.count()
        with pytest.raises(DatabaseError, match="no token"), transaction.atomic():
            cursor.execute(f"{injected}; SELECT count(*) FROM knowledge_note")

        assert (seen_before, Note.objects.count()) == (0, 0)


def test_after_an_upgrade_the_version_before_serves_on_for_a_while():
    owner = make_user()
    Note.objects.create(user=owner, domain="work", key="city", content="Zanzibar")

    with connection.cursor() as cursor:
        cursor.execute("INSERT INTO bigmind_row_key VALUES ('', '', now() + interval '1 hour')")
        cursor.execute(f"SET LOCAL {SETTING} = '{owner.pk}'; SELECT count(*) FROM knowledge_note")
        cursor.nextset()
        assert cursor.fetchone() == (1,)
        cursor.execute("UPDATE bigmind_row_key SET until = now() WHERE inner_key = ''")
        with pytest.raises(DatabaseError, match="no token"), transaction.atomic():
            cursor.execute("SELECT count(*) FROM knowledge_note")


def test_what_belongs_to_a_session_is_seen_by_its_owner_alone():
    owner, stranger = make_user(), make_user()
    Summary.objects.create(session=Session.objects.create(user=owner), summary=SECRET)

    with rls_scope(stranger.pk):
        seen_by_stranger = Summary.objects.count()
    with rls_scope(owner.pk):
        seen_by_owner = Summary.objects.count()

    assert (seen_by_stranger, seen_by_owner) == (0, 1)


def test_where_somebody_looks_beyond_the_wall_it_stands_again_afterwards():
    owner, stranger = make_user(), make_user()
    Note.objects.create(user=owner, domain="work", key="city", content="Zanzibar")

    with rls_scope(stranger.pk):
        with rls_bypass():
            seen_beyond = Note.objects.count()
        seen_again = Note.objects.count()

    assert (seen_beyond, seen_again) == (1, 0)


def test_the_wall_stands_as_before_when_a_query_fails():
    owner, stranger = make_user(), make_user()
    Note.objects.create(user=owner, domain="work", key="city", content="Zanzibar")

    with rls_scope(stranger.pk):
        with pytest.raises(IntegrityError), transaction.atomic(), rls_bypass():
            Note.objects.create(user=owner, domain="work", key="city", content="Lamu")
        seen = Note.objects.count()

    assert seen == 0
    assert _sees().partition(":")[0] == EVERYBODY


def test_a_process_that_answers_requests_begins_by_seeing_nobodys_rows():
    """Of each server the first connection, asked in a process of its own."""
    of_asgi = (
        "import asyncio; from bigmind.asgi import lifespan\nasync def serve():\n  async with lifespan(None): ask()"
    )
    of_wsgi = (
        "from bigmind.wsgi import application\napplication(RequestFactory().get('/healthz').environ, lambda *_: None)"
    )
    serving = {
        "asgi": f"{of_asgi}\nasyncio.run(serve())",
        "wsgi": f"from django.test import RequestFactory\n{of_wsgi}\nask()",
        "neither": "ask()",
    }

    assert _first_sees(serving) == {"asgi": NOBODY, "wsgi": NOBODY, "neither": EVERYBODY}


def test_every_table_with_an_owner_stands_behind_the_wall_or_says_why_not():
    with connection.cursor() as cursor:
        cursor.execute("SELECT relname FROM pg_class WHERE relrowsecurity AND relforcerowsecurity")
        walled = {name for (name,) in cursor.fetchall()}

    owned = {
        model._meta.label
        for model in apps.get_models()
        if any(field.related_model is User for field in model._meta.fields) and model._meta.db_table not in walled
    }

    assert {label for label in owned if label not in OUTSIDE and label.partition(".")[0] not in OUTSIDE} == set()


def _first_sees(serving: dict[str, str]) -> dict[str, str]:
    """Begin each in a copy of a process that has loaded the settings and is connected to nothing."""
    ask = f"import os\nfrom bigmind.database.rls import SETTING\n{_WHOM}"
    for name, begins in serving.items():
        inner = begins.replace("\n", "\n  ")
        ask += f"if os.fork() == 0:\n  ask = lambda: print('{name}', whom(), flush=True)\n  {inner}\n  os._exit(0)\n"
    said = run_in_copy(f"{ask}{'os.wait(); ' * len(serving)}", environment_of_a_server(8000))
    return {
        line.split()[0]: line.split()[1].partition(":")[0]
        for line in said.splitlines()
        if line.startswith(tuple(serving))
    }


_WHOM = """
def whom():
  from concurrent.futures import ThreadPoolExecutor
  def read():
    from django.db import connection
    with connection.cursor() as cursor:
      cursor.execute("SELECT current_setting(%s, true)", [SETTING])
      return cursor.fetchone()[0] or "nobody"
  return ThreadPoolExecutor().submit(read).result()
"""


def _sees() -> str:
    with connection.cursor() as cursor:
        cursor.execute("SELECT current_setting(%s)", [SETTING])
        return str(cursor.fetchone()[0])
