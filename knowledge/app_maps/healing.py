"""Healing: a map is trusted until a call with it fails; then the row, table or app is looked up again."""

from dataclasses import dataclass, field, replace
from datetime import timedelta
from typing import Annotated, Any, Literal

from django.db import transaction
from django.utils import timezone
from pydantic import Field

from accounts.actor import Actor
from accounts.models import Agent, User
from bigmind.core.errors import Invalid
from bigmind.text.hygiene import echo, fold_name, mention, one_line
from knowledge.app_maps.argument_types import AnApp, AnEntity, ATable, Fields, OutsideId
from knowledge.app_maps.connectors.contract import Connector, ConnectorError, DiscoveredApp, DiscoveredRow
from knowledge.app_maps.finding import (
    app_called,
    apps_called,
    connector_of,
    entities_called,
    entity_of,
    lock,
    table_of,
    take_turn,
)
from knowledge.app_maps.forgetting import forget_app, forget_entity, forget_table, may_clear, note_change
from knowledge.app_maps.learning import (
    clean_text,
    index_entities_of,
    index_entity,
    index_table,
    take_new_name,
    to_learnt_table,
)
from knowledge.app_maps.lookups import may_look_up, values_of
from knowledge.app_maps.reading import fields_of
from knowledge.app_maps.resolving import MapLocation, Thing, describe_workflow, id_of_table, place_of_thing
from knowledge.app_maps.schema_changes import SchemaChange, has_field, how_to_mend, replace_fields
from knowledge.models import App, AppEntity, AppTable, Failure, Healed, Healing
from knowledge.shapes.app_maps import WayShape

ROWS_COMPARED = 5
LATELY = timedelta(minutes=15)
"""How long a repair counts as the answer to a report that does not say which id failed."""

FailureName = Annotated[
    Literal["row_gone", "schema_changed", "table_gone", "app_gone"],
    Field(description="What failed: 404 on the row, unknown field, table or app not found."),
]
OutcomeName = Annotated[
    Literal["found", "not_found"], Field(description="Result of the suggested step. Omit it on the first call.")
]
FailedId = Annotated[OutsideId, Field(description="The id that failed.")]
FoundId = Annotated[OutsideId, Field(description="With `found`: its current id.")]
FoundFields = Annotated[Fields, Field(description="With `found`: the whole current schema.")]


@dataclass(frozen=True)
class Mended:
    """Result of a report."""

    status: Literal["healed", "unchanged", "next_step", "choose", "forgotten", "reported"]
    next_step: str
    place: MapLocation | None = None
    fields: dict[str, dict[str, Any]] = field(default_factory=dict)
    candidates: list[dict[str, str]] = field(default_factory=list)
    workflows: Annotated[
        list[WayShape], Field(description="Those that used removed fields: fixed, or with a problem.")
    ] = field(default_factory=list)


@dataclass(frozen=True)
class Report:
    """One report of a failure, with who made it and what they found. `is_check`: it is a routine check."""

    user: User | None
    agent: Agent | None
    may_clear: bool
    may_look_up: bool
    failure: str
    app: App
    connector: Connector | None
    outcome: str | None = None
    failed_id: str = ""
    found_id: str = ""
    fields: dict[str, dict[str, Any]] | None = None
    is_check: bool = False

    def note(self, outcome: Healed, *, subject: str = "", failed: str = "", found: str = "") -> None:
        """Write the history."""
        if self.is_check and outcome is Healed.UNCHANGED:
            return
        by_connector = self.app.connector if self.connector and self.outcome is None else ""
        Healing.objects.create(
            app=self.app if self.app.pk else None,
            app_name=self.app.name,
            subject=subject,
            failure=self.failure,
            outcome=outcome,
            failed=failed or self.failed_id,
            found=found[:1_000],
            user=self.user,
            agent=self.agent,
            by_connector=by_connector,
        )


WAITS_FOR_CURATOR = (
    "That the {what} is gone is noted, and everybody who asks for it is warned. A curator decides whether all that is "
    "known of it is forgotten: app_forget."
)


def require_argument(name: str, value: str | None) -> str:
    """Return an argument that this report cannot do without."""
    if value is None:
        raise Invalid.of(name, "is required here")
    return value


def row_gone(report: Report, name: str, table: str | None) -> Mended:
    """Fix a row that is not where the map says, or say what to do next."""
    within = table_of(report.app, table) if table else None
    if not entities_called(name, app=report.app, table=within):
        return _not_known(name)
    entity = entity_of(report.app, name, within)
    if mended := _answer_mended(report, entity, "row", entity.row_id):
        return mended
    if report.outcome == "found":
        return _row_found(report, entity, require_argument("found_id", report.found_id or None))
    if report.outcome == "not_found":
        return _row_lost(report, entity)
    # The key of the connector sees every row. Members could teach the map a row with any field and value, and read from
    # the reply whether there is one: so they look themselves, with what they may see. Decision 45.
    if report.connector and report.may_look_up:
        try:
            return climb(report, report.connector, entity)
        except ConnectorError as error:
            return _ask_for_row(entity, f"BigMind could not look itself: {one_line(str(error))} ")
    return _ask_for_row(entity)


def _not_known(name: str) -> Mended:
    step = f"The map does not know {echo(name)} any more. If it is there, hand it to app_learn with its id."
    return Mended("forgotten", step)


def _answer_mended(report: Report, thing: Thing, what: str, id: str) -> Mended | None:
    """Return the reply to a report of an id that was mended meanwhile; None where the map still has that id.

    A report that says a thing is gone and not which id failed is taken to be about the id before, where it was mended a
    short while ago: what several agents met at once is forgotten by none of them after another has found it.
    """
    if report.failed_id:
        is_mended = bool(id) and id != report.failed_id
    else:
        subject = "" if isinstance(thing, App) else _subject(thing) if isinstance(thing, AppEntity) else thing.name
        lately = Healing.objects.filter(app=report.app, subject=subject, at__gt=timezone.now() - LATELY)
        is_mended = report.outcome == "not_found" and lately.filter(found__startswith=f"{what} id ").exists()
    if not is_mended:
        return None
    step = f"Someone mended this already: go on with the {what} id of this reply. If it fails too, say it as failed_id."
    return Mended("healed", step, place=place_of_thing(thing))


def climb(report: Report, connector: Connector, entity: AppEntity) -> Mended:
    """Look for a row by its id, then by the field it is found by: an id may have been given to another row."""
    app_id, table_id = entity.table.app.app_id, entity.table.table_id
    field, value = _match_of(entity)
    there = connector.row(app_id, table_id, entity.row_id) if entity.row_id else None
    if there and (not field or _is_same(there.values.get(field), value)):
        report.note(Healed.UNCHANGED, subject=_subject(entity), failed=entity.row_id)
        return Mended("unchanged", _say_there(entity, there, field), place=place_of_thing(entity))
    if not field:
        return _ask_for_row(entity)
    try:
        rows = connector.find_rows(app_id, table_id, field, value, limit=ROWS_COMPARED)
    except ConnectorError:
        # Some systems refuse a search by a field that is gone, and others find nothing: both are looked into. A check
        # of a whole map has read the schemas before its rows.
        if report.is_check or (changed := _heal_match(report, connector, entity, field)) is None:
            raise
        return changed
    # A search by a missing field finds nothing, which is no reason to forget a row.
    if not rows and not report.is_check and (changed := _heal_match(report, connector, entity, field)):
        return changed
    # The system may find equal what differs in writing, such as 7 and 7.0.
    if there and any(row.row_id == there.row_id for row in rows):
        return _row_found(report, entity, there.row_id)
    if len(rows) > 1:
        return _several(entity, field, value, rows)
    return _row_found(report, entity, rows[0].row_id) if rows else _row_lost(report, entity, there)


def _is_same(found: object, value: str) -> bool:
    """Whether a row's value is the one that the map knows it by, in any case."""
    return isinstance(found, str | int | float) and str(found).strip().casefold() == value.strip().casefold()


def _say_there(entity: AppEntity, row: DiscoveredRow, field: str) -> str:
    """Say that the row is there, and how far it is known to be the same."""
    if field:
        return (
            "The row is there: its id is right. If you used another one, go on with this; else look at what else may "
            "be wrong, such as a field or your permission."
        )
    shown = ", ".join(f"{mention(name)} = {mention(value)}" for name, value in values_of(row, entity.table).items())
    return (
        f"There is a row with this id ({shown or 'without values'}), and the map has no field to tell whether it is "
        f"still {echo(entity.name)}: ids are given again. Compare it, and say its field with app_learn."
    )


def _heal_match(report: Report, connector: Connector, entity: AppEntity, field: str) -> Mended | None:
    """Look whether the table, or the field that a row is found by, is gone; then mend that first, and climb again."""
    found = connector.table(report.app.app_id, entity.table.table_id)
    if found is None:
        return table_wrong(replace(report, failure=Failure.TABLE_GONE), entity.table)
    if not found.fields or field in found.fields:
        return None
    _table_found(replace(report, failure=Failure.SCHEMA_CHANGED), entity.table, "", to_learnt_table(found).fields)
    entity = entity_of(report.app, entity.name, table_of(report.app, entity.table.name))
    return climb(report, connector, entity) if _match_of(entity)[0] != field else _ask_for_row(entity)


def _match_of(entity: AppEntity) -> tuple[str, str]:
    """The field and value a row is found by; where none was learnt or is there, its name in the primary field."""
    is_there = not entity.table.fields or has_field(entity.table, entity.match_field)
    if entity.match_field and entity.match_value and is_there:
        return entity.match_field, entity.match_value
    return (entity.table.primary, entity.name) if entity.table.primary else ("", "")


def _ask_for_row(entity: AppEntity, why: str = "") -> Mended:
    field, value = _match_of(entity)
    table = f"{mention(entity.table.name)} ({id_of_table(entity.table)})"
    query = (
        f"Query {table} by {mention(field)} = {mention(value)} (1 call)"
        if field
        else f"Look for {echo(entity.name)} in {table}"
    )
    step = (
        f"{why}{query}. Then call app_report_failure again: outcome found with found_id when there is a row, "
        "else not_found, and it is forgotten."
    )
    return Mended("next_step", step, place=place_of_thing(entity))


def _several(entity: AppEntity, field: str, value: str, rows: list[DiscoveredRow]) -> Mended:
    """Name the rows, with what tells them apart."""
    candidates = [{"row_id": row.row_id, **values_of(row, entity.table)} for row in rows]
    step = (
        f"{len(rows)} rows have {mention(field)} = {mention(value)}. Ask the user which is meant, then call "
        "app_report_failure again with outcome found and its found_id."
    )
    return Mended("choose", step, place=place_of_thing(entity), candidates=candidates)


@transaction.atomic
def _row_found(report: Report, entity: AppEntity, row_id: str) -> Mended:
    app = lock(report.app)
    now = _still(entity)
    if now is None:
        return _not_known(entity.name)
    before = now.row_id
    if mended := _answer_mended(replace(report, failed_id=report.failed_id or entity.row_id), now, "row", before):
        return mended
    if before == row_id:
        report.note(Healed.UNCHANGED, subject=_subject(now), failed=before)
        return Mended("unchanged", "The map has this row id already.", place=place_of_thing(now))
    now.row_id, now.last_seen = row_id, timezone.now()
    now.save(update_fields=["row_id", "last_seen"])
    index_entity(now)
    note_change(app)
    report.note(Healed.FOUND, subject=_subject(now), failed=before, found=f"row id {row_id}")
    return Mended("healed", "The map is mended for everybody. Go on with this row id.", place=place_of_thing(now))


@transaction.atomic
def _row_lost(report: Report, entity: AppEntity, other: DiscoveredRow | None = None) -> Mended:
    """Forget a row; `other` has its id now, and another value."""
    lock(report.app)
    now = _still(entity)
    if now is None:
        return _not_known(entity.name)
    if mended := _answer_mended(replace(report, failed_id=report.failed_id or entity.row_id), now, "row", now.row_id):
        return mended
    step = f"{echo(now.name)} was deleted outside, and is forgotten. Tell the user."
    if other:
        field, _ = _match_of(now)
        says = mention(str(other.values.get(field) or "nothing"))
        step = (
            f"No row is {echo(now.name)} any more, so it is forgotten. Do not write to the row with its id: "
            f"{mention(field)} says {says} there. If that is its new name, say so with app_learn."
        )
    report.note(Healed.FORGOTTEN, subject=_subject(now), failed=now.row_id)
    forget_entity(now)
    return Mended("forgotten", step)


def _still(entity: AppEntity) -> AppEntity | None:
    """The row in its current state, read behind the lock of its app; None where it was forgotten meanwhile."""
    return AppEntity.objects.filter(pk=entity.pk).select_related("table__app").first()


def _subject(entity: AppEntity) -> str:
    return f"{entity.table.name} › {entity.name}"


def table_wrong(report: Report, table: AppTable) -> Mended:
    """Fix a table that is gone or has other fields, or say what to do next."""
    if mended := _answer_mended(report, table, "table", table.table_id):
        return mended
    if report.outcome == "found":
        return _table_found(report, table, report.found_id, report.fields)
    if report.outcome == "not_found":
        return _table_lost(report, table)
    if report.connector:
        try:
            return _look_at_table(report, report.connector, table)
        except ConnectorError as error:
            return _ask_for_table(report, table, f"BigMind could not look itself: {one_line(str(error))} ")
    return _ask_for_table(report, table)


def _look_at_table(report: Report, connector: Connector, table: AppTable) -> Mended:
    """Look for a table by its id, then by its name."""
    found = connector.table(report.app.app_id, table.table_id) if table.table_id else None
    if found is None or not _is_called(found.name, table.name):
        # Its name leads on: an id may have been given to another table. Of two with its name nobody knows which it is.
        named = [one for one in connector.tables(report.app.app_id) if _is_called(one.name, table.name)]
        if len(named) == 1:
            found = named[0]
        elif found and table.fields and found.fields and not any(has_field(table, name) for name in found.fields):
            found = None  # Neither its name nor any field: it is another one.
    if found is None:
        return _table_lost(report, table)
    fit = to_learnt_table(found)
    return _table_found(report, table, fit.table_id, fit.fields or None, name=fit.name)


def _ask_for_table(report: Report, table: AppTable, why: str = "") -> Mended:
    if report.failure == Failure.TABLE_GONE:
        call = f"Call get_tables for the app {mention(report.app.app_id)} (1 call) and look for {echo(table.name)}"
    else:
        call = f"Call get_table_schema for {mention(table.name)} ({id_of_table(table)}) (1 call)"
    step = (
        f"{why}{call}. Then call app_report_failure again: outcome found with found_id, and `fields` where they "
        "changed, else not_found."
    )
    return Mended("next_step", step, place=place_of_thing(table), fields=fields_of(table))


@transaction.atomic
def _table_found(
    report: Report, table: AppTable, table_id: str, fields: dict[str, dict[str, Any]] | None, *, name: str = ""
) -> Mended:
    app = lock(report.app)
    table = table_of(app, table.name)  # Read behind the lock: someone may have mended it meanwhile.
    before = (table.table_id, table.fields, table.name)
    if name and not app.tables.filter(look_up=fold_name(name)).exists():
        table.rename(name)
    # An agent may be wrong about the id, and one that another table of the app has would violate its constraint.
    if table_id and not app.tables.filter(table_id=table_id).exclude(pk=table.pk).exists():
        table.table_id = table_id
    table.last_seen, table.reported_gone_at = timezone.now(), None
    table.save()
    # Overwritten, not merged: fields that are gone must disappear.
    change = replace_fields(table, fields) if fields is not None else SchemaChange()
    if before == (table.table_id, table.fields, table.name):
        report.note(Healed.UNCHANGED, subject=table.name)
        step = "The table is as the map says. Look at what else may be wrong, such as your permission."
        return Mended("unchanged", step, place=place_of_thing(table), fields=fields_of(table))
    index_table(table)
    if before[2] != table.name:
        index_entities_of(table)
    note_change(app)
    new_id = f"table id {table.table_id}" if before[0] != table.table_id else ""
    new_name = f"called {table.name}" if before[2] != table.name else ""
    found = "; ".join(filter(None, [new_id, new_name, change.for_history()]))
    report.note(Healed.FOUND, subject=before[2], found=found)
    ways = [describe_workflow(one, table) for one in (*change.mended, *change.flagged)]
    problems = how_to_mend({one.name: one.problem for one in ways if one.problem})
    renamed = "".join(f" {mention(old)} is {mention(new)} now." for old, new in change.renamed.items())
    called = f" The table is called {mention(table)} now." if new_name else ""
    step = f"The map is mended for everybody. Go on with what stands here.{called}{renamed}{problems}"
    return Mended("healed", step, place=place_of_thing(table), fields=fields_of(table), workflows=ways)


@transaction.atomic
def _table_lost(report: Report, table: AppTable) -> Mended:
    lock(report.app)
    # Anyone else only warns the others, who rely on what would go with it: a report may be wrong.
    if report.may_clear:
        report.note(Healed.FORGOTTEN, subject=table.name, failed=table.table_id)
        gone = forget_table(table)
        step = f"The table {mention(table.name)} is gone, and forgotten with {gone.entities} entities. Tell the user."
        return Mended("forgotten", step)
    AppTable.objects.filter(pk=table.pk).update(reported_gone_at=timezone.now())
    report.note(Healed.REPORTED, subject=table.name, failed=table.table_id)
    return Mended(
        "reported", WAITS_FOR_CURATOR.format(what=f"table {mention(table.name)}"), place=place_of_thing(table)
    )


def app_gone(report: Report) -> Mended:
    """Fix an app that is gone, or say what to do next."""
    app = report.app
    if mended := _answer_mended(report, app, "app", app.app_id):
        return mended
    if report.outcome == "found":
        return note_app(report, require_argument("found_id", report.found_id or None))
    if report.outcome == "not_found":
        return _app_lost(report)
    if report.connector:
        try:
            return _look_at_app(report, report.connector)
        except ConnectorError as error:
            return _ask_for_app(app, f"BigMind could not look itself: {one_line(str(error))} ")
    return _ask_for_app(app)


def _look_at_app(report: Report, connector: Connector) -> Mended:
    """Look for an app by its id and its names."""
    there, is_it = find_app_outside(report.app, connector)
    if there is None:
        return _app_lost(report)
    if is_it:
        return note_app(report, there.app_id, name=there.name)
    why = f"{mention(there.name)} ({mention(there.app_id)}) has its name or id, and no table that the map knows. "
    return _ask_for_app(report.app, why)


def find_app_outside(app: App, connector: Connector) -> tuple[DiscoveredApp | None, bool]:
    """Return the app outside that has the id or a name of this one, and whether it is the one that the map knows.

    Where id and name do not lead to one app, its tables say which it is: an id may have been given to another.
    """
    alike = [one for one in connector.apps() if one.app_id == app.app_id or fold_name(one.name) in app.names]
    if sure := [one for one in alike if one.app_id == app.app_id and fold_name(one.name) in app.names]:
        return sure[0], True
    known = {one for table in app.tables.all() for one in (table.table_id, table.look_up) if one}
    shared = {one: _count_shared(connector, one, known) for one in alike} if known else {}
    best = max(alike, key=lambda one: (shared.get(one, 0), one.app_id != app.app_id), default=None)
    return best, best is not None and (not known or shared[best] > 0)


def _count_shared(connector: Connector, there: DiscoveredApp, known: set[str]) -> int:
    """Count the tables of an app outside that a map knows by id or name."""
    return sum(one.table_id in known or fold_name(one.name) in known for one in connector.tables(there.app_id))


def _is_called(name: str, known: str) -> bool:
    return fold_name(name) == fold_name(known)


def _ask_for_app(app: App, why: str = "") -> Mended:
    step = (
        f"{why}Call discover_apps (1 call) and look for {echo(app.name)}. Then call app_report_failure again: outcome "
        "found with found_id, else not_found."
    )
    return Mended("next_step", step, place=place_of_thing(app))


@transaction.atomic
def note_app(report: Report, app_id: str, *, name: str = "") -> Mended:
    """Write under which id, and name where it is known, an app was found."""
    # Wait for another report that gives an app this id: the database would refuse the second one.
    take_turn()
    app = lock(report.app)
    before = app.app_id
    others = [one for one in apps_called(app_id) if one.app_id == app_id and one.pk != app.pk]
    if others:
        raise Invalid.of("found_id", f"is the id of {echo(others[0].name)}")
    app.app_id, app.reported_gone_at, app.last_seen = app_id, None, timezone.now()
    is_renamed = bool(name) and take_new_name(app, clean_text(name))
    app.save()
    called = f"It is called {mention(app)} now. " if is_renamed else ""
    if before == app_id:
        report.note(Healed.FOUND if is_renamed else Healed.UNCHANGED, found=f"called {app.name}" if is_renamed else "")
        step = (
            f"The app is there: its id is right. {called}If you used another id, go on with this; else look at what "
            "else may be wrong, such as your permission."
        )
        return Mended("healed" if is_renamed else "unchanged", step, place=place_of_thing(app))
    note_change(app)
    report.note(Healed.FOUND, failed=before, found=f"app id {app_id}")
    step = f"The map is mended for everybody. {called}Its tables may have new ids: app_rebuild finds them."
    return Mended("healed", step, place=place_of_thing(app))


@transaction.atomic
def _app_lost(report: Report) -> Mended:
    app = lock(report.app)
    if report.may_clear:
        report.note(Healed.FORGOTTEN, failed=app.app_id)
        gone = forget_app(app)
        known = f"{gone.tables} tables and {gone.entities} entities"
        step = f"{mention(app.name)} is gone, and forgotten with {known}. Tell the user."
        return Mended("forgotten", step)
    App.objects.filter(pk=app.pk).update(reported_gone_at=timezone.now())
    report.note(Healed.REPORTED, failed=app.app_id)
    return Mended("reported", WAITS_FOR_CURATOR.format(what=f"app {mention(app.name)}"), place=place_of_thing(app))


def report_failure(
    actor: Actor,
    *,
    app: AnApp,
    failure: FailureName,
    entity: AnEntity | None = None,
    table: ATable | None = None,
    outcome: OutcomeName | None = None,
    failed_id: FailedId = "",
    found_id: FoundId = "",
    fields: FoundFields | None = None,
) -> Mended:
    """Report that the map was wrong: a row, table or app is gone, or a schema changed. It is fixed for everybody.

    Call this when a call with ids from the map fails. Returns where the thing is now, if BigMind could find it by
    itself; else the one call to make next, after which you call this again with `outcome`. What is gone is forgotten.
    """
    found = app_called(app)
    # With an outcome someone has looked already; without, they wait while the connector looks.
    connector = None if outcome else connector_of(found, is_hurried=True)
    report = Report(
        actor.user,
        actor.agent,
        may_clear(actor),
        may_look_up(actor),
        failure,
        found,
        connector,
        outcome=outcome,
        failed_id=failed_id,
        found_id=found_id,
        fields=fields,
    )
    if report.failure == Failure.APP_GONE:
        return app_gone(report)
    if report.failure == Failure.ROW_GONE:
        return row_gone(report, require_argument("entity", entity), table)
    return table_wrong(report, table_of(found, require_argument("table", table)))
