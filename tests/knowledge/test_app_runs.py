"""Reading an outside system in the background, and healing by asking it."""

from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from accounts.actor import Actor
from accounts.models import Role, User
from bigmind.core.errors import Conflict, Forbidden
from bigmind.core.operations import carry_out
from knowledge.app_maps import runs as app_runs
from knowledge.app_maps.connectors import connector_called, web_api
from knowledge.app_maps.healing import report_failure
from knowledge.app_maps.import_export import import_maps
from knowledge.app_maps.learning import learn_app
from knowledge.app_maps.reading import list_apps
from knowledge.app_maps.resolving import resolve_name
from knowledge.app_maps.runs import bootstrap_apps, cancel_run, carry_on_runs, rebuild_app, resume_run
from knowledge.models import App, AppEntity, AppRun, AppTable, Healing, RunState
from knowledge.tasks import carry_on_app_runs
from tests.factories import make_actor
from tests.knowledge.budibase_server import ACME, BILLING, CLIENTS, CRM, ELICIT, KEY, Answer, Budibase

pytestmark = pytest.mark.django_db


@pytest.fixture
def budibase(settings: Any, monkeypatch: pytest.MonkeyPatch) -> Iterator[Budibase]:
    """A Budibase that counts, and settings that name it."""
    monkeypatch.setattr(web_api, "PAUSES", (0.0, 0.0))
    monkeypatch.setattr(web_api, "HURRIED_PAUSES", (0.0,))
    settings.BIGMIND_MODE = "team"
    with Budibase() as server:
        settings.BUDIBASE_URL, settings.BUDIBASE_API_KEY = server.url, KEY
        yield server


def _mapped(actor: Actor) -> None:
    """Read apps and tables, and let somebody learn two rows."""
    bootstrap_apps(actor, connector="budibase")
    carry_on_app_runs()
    rows = [
        {"name": name, "table": "Clients", "row_id": id, "match_field": "Name", "match_value": name}
        for name, id in (("Elicit", ELICIT), ("Acme Corp", ACME))
    ]
    carry_out(learn_app, actor, {"app": "CRM", "entities": rows})


def test_bringing_in_costs_one_call_and_one_for_each_app_and_fetches_no_record(budibase: Budibase) -> None:
    begun = bootstrap_apps(make_actor(), connector="budibase")
    again = bootstrap_apps(make_actor(), connector="budibase")
    carry_on_app_runs()

    assert begun.run == again.run
    assert budibase.calls == {"discover_apps": 1, "get_tables": 2}
    assert list(App.objects.order_by("pk").values_list("name", "connector")) == [
        ("CRM", "budibase"),
        ("Billing", "budibase"),
    ]
    assert AppTable.objects.get(name="Clients").fields[0] == {"name": "Name", "type": "string", "primary": True}
    run = AppRun.objects.get()
    assert (run.state, run.done, run.total) == (RunState.DONE, 3, 3)


def _begin_and_do_the_first_step(actor: Actor) -> AppRun:
    """Begin to bring apps in, and do what a worker does until it has done one step."""
    bootstrap_apps(actor, connector="budibase")
    run, connector = app_runs._claim(), connector_called("budibase")
    assert run is not None
    assert connector is not None
    app_runs._step(run, connector)
    return run


def test_how_far_a_run_is_can_be_seen_and_it_can_be_stopped_and_resumed(budibase, actor):
    run = _begin_and_do_the_first_step(actor)

    seen = [(one.done, one.total) for one in list_apps(actor).running]
    cancel_run(actor, run_id=run.pk)
    steps_after = app_runs._carry_on(run)
    resume_run(actor, run_id=run.pk)
    carry_on_runs()

    assert seen == [(1, 3)]
    assert steps_after == 0
    assert AppRun.objects.get().state == RunState.DONE
    assert budibase.calls == {"discover_apps": 1, "get_tables": 2}


def test_a_run_whose_worker_died_goes_on_where_it_was(budibase: Budibase) -> None:
    _begin_and_do_the_first_step(make_actor())

    nothing = carry_on_runs()
    AppRun.objects.update(held_until=timezone.now() - timedelta(seconds=1))
    carry_on_runs()

    assert nothing == 0
    assert budibase.calls == {"discover_apps": 1, "get_tables": 2}
    assert AppRun.objects.get().state == RunState.DONE


def test_a_run_that_fails_says_why_and_can_be_resumed(budibase, actor):
    budibase.answers.extend([Answer(500)] * 3)
    bootstrap_apps(actor, connector="budibase")
    carry_on_runs()
    failed = AppRun.objects.get()

    resume_run(actor, run_id=failed.pk)
    carry_on_runs()

    assert (failed.state, failed.error) == (RunState.FAILED, "Budibase is in trouble (500). Try again later.")
    assert AppRun.objects.get().state == RunState.DONE
    with pytest.raises(Conflict, match="is done"):
        resume_run(actor, run_id=failed.pk)


def test_only_who_asked_or_a_curator_stops_a_run(budibase: Budibase, curator: Actor) -> None:
    run = bootstrap_apps(make_actor(), connector="budibase").run
    assert run is not None

    with pytest.raises(Forbidden):
        cancel_run(make_actor(), run_id=run.pk)
    assert cancel_run(curator, run_id=run.pk).state == RunState.CANCELLED


def test_a_row_that_moved_is_healed_by_bigmind_itself(budibase: Budibase, curator: Actor) -> None:
    _mapped(curator)
    budibase.rows[CLIENTS]["ro_new"] = budibase.rows[CLIENTS].pop(ELICIT)
    budibase.calls.clear()

    healed = report_failure(curator, app="CRM", failure="row_gone", entity="Elicit", failed_id=ELICIT)

    assert (healed.status, healed.place.row_id) == ("healed", "ro_new")  # type: ignore[union-attr]
    assert budibase.calls == {"get_record": 1, "query_records": 1}
    assert Healing.objects.get().by_connector == "budibase"


def test_what_tells_several_rows_apart_is_said(budibase: Budibase, curator: Actor) -> None:
    _mapped(curator)
    del budibase.rows[CLIENTS][ELICIT]
    budibase.rows[CLIENTS] |= {f"ro_{n}": {"Name": "Elicit", "Notes": f"No. {n}"} for n in (1, 2)}

    told = report_failure(curator, app="CRM", failure="row_gone", entity="Elicit")

    assert told.candidates[0] == {"row_id": "ro_1", "Name": "Elicit", "Notes": "No. 1"}


@pytest.mark.parametrize("value", ["Elicit", "Nobody"])
def test_a_member_cannot_ask_the_connector_which_rows_there_are(budibase: Budibase, curator: Actor, value: str) -> None:
    _mapped(curator)
    member = make_actor()
    guess = {"name": "A guess", "table": "Clients", "row_id": "ro_x", "match_field": "Name", "match_value": value}
    carry_out(learn_app, member, {"app": "CRM", "entities": [guess]})
    budibase.calls.clear()

    told = report_failure(member, app="CRM", failure="row_gone", entity="A guess")

    assert told.status == "next_step"
    assert f"by Name = {value} (1 call)" in told.next_step
    assert not budibase.calls


def test_a_member_who_bends_a_table_does_not_get_it_forgotten(budibase: Budibase) -> None:
    member = make_actor()
    _mapped(member)
    carry_out(learn_app, member, {"app": "CRM", "tables": [{"name": "Strange", "table_id": CLIENTS}]})
    carry_out(learn_app, member, {"app": "CRM", "tables": [{"name": "Strange", "table_id": "ta_nowhere"}]})

    told = report_failure(member, app="CRM", failure="table_gone", table="Strange")

    assert told.status == "reported"
    assert AppEntity.objects.filter(name="Elicit").exists()


def test_a_schema_is_taken_over_without_what_may_not_be_stored(budibase, actor):
    _mapped(actor)
    schema = budibase.tables[CRM][0]["schema"]
    schema["Bad\0name"] = {"name": "Bad", "type": "string"}
    schema["Kind"] = {"name": "Kind", "type": "string\u202e"}
    schema["More"] = {"name": "More", "type": "string"}

    told = report_failure(actor, app="CRM", failure="schema_changed", table="Clients")

    assert (told.status, list(told.fields)[-1]) == ("healed", "More")
    assert not {"Kind", "Bad\0name"} & set(told.fields)


def test_while_the_system_is_away_the_agent_is_told_the_next_step(budibase: Budibase, curator: Actor) -> None:
    _mapped(curator)
    budibase.answers.extend([Answer(503)] * 5)

    told = report_failure(curator, app="CRM", failure="row_gone", entity="Elicit")

    assert told.status == "next_step"
    assert told.next_step.startswith("BigMind could not look itself: Budibase is in trouble (503).")
    assert "by Name = Elicit (1 call)" in told.next_step


def test_a_schema_that_changed_is_read_by_bigmind_itself(budibase, actor):
    _mapped(actor)
    schema = budibase.tables[CRM][0]["schema"]
    schema["Remarks"] = {**schema.pop("Notes"), "name": "Remarks"}

    told = report_failure(actor, app="CRM", failure="schema_changed", table="Clients")

    assert told.status == "healed"
    assert list(told.fields) == ["Name", "Status", "Projects", "Remarks"]


NOTE = {"name": "add_comment", "trigger": "add comment on [entity]", "steps": "append to Notes", "field": "Notes"}
REQUEST = "add a comment on Elicit"


def _rename(budibase: Budibase, old: str, new: str, **more: Any) -> None:
    schema = budibase.tables[CRM][0]["schema"]
    schema[new] = {**schema.pop(old), "name": new, **more}
    if budibase.tables[CRM][0]["primaryDisplay"] == old:
        budibase.tables[CRM][0]["primaryDisplay"] = new
    for row in budibase.rows[CLIENTS].values():
        if old in row:
            row[new] = row.pop(old)


def test_fields_that_are_renamed_at_once_are_told_apart_by_their_names(budibase, actor):
    schema = budibase.tables[CRM][0]["schema"]
    schema |= {name: {"name": name, "type": "string"} for name in ("Phone no", "City")}
    _mapped(actor)
    ways = [{"name": f"set_{one}", "steps": f"write {one}", "field": one} for one in ("Phone no", "City")]
    carry_out(learn_app, actor, {"app": "CRM", "workflows": ways})
    for old, new in (("Phone no", "Phone nr"), ("City", "Town")):
        schema[new] = {**schema.pop(old), "name": new}

    report_failure(actor, app="CRM", failure="schema_changed", table="Clients")

    told = {way.name: (way.field, way.problem) for way in resolve_name(actor, name="Elicit").workflows}
    assert told == {"set_Phone no": ("Phone nr", ""), "set_City": ("City", "names the field City, which is gone")}


def test_a_workflow_that_names_a_field_in_its_steps_alone_is_flagged_and_cleared_when_the_field_is_back(
    budibase, actor
):
    _mapped(actor)
    carry_out(learn_app, actor, {"app": "CRM", "workflows": [{**NOTE, "field": ""}]})
    _rename(budibase, "Notes", "Remarks", type="string")
    report_failure(actor, app="CRM", failure="schema_changed", table="Clients")
    gone = resolve_name(actor, name="Elicit", request=REQUEST).workflows[0]
    _rename(budibase, "Remarks", "Notes", type="longform")
    report_failure(actor, app="CRM", failure="schema_changed", table="Clients")

    back = resolve_name(actor, name="Elicit", request=REQUEST).workflows[0]

    assert (gone.fits, gone.problem) == (False, "names the field Notes, which is gone")
    assert (back.fits, back.problem) == (True, "")


def test_reading_everything_again_flags_workflows_too(budibase: Budibase, curator: Actor) -> None:
    _mapped(curator)
    carry_out(learn_app, curator, {"app": "CRM", "workflows": [NOTE]})
    _rename(budibase, "Notes", "Remarks")

    bootstrap_apps(curator, connector="budibase")
    carry_on_app_runs()

    assert [one["name"] for one in AppTable.objects.get(name="Clients").fields] == [
        "Name",
        "Status",
        "Projects",
        "Remarks",
    ]
    assert resolve_name(curator, name="Elicit", request=REQUEST).workflows[0].problem


@pytest.mark.parametrize("refuses", [True, False])
def test_a_row_whose_field_was_renamed_is_found_by_the_new_one_and_not_forgotten(budibase, curator, refuses):
    _mapped(curator)
    _rename(budibase, "Name", "Company")
    budibase.rows[CLIENTS]["ro_new"] = budibase.rows[CLIENTS].pop(ELICIT)
    budibase.refuses_unknown_fields = refuses

    healed = report_failure(curator, app="CRM", failure="row_gone", entity="Elicit", failed_id=ELICIT)

    assert (healed.status, healed.place.row_id) == ("healed", "ro_new")  # type: ignore[union-attr]
    assert AppEntity.objects.get(name="Acme Corp").match_field == "Company"


def test_a_row_of_a_table_that_is_gone_is_not_forgotten_for_the_row(budibase: Budibase) -> None:
    _mapped(make_actor())
    del budibase.tables[CRM][0]
    budibase.rows.pop(CLIENTS)

    told = report_failure(make_actor(curator=True), app="CRM", failure="row_gone", entity="Elicit")

    assert (told.status, "The table Clients is gone" in told.next_step) == ("forgotten", True)


FILES = {
    "_index.yaml": 'budibase_url: "{url}"\n\napps:\n  CRM:\n    folder: crm\n    appId: app_abc123\n'
    "    tables:\n      Clients: ta_xyz789\n",
    "crm/clients.yaml": "table:\n  name: Clients\n  primaryDisplay: Name\n\n"
    "entities:\n  Elicit:\n    rowId: ro_old\n    matchField: Name\n    matchValue: Elicit\n",
}


@pytest.mark.parametrize("connector", ["", "    connector: budibase\n"])
def test_of_another_server_nothing_is_asked_and_nothing_forgotten(budibase, curator, connector):
    files = {path: text.replace("{url}", "https://elsewhere.example") for path, text in FILES.items()}
    files["_index.yaml"] = files["_index.yaml"].replace("    tables:", f"{connector}    tables:")
    import_maps(curator, files=files)

    told = report_failure(curator, app="CRM", failure="row_gone", entity="Elicit", failed_id="ro_old")
    rebuilt = rebuild_app(curator, app="CRM")
    unknown = resolve_name(curator, name="Acme Corp", app="CRM")

    assert [told.status, rebuilt.status, unknown.looked_in] == ["next_step", "next_step", []]
    assert not budibase.calls


def test_an_app_that_came_back_under_another_id_is_found_by_its_name(budibase, actor):
    _mapped(actor)
    budibase.apps[0]["_id"] = "app_restored"
    budibase.tables["app_restored"] = budibase.tables.pop(CRM)

    told = report_failure(actor, app="CRM", failure="app_gone")

    assert told.status == "healed"
    assert App.objects.get(name="CRM").app_id == "app_restored"


def test_an_app_with_the_name_of_a_known_one_and_other_tables_is_asked_about(budibase, curator):
    _mapped(curator)
    budibase.apps[0]["_id"] = "app_other"
    budibase.tables["app_other"] = budibase.tables[BILLING]
    budibase.tables.pop(CRM)

    told = report_failure(curator, app="CRM", failure="app_gone")
    rebuilt = rebuild_app(curator, app="CRM").run
    carry_on_app_runs()

    assert (told.status, "no table that the map knows" in told.next_step) == ("next_step", True)
    assert App.objects.get(name="CRM").app_id == CRM
    assert AppRun.objects.get(pk=rebuilt.pk).state == RunState.FAILED
    assert AppEntity.objects.filter(table__app__name="CRM").count() == 2


def test_an_app_that_was_renamed_outside_takes_its_new_name_wherever_it_is_met(budibase, curator):
    _mapped(curator)
    budibase.apps[0]["name"] = "Customer Desk"
    # Another app took its old name: what has its tables is it.
    budibase.apps.append({**budibase.apps[0], "_id": "app_new", "name": "CRM"})
    budibase.tables["app_new"] = budibase.tables[BILLING]

    told = report_failure(curator, app="CRM", failure="app_gone")
    budibase.apps[0]["name"] = "Service Desk"
    rebuild_app(curator, app="Customer Desk")
    carry_on_app_runs()

    assert (told.status, told.place.app, told.place.app_id) == ("healed", "Customer Desk", CRM)
    assert resolve_name(curator, name="Elicit", app="service desk").place.row_id == ELICIT
    assert resolve_name(curator, name="Elicit", app="CRM").place.app == "Service Desk"


def test_a_table_that_was_renamed_outside_takes_its_new_name(budibase, actor):
    _mapped(actor)
    budibase.tables[CRM][0]["name"] = "Accounts"

    told = report_failure(actor, app="CRM", failure="table_gone", table="Clients")

    assert (told.status, told.place.table, told.place.table_id) == ("healed", "Accounts", CLIENTS)
    assert "called Accounts now" in told.next_step
    assert resolve_name(actor, name="Elicit").place.table == "Accounts"


def test_whoever_is_no_curator_any_more_does_not_resume_a_rebuilding(budibase: Budibase, curator: Actor) -> None:
    _mapped(curator)
    run = rebuild_app(curator, app="CRM").run
    assert run is not None
    cancel_run(curator, run_id=run.pk)

    with pytest.raises(Forbidden):
        resume_run(_demoted(curator), run_id=run.pk)
    assert AppRun.objects.get(pk=run.pk).state == RunState.CANCELLED


def test_a_rebuilding_stops_when_its_curator_is_none_any_more_and_another_can_go_on(budibase, curator):
    _mapped(curator)
    del budibase.rows[CLIENTS][ELICIT]
    run = rebuild_app(curator, app="CRM").run
    assert run is not None
    _demoted(curator)

    carry_on_runs()
    stopped, still_known = AppRun.objects.get(pk=run.pk), AppEntity.objects.filter(name="Elicit").exists()
    resume_run(make_actor(curator=True), run_id=run.pk)
    carry_on_runs()

    assert (stopped.state, still_known) == (RunState.FAILED, True)
    assert "may not have a map built anew any more" in stopped.error
    assert AppRun.objects.get(pk=run.pk).state == RunState.DONE
    assert not AppEntity.objects.filter(name="Elicit").exists()


def _demoted(actor: Actor) -> Actor:
    User.objects.filter(pk=actor.user.pk).update(role=Role.MEMBER)
    return Actor.of(User.objects.get(pk=actor.user.pk))
