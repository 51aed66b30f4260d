"""Resolving a name to exact ids: known, ambiguous, or unknown with the cheapest way to find out (seed 000)."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Annotated, Any, Literal

from pydantic import Field
from rapidfuzz import fuzz

from accounts.actor import Actor
from bigmind.text.hygiene import echo, fold_name, mention, one_line
from knowledge.app_maps.argument_types import AnApp, LookedUp, Request
from knowledge.app_maps.connectors import available_connectors
from knowledge.app_maps.finding import apps_called, connector_of, entities_called, split_words
from knowledge.app_maps.lookups import RankedTable, RowSearch, learn_rows, look_up, may_look_up, rank_tables, values_of
from knowledge.app_maps.reading import fields_of, how_to_begin, see
from knowledge.app_maps.schema_changes import how_to_mend, problem_of
from knowledge.models import AmbiguousName, App, AppEntity, AppTable, AppWorkflow
from knowledge.search.nearest_names import SUGGEST_FROM, SUGGESTIONS, nearest
from knowledge.shapes.app_maps import WayShape

FITS = 60.0
"""Of 100: how much of a trigger's words a request must have."""
WORKFLOWS_SHOWN = 20
TABLES_SHOWN = 5
_PLACEHOLDER = re.compile(r"[\[［{<【〔][^\[\]［］{}<>【】〔〕]*[\]］}>】〕]")
PLACES_SHOWN = 10

Thing = App | AppTable | AppEntity


@dataclass(frozen=True)
class MapLocation:
    """One thing a name may mean."""

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
    values: Annotated[dict[str, str], Field(description="Where rows have one name: what tells this one apart.")] = (
        field(default_factory=dict)
    )


@dataclass(frozen=True)
class Resolved:
    """What a name means."""

    status: Literal["resolved", "ambiguous", "unknown"]
    name: str
    next_step: str
    place: MapLocation | None = None
    fields: Annotated[dict[str, dict[str, Any]], Field(description="The schema of the table.")] = field(
        default_factory=dict
    )
    workflows: list[WayShape] = field(default_factory=list)
    candidates: list[MapLocation] = field(default_factory=list)
    did_you_mean: list[str] = field(default_factory=list)
    looked_in: Annotated[list[str], Field(description="Tables that a connector just searched for it.")] = field(
        default_factory=list
    )


def resolve_name(actor: Actor, *, name: LookedUp, app: AnApp | None = None, request: Request | None = None) -> Resolved:
    """Turn the name of a row, table or app into exact ids, with the schema and the workflow to use.

    Call this first for any task in an outside app, before you discover anything. Returns the ids to go straight to the
    target; or `ambiguous` with the places to ask the user about; or `unknown` with the cheapest call that finds out. A
    connector, if there is one and you may use it, searches likely tables for unmapped names.
    """
    scope, error = _scope(app, request, name)
    if error is not None:
        return _no_such_app(name, app or "", error)
    found = _find_things(name, scope)
    ranked = [] if found else rank_tables(name, request or "", scope)
    search = RowSearch()
    # What the connector finds is learnt, so this takes a key that may write, though the operation reads. Decision 45.
    if not found and may_look_up(actor) and "write" in actor.scopes:
        search = look_up(name, [one.table for one in ranked])
        learn_rows(search)
        found = _find_things(name, scope) if search.rows else []
    if len(found) > 1:
        chosen = _default_among(name, found)
        found = [chosen] if chosen else found
    looked_in = [str(table) for table in search.looked_in]
    if len(found) == 1:
        return replace(_resolve_thing(name, found[0], request or ""), looked_in=looked_in)
    if found:
        return replace(_ambiguous(name, found), looked_in=looked_in)
    if search.rows:
        return _choose_row(name, search)
    return _unknown(name, scope, ranked, search)


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
    return " ".join(split_words(text))


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
        _how_to_use(thing) + how_to_mend({one.name: one.problem for one in ways if one.problem}),
        place=place_of_thing(thing),
        fields=fields_of(table) if table else {},
        workflows=ways,
    )


def _how_to_use(thing: Thing) -> str:
    app, table = _app_of(thing), _table_of(thing)
    if app.reported_gone_at or (table and table.reported_gone_at):
        what = app if app.reported_gone_at else table
        return (
            f"Careful: {echo(what)} was reported gone. Check it (1 call), and tell app_report_failure what you found."
        )
    if isinstance(thing, AppEntity):
        if not thing.row_id:
            return _how_to_find_row(thing.table, thing.name, thing.match_field, thing.match_value)
        return "Use the ids directly, no discovery call. If the row answers 404: app_report_failure, failure row_gone."
    if isinstance(thing, AppTable):
        return "Use the ids directly. If a field does not exist: app_report_failure, failure schema_changed."
    return f"app_get shows what is known of {echo(app)}."


def _ways(app: App, table: AppTable | None, request: str, name: str) -> list[WayShape]:
    """The workflows of the app, those that fit the request first; those of other tables are left out."""
    rows = app.workflows.order_by("pk").select_related("table")
    usable = [one for one in rows if not (table and one.table_id) or one.table_id == table.pk]
    scored = [(_fit(one, request, name), one) for one in usable]
    best = max((score for score, _ in scored), default=0.0)
    ordered = sorted(scored, key=lambda pair: -pair[0])[:WORKFLOWS_SHOWN]
    fitting = [one for score, one in ordered if request and score >= FITS and score == best]
    see(*fitting)
    shown = fitting or [one for _, one in ordered]
    return [describe_workflow(one, table or one.table, fits=one in fitting) for one in shown]


def describe_workflow(workflow: AppWorkflow, table: AppTable | None, *, fits: bool = False) -> WayShape:
    """Return a workflow as it is shown for a table. One that names a field that is gone there fits nothing."""
    problem = problem_of(workflow, table)
    return WayShape(
        name=workflow.name,
        trigger=workflow.trigger,
        steps=workflow.steps,
        field=workflow.field,
        fits=fits and not problem,
        problem=problem,
    )


def _fit(workflow: AppWorkflow, request: str, name: str) -> float:
    """How much of the words of a trigger a request has, in the best of the trigger's wordings, 0 to 100."""
    if not request:
        return 0.0
    text = " ".join(set(_words(request).split()) - set(_words(name).split()))
    return max(fuzz.token_set_ratio(text, wording) for wording in _wordings(workflow))


def _wordings(workflow: AppWorkflow) -> list[str]:
    """`add comment/note on [entity]` says two things; what stands in brackets is a name, and no word of it counts."""
    wordings = [""]
    # Each word with slashes multiplies the wordings, so both are bounded.
    for word in one_line(_PLACEHOLDER.sub(" ", workflow.trigger)).split() or [workflow.name]:
        parts = [part for part in re.split("[/／]", word) if part][:8]
        wordings = [f"{before} {part}".strip() for before in wordings[:16] for part in parts]
    return [_words(wording) for wording in wordings]


def _ambiguous(name: str, found: Sequence[Thing]) -> Resolved:
    places = [place_of_thing(one) for one in found[:PLACES_SHOWN]]
    where = ", ".join(
        dict.fromkeys(f"{mention(one.app)} › {mention(one.table)}" if one.table else mention(one.app) for one in places)
    )
    more = f", or one of {len(found) - len(places)} others (say `app`)" if len(found) > len(places) else ""
    step = (
        f"Ask the user which {echo(name)} is meant: {where}{more}. Then call app_set_default with their choice, so "
        "that nobody is asked again; or say `app` for this once."
    )
    return Resolved("ambiguous", name, step, candidates=places)


def _choose_row(name: str, search: RowSearch) -> Resolved:
    """Several rows of one table have this name: no map can keep them apart, people can."""
    places = [
        MapLocation(
            "entity",
            name,
            table.app.name,
            table.app.app_id,
            table.name,
            table.table_id,
            row.row_id,
            values=values_of(row, table),
        )
        for table, row in search.rows
    ]
    step = (
        f"{len(places)} rows are called {mention(name)}. Ask the user which is meant, use its row id, and hand it to "
        "app_learn under a name that tells it apart."
    )
    return Resolved("ambiguous", name, step, candidates=places, looked_in=[str(one) for one in search.looked_in])


def _unknown(name: str, scope: App | None, ranked: Sequence[RankedTable], search: RowSearch) -> Resolved:
    entities = AppEntity.objects.filter(**({"table__app": scope} if scope else {}))
    tables = AppTable.objects.filter(**({"app": scope} if scope else {})).order_by("-last_seen")
    names = [
        *search.near,
        *entities.order_by("-last_seen").values_list("name", flat=True)[:SUGGEST_FROM],
        *tables.values_list("name", flat=True)[:SUGGEST_FROM],
    ]
    left = [one.table for one in ranked if one.is_likely and one.table not in search.looked_in]
    looked_in = [str(table) for table in search.looked_in]
    step = "".join(f"BigMind could not look itself: {one_line(error)} " for error in search.errors[:1])
    if looked_in:
        listed = ", ".join(map(mention, looked_in))
        step = f"BigMind looked in {len(looked_in)} tables, and no row is called so: {listed}. "
    step += _cheapest_step(name, scope, left[:TABLES_SHOWN], is_looked_for=bool(looked_in), known=tables.count())
    near = list(dict.fromkeys([*search.near, *nearest(name, names)]))[:SUGGESTIONS]
    return Resolved("unknown", name, step, did_you_mean=near, looked_in=looked_in)


def _cheapest_step(name: str, scope: App | None, tables: Sequence[AppTable], *, is_looked_for: bool, known: int) -> str:
    if tables:
        table = tables[0]
        others = ", ".join(f"{mention(one.name)} ({id_of_table(one)}, {mention(one.app)})" for one in tables[1:])
        more = f" Else the next likeliest: {others}." if others else ""
        return f"{_how_to_find_row(table, name, table.primary, name)}{more}"
    if known:
        where = f"in which table of {mention(scope)}" if scope else "in which app and table"
        how = "how it is spelled, or " if is_looked_for else ""
        return f"Ask the user {how}{where} it is, and resolve again with `app` and a `request` that says so."
    if scope:
        if connector_of(scope):
            return f"Call app_rebuild with app {echo(scope)}: BigMind reads its tables itself, no call of yours."
        return (
            f"No table of {echo(scope)} is known. Call get_tables for the app {mention(scope.app_id)} (1 call), "
            "hand names and ids to app_learn, and resolve again."
        )
    return how_to_begin() if not App.objects.exists() else _discover_more()


def _how_to_find_row(table: AppTable, name: str, field: str, value: str) -> str:
    where = f"{mention(field)} = {mention(value)}" if field and value else f"the name field = {mention(name)}"
    app_id = mention(table.app.app_id)
    first = "" if table.table_id else f"Call get_tables for the app {app_id} (1 call) for the id of the table. "
    return (
        f"{first}Call query_records in {mention(table.name)} ({id_of_table(table)}) of {mention(str(table.app))} "
        f"({app_id}) where {where} (1 call), then hand what you find to app_learn."
    )


def id_of_table(table: AppTable) -> str:
    """Return the id of a table for a next step, or that it is unknown."""
    return mention(table.table_id) if table.table_id else "id unknown"


def _discover_more() -> str:
    return (
        "No table is known yet. Call get_tables for the app that fits best (1 call; app_list has their ids), hand "
        "names and ids to app_learn, and resolve again."
    )


def _no_such_app(name: str, app: str, found: list[App]) -> Resolved:
    if found:
        places = [place_of_thing(one) for one in found]
        step = f"{echo(app)} is another name of several apps. Ask the user which is meant, and say it by its id."
        return Resolved("ambiguous", name, step, candidates=places)
    names = [one for each in App.objects.all() for one in (each.name, *each.aliases)]
    step = (
        f"No app is called {echo(app)}. Call discover_apps (1 call) for its id and get_tables for it (1 call), "
        "hand both to app_bootstrap, and resolve again."
    )
    if available_connectors():
        step = f"No app is called {echo(app)}. {how_to_begin()}"
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
