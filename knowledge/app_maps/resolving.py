"""Resolving a name to exact ids: known, ambiguous, or unknown with the cheapest way to find out (seed 000)."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal

from rapidfuzz import fuzz

from accounts.actor import Actor
from bigmind.core.text import fold_name, one_line, quote
from knowledge.app_maps.connectors import available_connectors
from knowledge.app_maps.finding import apps_called, entities_called
from knowledge.app_maps.reading import fields_of, how_to_begin, see
from knowledge.app_maps.vocabulary import AnApp, LookedUp, Request
from knowledge.models import AmbiguousName, App, AppEntity, AppTable, AppWorkflow
from knowledge.search.names import SUGGEST_FROM, nearest
from knowledge.shapes.app_maps import WayShape

FITS = 60.0
"""Of 100: how much of a trigger's words a request must have."""
WORKFLOWS_SHOWN = 20
TABLES_SHOWN = 20

Thing = App | AppTable | AppEntity


@dataclass(frozen=True)
class MapLocation:
    """One thing a name may mean: where it is, by name and id."""

    kind: str
    name: str
    app: str
    app_id: str
    table: str = ""
    table_id: str = ""
    row_id: str = ""
    match_field: str = ""
    match_value: str = ""
    last_seen: datetime | None = None
    reported_gone_at: datetime | None = None


@dataclass(frozen=True)
class Resolved:
    """What a name means. `next_step` says what to do now, in words that name the calls."""

    status: Literal["resolved", "ambiguous", "unknown"]
    name: str
    next_step: str
    place: MapLocation | None = None
    fields: dict[str, dict[str, Any]] = field(default_factory=dict)
    workflows: list[WayShape] = field(default_factory=list)
    candidates: list[MapLocation] = field(default_factory=list)
    did_you_mean: list[str] = field(default_factory=list)


def resolve_name(actor: Actor, *, name: LookedUp, app: AnApp | None = None, request: Request | None = None) -> Resolved:
    """Turn the name of a row, table or app into exact ids, with the schema and the workflow to use.

    Call this first for any task in an outside app, before you discover anything. Returns the ids to go straight to the
    target; or `ambiguous` with the places to ask the user about; or `unknown` with the cheapest call that finds out.
    """
    scope, error = _scope(app, request, name)
    if error is not None:
        return _no_such_app(name, app or "", error)
    found = _find_things(name, scope)
    if len(found) > 1:
        chosen = _default_among(name, found)
        found = [chosen] if chosen else found
    if len(found) == 1:
        return _resolve_thing(name, found[0], request or "")
    if found:
        return _ambiguous(name, found)
    return _unknown(name, scope)


def _scope(app: str | None, request: str | None, name: str) -> tuple[App | None, list[App] | None]:
    """The app that was said, or that the request speaks of; or what stands in the way of knowing which is meant."""
    if app is not None:
        named = apps_called(app)
        return (named[0], None) if len(named) == 1 else (None, named or [])
    spoken_of = [one for one in App.objects.order_by("pk") if _speaks_of(request or "", one, name)]
    return (spoken_of[0] if len(spoken_of) == 1 else None), None


def _speaks_of(request: str, app: App, name: str) -> bool:
    """Whether a request says the name or an alias of an app, apart from the name that is asked for."""
    text = f" {_words(request)} ".replace(f" {_words(name)} ", " ")
    return any(f" {_words(one)} " in text for one in (app.name, *app.aliases) if _words(one))


def _words(text: str) -> str:
    return " ".join(re.findall(r"\w+", text.casefold()))


def _find_things(name: str, scope: App | None) -> Sequence[Thing]:
    """The entities of this name; else the tables; else the apps."""
    if entities := entities_called(name, app=scope):
        return entities
    tables = AppTable.objects.filter(look_up=fold_name(name)).select_related("app").order_by("pk")
    by_id = AppTable.objects.filter(table_id=name).select_related("app").order_by("pk")
    for rows in (by_id, tables):
        if found := list(rows.filter(app=scope) if scope else rows):
            return found
    return [one for one in apps_called(name) if scope in {None, one}]


def _default_among(name: str, found: Sequence[Thing]) -> Thing | None:
    """What someone once chose for this name, if it is among these."""
    choice = AmbiguousName.objects.filter(look_up=fold_name(name)).exclude(default_app=None).first()
    if choice is None:
        return None
    within = [one for one in found if _app_of(one).pk == choice.default_app_id]
    if choice.default_table_id:
        within = [one for one in within if _table_of(one) and _table_of(one).pk == choice.default_table_id] or within  # type: ignore[union-attr]
    return within[0] if len(within) == 1 else None


def _resolve_thing(name: str, thing: Thing, request: str) -> Resolved:
    app, table = _app_of(thing), _table_of(thing)
    see(thing, *([table] if table and table != thing else []), app)
    ways = _ways(app, table, request, name)
    return Resolved(
        "resolved",
        thing.name,
        _how_to_use(thing),
        place=place_of_thing(thing),
        fields=fields_of(table) if table else {},
        workflows=ways,
    )


def _how_to_use(thing: Thing) -> str:
    app, table = _app_of(thing), _table_of(thing)
    if app.reported_gone_at or (table and table.reported_gone_at):
        what = app if app.reported_gone_at else table
        return f"Careful: “{what}” was reported gone. Check it (1 call), and tell app_report_failure what you found."
    if isinstance(thing, AppEntity):
        if not thing.row_id:
            return _how_to_find_row(thing.table, thing.name, thing.match_field, thing.match_value)
        return "Use the ids directly, no discovery call. If the row answers 404: app_report_failure, failure row_gone."
    if isinstance(thing, AppTable):
        return "Use the ids directly. If a field does not exist: app_report_failure, failure schema_changed."
    return f"app_get shows what is known of “{app}”."


def _ways(app: App, table: AppTable | None, request: str, name: str) -> list[WayShape]:
    """The workflows of the app, those that fit the request first; those of other tables are left out."""
    rows = app.workflows.order_by("pk")
    usable = [one for one in rows if not (table and one.table_id) or one.table_id == table.pk]
    scored = [(_fit(one, request, name), one) for one in usable]
    best = max((score for score, _ in scored), default=0.0)
    ordered = sorted(scored, key=lambda pair: -pair[0])[:WORKFLOWS_SHOWN]
    fitting = [one for score, one in ordered if request and score >= FITS and score == best]
    see(*fitting)
    shown = fitting or [one for _, one in ordered]
    return [
        WayShape(name=one.name, trigger=one.trigger, steps=one.steps, field=one.field, fits=one in fitting)
        for one in shown
    ]


def _fit(workflow: AppWorkflow, request: str, name: str) -> float:
    """How much of the words of a trigger a request has, in the best of the trigger's wordings, 0 to 100."""
    if not request:
        return 0.0
    text = " ".join(set(_words(request).split()) - set(_words(name).split()))
    return max(fuzz.token_set_ratio(text, wording) for wording in _wordings(workflow))


def _wordings(workflow: AppWorkflow) -> list[str]:
    """`add comment/note on [entity]` says two things; what stands in brackets is a name, and no word of it counts."""
    wordings = [""]
    for word in one_line(re.sub(r"\[[^\[\]]*\]", " ", workflow.trigger)).split() or [workflow.name]:
        parts = [part for part in word.split("/") if part][:8]
        wordings = [f"{before} {part}".strip() for before in wordings[:16] for part in parts]
    return [_words(wording) for wording in wordings]


def _ambiguous(name: str, found: Sequence[Thing]) -> Resolved:
    places = [place_of_thing(one) for one in found]
    where = ", ".join(dict.fromkeys(f"{one.app} › {one.table}" if one.table else one.app for one in places))
    step = (
        f"Ask the user which “{name}” is meant: {where}. Then call app_set_default with their choice, so that nobody "
        "is asked again; or say `app` for this once."
    )
    return Resolved("ambiguous", name, step, candidates=places)


def _unknown(name: str, scope: App | None) -> Resolved:
    entities = AppEntity.objects.filter(**({"table__app": scope} if scope else {}))
    tables = AppTable.objects.filter(**({"app": scope} if scope else {})).select_related("app").order_by("-last_seen")
    names = [
        *entities.order_by("-last_seen").values_list("name", flat=True)[:SUGGEST_FROM],
        *tables.values_list("name", flat=True)[:SUGGEST_FROM],
    ]
    remembered = _tables_of_default(name, scope)
    step = _cheapest_step(name, scope, remembered or list(tables[:TABLES_SHOWN]))
    return Resolved("unknown", name, step, did_you_mean=nearest(name, names))


def _tables_of_default(name: str, scope: App | None) -> list[AppTable]:
    """The tables of the app that someone chose for this name, where the row itself has been forgotten."""
    choice = AmbiguousName.objects.filter(look_up=fold_name(name)).select_related("default_app").first()
    if choice is None or choice.default_app is None or scope not in {None, choice.default_app}:
        return []
    return list(choice.default_app.tables.select_related("app").order_by("-last_seen")[:TABLES_SHOWN])


def _cheapest_step(name: str, scope: App | None, tables: Sequence[AppTable]) -> str:
    if tables:
        table = tables[0]
        others = ", ".join(f"{one.name} ({one.table_id or 'id unknown'}, {one.app})" for one in tables[1:])
        more = f" Else the next table: {others}." if others else ""
        return f"{_how_to_find_row(table, name, table.primary, name)}{more}"
    if scope:
        if scope.connector in available_connectors():
            return f"Call app_rebuild with app “{scope}”: BigMind reads its tables itself, no call of yours."
        return (
            f"No table of “{scope}” is known. Call get_tables for the app {scope.app_id} (1 call), hand names and ids "
            "to app_learn, and resolve again."
        )
    return how_to_begin() if not App.objects.exists() else _discover_more()


def _how_to_find_row(table: AppTable, name: str, field: str, value: str) -> str:
    where = f"{quote(field)} = {quote(value)}" if field and value else f"the name field = {quote(name)}"
    app_id, table_id = quote(table.app.app_id), quote(table.table_id)
    first = "" if table_id else f"Call get_tables for the app {app_id} (1 call) for the id of the table. "
    return (
        f"{first}Call query_records in {quote(table.name)} ({table_id or 'id unknown'}) of {quote(str(table.app))} "
        f"({app_id}) where {where} (1 call), then hand what you find to app_learn."
    )


def _discover_more() -> str:
    return (
        "No table is known yet. Call get_tables for the app that fits best (1 call; app_list has their ids), hand "
        "names and ids to app_learn, and resolve again."
    )


def _no_such_app(name: str, app: str, found: list[App]) -> Resolved:
    if found:
        places = [place_of_thing(one) for one in found]
        step = f"“{app}” is another name of several apps. Ask the user which is meant, and say it by its id."
        return Resolved("ambiguous", name, step, candidates=places)
    names = [one for each in App.objects.all() for one in (each.name, *each.aliases)]
    step = (
        f"No app is called “{app}”. Call discover_apps (1 call) for its id and get_tables for it (1 call), hand both "
        "to app_bootstrap, and resolve again."
    )
    if available_connectors():
        step = f"No app is called “{app}”. {how_to_begin()}"
    return Resolved("unknown", name, step, did_you_mean=nearest(app, names))


def place_of_thing(thing: Thing) -> MapLocation:
    """Return where something is, by name and id."""
    app, table = _app_of(thing), _table_of(thing)
    found_by: dict[str, Any] = {}
    if isinstance(thing, AppEntity):
        found_by = {name: getattr(thing, name) for name in ("row_id", "match_field", "match_value", "last_seen")}
    kind = "entity" if isinstance(thing, AppEntity) else "table" if table else "app"
    gone = app.reported_gone_at or (table.reported_gone_at if table else None)
    names = (table.name, table.table_id) if table else ("", "")
    return MapLocation(kind, thing.name, app.name, app.app_id, *names, reported_gone_at=gone, **found_by)


def _app_of(thing: Thing) -> App:
    if isinstance(thing, AppEntity):
        return thing.table.app
    return thing.app if isinstance(thing, AppTable) else thing


def _table_of(thing: Thing) -> AppTable | None:
    if isinstance(thing, AppEntity):
        return thing.table
    return thing if isinstance(thing, AppTable) else None
