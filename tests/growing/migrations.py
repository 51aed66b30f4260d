"""What a migration may do while the version before it still serves: rules over the SQL it would run."""

import re
from collections.abc import Iterable, Iterator

from django.db import connection
from django.db.migrations import CreateModel, Migration, RunPython, RunSQL
from django.db.migrations.loader import MigrationLoader
from django.db.migrations.operations import SeparateDatabaseAndState
from django.db.migrations.operations.base import Operation
from django.db.migrations.state import ProjectState
from django.db.migrations.utils import resolve_relation
from django.db.models import Field

OURS = ("accounts", "curation", "knowledge")
ALLOWED: dict[str, str] = {
    "knowledge.0035_passage_languages": "Reads which passage is the last one while none is written: a millisecond.",
    "curation.0019_retire_letter": "The revision that upgrades start from, 79cbce9, knows none of these columns.",
    "knowledge.0066_retire_expert_questions": "79cbce9 does not know this table.",
    "knowledge.0067_retire_holdout": "79cbce9 knows neither this table nor these columns.",
    "knowledge.0068_retire_session_outcomes": "79cbce9 does not know this table.",
    "knowledge.0069_retire_packs": "79cbce9 does not know this column.",
    "curation.0020_retire_packs": "79cbce9 does not know these tables.",
    "accounts.0045_retire_teams": "79cbce9 does not know this column.",
    "knowledge.0076_firings_without_teams": "79cbce9 does not know this table.",
    "knowledge.0075_retire_acts": "79cbce9 knows none of these tables, and few people have chosen what is counted.",
    "accounts.0043_backups_to_a_folder": "79cbce9 does not know these columns.",
    "knowledge.0040_app_map_servers": "Workflows of app maps are few: the constraint takes milliseconds.",
}
"""Migrations that break a rule, each with the reason why nobody will notice."""

_TABLE = r'(?:IF EXISTS |ONLY )?(?:"?public"?\.)?"?(?P<table>\w+)"?'
_CREATES = re.compile(rf"CREATE TABLE (?:IF NOT EXISTS )?{_TABLE}", re.IGNORECASE)
_INDEXES = re.compile(rf"CREATE (?:UNIQUE )?INDEX (?P<concurrently>CONCURRENTLY )?.*? ON {_TABLE}", re.IGNORECASE)
_ALTERS = re.compile(rf"ALTER TABLE {_TABLE}", re.IGNORECASE)
_BREAKS = {
    "takes away what the version before still reads": r"\bDROP COLUMN\b|\bRENAME (?:COLUMN|TO)\b|^DROP TABLE\b",
    "rewrites the table, or ends the plans that sessions keep": r"ALTER COLUMN \S+ (?:SET DATA )?TYPE\b",
    "refuses rows that the version before still writes": r"ADD COLUMN (?!.*\bDEFAULT\b).*\bNOT NULL\b"
    r"|ALTER COLUMN \S+ DROP DEFAULT",
    "reads the whole table under a lock": r"\bSET NOT NULL\b"
    r"|ADD CONSTRAINT \S+ (?!.*\bNOT VALID\b)(?:CHECK|FOREIGN KEY)"
    r"|ADD CONSTRAINT \S+ (?:UNIQUE|EXCLUDE|PRIMARY KEY)(?!.*\bUSING INDEX\b)",
}


def troubles_of(migration: Migration, sql: list[str]) -> Iterator[str]:
    """Say what in a migration those who are being served would notice."""
    made: set[str] = set()
    held = ""
    for statement in map(_on_one_line, sql):
        creates, indexes, alters = (which.match(statement) for which in (_CREATES, _INDEXES, _ALTERS))
        if creates:
            made.add(creates["table"])
            if held and migration.atomic:
                yield f"holds {held} meanwhile: change the tables that there are last. {statement}"
        elif indexes:
            if not indexes["concurrently"] and indexes["table"] not in made:
                yield f"makes nobody write while it makes an index: use AddIndexConcurrently. {statement}"
        elif not (alters and alters["table"] in made):
            held = alters["table"] if alters else held
            yield from _troubles_of_change(statement)
    for operation in _flat(migration.operations):
        if isinstance(operation, RunPython | RunSQL) and not operation.reversible:
            yield f"cannot be taken back: {operation.describe()}"


def sql_of(loader: MigrationLoader, migration: Migration) -> list[str]:
    """Return the statements of a migration, as `sqlmigrate` shows them."""
    with connection.schema_editor(collect_sql=True, atomic=migration.atomic) as editor:
        migration.apply(_state_before(loader, migration), editor, collect_sql=True)
    lines = editor.collected_sql
    return [line for line in lines if line and not line.startswith("--") and line not in {"BEGIN;", "COMMIT;"}]


def new_migrations() -> list[Migration]:
    """Return the migrations of ours that came after the squashed ones: nobody is served while those run."""
    loader = MigrationLoader(None)
    return [
        migration
        for (app, _), migration in sorted(loader.disk_migrations.items())
        if app in OURS and not migration.replaces
    ]


def _state_before(loader: MigrationLoader, migration: Migration) -> ProjectState:
    """Return the models that a migration is about, and those they refer to: to make classes of all takes long."""
    state = loader.project_state((migration.app_label, migration.name), at_end=False)
    wanted, kept = (
        {key for operation in _flat(migration.operations, of_state=True) for key in _models_of(operation, migration)},
        set(),
    )
    while wanted:
        key = wanted.pop()
        if key in state.models and key not in kept:
            kept.add(key)
            wanted.update(_referred(state.models[key].fields.values(), *key))
    for key in state.models.keys() - kept:
        del state.models[key]
    return state


def _models_of(operation: Operation, migration: Migration) -> Iterator[tuple[str, str]]:
    for name in ("model_name_lower", "name_lower", "old_name_lower"):
        if model := getattr(operation, name, ""):
            yield migration.app_label, model
            if isinstance(field := getattr(operation, "field", None), Field):
                yield from _referred([field], migration.app_label, model)
            if isinstance(operation, CreateModel):
                yield from _referred([field for _, field in operation.fields], migration.app_label, model)


def _referred(fields: Iterable[Field], app: str, model: str) -> Iterator[tuple[str, str]]:
    for field in fields:
        through = getattr(field.remote_field, "through", None)
        yield from (resolve_relation(to, app, model) for to in (field.related_model, through) if to)


def _troubles_of_change(statement: str) -> Iterator[str]:
    for trouble, pattern in _BREAKS.items():
        if re.search(pattern, statement, re.IGNORECASE):
            yield f"{trouble}: {statement}"


def _flat(operations: Iterable[Operation], *, of_state: bool = False) -> Iterator[Operation]:
    for operation in operations:
        if isinstance(operation, SeparateDatabaseAndState):
            yield from _flat([*operation.database_operations, *(operation.state_operations if of_state else ())])
        else:
            yield operation


def _on_one_line(statement: str) -> str:
    return " ".join(statement.split())
