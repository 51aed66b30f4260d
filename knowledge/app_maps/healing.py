"""Healing: what a map says was true until someone fails with it; then it is mended for everybody (seed 000).

The ladder for a row: its id, then the field it is found by, then it is forgotten. Where a connector can read the app,
BigMind climbs it by itself; else the agent does, and says at each step what it found.
"""

from typing import Annotated, Literal

from pydantic import Field

from accounts.actor import Actor
from knowledge.app_maps.connectors import connector_called
from knowledge.app_maps.failures import Mended, Report, require_argument
from knowledge.app_maps.finding import app_called, table_of
from knowledge.app_maps.forgetting import may_clear
from knowledge.app_maps.healing_apps import app_gone
from knowledge.app_maps.healing_rows import row_gone
from knowledge.app_maps.healing_tables import table_wrong
from knowledge.app_maps.vocabulary import AnApp, AnEntity, ATable, Fields, OutsideId
from knowledge.models import Failure

FailureName = Annotated[
    Literal["row_gone", "schema_changed", "table_gone", "app_gone"],
    Field(description="What failed: 404 on the row, unknown field, table or app not found."),
]
OutcomeName = Annotated[
    Literal["found", "not_found"], Field(description="What the step you were told brought. Left out on the first call.")
]
FailedId = Annotated[OutsideId, Field(description="The id you used that led nowhere.")]
FoundId = Annotated[OutsideId, Field(description="With `found`: the id it has now.")]
FoundFields = Annotated[Fields, Field(description="With `found`: the schema as it is now, whole.")]


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
    """Report that the map was wrong: a row, table or app is gone, or a schema changed. It is mended for everybody.

    Call this when a call with ids from the map fails. Returns where the thing is now, if BigMind could find out by
    itself; else the one call to make next, after which you call this again with `outcome`. What is gone is forgotten.
    """
    found = app_called(app)
    connector = connector_called(found.connector, is_hurried=True) if found.connector and outcome is None else None
    report = Report(
        actor.user,
        actor.agent,
        may_clear(actor),
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
