"""Which operations take longest, and where their time goes."""

from collections.abc import Callable
from dataclasses import dataclass, field
from time import perf_counter
from typing import Any

from django.core.management import call_command
from django.db import connection, transaction

from accounts.actor import Actor
from accounts.models import Role, User
from benchmarks.library import Library, fill
from benchmarks.memories import remember_much
from benchmarks.pages import propose
from benchmarks.rows import milliseconds
from bigmind.core.errors import BigMindError
from bigmind.core.operations import Operation
from bigmind.gate import perform
from bigmind.operations import CATALOGUE
from bigmind.transports.rest.examples import example_arguments
from knowledge.models import CompanyEntry, Entry, Fact, Reference, Session
from knowledge.search.frequencies import forget_statistics
from knowledge.search.indexes import keep_indexes
from knowledge.search.spelling import forget_vocabularies

SHARED, FACTS, SESSIONS, PROPOSALS = 20_000, 5_000, 1_000, 1_000
TIMES, SHOWN = 20, 10
LONG_MS = 300.0
"""What takes longer is timed three times only."""
HEAD = "| operation | p50 | of it in PostgreSQL | statements | the longest of them |"


@dataclass
class Statements:
    """The statements of one call."""

    taken: list[float] = field(default_factory=list)

    def __call__(self, execute: Callable[..., Any], *rest: Any) -> Any:
        """Time one statement."""
        began = perf_counter()
        try:
            return execute(*rest)
        finally:
            self.taken.append((perf_counter() - began) * 1000)


def measure() -> list[str]:
    """Perform every operation with the arguments of its example, each call undone, and list the slowest."""
    actor = _filled()
    arguments = {operation: _arguments(operation, actor) for operation in CATALOGUE.values()}
    taken, refused = {}, []
    for operation, sent in arguments.items():
        try:
            taken[operation] = _timed(operation, actor, sent)
        except BigMindError:
            refused.append(operation.name)
    slowest = sorted(taken, key=lambda operation: -taken[operation])[:SHOWN]
    rows = [
        _row(operation, taken[operation], _statements(operation, actor, arguments[operation])) for operation in slowest
    ]
    said = (
        f"{len(taken)} operations were timed. Refused, because what their example names is not there: {len(refused)}."
    )
    return [HEAD, "|---|---|---|---|---|", *rows, "", said]


def _filled() -> Actor:
    library = Library()
    actor = remember_much("worker", facts=0, sessions=SESSIONS)
    User.objects.filter(pk=actor.user.pk).update(role=Role.ADMIN)
    actor = Actor.of(User.objects.get(pk=actor.user.pk))
    fill(library, SHARED)
    fill(library, FACTS, owners=[actor.user])
    propose(User.objects.create(username="proposer"), range(PROPOSALS))
    call_command("references_import", "bigmind", kind="bigmind", collection="bigmind", verbosity=0)
    keep_indexes()
    forget_statistics()
    forget_vocabularies()
    return actor


def _arguments(operation: Operation, actor: Actor) -> dict[str, Any]:
    """The arguments of the example, with the ids of things that are there."""
    session = Session.objects.filter(user=actor.user).latest("started_at")
    fact, company = Fact.objects.filter(user=actor.user)[0], CompanyEntry.objects.all()[0]
    entry = str(Entry.objects.values_list("pk", flat=True)[0])
    there = {
        "session_id": str(session.pk),
        "fact_id": fact.pk,
        "entry_id": entry if operation.toolset == "kb" else company.pk,
        "reference_id": str(Reference.objects.values_list("pk", flat=True)[0]),
        "id": entry if operation.toolset == "kb" else str(fact.pk),
    }
    return {name: there.get(name, value) for name, value in example_arguments(operation).items()}


def _timed(operation: Operation, actor: Actor, arguments: dict[str, Any]) -> float:
    once = milliseconds(lambda: _undone(operation, actor, arguments), times=1)
    return milliseconds(lambda: _undone(operation, actor, arguments), times=3 if once > LONG_MS else TIMES)


def _undone(operation: Operation, actor: Actor, arguments: dict[str, Any]) -> None:
    with transaction.atomic():
        perform(operation, actor, arguments, transport="rest")
        transaction.set_rollback(True)


def _statements(operation: Operation, actor: Actor, arguments: dict[str, Any]) -> Statements:
    statements = Statements()
    with connection.execute_wrapper(statements):
        _undone(operation, actor, arguments)
    return statements


def _row(operation: Operation, p50: float, statements: Statements) -> str:
    inside, longest = sum(statements.taken), max(statements.taken, default=0.0)
    return f"| `{operation.name}` | {p50:.1f} ms | {inside:.1f} ms | {len(statements.taken)} | {longest:.1f} ms |"
