"""Healing a table: by its id, then by its name; its fields are taken as they are now."""

from typing import Any

from django.db import transaction
from django.utils import timezone

from knowledge.app_maps.connectors.contract import Connector, ConnectorError
from knowledge.app_maps.failures import WAITS_FOR_CURATOR, Mended, Report, note_change
from knowledge.app_maps.finding import lock, table_of
from knowledge.app_maps.forgetting import forget_table
from knowledge.app_maps.learning import index_table, to_learnt_table
from knowledge.app_maps.reading import fields_of
from knowledge.app_maps.resolving import place_of_thing
from knowledge.models import AppTable, Failure, Healed


def table_wrong(report: Report, table: AppTable) -> Mended:
    """Mend a table that is gone or has other fields, or say what to do next."""
    if report.outcome == "found":
        return _table_found(report, table, report.found_id, report.fields)
    if report.outcome == "not_found":
        return _table_lost(report, table)
    if report.connector:
        try:
            return _look_at_table(report, report.connector, table)
        except ConnectorError as error:
            return _ask_for_table(report, table, f"BigMind could not look itself: {error} ")
    return _ask_for_table(report, table)


def _look_at_table(report: Report, connector: Connector, table: AppTable) -> Mended:
    """Look for a table by its id, then by its name."""
    found = connector.table(report.app.app_id, table.table_id) if table.table_id else None
    if found is None:
        named = [one for one in connector.tables(report.app.app_id) if one.name.casefold() == table.name.casefold()]
        found = named[0] if len(named) == 1 else None
    if found is None:
        return _table_lost(report, table)
    fit = to_learnt_table(found)
    return _table_found(report, table, fit.table_id, fit.fields)


def _ask_for_table(report: Report, table: AppTable, why: str = "") -> Mended:
    if report.failure == Failure.TABLE_GONE:
        call = f"Call get_tables for the app {report.app.app_id} (1 call) and look for “{table.name}”"
    else:
        call = f"Call get_table_schema for {table.name} ({table.table_id or 'id unknown'}) (1 call)"
    step = (
        f"{why}{call}. Then call app_report_failure again: outcome found with found_id, and `fields` where they "
        "changed, else not_found."
    )
    return Mended("next_step", step, place=place_of_thing(table), fields=fields_of(table))


@transaction.atomic
def _table_found(report: Report, table: AppTable, table_id: str, fields: dict[str, dict[str, Any]] | None) -> Mended:
    app = lock(report.app)
    table = table_of(app, table.name)
    before = (table.table_id, table.fields)
    if table_id and not app.tables.filter(table_id=table_id).exclude(pk=table.pk).exists():
        table.table_id = table_id
    if fields is not None:
        # Overwritten, not merged: a field that is gone must go.
        table.fields = [{"name": name, **known} for name, known in fields.items()]
    table.last_seen, table.reported_gone_at = timezone.now(), None
    table.save()
    if before == (table.table_id, table.fields):
        report.note(Healed.UNCHANGED, subject=table.name)
        step = "The table is as the map says. Look at what else may be wrong, such as your permission."
        return Mended("unchanged", step, place=place_of_thing(table), fields=fields_of(table))
    index_table(table)
    note_change(app)
    report.note(Healed.FOUND, subject=table.name, found=_differences(before, table))
    step = "The map is mended for everybody. Go on with what stands here."
    return Mended("healed", step, place=place_of_thing(table), fields=fields_of(table))


def _differences(before: tuple[str, list[dict[str, Any]]], table: AppTable) -> str:
    old, new = ({one["name"]: one for one in fields} for fields in (before[1], table.fields))
    parts = {
        "table id": [table.table_id] if before[0] != table.table_id else [],
        "new fields": [name for name in new if name not in old],
        "gone": [name for name in old if name not in new],
        "changed": [name for name in new if name in old and new[name] != old[name]],
    }
    return "; ".join(f"{what} {', '.join(names)}" for what, names in parts.items() if names)


@transaction.atomic
def _table_lost(report: Report, table: AppTable) -> Mended:
    lock(report.app)
    if report.may_clear:
        report.note(Healed.FORGOTTEN, subject=table.name, failed=table.table_id)
        gone = forget_table(table)
        step = f"The table {table.name} is gone, and forgotten with {gone.entities} entities. Tell the user."
        return Mended("forgotten", step)
    AppTable.objects.filter(pk=table.pk).update(reported_gone_at=timezone.now())
    report.note(Healed.REPORTED, subject=table.name, failed=table.table_id)
    return Mended("reported", WAITS_FOR_CURATOR.format(what=f"table {table.name}"), place=place_of_thing(table))
