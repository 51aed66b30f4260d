"""The table “Who may read what” in SECURITY.md, executed cell by cell over REST and the pages."""

import re
from collections.abc import Callable, Iterator
from copy import deepcopy
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from django.test import Client, override_settings
from pytest_django.plugin import DjangoDbBlocker

from accounts.actor import Actor
from accounts.keys import revoke_key
from accounts.models import SCOPES, Role, User
from bigmind.operations import CATALOGUE
from bigmind.transports.rest.routes import ROOT, path_parameters
from knowledge.people.people_index import change_sharing
from tests.factories import make_actor, make_key, make_user
from tests.transports.isolation import (
    ATTEMPTS,
    ROWS,
    SECRET,
    SHARED,
    Arguments,
    Owned,
    approve_company_knowledge,
    own_everything,
    share_entries,
    stored_by,
)
from tests.worlds import keep_world, undone

pytestmark = pytest.mark.django_db

SECURITY = (Path(__file__).parents[2] / "SECURITY.md").read_text().split("## Who may read what")[1].split("\n## ")[0]
TEXT = r"\S"
SIZE = "size of the database"

Stored = list[tuple[Any, ...]]


def _id_of(owned: Owned) -> object:
    return User.objects.values_list("pk", flat=True).get(username=owned.username)


# Method and path of the pages; none of them is an operation.
PAGES: dict[str, Callable[[Owned], tuple[str, str]]] = {
    "the pages of documentation": lambda owned: ("GET", f"/docs/references/{owned.reference}/"),
    "the page that corrects documentation": lambda owned: ("GET", f"/docs/references/{owned.reference}/edit/"),
    "the page of the curation queue": lambda owned: ("GET", "/curation/"),
    "the page of a proposal in the queue": lambda owned: ("GET", f"/curation/{owned.proposal}/"),
    "the page of company knowledge": lambda owned: ("GET", "/company/"),
    "the page of an approved entry": lambda owned: ("GET", f"/company/{owned.company}/"),
    "the page of a proposal": lambda owned: ("GET", f"/company/{owned.proposal}/"),
    "the page that revises a proposal": lambda owned: ("GET", f"/company/{owned.proposal}/revise/"),
    "withdrawing a proposal on its page": lambda owned: ("POST", f"/company/{owned.proposal}/withdraw/"),
    "the page of one’s proposals": lambda owned: ("GET", "/company/mine/"),
    "the page of what is due for verification": lambda owned: ("GET", "/company/due/"),
    "the page of one’s notices": lambda owned: ("GET", "/notices/"),
    "the page of golden questions": lambda owned: ("GET", "/company/golden/"),
    "the page of the system": lambda owned: ("GET", "/system/"),
    "the page of what is sent out": lambda owned: ("GET", "/system/deliveries/"),
    "the audit log": lambda owned: ("GET", "/system/audit/"),
    "the page of erasures": lambda owned: ("GET", "/system/erasures/"),
    "the page of the company server": lambda owned: ("GET", "/company/server/"),
    "the page of a person who shares nothing": lambda owned: ("GET", f"/u/{owned.username}/"),
    "the page of a person who shares some of it": lambda owned: ("GET", f"/u/{owned.username}/"),
    "choosing what others see of a person": lambda owned: ("POST", f"/u/{owned.username}/sharing/"),
    "the page of one’s keys": lambda owned: ("GET", "/keys/"),
    "the page of everybody’s keys": lambda owned: ("GET", "/keys/?show=everyone"),
    "the page of one’s connected apps": lambda owned: ("GET", "/keys/?show=apps"),
    "ending the access of a connected app": lambda owned: ("POST", f"/keys/{owned.app_key}/revoke/"),
    "the page of all people, with their roles": lambda owned: ("GET", "/people/"),
    "the page that manages a person": lambda owned: ("GET", f"/people/{_id_of(owned)}/"),
    "the page that deletes a person, with what goes": lambda owned: ("GET", f"/people/{_id_of(owned)}/delete/"),
    "the page that opens a person’s private rows to an admin": lambda owned: (
        "GET",
        f"/people/{_id_of(owned)}/private/",
    ),
    "resetting the password of a person": lambda owned: ("POST", f"/people/{_id_of(owned)}/password/"),
    "inviting somebody": lambda owned: ("GET", "/people/invite/"),
    "the page of where one is signed in": lambda owned: ("GET", "/sign-ins/"),
    "the page of use": lambda owned: ("GET", "/insights/?whose=everybody"),
    "the page of growth and impact": lambda owned: ("GET", "/insights/knowledge/?whose=everybody"),
    "the page of insights into curation": lambda owned: ("GET", "/insights/curation/?whose=everybody"),
    "the timeline of a memory": lambda owned: ("GET", "/memory/timeline/"),
    "the page of questions that found nothing": lambda owned: ("GET", "/insights/gaps/"),
    "forgetting a question that found nothing": lambda owned: ("POST", f"/insights/questions/{owned.question}/forget/"),
    "replacing a key": lambda owned: ("POST", f"/keys/{owned.api_key}/rotate/"),
    "revoking a key": lambda owned: ("POST", f"/keys/{owned.api_key}/revoke/"),
    "the API documentation": lambda owned: ("GET", "/api/"),
}
# What a reply shows to whoever may have it, where that is not one of the words in what is stored.
SHOWN = {
    SIZE: r'"database_bytes": ?\d',
    "get_api_endpoint": r'"found": ?false',
    "kb_stats": r'"total_entries": ?2',
    "kb_rebuild_embeddings": r'"status"',
    "lesson_for": SHARED,
    "anchors_report": r'"checked": ?1',
    "memory_get_instructions": TEXT,
    "directory_list": "items",
    "directory_search": "items",
    "directory_list_instances": "items",
    "the API documentation": TEXT,
    "the page that opens a person’s private rows to an admin": "Show them",
    "the pages of documentation": SHARED,
    "the page that corrects documentation": SHARED,
    "the page of company knowledge": SHARED,
    "the page of an approved entry": SHARED,
    "the page of what is due for verification": "Due for verification",
    "the page of golden questions": SHARED,
    "the page of the system": "Slow operations",
    "the page of what is sent out": "Queue empty",
    "the audit log": "Audit log",
    "the page of erasures": "What was erased",
    "the page of the company server": "There is no company server",
    "the page of all people, with their roles": "What each role may do",
    "the page that manages a person": "Access",
    "the page that deletes a person, with what goes": "This will be permanently deleted",
    "resetting the password of a person": "/sign-in/",
    "inviting somebody": "Create invitation",
    "the page of growth and impact": "Impact of company knowledge",
    "the page of insights into curation": "Lead time of decisions",
}


SHARED_SUBJECTS = {
    "memory_list_global",
    "memory_search_global",
    "anchors_list",
    *ROWS["documentation: looking up, checking, reading"],
    *ROWS["documentation: importing, correcting"],
    *ROWS["golden questions: pinning, listing, asking, removing"],
}


@dataclass(frozen=True)
class Visitor:
    """Who asks: with a key over REST; in the browser signed in, or with nothing but a key that opens nothing."""

    rest: Client
    browser: Client


def _visitor(user: User | None, key_text: str = "") -> Visitor:
    headers = {"Authorization": f"Bearer {key_text}"} if key_text else {}
    browser = Client(headers=headers if user is None else {})
    if user:
        browser.force_login(user)
    return Visitor(Client(headers=headers), browser)


def _with_every_scope(user: User) -> Visitor:
    return _visitor(user, make_key(user, scopes=SCOPES).text)


def _with_a_revoked_key(owner: User) -> Visitor:
    revoked = make_key(owner, scopes=SCOPES)
    revoke_key(revoked.key)
    return _visitor(None, revoked.text)


VISITORS: dict[str, Callable[[User], Visitor]] = {
    "owner": _with_every_scope,
    "another member": lambda owner: _with_every_scope(make_user()),
    "curator": lambda owner: _with_every_scope(make_user(role=Role.CURATOR)),
    "admin": lambda owner: _with_every_scope(make_user(role=Role.ADMIN)),
    "revoked key": _with_a_revoked_key,
    "no key": lambda owner: _visitor(None),
}


@dataclass(frozen=True)
class Answer:
    """What came back, and whether anything of the owner or of what is shared is different since."""

    status: int
    text: str
    without_echo: str
    turned_to: str
    changed: bool

    def shows(self, pattern: str) -> bool:
        """Whether there is an answer, and it contains this."""
        return self.status < 400 and not self.is_refusal and re.search(pattern, self.text) is not None

    @property
    def is_refusal(self) -> bool:
        """Whether it says no more than how to sign in."""
        return self.status == 401 or self.turned_to.startswith("/sign-in/")


def _keeps_all_private(answer: Answer) -> bool:
    return not answer.changed and SECRET not in answer.without_echo


def _keeps_all(answer: Answer) -> bool:
    return _keeps_all_private(answer) and SHARED not in answer.text


# What each word of the table means; `shown` is what a reply shows to whoever may have it.
MEANINGS: dict[str, Callable[[Answer, str], bool]] = {
    "yes": lambda answer, shown: (answer.changed and answer.status < 400) or answer.shows(shown),
    "no": lambda answer, shown: answer.status == 404 and _keeps_all(answer),
    "own only": lambda answer, shown: answer.shows(TEXT),
    "what is shared": lambda answer, shown: answer.shows(TEXT),
    "forbidden": lambda answer, shown: answer.status == 403 and _keeps_all(answer),
    "refused": lambda answer, shown: answer.is_refusal and _keeps_all(answer),
    "personal mode": lambda answer, shown: answer.status == 200 and not answer.shows(shown),
}


def _rows() -> Iterator[list[str]]:
    for line in SECURITY.splitlines():
        if line.startswith("|") and not line.startswith("|-"):
            yield [cell.strip() for cell in line.strip("|").split("|")]


HEADER, *TABLE = _rows()
CELLS = [(row[0], column, word) for row in TABLE for column, word in zip(HEADER[1:], row[1:], strict=True)]


def test_every_operation_belongs_to_one_row_of_the_table() -> None:
    performed = [name for row in TABLE for name in ROWS.get(row[0], ())]

    assert sorted(performed) == sorted(CATALOGUE)


def test_every_row_and_every_column_is_executed() -> None:
    assert {row[0] for row in TABLE} == {*ROWS, *PAGES, SIZE}
    assert HEADER[1:] == list(VISITORS)


def test_every_word_is_explained_under_the_table() -> None:
    explained = set(re.findall(r"^- \*\*(.+?)\*\*:", SECURITY, flags=re.MULTILINE))

    assert {word for _, _, word in CELLS} == explained == set(MEANINGS)


@dataclass(frozen=True)
class World:
    """What one person owns and what everybody shares, how it is stored, and who asks for it."""

    owned: Owned
    before: Stored
    visitors: dict[str, Visitor]


@pytest.fixture(scope="module")
def world(django_db_setup: None, django_db_blocker: DjangoDbBlocker) -> Iterator[World]:
    """What one person owns and what everybody shares, made once: each answer is taken back."""

    def make() -> World:
        owner = make_actor()
        owned = approve_company_knowledge(share_entries(owner, own_everything(owner)))
        visitors = {column: make(owner.user) for column, make in VISITORS.items()}
        # Else each call, which is taken back, would note the first use of its key.
        for visitor in visitors.values():
            visitor.rest.get(f"{ROOT}profile/")
        return World(owned, stored_by(owner.user, owned), visitors)

    # Nobody is told to wait: each visitor asks for all of it within a minute.
    with override_settings(BIGMIND_MODE="team", RATE_LIMIT_PER_MINUTE=0), keep_world(django_db_blocker, make) as made:
        yield made


@pytest.mark.parametrize("column", HEADER[1:])
def test_every_answer_is_what_the_table_says(column: str, world: World) -> None:
    wrong: list[tuple[str, str, object]] = []
    for row, _, word in (cell for cell in CELLS if cell[1] == column):
        with undone():
            for subject, answer, shown in _answers(row, column, world):
                keeps_all_private = word == "what is shared" or (word == "own only" and column != "owner")
                is_right = MEANINGS[word](answer, shown) and world.owned.api_key_text not in answer.text
                if not is_right or (keeps_all_private and not _keeps_all_private(answer)):
                    wrong.append((subject, word, answer))

    assert wrong == []


def _answers(row: str, column: str, world: World) -> Iterator[tuple[str, Answer, str]]:
    """Ask for all of a row as one visitor; yield each subject with the answer, and with what shows that it is there."""
    owner, before = Actor.of(User.objects.get(username=world.owned.username)), world.before
    if "shares nothing" in row:
        change_sharing(owner, sections=[], in_directory=True, session_ids=[])
        before = stored_by(owner.user, world.owned)
    for subject in ROWS.get(row, (row,)):
        is_shared = subject in SHARED_SUBJECTS or subject.startswith(("kb_", "app_"))
        shown = SHOWN.get(subject, SHARED if is_shared else SECRET)
        for ask in _requests(subject, world.owned):
            yield subject, _answer(world.visitors[column], ask, owner.user, world.owned, before), shown


@pytest.mark.parametrize("column", [column for _, column, word in CELLS if word == "personal mode"])
def test_in_personal_mode_what_depends_on_it_is_told(column: str, settings: Any) -> None:
    settings.BIGMIND_MODE = "personal"
    owner = make_actor()

    reply = VISITORS[column](owner.user).rest.get(f"{ROOT}stats/")

    assert re.search(SHOWN[SIZE], reply.text)


Ask = Callable[[Visitor], Any]


def _requests(subject: str, owned: Owned) -> list[Ask]:
    if subject in PAGES:
        method, path = PAGES[subject](owned)
        return [
            lambda visitor: visitor.browser.generic(method, path, "overlap=24", "application/x-www-form-urlencoded")
        ]
    name = "memory_get_stats" if subject == SIZE else subject
    return [_call(name, attempt) for attempt in ATTEMPTS[name](owned)]


def _call(name: str, arguments: Arguments) -> Ask:
    operation = CATALOGUE[name]
    in_path = path_parameters(operation)
    path = ROOT + operation.path.format(**{name: arguments[name] for name in in_path})
    others = {name: value for name, value in arguments.items() if name not in in_path}
    send = operation.method.lower()
    if send in {"get", "delete"}:
        return lambda visitor: getattr(visitor.rest, send)(path, query_params=others)
    return lambda visitor: getattr(visitor.rest, send)(path, others, content_type="application/json")


def _answer(visitor: Visitor, ask: Ask, owner: User, owned: Owned, before: Stored) -> Answer:
    """Ask, see what changed, and take it back: the next request finds everything as it was `before`."""
    cookies = deepcopy(visitor.browser.cookies)
    with undone():
        response = ask(visitor)
        changed = stored_by(owner, owned) != before
    visitor.browser.cookies = cookies  # Else what one page says of its effect stands on the next one.
    told = owned.without_echo(response.text)
    return Answer(response.status_code, response.text, told, response.get("Location", ""), changed)
