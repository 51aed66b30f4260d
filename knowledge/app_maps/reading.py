"""App maps: reading what is known about outside apps (seed 000)."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Annotated, Any

from django.db.models import Count, OuterRef, Q, QuerySet, Subquery
from django.db.models.functions import Coalesce
from django.utils import timezone
from pydantic import Field

from accounts.actor import Actor
from bigmind.core.argument_types import Cursor, Limit, Offset
from bigmind.database.pagination import Page, page_of
from bigmind.text.days import local_day
from knowledge.app_maps.argument_types import (
    AmbiguousChoice,
    AnApp,
    AppMap,
    ATable,
    LearntTable,
    LearntWorkflow,
    StoredEntity,
    in_order,
    read_reported_map,
)
from knowledge.app_maps.connectors import available_connectors
from knowledge.app_maps.files.text import write_index, write_map
from knowledge.app_maps.finding import app_called, table_of
from knowledge.app_maps.schema_changes import problems_in
from knowledge.argument_types import Risk
from knowledge.models import UNFINISHED, AmbiguousName, App, AppEntity, AppRun, AppTable, AppWorkflow
from knowledge.models.injection_signs import FLAGGED
from knowledge.shapes.app_maps import AppLineShape

MAP_BYTES = 5 * 1024
"""What the map of one app may cost an agent."""
LEFT_OUT_BYTES = 120
"""Room for the line that says how much was left out."""
PROBLEM_BYTES = 300
AMBIGUOUS_SHOWN = 50

MapBytes = Annotated[int, Field(ge=1_000, le=MAP_BYTES, description="Size limit of the YAML, in bytes.")]


@dataclass(frozen=True, kw_only=True)
class AppIndex(Page[AppLineShape]):
    """The apps there are, the names that stand in several, and what to do when there is nothing yet."""

    yaml: str
    ambiguous: list[AmbiguousChoice] = field(default_factory=list)
    running: list[AppRun] = field(default_factory=list)
    next_step: str = ""


@dataclass(frozen=True)
class ReadMap:
    """The map of one app."""

    app: str
    app_id: str
    version: int
    yaml: str
    entities_left_out: int = 0
    fields_left_out: Annotated[int, Field(description="Tables whose schema did not fit.")] = 0
    tables_left_out: int = 0
    workflows_left_out: int = 0
    reported_gone_at: datetime | None = None


def list_apps(
    actor: Actor, *, limit: Limit = 50, offset: Offset = 0, cursor: Cursor | None = None, risk: Risk | None = None
) -> AppIndex:
    """List mapped outside apps: ids, aliases, how much is known, and names found in several apps.

    Call this at the start of a task in an outside app, unless app_resolve already knows what you need. Returns the
    index as YAML; when it is empty, how to fill it.
    """
    apps = _with_counts(select_by_risk(risk).order_by("pk"))
    page: Page[App] = page_of(apps, limit=limit, offset=offset, cursor=cursor)
    choices = ambiguous_names()
    index = write_index([_headline(app) for app in page.items], choices[:AMBIGUOUS_SHOWN]) if page.items else ""
    running = list(AppRun.objects.filter(state__in=UNFINISHED).select_related("app").order_by("pk"))
    return AppIndex(
        [_line(app) for app in page.items],
        page.total,
        limit,
        page.offset,
        page.cursor,
        yaml=index.strip(),
        ambiguous=choices[:AMBIGUOUS_SHOWN],
        running=running,
        next_step="" if page.total or risk else how_to_begin(),
    )


def select_by_risk(risk: str | None) -> QuerySet[App]:
    """Return the apps with signs of a prompt injection anywhere in their maps, those without, or all."""
    flagged = FLAGGED | Q(pk__in=AppTable.objects.filter(FLAGGED).values("app"))
    flagged |= Q(pk__in=AppEntity.objects.filter(FLAGGED).values("table__app"))
    flagged |= Q(pk__in=AppWorkflow.objects.filter(FLAGGED).values("app"))
    return App.objects.filter(flagged if risk == "flagged" else ~flagged) if risk else App.objects.all()


def get_app(actor: Actor, *, app: AnApp, table: ATable | None = None, max_bytes: MapBytes = MAP_BYTES) -> ReadMap:
    """Read the map of one app as YAML of at most 5 KB: entities with their ids, schemas, workflows.

    Call this when you will do several things in one app; for one thing app_resolve is cheaper. The least recently used
    entities are left out first, and counted: app_resolve finds those too.
    """
    found = app_called(app)
    only = table_of(found, table) if table else None
    known = map_of(found, only=only)
    careful = _note_problems(found, only)
    read = within_bytes(known, last_seen_of(found, only), max_bytes - len(careful.encode()), app=found)
    return replace(read, yaml=read.yaml + careful)


def _note_problems(app: App, only: AppTable | None) -> str:
    """Say in a comment which workflows name a field that is gone, in a few bytes; nothing where none does."""
    problems = problems_in(app, only)
    names = dict(app.workflows.filter(pk__in=problems).values_list("pk", "name"))
    note = "; ".join(f"{names[pk]} {problem}" for pk, problem in problems.items())
    return f"\n# careful: {note.encode()[:PROBLEM_BYTES].decode(errors='ignore')}\n" if note else ""


def how_to_begin() -> str:
    """Say what brings the first apps in, the cheapest first."""
    names = available_connectors()
    if names:
        return f"Call app_bootstrap with connector {names[0]}: BigMind reads apps and tables itself, no call of yours."
    return (
        "Call discover_apps (1 call) and get_tables for each app (1 call each) with the tools of the outside system, "
        "then hand names and ids to app_bootstrap. Fetch no records and no schemas: those come with use."
    )


def map_of(app: App, *, only: AppTable | None = None) -> AppMap:
    """Return all that is known of an app, or of one of its tables."""
    tables = list(app.tables.order_by("pk").filter(**({"pk": only.pk} if only else {})))
    names = {table.pk: table.name for table in tables}
    entities = AppEntity.objects.filter(table__in=tables).order_by("pk")
    workflows = app.workflows.order_by("pk")
    if only:
        workflows = workflows.filter(Q(table=only) | Q(table=None, field__in=[one["name"] for one in only.fields]))
    known = _headline(app)
    known.tables = [_table_of_row(table) for table in tables]
    known.entities = [_entity_of_row(entity, names) for entity in entities]
    known.workflows = [_workflow_of_row(workflow, names) for workflow in workflows]
    return known


def ambiguous_names() -> list[AmbiguousChoice]:
    """Return the names that stand in several places, with the choice that was made, in the order they became known."""
    chosen = AmbiguousName.objects.select_related("default_app", "default_table").prefetch_related("found_in")
    rows = {row.look_up: row for row in chosen.order_by("pk")}
    several = AppEntity.objects.values("look_up").annotate(places=Count("pk")).filter(places__gt=1)
    look_ups = {*rows, *several.values_list("look_up", flat=True)}
    places: dict[str, list[AppEntity]] = {}
    for entity in AppEntity.objects.filter(look_up__in=look_ups).select_related("table__app").order_by("pk"):
        places.setdefault(entity.look_up, []).append(entity)
    order = [*rows, *(look_up for look_up in places if look_up not in rows)]
    return [_choice(rows.get(look_up), places.get(look_up, [])) for look_up in order]


def within_bytes(known: AppMap, seen: "Seen", limit: int, *, app: App) -> ReadMap:
    """Return the map as YAML of at most so many bytes; what was not used for longest leaves first.

    Entities leave before schemas, schemas before tables, tables before workflows.
    """
    whole = write_map(known)
    if len(whole.encode()) <= limit:
        return ReadMap(app.name, app.app_id, app.version, whole, reported_gone_at=app.reported_gone_at)
    room, left_out = limit - LEFT_OUT_BYTES, {}
    for name, keep in _WAYS.items():
        kept, known = _as_many(known, seen[name], keep, room)
        left_out[name] = len(seen[name]) - kept
        # Where some of a kind still fit, none of the next has to leave.
        if kept or _size(known) <= room:
            break
    parts = ", ".join(f"{count} {name}" for name, count in left_out.items() if count)
    text = write_map(known) + f"\n# left out: {parts}. app_resolve finds them.\n"
    counts = {f"{name}_left_out": count for name, count in left_out.items()}
    return ReadMap(app.name, app.app_id, app.version, text, reported_gone_at=app.reported_gone_at, **counts)


Seen = dict[str, list[Any]]
"""Of entities, tables and workflows, what names them, the one used last first."""


def last_seen_of(app: App, only: AppTable | None = None) -> Seen:
    """Return what the map has, the one used last first: what stands at the end leaves the rendered map first."""
    tables = AppTable.objects.filter(app=app, **({"pk": only.pk} if only else {}))
    entities = AppEntity.objects.filter(table__in=tables).order_by("-last_seen", "-pk")
    names = list(tables.order_by("-last_seen", "pk").values_list("name", flat=True))
    return {
        "entities": list(entities.values_list("table__name", "name")),
        "fields": names,
        "tables": names,
        "workflows": [
            (table or "", name)
            for table, name in app.workflows.order_by("-last_seen", "pk").values_list("table__name", "name")
        ],
    }


def see(*things: App | AppTable | AppEntity | AppWorkflow) -> None:
    """Record that these were used now, at most once a minute each: reading must stay cheap."""
    now = timezone.now()
    for thing in things:
        if (now - thing.last_seen).total_seconds() > 60:
            type(thing)._default_manager.filter(pk=thing.pk).update(last_seen=now)


def _keep_entities(known: AppMap, kept: set[Any]) -> AppMap:
    return known.model_copy(update={"entities": [one for one in known.entities if (one.table, one.name) in kept]})


def _keep_fields(known: AppMap, kept: set[Any]) -> AppMap:
    bare = [one if one.name in kept else one.model_copy(update={"fields": {}}) for one in known.tables]
    return known.model_copy(update={"tables": bare})


def _keep_tables(known: AppMap, kept: set[Any]) -> AppMap:
    return known.model_copy(update={"tables": [one for one in known.tables if one.name in kept]})


def _keep_workflows(known: AppMap, kept: set[Any]) -> AppMap:
    return known.model_copy(update={"workflows": [one for one in known.workflows if (one.table, one.name) in kept]})


_WAYS: dict[str, Callable[[AppMap, set[Any]], AppMap]] = {
    "entities": _keep_entities,
    "fields": _keep_fields,
    "tables": _keep_tables,
    "workflows": _keep_workflows,
}


def _as_many(
    known: AppMap, names: Sequence[Any], keep: Callable[[AppMap, set[Any]], AppMap], room: int
) -> tuple[int, AppMap]:
    """Return how many of the first of these can be kept within the room, and the map with them alone."""
    low, high = 0, len(names)
    while low < high:
        middle = (low + high + 1) // 2
        fits = _size(keep(known, set(names[:middle]))) <= room
        low, high = (middle, high) if fits else (low, middle - 1)
    return low, keep(known, set(names[:low]))


def _size(known: AppMap) -> int:
    return len(write_map(known).encode())


def _headline(app: App) -> AppMap:
    read = local_day(app.bootstrapped_at) if app.bootstrapped_at else None
    return read_reported_map(
        app.name,
        app_id=app.app_id,
        aliases=app.aliases,
        connector=app.connector,
        server=app.server,
        bootstrapped_at=read,
        file=app.file,
    )


def _table_of_row(table: AppTable) -> LearntTable:
    return LearntTable.model_construct(name=table.name, table_id=table.table_id, fields=fields_of(table))


def fields_of(table: AppTable) -> dict[str, dict[str, Any]]:
    """Return the schema of a table by the names of its fields, all in the order in which they are written."""
    return {one["name"]: in_order(one) for one in table.fields}


def _entity_of_row(entity: AppEntity, tables: dict[int, str]) -> StoredEntity:
    return StoredEntity.model_construct(
        name=entity.name,
        table=tables[entity.table_id],
        row_id=entity.row_id,
        match_field=entity.match_field,
        match_value=entity.match_value,
        last_seen=local_day(entity.last_seen),
    )


def _workflow_of_row(workflow: AppWorkflow, tables: dict[int, str]) -> LearntWorkflow:
    return LearntWorkflow.model_construct(
        name=workflow.name,
        trigger=workflow.trigger,
        steps=workflow.steps,
        field=workflow.field,
        table=tables.get(workflow.table_id or 0, ""),
    )


def _choice(row: AmbiguousName | None, places: Sequence[AppEntity]) -> AmbiguousChoice:
    apps = {entity.table.app_id: entity.table.app for entity in places}
    if row:
        apps |= {app.pk: app for app in row.found_in.all()}
    found_in = [place for app in sorted(apps.values(), key=lambda app: app.pk) for place in _places(app, places)]
    default = place_of(row.default_app, row.default_table, places) if row and row.default_app else ""
    name = row.name if row else places[0].name
    return AmbiguousChoice.model_construct(name=name, found_in=found_in, default=default)


def _places(app: App, places: Iterable[AppEntity]) -> list[str]:
    within = [entity for entity in places if entity.table.app_id == app.pk]
    return [app.file] if len(within) < 2 else [f"{app.file}/{entity.table.name}" for entity in within]


def place_of(app: App, table: AppTable | None, places: Iterable[AppEntity]) -> str:
    """Return how a file names a place: the app, with the table where the name stands in several of its tables."""
    several = sum(entity.table.app_id == app.pk for entity in places) > 1
    return f"{app.file}/{table.name}" if table and several else app.file


def _with_counts(apps: QuerySet[App]) -> QuerySet[App]:
    """With how much is known of each: counted apart, because joined they would multiply."""
    return apps.annotate(
        table_count=_number_of(AppTable.objects.all(), "app"),
        entity_count=_number_of(AppEntity.objects.all(), "table__app"),
        workflow_count=_number_of(AppWorkflow.objects.all(), "app"),
    )


def _number_of(rows: QuerySet[Any], owner: str) -> Coalesce:
    counted = rows.filter(**{owner: OuterRef("pk")}).order_by().values(owner).annotate(number=Count("pk"))
    return Coalesce(Subquery(counted.values("number")), 0)


def _line(app: Any) -> AppLineShape:
    return AppLineShape(
        name=app.name,
        app_id=app.app_id,
        aliases=list(app.aliases),
        connector=app.connector,
        tables=app.table_count,
        entities=app.entity_count,
        workflows=app.workflow_count,
        version=app.version,
        bootstrapped_at=app.bootstrapped_at,
        reported_gone_at=app.reported_gone_at,
    )
