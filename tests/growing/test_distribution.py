"""Could the tables be spread over many machines by owner, as Citus does? What stands in the way is listed here.

Citus keeps rows of one owner together if their tables have the owner as distribution column, asks one machine where a
statement says whose rows it wants, and copies reference tables to each machine.
"""

from collections.abc import Iterator

import pytest
from django.apps import apps
from django.db import connection, transaction
from django.db.models import Field, Model, UniqueConstraint
from django.test import override_settings
from pytest_django.plugin import DjangoDbBlocker

from accounts.actor import Actor
from accounts.models import Call, User
from bigmind.core.errors import BigMindError
from bigmind.gate import perform
from bigmind.operations import CATALOGUE
from bigmind.privacy.masking import PrivateModel
from knowledge.models import PassageVector, Serving, Writing
from tests.factories import make_actor
from tests.growing.plans import Asked, Keys, PlanReader
from tests.transports.isolation import ATTEMPTS, own_everything
from tests.worlds import keep_world

pytestmark = pytest.mark.django_db

OURS = [model for label in ("accounts", "knowledge", "curation") for model in apps.get_app_config(label).get_models()]
GROWS = {PassageVector: "owner", Serving: "user", Writing: "user", Call: "user"}
"""Without words of anybody, and yet of one owner each, and as many as these use BigMind."""
OWNED: dict[type[Model], str] = {model: model.owned_by for model in OURS if issubclass(model, PrivateModel)} | GROWS
"""What would be distributed, each with the way to its owner. Everything else would be a reference table."""

WITHOUT_OWNER = {"Summary", "Receipt", "ShownHeadline"}
"""The row names its session alone: it needs a column of its own for the owner."""
OWNER_MAY_BE_EMPTY = {
    "Passage": "shared passages have no owner; they belong into a reference table of their own",
    "PassageVector": "as passages",
    "Delivery": "a webhook has no owner; its deliveries belong into a table of their own",
    "Scrub": "what is removed from everything concerns nobody alone; few, so a reference table",
}
KEYED_BY_OWNER = {"Profile", "CapturePolicy"}
"""The others have a primary key without the owner: it has to become (owner, id), as Django's CompositePrimaryKey is."""
UNIQUE_WITHOUT_OWNER = {
    "Alert: key, kind": "a key has one owner: add it",
    "Chunk: session, seq": "a session has one owner: add it",
    "Passage: kind, source_id, ordinal": "a thing has one owner: add it, once shared passages have one",
    "PassageVector: space, passage": "a passage has one owner: add it, once shared passages have one",
    "Serving: session, kind, source_id": "a session has one owner: add it",
    "Scrub: key": "a reference table",
}
REFERENCES_PRIVATE = {"CompanyEntry: source_session": "the session of a proposal: keep its id without a foreign key"}
TRIGGERS = {
    "bigmind_number_session": "counts the sessions of one owner; the application could take the number itself",
    "bigmind_number_row": "counts within the block of one owner; the application could take the number itself",
    "knowledge_forget_receipt_texts": "deletes rows of the same owner",
    "knowledge_write_lexemes": "changes the row itself; a statement of the application could do it",
}
"""The functions that they call. Citus runs none on distributed tables, unless it is told to."""
BY_ID = {"Act", "Chunk", "Conversation", "Fact", "Hypothesis", "Note", "Passage", "Session"}
"""Saved, deleted or read again by their id alone. With the key (owner, id), Django names both."""
BY_PARENT = {
    *("Chunk", "Conversation", "Fact", "Firing", "HookEvent", "Hypothesis", "PassageVector", "Recall"),
    *("Receipt", "Serving", "ShownHeadline", "Summary", "ToolUse"),
}
"""Asked by a session, conversation, act, fact or passage, which is of the same owner: by (owner, id) with its key."""
BY_ANYTHING = {
    "accounts.services.erasure_reports: Passage": "by the thing whose text is erased; the caller knows the owner",
    "bigmind.observability.waiting_work: Delivery": "the oldest that waits, of everybody",
    "curation.proposals.replay.starts: AskedQuestion": "a sample of what everybody asked",
    "curation.proposals.replay.afterwards: Passage": "by a company entry: shared",
    "curation.proposals.briefing: Feedback": "what everybody said of a company entry",
    "curation.proposals.queue: Feedback": "what everybody said of company entries",
    "knowledge.capture.forgetting: ReceiptText": "by the thing that is forgotten; the caller knows the owner",
    "knowledge.search.passages: Passage": "by the things that are written; the caller knows the owner",
    "knowledge.memory.calibration: Writing": "by a hypothesis, whose owner is known",
    "knowledge.people.directory: Session": "counts of everybody who shares them",
    "knowledge.indexing.embedding: PassageVector": "the progress of a whole space",
    "knowledge.people.people_index: Session": "the topics of everybody who shares them",
    "knowledge.memory.upkeep: Passage": "by a fact, whose owner is known",
    "knowledge.exposures.withdrawals: ReceiptText": "who was told what is withdrawn: everybody",
    "knowledge.exposures.withdrawals: Serving": "who was told what is withdrawn: everybody",
    "knowledge.transfer.imports: Session": "whether anybody else has sessions",
}
"""Which module asks which table across owners or past them: what is of everybody asks all machines in any case."""


def _owner_of(model: type[Model]) -> "Field[object, object] | None":
    return None if "__" in OWNED[model] else model._meta.get_field(OWNED[model])  # type: ignore[return-value]


def _keys_of(model: type[Model]) -> Keys:
    owner = _owner_of(model)
    parents = frozenset(str(field.column) for field in model._meta.concrete_fields if field.related_model in OWNED)
    return Keys(owner.column if owner else None, parents)


TABLES = {model._meta.db_table: _keys_of(model) for model in OWNED}
NAMES = {model._meta.db_table: model.__name__ for model in OWNED}


def test_everything_private_has_its_owner_in_its_row_or_says_why_not() -> None:
    owners = {model.__name__: _owner_of(model) for model in OWNED}

    assert {name for name, owner in owners.items() if owner is None} == WITHOUT_OWNER
    assert {name for name, owner in owners.items() if owner is not None and owner.null} == set(OWNER_MAY_BE_EMPTY)
    assert all(owner.related_model is User for owner in owners.values() if owner is not None)


def test_what_is_unique_is_so_for_one_owner_or_says_why_not() -> None:
    keyed = {model.__name__ for model in OWNED if model._meta.pk is _owner_of(model)}

    assert keyed == KEYED_BY_OWNER
    assert {row for model in OWNED for row in _unique_without_owner(model)} == set(UNIQUE_WITHOUT_OWNER)


def _unique_without_owner(model: type[Model]) -> Iterator[str]:
    owner = _owner_of(model)
    together = [tuple(one.fields) for one in model._meta.constraints if isinstance(one, UniqueConstraint)]
    alone = [(field.name,) for field in model._meta.concrete_fields if field.unique and not field.primary_key]
    for fields in (*together, *alone):
        if owner is None or owner.name not in fields:
            yield f"{model.__name__}: {', '.join(fields)}"


def test_what_is_shared_refers_to_nothing_private_so_that_each_machine_can_have_it_whole() -> None:
    shared = [model for model in OURS if model not in OWNED]

    referring = {f"{m.__name__}: {f.name}" for m in shared for f in m._meta.concrete_fields if f.related_model in OWNED}

    assert referring == set(REFERENCES_PRIVATE)


def test_triggers_on_what_would_be_distributed_are_known() -> None:
    with connection.cursor() as cursor:
        cursor.execute("SELECT tgrelid::regclass::text, tgfoid::regproc::text FROM pg_trigger WHERE NOT tgisinternal")
        found = {name for table, name in cursor.fetchall() if table in NAMES}

    assert found == set(TRIGGERS)


@pytest.fixture(scope="module")
def looks(django_db_setup: None, django_db_blocker: DjangoDbBlocker) -> Iterator[set[Asked]]:
    """How every operation asks the tables, as somebody who owns one of everything, and as an admin."""
    reader = PlanReader(TABLES)
    with override_settings(BIGMIND_MODE="team"), keep_world(django_db_blocker, lambda: make_actor()) as owner:
        owned, admin = own_everything(owner), make_actor(admin=True)
        with connection.execute_wrapper(reader):
            for name in CATALOGUE:
                for attempt in ATTEMPTS[name](owned):
                    for actor in (Actor.of(owner.user), admin):
                        _perform(name, actor, attempt)
        yield set(reader.found)


def _perform(name: str, actor: Actor, arguments: dict[str, object]) -> None:
    mark = transaction.savepoint()
    try:
        perform(CATALOGUE[name], actor, arguments, transport="rest")
    except BigMindError:
        pass  # What is refused has asked, too.
    finally:
        transaction.savepoint_rollback(mark)


def test_every_operation_asks_private_rows_by_their_owner_or_it_is_listed(looks: set[Asked]) -> None:
    found = {by: {NAMES[look.table] for look in looks if look.by == by} for by in ("owner", "id", "parent")}
    others = {f"{look.module}: {NAMES[look.table]}" for look in looks if look.by == "anything"}

    assert {"Fact", "Session", "Chunk", "Note", "Hypothesis", "Passage", "PassageVector"} <= found["owner"]
    assert (found["id"], found["parent"], others) == (BY_ID, BY_PARENT, set(BY_ANYTHING))
