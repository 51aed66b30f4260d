"""Two worlds: what a member is answered is the same, letter by letter, whether others keep a memory here or none."""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from types import SimpleNamespace

import pytest
from django.db import connection, transaction
from django.test import Client, override_settings
from mcp import types
from pytest_django.plugin import DjangoDbBlocker

from accounts.actor import Actor
from accounts.models import SCOPES, User
from bigmind.core.private_row_numbers import ids_in
from bigmind.operations import CATALOGUE
from bigmind.text.hygiene import digest
from bigmind.transports.mcp.request_context import RequestContext
from bigmind.transports.mcp.tools import call_tool
from bigmind.transports.rest.routes import ROOT, path_parameters
from curation.services.anchor_reports import AnchorResult, report_anchors
from knowledge.context.sessions import end_session, start_session
from knowledge.indexing.embedding import embed_pending
from knowledge.memory.facts import store_fact
from knowledge.memory.trigger_levels import set_fact_triggers
from knowledge.models import Chunk, Fact, Firing, Hypothesis, Kind, Note
from knowledge.people.people_index import change_sharing
from knowledge.recall.recall import recall
from knowledge.search.passages import Indexed, index_new
from tests.factories import make_actor, make_agent, make_key
from tests.transports import isolation
from tests.transports.isolation import (
    ATTEMPTS,
    SECRET,
    SHARED,
    Arguments,
    Owned,
    approve_company_knowledge,
    ids_in_addresses,
    own_everything,
    share_entries,
)
from tests.transports.routes import ANYONE, RULES, routes
from tests.worlds import keep_world

pytestmark = pytest.mark.django_db

OF_EACH_KIND = 60
"""How many rows somebody else keeps: more than any search looks at."""
VARYING = (
    (r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}", "UUID"),
    (r'(?<=[" >])[0-9a-f]{16}(?=["< .])', "REQUEST"),
    (r"(?<=[`“ ])[0-9a-f]{8}\b(?=[…`”, \n])", "BEGINNING"),
    (r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d(:[\d.]+(Z|\+00:00)?)?", "MOMENT"),
    (r"\d+ \w+ \d{4}, \d\d:\d\d UTC", "MOMENT"),
    (r"\d+ (second|minute|hour)s? ago|just now", "AGO"),
    (r'(?<=value=")\w{64}(?=")', "TOKEN"),
    (r'(?<=nonce=")[^"]+(?=")', "NONCE"),
)
"""What differs from one call to the next, whoever else is here: random ids, moments, the tokens of forms."""
PAGES_APART = {*RULES[ANYONE], "second-factor-set-up"}
"""What anybody may open and is about nobody, and a secret that is drawn for each visit."""

Sequences = list[tuple[str, int | None]]
Answers = dict[str, str]


class World:
    """A member who has one of everything, somebody else, and where the sequences of the database stand."""

    def __init__(self) -> None:
        self.member, self.other = make_actor().user, make_actor().user
        sharer = make_actor()
        self.owned = approve_company_knowledge(share_entries(sharer, own_everything(Actor.of(self.member))))
        for user in (self.member, self.other):
            _share_nothing(user)
        self.key = make_key(self.member, scopes=SCOPES)
        embed_pending()
        self.sequences = _sequences()

    @property
    def agent(self) -> Actor:
        """An agent of the member."""
        return Actor.of(User.objects.get(pk=self.member.pk), key=self.key.key)


@dataclass(frozen=True)
class Worlds:
    """What a member is answered at every door, alone and among others, and the ids that their private rows have."""

    alone: Answers
    among_others: Answers
    ids: range


@pytest.fixture(scope="module")
def worlds(django_db_setup: None, django_db_blocker: DjangoDbBlocker) -> Iterator[Worlds]:
    """What a member is answered at every door: while nobody else keeps anything, and while somebody does."""
    with (
        pytest.MonkeyPatch.context() as patch,
        override_settings(BIGMIND_MODE="team", RATE_LIMIT_PER_MINUTE=0),
        keep_world(django_db_blocker, World) as world,
    ):
        # What is proposed is not private: the company numbers it.
        patch.setattr(isolation, "propose", lambda actor: SimpleNamespace(pk=0))
        first = ids_in(world.member.id_block, 0)[-1]
        yield Worlds(_answers(world), _answers(world, among_others=True), range(first, first + 2**32))


def _over_rest(world: World) -> Answers:
    client = Client(headers={"Authorization": f"Bearer {world.key.text}"})
    return {f"{name} {place}": _rest(client, name, sent) for name, place, sent in _calls(world.owned)}


def _rest(client: Client, name: str, arguments: Arguments) -> str:
    operation = CATALOGUE[name]
    in_path = path_parameters(operation)
    path = ROOT + operation.path.format(**{part: arguments[part] for part in in_path})
    others = {part: value for part, value in arguments.items() if part not in in_path}
    send = getattr(client, operation.method.lower())
    if operation.method in {"GET", "DELETE"}:
        return _undone(lambda: send(path, query_params=others).text)
    return _undone(lambda: send(path, others, content_type="application/json").text)


def _over_mcp(world: World) -> Answers:
    context = RequestContext(world.agent, frozenset({"all"}), "two worlds", structured=True)
    return {f"{name} {place}": _mcp(context, name, sent) for name, place, sent in _calls(world.owned)}


def _mcp(context: RequestContext, name: str, arguments: Arguments) -> str:
    asked = types.CallToolRequestParams(name=name, arguments=arguments)
    return _undone(lambda: call_tool(context, asked).model_dump_json())


def _pages(world: World) -> Answers:
    browser, ids = Client(), ids_in_addresses(world.owned)
    browser.force_login(world.member)
    # Of the company's knowledge also what is approved: what others did with it is theirs.
    approved = {**ids, "pk": world.owned.company, "entry_id": world.owned.company}
    asked = {
        (name, which): route.at(some)
        for which, some in (("", ids), ("approved", approved))
        for name, route in routes().items()
    }
    return {
        f"{name} {which}": _undone(partial(_page, browser, path))
        for (name, which), path in asked.items()
        if name not in PAGES_APART and (not which or path != asked[name, ""])
    }


def _page(browser: Client, path: str) -> str:
    answer = browser.get(path)
    return f"{answer.get('Location', '')} {b''.join(answer).decode(errors='replace')}"


DOORS: dict[str, Callable[[World], Answers]] = {"rest": _over_rest, "mcp": _over_mcp, "pages": _pages}


@pytest.mark.parametrize("door", DOORS)
def test_what_others_keep_changes_no_letter_of_what_a_member_is_answered(door: str, worlds: Worlds) -> None:
    different = {
        name: _first_difference(text, worlds.among_others[name])
        for name, text in worlds.alone.items()
        if name.startswith(door) and text != worlds.among_others[name]
    }

    assert different == {}


@pytest.mark.parametrize("door", DOORS)
def test_no_answer_shows_the_id_behind_a_number(door: str, worlds: Worlds) -> None:
    found = {
        name: [id for id in re.findall(r"\d{10,16}", text) if int(id) in worlds.ids]
        for name, text in worlds.among_others.items()
        if name.startswith(door)
    }

    assert {name: ids for name, ids in found.items() if ids} == {}


def _answers(world: World, *, among_others: bool = False) -> Answers:
    before = transaction.savepoint()
    _turn_back(world.sequences)
    if among_others:
        _keep_a_memory(world.other, world.owned.company)
    answers = {f"{door}: {name}": _plain(text) for door, ask in DOORS.items() for name, text in ask(world).items()}
    transaction.savepoint_rollback(before)
    return answers


def _keep_a_memory(user: User, company: int) -> None:
    """Let somebody keep one of everything, in the words of the member, and hundreds of other things."""
    actor = Actor.of(user)
    own_everything(actor)
    _use_company_knowledge(make_agent(user, "claude-code"), company)
    _share_nothing(user)
    session = start_session(actor, project=SECRET).session
    # Facts that differ in one number alone would contradict each other: to mark that takes longer than all else.
    texts = [f"{SECRET} {digest(str(number))}" for number in range(OF_EACH_KIND)]
    facts = [Fact(user=user, category="decision", fact=text, digest=digest(text)) for text in texts]
    chunks = [Chunk(user=user, session=session, role="user", content=text, seq=seq) for seq, text in enumerate(texts)]
    beliefs = [Hypothesis(user=user, hypothesis=text) for text in texts]
    notes = [Note(user=user, domain=SECRET, key=text, content=text) for text in texts]
    for kind, model, rows in (
        (Kind.FACT, Fact, facts),
        (Kind.CHUNK, Chunk, chunks),
        (Kind.HYPOTHESIS, Hypothesis, beliefs),
        (Kind.NOTE, Note, notes),
    ):
        made = model._default_manager.bulk_create(rows)
        index_new(kind, [Indexed(row.pk, text, "") for row, text in zip(made, texts, strict=True)], owner=user)
    embed_pending()


def _use_company_knowledge(agent: Actor, company: int) -> None:
    """Let somebody's agent be told an approved entry, cite it and be held by it, and rest facts on its code."""
    user, of_entry = agent.user, {"kind": str(Kind.COMPANY), "source_id": str(company)}
    session = start_session(agent).session
    recall(agent, query=SHARED)
    Firing.objects.create(user=user, told_id="one", trigger="command: make", level="ask", brought=True, **of_entry)
    fact = store_fact(agent, category="codebase", fact=f"{SHARED} deploys by make.").fact
    set_fact_triggers(agent, fact_id=fact.number, triggers=["command: make"], anchors=["a.py:f"])
    checked = AnchorResult(kind="fact", id=str(fact.number), anchor="a.py:f", verdict="false", reason=SECRET)
    report_anchors(agent, repository="acme/shop", commit="3f2a1bc4", results=[checked])
    end_session(agent, session_id=str(session.pk), one_liner=SHARED, used=[f"C{company}"])


def _share_nothing(user: User) -> None:
    change_sharing(Actor.of(user), sections=[], in_directory=False, session_ids=[])


def _calls(owned: Owned) -> Iterator[tuple[str, int, Arguments]]:
    for name in CATALOGUE:
        for place, arguments in enumerate(ATTEMPTS[name](owned)):
            yield name, place, arguments


def _undone(ask: Callable[[], str]) -> str:
    before = transaction.savepoint()
    answer = ask()
    transaction.savepoint_rollback(before)
    return answer


def _sequences() -> Sequences:
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT schemaname || '.' || sequencename, last_value FROM pg_sequences WHERE schemaname = 'public'"
        )
        return list(cursor.fetchall())


def _turn_back(sequences: Sequences) -> None:
    with connection.cursor() as cursor:
        for name, last in sequences:
            cursor.execute("SELECT setval(%s, %s, %s)", [name, last or 1, last is not None])


def _plain(answer: str) -> str:
    for pattern, word in VARYING:
        answer = re.sub(pattern, word, answer)
    return answer


def _first_difference(one: str, other: str) -> tuple[str, str]:
    place = next(
        (place for place, pair in enumerate(zip(one, other, strict=False)) if len({*pair}) == 2),
        min(len(one), len(other)),
    )
    return one[max(0, place - 60) : place + 60], other[max(0, place - 60) : place + 60]
