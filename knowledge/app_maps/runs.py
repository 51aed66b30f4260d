"""Runs: reading an outside system in the background, step by step, so that one is watched, stopped and resumed.

The row is the queue. A step asks the connector outside any transaction, then writes the result and its completion in
one; a worker that dies loses only its current step.
"""

from collections.abc import Container, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Annotated

import structlog
from django.db import transaction
from django.db.models import F, Q
from django.utils import timezone
from pydantic import Field

from accounts.actor import Actor
from bigmind.core.argument_types import RowId
from bigmind.core.background import after_commit
from bigmind.core.errors import BigMindError, Conflict, Forbidden, Invalid, NotFound
from bigmind.text.hygiene import fold_name
from knowledge.app_maps.argument_types import AnApp, ConnectorName, LearntTable, Tables, read_reported_map
from knowledge.app_maps.connectors import CONNECTORS, available_connectors, connector_called
from knowledge.app_maps.connectors.contract import Connector, ConnectorError, DiscoveredTable
from knowledge.app_maps.finding import app_called, connector_of, lock, take_turn
from knowledge.app_maps.forgetting import forget_table, may_clear, require_may_clear
from knowledge.app_maps.healing import Report, climb, find_app_outside, note_app
from knowledge.app_maps.learning import DiscoveredApps, Learnt, clean_text, merge_map, to_learnt_table
from knowledge.app_maps.reading import how_to_begin
from knowledge.app_maps.schema_changes import replace_fields
from knowledge.models import UNFINISHED, App, AppEntity, AppRun, Failure, Healed, RunState

LEASE = timedelta(minutes=3)
"""Longer than any step takes: no other worker takes it up meanwhile."""
WAKE = "knowledge.tasks.carry_on_app_runs"

log = structlog.get_logger()

RunId = Annotated[RowId, Field(description="The number of the run.")]
TablesThereAre = Annotated[Tables, Field(description="All tables there are now; those not among them are forgotten.")]


@dataclass(frozen=True)
class Begun:
    """What was imported, or the run that does it."""

    status: str
    next_step: str
    run: AppRun | None = None
    apps: list[Learnt] = field(default_factory=list)


def bootstrap_apps(actor: Actor, *, connector: ConnectorName = "", apps: DiscoveredApps | None = None) -> Begun:
    """Import the apps and tables there are: read by a connector in the background, or discovered by you.

    Call this once, when app_list is empty, or for a new app. Give names and ids only: no records, and no schemas unless
    you have them already. Returns what was stored, or the run that reads it; app_list shows its progress.
    """
    if bool(connector) == bool(apps):
        raise Invalid(
            f"connector or apps is required, and not both. {how_to_begin()}",
            problems=[{"field": "connector" if connector else "apps", "message": "exclude each other; give one"}],
        )
    if connector:
        _require(connector)
        run = _begin(actor, connector, AppRun.BOOTSTRAP)
        return Begun(run.state, "app_list shows how far it is. What has been read can be used at once.", run)
    return Begun("done", "Learn the rest as you use it: app_learn.", apps=_bring_in(apps or []))


def rebuild_app(actor: Actor, *, app: AnApp, tables: TablesThereAre | None = None) -> Begun:
    """Rebuild the map of one app: tables that are gone are forgotten, schemas read again, each row looked up.

    Call this when much of a map has become wrong. Curators may, in personal mode you. With a connector it is done in
    the background; else the reply says what to call, and you hand in `tables`. Entities of tables that stay are kept.
    """
    require_may_clear(actor)
    found = app_called(app)
    if tables is not None:
        return Begun("done", "Rows heal as they are used.", apps=[_replace_tables(actor, found, tables)])
    if connector_of(found):
        run = _begin(actor, found.connector, AppRun.REBUILD, found)
        return Begun(run.state, "app_list shows how far it is. The map can be used meanwhile.", run)
    step = (
        f"Call get_tables for the app {found.app_id or found.name} (1 call), then app_rebuild again with all its "
        "`tables`, with fields where you know them."
    )
    return Begun("next_step", step)


@transaction.atomic
def cancel_run(actor: Actor, *, run_id: RunId) -> AppRun:
    """Stop a run. What it has read stays."""
    run = _lock_run(run_id)
    _require_may_touch(actor, run)
    if run.state not in UNFINISHED:
        raise Conflict(f"The run is {run.state} already.")
    run.state, run.finished_at, run.held_until = RunState.CANCELLED, timezone.now(), None
    run.save()
    return run


@transaction.atomic
def resume_run(actor: Actor, *, run_id: RunId) -> AppRun:
    """Go on with a run that failed or was stopped, where it was. Rebuilding takes a curator, as at its beginning."""
    run = _lock_run(run_id)
    _require_may_touch(actor, run)
    if run.purpose == AppRun.REBUILD:
        require_may_clear(actor)
        # From here on it is theirs: the one who began it may have no right to it any more.
        run.asked_by, run.agent = actor.user, actor.agent
    if run.state not in {RunState.FAILED, RunState.CANCELLED}:
        raise Conflict(f"The run is {run.state}; only what failed or was stopped is resumed.")
    if AppRun.objects.filter(connector=run.connector, app=run.app, state__in=UNFINISHED).exists():
        raise Conflict("Another run does the same already.")
    run.state, run.error, run.finished_at, run.held_until = RunState.WAITING, "", None, None
    run.save()
    after_commit(WAKE)
    return run


def carry_on_runs() -> int:
    """Do the steps of every unfinished run; return how many were done. It may run twice, and be killed."""
    done = 0
    while run := _claim():
        done += _carry_on(run)
    return done


def _require(connector: str) -> None:
    if connector not in CONNECTORS:
        raise Invalid.of("connector", f"must be one of: {', '.join(CONNECTORS)}")
    if connector not in available_connectors():
        setting = f"BIGMIND_{connector.upper()}_URL and BIGMIND_{connector.upper()}_API_KEY"
        raise Conflict(f"No {connector} server is configured.", hint=f"An operator sets {setting}, or hand in `apps`.")


def _begin(actor: Actor, connector: str, purpose: str, app: App | None = None) -> AppRun:
    """Return the run that does this: the one that is at it, or a new one."""
    with transaction.atomic():
        take_turn()
        running = AppRun.objects.filter(connector=connector, app=app, state__in=UNFINISHED).first()
        run = running or AppRun.objects.create(
            purpose=purpose, connector=connector, app=app, asked_by=actor.user, agent=actor.agent
        )
        after_commit(WAKE)
    return run


@transaction.atomic
def _bring_in(apps: DiscoveredApps) -> list[Learnt]:
    take_turn()
    learnt = []
    for one in apps:
        name = _free_name(one.name, one.app_id, there_are={each.app_id for each in apps})
        learnt.append(merge_map(read_reported_map(name, app_id=one.app_id, aliases=one.aliases, tables=one.tables)))
        _mark_bootstrapped(learnt[-1])
    return learnt


def _mark_bootstrapped(learnt: Learnt) -> None:
    App.objects.filter(name=learnt.app, app_id=learnt.app_id).update(bootstrapped_at=timezone.now())


@transaction.atomic
def _replace_tables(actor: Actor, app: App, tables: Tables) -> Learnt:
    held = lock(app)
    report = Report(actor.user, actor.agent, True, True, Failure.TABLE_GONE, held, None)
    there = [DiscoveredTable(one.table_id, one.name, one.fields) for one in tables]
    return _merge_tables_there_are(report, there)


def _merge_tables_there_are(report: Report, there: list[DiscoveredTable]) -> Learnt:
    """Forget the tables that are gone; take over those there are, with their schemas as they are now."""
    ids, names = {one.table_id for one in there if one.table_id}, {fold_name(one.name) for one in there}
    for table in list(report.app.tables.all()):
        if table.table_id not in ids and table.look_up not in names:
            report.note(Healed.FORGOTTEN, subject=table.name, failed=table.table_id)
            forget_table(table)
    tables = [to_learnt_table(one) for one in there]
    _replace_schemas(report, tables)
    learnt = merge_map(read_reported_map(report.app.name, app_id=report.app.app_id, tables=tables))
    _mark_bootstrapped(learnt)
    return learnt


def _replace_schemas(report: Report, there: Sequence[LearntTable]) -> None:
    """Let what names a field that is gone follow the schemas that were read; what else they say is merged after."""
    by_id = {one.table_id: one for one in there if one.fields and one.table_id}
    for table in report.app.tables.filter(table_id__in=by_id):
        fields = by_id[table.table_id].fields
        if table.fields and not {one["name"] for one in table.fields} <= fields.keys():
            change = replace_fields(table, fields)
            report.note(Healed.FOUND, subject=table.name, found=change.for_history())


def _lock_run(run_id: int) -> AppRun:
    run = AppRun.objects.select_for_update().filter(pk=run_id).first()
    if run is None:
        raise NotFound(f"There is no run {run_id}.")
    return run


def _require_may_touch(actor: Actor, run: AppRun) -> None:
    if run.asked_by_id != actor.user.pk:
        require_may_clear(actor)


def _require_still_may(run: AppRun) -> None:
    """Refuse to go on rebuilding for someone who may not any more.

    Raises:
        Forbidden: they are no curator now, or gone.
    """
    if run.purpose != AppRun.REBUILD:
        return
    user = run.asked_by
    if user is None or not user.is_active or not may_clear(Actor.of(user)):
        raise Forbidden("Whoever asked for this may not have a map built anew any more. A curator can resume it.")


# --- The steps -----------------------------------------------------------------------------------------------------


@transaction.atomic
def _claim() -> AppRun | None:
    now = timezone.now()
    # A lease longer than any was taken before the clock was set back.
    free = Q(held_until=None) | Q(held_until__lt=now) | Q(held_until__gt=now + 2 * LEASE)
    # Locked ones are passed over: another worker is taking them, and waiting for it would be in vain.
    runs = AppRun.objects.select_for_update(skip_locked=True, of=("self",)).filter(free, state__in=UNFINISHED)
    run = runs.order_by("pk").first()
    if run:
        run.state, run.held_until = RunState.RUNNING, timezone.now() + LEASE
        run.save(update_fields=["state", "held_until"])
    return run


def _carry_on(run: AppRun) -> int:
    steps = 0
    connector = connector_of(run.app) if run.app else connector_called(run.connector)
    try:
        if connector is None:
            raise ConnectorError(f"No {run.connector} server is configured any more.")
        while _is_ours(run):
            # Before each step: a run goes on for long, and who asked for it may lose the right meanwhile.
            _require_still_may(run)
            if run.left == []:
                _finish(run, RunState.DONE)
                break
            _step(run, connector)
            steps += 1
    except (ConnectorError, BigMindError) as error:
        log.warning("A run of app maps failed.", run=run.pk, error=str(error))
        _finish(run, RunState.FAILED, str(error))
    return steps


def _is_ours(run: AppRun) -> bool:
    """Read how far it is, and hold on to it; not if someone stopped it meanwhile."""
    held = AppRun.objects.filter(pk=run.pk, state=RunState.RUNNING).update(held_until=timezone.now() + LEASE)
    if held:
        run.refresh_from_db()
    return bool(held)


def _finish(run: AppRun, state: RunState, error: str = "") -> None:
    finished = {"state": state, "error": error[:1_000], "finished_at": timezone.now(), "held_until": None}
    AppRun.objects.filter(pk=run.pk, state=RunState.RUNNING).update(**finished)


def _step(run: AppRun, connector: Connector) -> None:
    if run.left is None:
        _find_work(run, connector)
        return
    what, id = run.left[0]
    if what == "tables":
        _read_tables(run, connector, int(id))
    else:
        _look_up_row(run, connector, int(id))


def _find_work(run: AppRun, connector: Connector) -> None:
    if run.app:
        outside, is_it = find_app_outside(run.app, connector)
        if outside and is_it:
            note_app(_report(run, run.app, Failure.APP_GONE, connector), outside.app_id, name=outside.name)
            run.app.refresh_from_db()
        there = list(connector.tables(run.app.app_id))
        with transaction.atomic():
            app = lock(run.app)
            _merge_tables_there_are(_report(run, app, Failure.TABLE_GONE, connector), there)
            # What people use comes first, since a run may be stopped.
            entities = AppEntity.objects.filter(table__app=app).order_by("-last_seen", "pk")
            _advance(run, [["row", str(pk)] for pk in entities.values_list("pk", flat=True)])
        return
    found = list(connector.apps())
    with transaction.atomic():
        take_turn()
        for one in found:
            ids = {each.app_id for each in found}
            name = _free_name(clean_text(one.name), one.app_id, there_are=ids, server=connector.server)
            merge_map(read_reported_map(name, app_id=one.app_id, connector=run.connector, server=connector.server))
        apps = App.objects.filter(app_id__in=[one.app_id for one in found]).order_by("pk")
        _advance(run, [["tables", str(pk)] for pk in apps.values_list("pk", flat=True)])


def _free_name(name: str, app_id: str, *, there_are: Container[str], server: str = "") -> str:
    """Two apps may have one name outside; here the second has its id in its name.

    Where the one that had the name is on the same server, and not among those there are, it has a new id.
    """
    if not app_id or App.objects.filter(app_id=app_id).exists():
        return name
    other = App.objects.filter(look_up=fold_name(name)).exclude(app_id="").first()
    is_another = other is not None and (other.app_id in there_are or other.server != server)
    return f"{name[:100]} ({app_id[:90]})" if is_another else name


def _read_tables(run: AppRun, connector: Connector, pk: int) -> None:
    app = App.objects.filter(pk=pk).first()
    there = list(connector.tables(app.app_id)) if app else []
    with transaction.atomic():
        if app:
            tables = [to_learnt_table(one) for one in there]
            _replace_schemas(_report(run, lock(app), Failure.SCHEMA_CHANGED, connector), tables)
            learnt = merge_map(read_reported_map(app.name, app_id=app.app_id, tables=tables))
            _mark_bootstrapped(learnt)
        _advance(run, _rest(run))


def _look_up_row(run: AppRun, connector: Connector, pk: int) -> None:
    entity = AppEntity.objects.filter(pk=pk).select_related("table__app").first()
    # Not in the transaction of the step: the connector is asked, and no lock is held while an outside system answers.
    if entity and entity.table.table_id:
        with suppress(NotFound):  # It was forgotten meanwhile.
            climb(_report(run, entity.table.app, Failure.ROW_GONE, connector), connector, entity)
    with transaction.atomic():
        _advance(run, _rest(run))


def _report(run: AppRun, app: App, failure: Failure, connector: Connector) -> Report:
    return Report(run.asked_by, run.agent, True, True, failure, app, connector, is_check=True)


def _rest(run: AppRun) -> list[list[str]]:
    """What is left after the step it is at."""
    return list(run.left or [])[1:]


def _advance(run: AppRun, left: list[list[str]]) -> None:
    """Write that a step is done, in the transaction that writes what it brought."""
    is_first = run.left is None
    run.left = left
    AppRun.objects.filter(pk=run.pk).update(
        left=left, done=F("done") + 1, **({"total": len(left) + 1} if is_first else {})
    )
