"""Learning about apps: merges what agents and connectors found into the map, without losing what others found."""

from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import date, datetime, time
from itertools import chain
from typing import Annotated, Any, TypeVar

from django.db import transaction
from django.utils import timezone
from pydantic import Field, ValidationError

from accounts.actor import Actor
from bigmind.privacy.screening.policy import refuse_secrets_in_json
from bigmind.text.hygiene import fold_name, one_line, show_hidden
from knowledge.app_maps.argument_types import (
    APPS,
    FIELDS,
    Aliases,
    AppMap,
    DiscoveredAppIn,
    Entities,
    LearntEntity,
    LearntTable,
    LearntWorkflow,
    NewName,
    OutsideId,
    StoredEntity,
    Tables,
    Workflows,
    check_fields,
    read_reported_map,
)
from knowledge.app_maps.connectors.contract import ConnectorError, DiscoveredTable
from knowledge.app_maps.finding import lock_app
from knowledge.models import App, AppEntity, AppTable, AppWorkflow, Kind
from knowledge.models.app_maps import NAME_CHARS, Named
from knowledge.search.passages import Indexed, index_new, index_passages

Row = TypeVar("Row", bound=Named)
DiscoveredApps = Annotated[
    list[DiscoveredAppIn],
    Field(max_length=APPS, description="What you discovered: apps and their tables, with ids. No records."),
]


@dataclass
class Learnt:
    """What changed in the map of one app."""

    app: str
    app_id: str
    version: int = 0
    is_new: bool = False
    added: list[str] = field(default_factory=list)
    updated: list[str] = field(default_factory=list)
    unchanged: int = 0

    @property
    def changed(self) -> bool:
        """Whether the map says anything new."""
        return bool(self.is_new or self.added or self.updated)

    def note(self, what: str, *, is_new: bool, changed: bool) -> None:
        """Count one thing."""
        if is_new:
            self.added.append(what)
        elif changed:
            self.updated.append(what)
        else:
            self.unchanged += 1


def learn_app(
    actor: Actor,
    *,
    app: NewName,
    app_id: OutsideId = "",
    aliases: Aliases | None = None,
    tables: Tables | None = None,
    entities: Entities | None = None,
    workflows: Workflows | None = None,
) -> Learnt:
    """Merge what you found out about an app into its map: rows by the names people use, schemas, workflows.

    Call this after a task that made you look something up, so that nobody has to again. A new app is added. What you
    leave out stays; repeating it is safe. Returns what was added, what changed, and how much was known.
    """
    reported = read_reported_map(
        app, app_id=app_id, aliases=aliases, tables=tables, entities=entities, workflows=workflows
    )
    return merge_map(reported)


def correct_app(
    actor: Actor,
    *,
    app: NewName,
    app_id: OutsideId = "",
    entities: Entities | None = None,
    workflows: Workflows | None = None,
) -> Learnt:
    """Replace what the map has of rows and workflows by what a person says of them, who saw all of it.

    What they left empty is cleared.
    """
    return merge_map(read_reported_map(app, app_id=app_id, entities=entities, workflows=workflows), clears=True)


@transaction.atomic
def merge_map(app_map: AppMap, *, clears: bool = False) -> Learnt:
    """Merge what was learnt about one app. Others who merge into the same app wait.

    Args:
        clears: Whether what is said of a row or workflow is all there is to say, and not only what someone found out.
    """
    app, is_new = lock_app(app_map.name, app_map.app_id)
    learnt = Learnt(app.name, app.app_id, is_new=is_new)
    _merge_app(app, app_map, learnt)
    tables = _merge_tables(app, app_map, learnt)
    _merge_entities(app, tables, app_map.entities, learnt, clears=clears)
    _merge_workflows(app, tables, app_map.workflows, learnt, clears=clears)
    if learnt.changed and not is_new:
        app.version += 1
    app.save()
    learnt.app, learnt.app_id, learnt.version = app.name, app.app_id, app.version
    return learnt


def merge_fields(known: Sequence[Mapping[str, Any]], reported: Mapping[str, Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return the fields of a schema with what is said of them: those known keep their place, new ones follow."""
    merged = {str(one["name"]): dict(one) for one in known}
    for name, attributes in reported.items():
        merged[name] = {"name": name, **merged.get(name, {}), **attributes}
    return list(merged.values())


def to_learnt_table(found: DiscoveredTable) -> LearntTable:
    """Return what a connector discovered as something to merge. What is not fit to be stored is left out.

    Raises:
        ConnectorError: not even its name can be stored.
    """
    fields: dict[str, Any] = {}
    for name, known in found.fields.items():
        with suppress(ValueError):
            fields |= refuse_secrets_in_json(check_fields({name: dict(known)}))
    try:
        return LearntTable(
            name=clean_text(found.name), table_id=found.table_id, fields=dict(list(fields.items())[:FIELDS])
        )
    except ValidationError as error:
        raise ConnectorError(f"The table {found.table_id[:100]} has a name or id that cannot be stored.") from error


def clean_text(name: str) -> str:
    """Return an outside name in a form that can be stored: one line, no invisible characters, not too long."""
    return one_line(show_hidden(name))[:NAME_CHARS].strip()


def index_table(table: AppTable, *, made: bool = False) -> None:
    """Write the passage of a table, which has no owner: everybody here may find it."""
    index_passages(Kind.APP_TABLE, table.pk, [text_of_table(table)], owner=None, made=made)


def index_entity(entity: AppEntity) -> None:
    """Write the passage of an entity that has changed; new ones are indexed together."""
    index_passages(Kind.APP_ENTITY, entity.pk, [text_of_entity(entity)], owner=None)


def index_workflow(workflow: AppWorkflow, *, made: bool = False) -> None:
    index_passages(Kind.APP_WORKFLOW, workflow.pk, [text_of_workflow(workflow)], owner=None, made=made)


def text_of_table(table: AppTable) -> str:
    fields = ", ".join(_field_in_words(one) for one in table.fields)
    return f"{table.name}: table of the app {table.app}\ntable id {table.table_id}\nfields: {fields}"


def text_of_entity(entity: AppEntity) -> str:
    found_by = f"{entity.match_field} = {entity.match_value}" if entity.match_field else ""
    where = f"row of the table {entity.table} of the app {entity.table.app}"
    return f"{entity.name}: {where}\nrow id {entity.row_id}\n{found_by}"


def text_of_workflow(workflow: AppWorkflow) -> str:
    return f"{workflow.name}: workflow of the app {workflow.app}\n{workflow.trigger}\n{workflow.steps}"


def _field_in_words(known: Mapping[str, Any]) -> str:
    values = known.get("values")
    shown = ", ".join(map(str, values)) if isinstance(values, list) else known.get("target", "")
    return f"{known['name']} ({shown})" if shown else str(known["name"])


def _merge_app(app: App, app_map: AppMap, learnt: Learnt) -> None:
    known = {fold_name(alias) for alias in app.aliases}
    fresh = [alias for alias in app_map.aliases if fold_name(alias) not in known and alias != app.name]
    is_it = bool(app_map.app_id) and app_map.app_id == app.app_id
    renamed = is_it and take_new_name(app, app_map.name)
    has_new_id = bool(app_map.app_id) and app_map.app_id != app.app_id
    if has_new_id:
        app.app_id = app_map.app_id
    app.connector, app.server = app_map.connector or app.connector, app_map.server or app.server
    app.bootstrapped_at = app.bootstrapped_at or _start_of(app_map.bootstrapped_at)
    app.aliases = list(dict.fromkeys([*app.aliases, *fresh]))
    app.last_seen, app.reported_gone_at = timezone.now(), None
    if (fresh or renamed or has_new_id) and not learnt.is_new:
        learnt.updated.append(f"app {app.name}")


def take_new_name(app: App, name: str) -> bool:
    """Call an app as it is called outside now; its old name still finds it. Return whether that is new.

    A name that another map has stays with that one.
    """
    if fold_name(name) in app.names or App.objects.filter(look_up=fold_name(name)).exists():
        return False
    app.aliases = [*app.aliases, app.name]
    app.rename(name)
    return True


def _merge_tables(app: App, app_map: AppMap, learnt: Learnt) -> dict[str, AppTable]:
    """Merge the tables, and those that entities and workflows name. Return all there are, by name and by id."""
    known = {one: table for table in app.tables.order_by("pk") for one in _keys(table)}
    named = (LearntTable(name=one.table, table_id=one.table_id) for one in app_map.entities)
    working = (LearntTable(name=one.table) for one in app_map.workflows if one.table)
    mentioned = list({(one.name, one.table_id): one for one in chain(named, working)}.values())
    for one in app_map.tables:
        _merge_table(app, one, known, learnt)
    for one in mentioned:
        _merge_table(app, one, known, learnt, is_mention=True)
    return known


def _merge_table(
    app: App, reported: LearntTable, known: dict[str, AppTable], learnt: Learnt, *, is_mention: bool = False
) -> None:
    table = (known.get(_by_id(reported.table_id)) if reported.table_id else None) or known.get(fold_name(reported.name))
    is_new = table is None
    table = table or AppTable(app=app)
    before = (table.name, table.table_id, table.fields)
    if is_new or (fold_name(reported.name) not in known and not is_mention):
        table.rename(reported.name)
    table.table_id = reported.table_id or table.table_id
    table.fields = merge_fields(table.fields, reported.fields)
    table.gone_fields = {name: new for name, new in table.gone_fields.items() if name not in reported.fields}
    table.last_seen, table.reported_gone_at = timezone.now(), None
    changed = before != (table.name, table.table_id, table.fields)
    table.save()
    if changed:
        index_table(table, made=is_new)
    if before[0] and before[0] != table.name:
        index_entities_of(table)
    known |= dict.fromkeys(_keys(table), table)
    if changed or not is_mention:
        learnt.note(f"table {table.name}", is_new=is_new, changed=changed)


def index_entities_of(table: AppTable) -> None:
    """Write the passages of the entities of a table whose name has changed: they say it."""
    for entity in table.entities.select_related("table__app"):
        index_entity(entity)


def _keys(table: AppTable) -> list[str]:
    return [table.look_up, *([_by_id(table.table_id)] if table.table_id else [])]


def _by_id(table_id: str) -> str:
    return f"id {table_id}"


def _merge_entities(
    app: App, tables: Mapping[str, AppTable], reported: Sequence[LearntEntity], learnt: Learnt, *, clears: bool
) -> None:
    names = {fold_name(one.name) for one in reported}
    rows = AppEntity.objects.filter(table__app=app, look_up__in=names)
    known = {(row.table_id, row.look_up): row for row in rows}
    added: list[AppEntity] = []
    for one in reported:
        table = (tables.get(_by_id(one.table_id)) if one.table_id else None) or tables[fold_name(one.table)]
        entity = known.get((table.pk, fold_name(one.name)))
        is_new = entity is None
        if entity is None:
            entity = AppEntity(last_seen=_day_of(one) or timezone.now())
            entity.rename(one.name)
            known[table.pk, entity.look_up] = entity
        entity.table = table
        changed = _take(entity, one, ("row_id", "match_field", "match_value"), clears=clears)
        _see(entity, _day_of(one))
        entity.save()
        if is_new:
            added.append(entity)
        elif changed and entity not in added:
            index_entity(entity)
        learnt.note(f"entity {entity.name}", is_new=is_new, changed=changed)
    if added:
        index_new(Kind.APP_ENTITY, [Indexed(one.pk, text_of_entity(one), "") for one in added], owner=None)


def _merge_workflows(
    app: App, tables: Mapping[str, AppTable], reported: Iterable[LearntWorkflow], learnt: Learnt, *, clears: bool
) -> None:
    known = list(app.workflows.order_by("pk"))
    for one in reported:
        table = tables.get(fold_name(one.table)) if one.table else None
        workflow = _workflow_meant(known, one, table)
        is_new = workflow is None
        if workflow is None:
            workflow = AppWorkflow(app=app, table=table)
            workflow.rename(one.name)
            known.append(workflow)
        changed = _take(workflow, one, ("trigger", "steps", "field"), clears=clears)
        if table and workflow.table_id != table.pk:
            workflow.table, changed = table, True
        workflow.last_seen = timezone.now()
        workflow.save()
        if is_new or changed:
            index_workflow(workflow, made=is_new)
        learnt.note(f"workflow {workflow.name}", is_new=is_new, changed=changed)


def _workflow_meant(
    known: Iterable[AppWorkflow], reported: LearntWorkflow, table: AppTable | None
) -> AppWorkflow | None:
    """Return the workflow of this name and table: tables have workflows of one name. Without a table, the only one."""
    named = [one for one in known if one.look_up == fold_name(reported.name)]
    table_id = table.pk if table else None
    exact = [one for one in named if one.table_id == table_id]
    others = [one for one in named if table is None or one.table_id is None]
    return exact[0] if exact else others[0] if len(others) == 1 else None


def _take(row: Named, reported: Any, names: Iterable[str], *, clears: bool) -> bool:
    """Take over what is said and differs; what is left empty stays, or is cleared. Return whether anything did."""
    values = {name: getattr(reported, name) for name in names if clears or getattr(reported, name)}
    fresh = {name: value for name, value in values.items() if value != getattr(row, name)}
    for name, value in fresh.items():
        setattr(row, name, value)
    return bool(fresh)


def _day_of(reported: LearntEntity) -> datetime | None:
    """The day that a file says something was last used; of what is learnt now, none."""
    return _start_of(reported.last_seen if isinstance(reported, StoredEntity) else None)


def _start_of(day: date | None) -> datetime | None:
    return datetime.combine(day, time(), timezone.get_current_timezone()) if day else None


def _see(entity: AppEntity, day: datetime | None) -> None:
    """Move `last_seen` on, never back."""
    seen = day or timezone.now()
    if entity.pk is None or seen > entity.last_seen:
        entity.last_seen = seen
