"""Healing a row: by its id, then by the field it is found by, then it is forgotten."""

from django.db import transaction
from django.utils import timezone

from knowledge.app_maps.connectors.contract import Connector, ConnectorError, DiscoveredRow
from knowledge.app_maps.failures import Mended, Report, note_change, require_argument
from knowledge.app_maps.finding import entities_called, entity_of, lock, table_of
from knowledge.app_maps.forgetting import forget_entity
from knowledge.app_maps.learning import index_entity
from knowledge.app_maps.resolving import place_of_thing
from knowledge.models import AppEntity, AppTable, Healed

ROWS_COMPARED = 5


def row_gone(report: Report, name: str, table: str | None) -> Mended:
    """Mend a row that is not where the map says, or say what to do next."""
    within = table_of(report.app, table) if table else None
    if not entities_called(name, app=report.app, table=within):
        return Mended("forgotten", f"The map does not know “{name}” any more. Discover it anew if it should be there.")
    entity = entity_of(report.app, name, within)
    if report.failed_id and entity.row_id and entity.row_id != report.failed_id:
        step = "Somebody mended this already: use the row id that stands here now."
        return Mended("healed", step, place=place_of_thing(entity))
    if report.outcome == "found":
        return _row_found(report, entity, require_argument("found_id", report.found_id or None))
    if report.outcome == "not_found":
        return _row_lost(report, entity)
    # The key of the connector sees every row. Members could teach the map a row with any field and value, and read from
    # what is told them whether there is one: so they look themselves, with what they may see.
    if report.connector and report.may_clear:
        try:
            return climb(report, report.connector, entity)
        except ConnectorError as error:
            return _ask_for_row(entity, f"BigMind could not look itself: {error} ")
    return _ask_for_row(entity)


def climb(report: Report, connector: Connector, entity: AppEntity) -> Mended:
    """Look for a row by its id, then by the field it is found by."""
    app_id, table_id = entity.table.app.app_id, entity.table.table_id
    if entity.row_id and connector.row(app_id, table_id, entity.row_id):
        report.note(Healed.UNCHANGED, subject=_subject(entity), failed=entity.row_id)
        step = "The row is there: its id is right. Look at what else may be wrong, such as a field or your permission."
        return Mended("unchanged", step, place=place_of_thing(entity))
    field, value = _match_of(entity)
    if not field:
        return _ask_for_row(entity)
    rows = connector.find_rows(app_id, table_id, field, value, limit=ROWS_COMPARED)
    if len(rows) > 1:
        return _several(entity, field, value, rows)
    return _row_found(report, entity, rows[0].row_id) if rows else _row_lost(report, entity)


def _match_of(entity: AppEntity) -> tuple[str, str]:
    """The field and value a row is found by; where none was learnt, its name in the table's primary field."""
    if entity.match_field and entity.match_value:
        return entity.match_field, entity.match_value
    return (entity.table.primary, entity.name) if entity.table.primary else ("", "")


def _ask_for_row(entity: AppEntity, why: str = "") -> Mended:
    field, value = _match_of(entity)
    table = f"{entity.table.name} ({entity.table.table_id or 'id unknown'})"
    query = f"Query {table} by {field} = {value} (1 call)" if field else f"Look for “{entity.name}” in {table}"
    step = (
        f"{why}{query}. Then call app_report_failure again: outcome found with found_id when there is a row, "
        "else not_found, and it is forgotten."
    )
    return Mended("next_step", step, place=place_of_thing(entity))


def _several(entity: AppEntity, field: str, value: str, rows: list[DiscoveredRow]) -> Mended:
    """Name the rows, with what tells them apart."""
    candidates = [{"row_id": row.row_id, **_telling(row, entity.table)} for row in rows]
    step = (
        f"{len(rows)} rows have {field} = {value}. Ask the user which is meant, then call app_report_failure "
        "again with outcome found and its found_id."
    )
    return Mended("choose", step, place=place_of_thing(entity), candidates=candidates)


def _telling(row: DiscoveredRow, table: AppTable) -> dict[str, str]:
    """A few short values by which people tell rows apart."""
    named = [str(one["name"]) for one in table.fields][:6] or list(row.values)[:6]
    shown = {name: row.values[name] for name in named if isinstance(row.values.get(name), str | int | float)}
    return {name: str(value)[:80] for name, value in shown.items()}


@transaction.atomic
def _row_found(report: Report, entity: AppEntity, row_id: str) -> Mended:
    app = lock(report.app)
    entity = _still(entity)
    before = entity.row_id
    if before == row_id:
        report.note(Healed.UNCHANGED, subject=_subject(entity), failed=before)
        return Mended("unchanged", "The row id was right.", place=place_of_thing(entity))
    entity.row_id, entity.last_seen = row_id, timezone.now()
    entity.save(update_fields=["row_id", "last_seen"])
    index_entity(entity)
    note_change(app)
    report.note(Healed.FOUND, subject=_subject(entity), failed=before, found=f"row id {row_id}")
    return Mended("healed", "The map is mended for everybody. Go on with this row id.", place=place_of_thing(entity))


@transaction.atomic
def _row_lost(report: Report, entity: AppEntity) -> Mended:
    lock(report.app)
    entity = _still(entity)
    report.note(Healed.FORGOTTEN, subject=_subject(entity), failed=entity.row_id)
    forget_entity(entity)
    return Mended("forgotten", f"“{entity.name}” was deleted outside, and is forgotten. Tell the user.")


def _still(entity: AppEntity) -> AppEntity:
    """The row as it is, now that nobody else may change it."""
    return entity_of(entity.table.app, entity.name, entity.table)


def _subject(entity: AppEntity) -> str:
    return f"{entity.table.name} › {entity.name}"
