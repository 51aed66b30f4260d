"""Healing an app: by its id, then by its name; only a curator forgets it with all that is known of it."""

from django.db import transaction
from django.utils import timezone

from bigmind.core.errors import Invalid
from knowledge.app_maps.connectors.contract import Connector, ConnectorError
from knowledge.app_maps.failures import WAITS_FOR_CURATOR, Mended, Report, note_change, require_argument
from knowledge.app_maps.finding import apps_called, lock
from knowledge.app_maps.forgetting import forget_app
from knowledge.app_maps.resolving import place_of_thing
from knowledge.models import App, Healed


def app_gone(report: Report) -> Mended:
    """Mend an app that is gone, or say what to do next."""
    app = report.app
    if report.outcome == "found":
        return _app_found(report, require_argument("found_id", report.found_id or None))
    if report.outcome == "not_found":
        return _app_lost(report)
    if report.connector:
        try:
            return _look_at_app(report, report.connector)
        except ConnectorError as error:
            return _ask_for_app(app, f"BigMind could not look itself: {error} ")
    return _ask_for_app(app)


def _look_at_app(report: Report, connector: Connector) -> Mended:
    """Look for an app by its id, then by its name."""
    there = list(connector.apps())
    if any(one.app_id == report.app.app_id for one in there):
        return _app_found(report, report.app.app_id)
    named = [one for one in there if one.name.casefold() == report.app.name.casefold()]
    return _app_found(report, named[0].app_id) if len(named) == 1 else _app_lost(report)


def _ask_for_app(app: App, why: str = "") -> Mended:
    step = (
        f"{why}Call discover_apps (1 call) and look for “{app.name}”. Then call app_report_failure again: outcome "
        "found with found_id, else not_found."
    )
    return Mended("next_step", step, place=place_of_thing(app))


@transaction.atomic
def _app_found(report: Report, app_id: str) -> Mended:
    app = lock(report.app)
    before = app.app_id
    others = [one for one in apps_called(app_id) if one.app_id == app_id and one.pk != app.pk]
    if others:
        raise Invalid.of("found_id", f"is the id of “{others[0].name}”")
    app.app_id, app.reported_gone_at, app.last_seen = app_id, None, timezone.now()
    app.save()
    if before == app_id:
        report.note(Healed.UNCHANGED)
        step = "The app is there: its id is right. Look at what else may be wrong, such as your permission."
        return Mended("unchanged", step, place=place_of_thing(app))
    note_change(app)
    report.note(Healed.FOUND, failed=before, found=f"app id {app_id}")
    step = "The map is mended for everybody. Its tables may have new ids: app_rebuild finds them."
    return Mended("healed", step, place=place_of_thing(app))


@transaction.atomic
def _app_lost(report: Report) -> Mended:
    app = lock(report.app)
    if report.may_clear:
        report.note(Healed.FORGOTTEN, failed=app.app_id)
        gone = forget_app(app)
        step = (
            f"{app.name} is gone, and forgotten with {gone.tables} tables and {gone.entities} entities. Tell the user."
        )
        return Mended("forgotten", step)
    App.objects.filter(pk=app.pk).update(reported_gone_at=timezone.now())
    report.note(Healed.REPORTED, failed=app.app_id)
    return Mended("reported", WAITS_FOR_CURATOR.format(what=f"app {app.name}"), place=place_of_thing(app))
