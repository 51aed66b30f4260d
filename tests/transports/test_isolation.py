"""Private means private: every operation of the catalogue, as everybody else. The table itself: `…_table.py`."""

import json
import re
from collections.abc import Iterator
from typing import Any

import pytest
from django.test import override_settings
from pytest_django.plugin import DjangoDbBlocker

from accounts.actor import Actor
from accounts.models import User
from bigmind.core.errors import BigMindError, NotFound
from bigmind.core.operations import Effect
from bigmind.gate import perform
from bigmind.operations import CATALOGUE
from tests.factories import make_actor
from tests.transports.isolation import (
    ADDRESSED,
    ATTEMPTS,
    OF_THE_CALLER,
    ROWS,
    SECRET,
    Owned,
    own_everything,
    share_entries,
    stored_by,
)
from tests.worlds import keep_world, undone

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("in_a_team")]

STRANGERS = {
    "another member": lambda: make_actor(),
    "a curator": lambda: make_actor(curator=True),
    "an admin": lambda: make_actor(admin=True),
}
BY_ADDRESS = [name for row in ADDRESSED for name in ROWS[row]]
# A proposal is made to be read and decided about: by curators.
CURATORS_SEE = (*ROWS["proposals: reading, commenting"], *ROWS["proposals: the queue, deciding"])
# These belong to nobody: whoever may, writes them.
OF_NOBODY = ("documentation:", "app maps:", "golden questions:")
COMMON = tuple(name for row in ROWS if row.startswith(OF_NOBODY) for name in ROWS[row])
SHARED_AND_CHANGED = ("kb_update", "kb_delete")
TOLD_TO_THE_CALLER = [name for name in OF_THE_CALLER if CATALOGUE[name].effect is Effect.READ] + ["memory_vacuum"]
# What differs from one moment to the next, whoever owns what: fields, and in a text the minute it was made in.
PASSING = ("exported_at", "database_bytes", "before")
MINUTE = re.compile(r"(?<=loaded )\d{4}-\d\d-\d\d \d\d:\d\d")


@pytest.fixture(scope="module")
def world(django_db_setup: None, django_db_blocker: DjangoDbBlocker) -> Iterator[Owned]:
    """What one person owns, made once: each test takes back what it changes."""
    with (
        override_settings(BIGMIND_MODE="team"),
        keep_world(django_db_blocker, lambda: own_everything(make_actor())) as owned,
    ):
        yield owned


@pytest.fixture
def owned(world: Owned, db: None) -> Owned:
    """What one person owns."""
    return world


@pytest.fixture
def owner(owned: Owned) -> Actor:
    """Who owns it."""
    return Actor.of(User.objects.get(username=owned.username))


def _answer(name: str, actor: Actor, arguments: dict[str, Any]) -> str:
    """Return all that an actor gets to read: the reply as JSON and as markdown, or the refusal."""
    try:
        outcome = perform(CATALOGUE[name], actor, arguments, transport="rest")
    except BigMindError as refusal:
        return f"{type(refusal).__name__}: {refusal} {refusal.details}"
    return json.dumps(outcome.to_data()) + outcome.markdown()


def test_every_operation_is_attempted():
    assert set(ATTEMPTS) == set(CATALOGUE)


@pytest.mark.parametrize("stranger", STRANGERS)
def test_nobody_sees_or_changes_what_is_someone_elses(stranger, owner, owned):
    actor = STRANGERS[stranger]()
    before = {common: stored_by(owner.user, owned, common=common) for common in (True, False)}
    names = [name for name in CATALOGUE if not name.startswith("kb_")]
    wrong = []

    for name in (name for name in names if stranger == "another member" or name not in CURATORS_SEE):
        with undone():
            answers = [_answer(name, actor, attempt) for attempt in ATTEMPTS[name](owned)]
            common = name not in COMMON
            changed = stored_by(owner.user, owned, common=common) != before[common]
        if changed or SECRET in owned.without_echo(" ".join(answers)):
            wrong.append((name, changed, answers))

    assert wrong == []


def test_a_foreign_id_answers_like_one_that_does_not_exist(owned):
    stranger, differ = make_actor(), []

    for name in BY_ADDRESS:
        foreign, random = (
            [_answer_about(name, stranger, attempt) for attempt in ATTEMPTS[name](where)]
            for where in (owned, owned.somewhere_else())
        )
        if foreign != random:
            differ.append((name, foreign, random))

    assert differ == []


def _answer_about(name: str, actor: Actor, attempt: dict[str, Any]) -> str:
    with undone():
        try:
            # What is stored all the same says that the id names nothing of theirs.
            told = f"{perform(CATALOGUE[name], actor, attempt, transport='rest').notices}"
            assert "You have no" in told
        except NotFound as refusal:
            told = f"{refusal} {refusal.details}"
    for field, sent in attempt.items():
        told = told.replace(str(sent), field)
    return told


def test_the_notes_of_others_are_not_suggested_for_an_address_that_nearly_fits(owned):
    stranger = make_actor()

    answer = _answer("knowledge_get", stranger, {"domain": owned.domain, "key": owned.key[:-1]})

    assert owned.key not in answer


def test_a_reply_is_the_same_whatever_others_own(owner, owned):
    stranger = make_actor()
    asked = {name: ATTEMPTS[name](owned) for name in TOLD_TO_THE_CALLER}

    in_company = {name: _undone_reply(name, stranger, attempt) for name, (attempt,) in asked.items()}
    owner.user.delete()
    alone = {name: _undone_reply(name, stranger, attempt) for name, (attempt,) in asked.items()}

    assert in_company == alone


def _undone_reply(name: str, actor: Actor, arguments: dict[str, Any]) -> dict[str, Any]:
    with undone():
        return _reply(name, actor, arguments)


def _reply(name: str, actor: Actor, arguments: dict[str, Any]) -> dict[str, Any]:
    reply = perform(CATALOGUE[name], actor, arguments, transport="rest").to_data()
    said = {field: text for field, text in reply.items() if field not in PASSING}
    return {field: MINUTE.sub("", text) if isinstance(text, str) else text for field, text in said.items()}


def test_importing_what_someone_else_owns_makes_copies_and_takes_nothing_for_known(owner, owned):
    stranger = make_actor()
    before = stored_by(owner.user, owned)

    reply = _reply("memory_import", stranger, {"document": owned.document})

    assert not any(reply["known"].values())
    assert {kind: reply["added"][kind] for kind in ("sessions", "facts", "hypotheses", "notes")} == {
        kind: len(owned.document[kind]) for kind in ("sessions", "facts", "hypotheses", "notes")
    }
    assert stored_by(owner.user, owned) == before


@pytest.mark.parametrize("name", SHARED_AND_CHANGED)
def test_a_member_changes_no_shared_entry_of_somebody_else(name, owner, owned):
    stranger, owned = make_actor(), share_entries(owner, owned)
    before = stored_by(owner.user, owned)

    answer = _answer(name, stranger, ATTEMPTS[name](owned)[0])

    assert answer.startswith("Forbidden: This entry was added by someone else.")
    assert stored_by(owner.user, owned) == before


@pytest.mark.parametrize("role", ["curator", "admin"])
@pytest.mark.parametrize("name", SHARED_AND_CHANGED)
def test_curators_and_admins_change_shared_entries(name, role, owner, owned):
    steward, owned = make_actor(**{role: True}), share_entries(owner, owned)
    before = stored_by(owner.user, owned)

    perform(CATALOGUE[name], steward, ATTEMPTS[name](owned)[0], transport="rest")

    assert stored_by(owner.user, owned) != before


def test_a_key_that_may_only_read_changes_nothing(owner, owned):
    owned = share_entries(owner, owned)
    reader = Actor(owner.user, scopes=frozenset({"read"}))
    before = stored_by(owner.user, owned)

    for name in (name for name, one in CATALOGUE.items() if one.effect is not Effect.READ):
        with pytest.raises(BigMindError, match=r"may not (write|decide what is shared|do what admins do)"), undone():
            perform(CATALOGUE[name], reader, ATTEMPTS[name](owned)[0], transport="rest")
        assert stored_by(owner.user, owned) == before, name
