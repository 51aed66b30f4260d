"""Makes the tables of a new database in the form that all migrations together give them.

One migration after the other takes ten times as long, because Django makes the classes of all related models again at
each change. What their SQL and Python do besides, such as policies, triggers and sequences, is done as it stands there.
"""

from collections.abc import Iterable, Iterator
from functools import partial

from django.db import transaction
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.migrations import RunPython, RunSQL
from django.db.migrations.executor import MigrationExecutor
from django.db.migrations.operations import SeparateDatabaseAndState
from django.db.migrations.operations.base import Operation
from django.db.migrations.recorder import MigrationRecorder

BEFORE_TABLES = {"before_tables": True}
"""Hints of a `RunSQL` that makes what a table needs, such as the sequence that a column takes its default from."""


def is_new(on: BaseDatabaseWrapper) -> bool:
    """Whether no migration was ever applied to a database."""
    return not MigrationRecorder(on).applied_migrations()


def make_tables(on: BaseDatabaseWrapper) -> None:
    """Make all tables of a new database and note all migrations as applied, in one transaction."""
    executor = MigrationExecutor(on)
    leaves = executor.loader.graph.leaf_nodes()
    plan = [migration for migration, _ in executor.migration_plan(leaves)]
    state = executor.loader.project_state(leaves)
    before: list[partial[None]] = []
    after: list[partial[None]] = []
    for migration in plan:
        for operation in _besides(migration.operations):
            forwards = partial(operation.database_forwards, migration.app_label)
            (before if operation.hints == BEFORE_TABLES else after).append(forwards)
    with transaction.atomic(using=on.alias):
        with on.schema_editor() as editor:
            for forwards in before:
                forwards(editor, state, state)
            for model in state.apps.get_models():
                if model._meta.can_migrate(on):
                    editor.create_model(model)
        with on.schema_editor() as editor:  # The tables have their foreign keys now.
            for forwards in after:
                forwards(editor, state, state)
        for migration in plan:
            for app_label, name in migration.replaces or [(migration.app_label, migration.name)]:
                executor.recorder.record_applied(app_label, name)


def _besides(operations: Iterable[Operation]) -> Iterator[RunSQL | RunPython]:
    """Yield what is no change of a model."""
    for operation in operations:
        if isinstance(operation, SeparateDatabaseAndState):
            yield from _besides(operation.database_operations)
        elif isinstance(operation, RunSQL | RunPython):
            yield operation
