"""What a migration does to a table that may be partitioned (decision 69): PostgreSQL makes no index of it concurrently.

Columns and checks of the table reach its partitions by themselves. Its indexes do not: each partition has its own, by
the name that the model says, with the end of the name of the partition.
"""

from collections.abc import Iterator
from typing import Any

from django.contrib.postgres.operations import AddIndexConcurrently, RemoveIndexConcurrently
from django.db.models import Index

_LEAVES = "SELECT relid::regclass::text FROM pg_partition_tree(%s) WHERE isleaf ORDER BY 1"


def _each(schema_editor: Any, table: str, index: Index) -> Iterator[tuple[str, str]]:
    """Yield each partition with the name of its index; nothing where the table is plain."""
    with schema_editor.connection.cursor() as cursor:
        cursor.execute(_LEAVES, [table])
        for (leaf,) in cursor.fetchall():
            yield leaf, index.name + leaf.removeprefix(table)


def _make(schema_editor: Any, model: Any, index: Index) -> bool:
    """Make the index on each partition, without blocking anybody; return whether there are any."""
    table = model._meta.db_table
    each = list(_each(schema_editor, table, index))
    statement = str(index.create_sql(model, schema_editor, concurrently=True))
    for leaf, name in each:
        _drop(schema_editor, [(leaf, name)])  # One that was killed has left it, whole or broken.
        named = statement.replace(f'"{index.name}"', f'"{name}"', 1).replace(f'ON "{table}"', f'ON "{leaf}"', 1)
        schema_editor.execute(named, params=None)
    return bool(each)


def _drop(schema_editor: Any, each: list[tuple[str, str]]) -> bool:
    for _, name in each:
        schema_editor.execute(f'DROP INDEX CONCURRENTLY IF EXISTS "{name}"', params=None)
    return bool(each)


class AddIndexToPartitions(AddIndexConcurrently):
    """Adds an index beside what is going on: to the table, or where it is partitioned to each of its partitions."""

    def database_forwards(self, app_label: str, schema_editor: Any, from_state: Any, to_state: Any) -> None:
        """Make it, or them."""
        self._ensure_not_in_transaction(schema_editor)
        model = to_state.apps.get_model(app_label, self.model_name)
        if not _make(schema_editor, model, self.index):
            super().database_forwards(app_label, schema_editor, from_state, to_state)

    def database_backwards(self, app_label: str, schema_editor: Any, from_state: Any, to_state: Any) -> None:
        """Drop it, or them."""
        self._ensure_not_in_transaction(schema_editor)
        model = from_state.apps.get_model(app_label, self.model_name)
        if not _drop(schema_editor, list(_each(schema_editor, model._meta.db_table, self.index))):
            super().database_backwards(app_label, schema_editor, from_state, to_state)


class RemoveIndexFromPartitions(RemoveIndexConcurrently):
    """Removes an index beside what is going on: from the table, or where it is partitioned from each partition."""

    def database_forwards(self, app_label: str, schema_editor: Any, from_state: Any, to_state: Any) -> None:
        """Drop it, or them."""
        self._ensure_not_in_transaction(schema_editor)
        model = from_state.apps.get_model(app_label, self.model_name)
        index = from_state.models[app_label, self.model_name_lower].get_index_by_name(self.name)
        if not _drop(schema_editor, list(_each(schema_editor, model._meta.db_table, index))):
            super().database_forwards(app_label, schema_editor, from_state, to_state)

    def database_backwards(self, app_label: str, schema_editor: Any, from_state: Any, to_state: Any) -> None:
        """Make it, or them, again."""
        self._ensure_not_in_transaction(schema_editor)
        model = to_state.apps.get_model(app_label, self.model_name)
        index = to_state.models[app_label, self.model_name_lower].get_index_by_name(self.name)
        if not _make(schema_editor, model, index):
            super().database_backwards(app_label, schema_editor, from_state, to_state)
