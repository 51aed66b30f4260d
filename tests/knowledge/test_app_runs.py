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


@pytest.fixture
def curator() -> Actor:
    """Who may have a map built anew."""
    return make_actor(curator=True)


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


def test_how_far_a_run_is_can_be_seen_and_it_can_be_stopped_and_resumed(budibase: Budibase) -> None:
    actor = make_actor()
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


def test_a_run_that_fails_says_why_and_can_be_resumed(budibase: Budibase) -> None:
    actor = make_actor()
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


def test_a_row_that_is_there_after_all_stays(budibase: Budibase, curator: Actor) -> None:
    _mapped(curator)

    told = report_failure(curator, app="CRM", failure="row_gone", entity="Elicit", failed_id=ELICIT)

    assert told.status == "unchanged"
    assert resolve_name(curator, name="Elicit").place.row_id == ELICIT  # type: ignore[union-attr]


def test_a_row_that_was_deleted_outside_is_forgotten(budibase: Budibase, curator: Actor) -> None:
    _mapped(curator)
    del budibase.rows[CLIENTS][ELICIT]

    told = report_failure(curator, app="CRM", failure="row_gone", entity="Elicit")

    assert told.status == "forgotten"
    assert resolve_name(curator, name="Elicit").status == "unknown"


def test_of_several_rows_the_user_is_asked(budibase: Budibase, curator: Actor) -> None:
    _mapped(curator)
    del budibase.rows[CLIENTS][ELICIT]
    budibase.rows[CLIENTS] |= {f"ro_{n}": {"Name": "Elicit", "Notes": f"No. {n}"} for n in (1, 2)}

    told = report_failure(curator, app="CRM", failure="row_gone", entity="Elicit")

    assert told.status == "choose"
    assert [one["row_id"] for one in told.candidates] == ["ro_1", "ro_2"]
    assert AppEntity.objects.filter(name="Elicit").exists()


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


def test_a_schema_is_taken_over_without_what_may_not_be_stored(budibase: Budibase) -> None:
    actor = make_actor()
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


def test_a_schema_that_changed_is_read_by_bigmind_itself(budibase: Budibase) -> None:
    actor = make_actor()
    _mapped(actor)
    schema = budibase.tables[CRM][0]["schema"]
    schema["Remarks"] = {**schema.pop("Notes"), "name": "Remarks"}

    told = report_failure(actor, app="CRM", failure="schema_changed", table="Clients")

    assert told.status == "healed"
    assert list(told.fields) == ["Name", "Status", "Projects", "Remarks"]


def test_an_app_that_came_back_under_another_id_is_found_by_its_name(budibase: Budibase) -> None:
    actor = make_actor()
    _mapped(actor)
    budibase.apps[0]["_id"] = "app_restored"

    told = report_failure(actor, app="CRM", failure="app_gone")

    assert told.status == "healed"
    assert App.objects.get(name="CRM").app_id == "app_restored"


def test_building_anew_forgets_what_is_gone_and_finds_what_moved(budibase: Budibase, curator: Actor) -> None:
    _mapped(curator)
    budibase.tables[CRM].pop()
    budibase.rows[CLIENTS]["ro_new"] = budibase.rows[CLIENTS].pop(ELICIT)
    del budibase.rows[CLIENTS][ACME]

    begun = rebuild_app(curator, app="CRM")
    carry_on_runs()

    assert begun.run is not None
    assert list(AppEntity.objects.values_list("name", "row_id")) == [("Elicit", "ro_new")]
    assert list(AppTable.objects.filter(app__name="CRM").values_list("name", flat=True)) == ["Clients"]
    assert sorted(Healing.objects.values_list("subject", "outcome")) == [
        ("Clients › Acme Corp", "forgotten"),
        ("Clients › Elicit", "found"),
        ("Projects", "forgotten"),
    ]
    assert AppRun.objects.get(purpose="rebuild").total == 3


def test_whoever_is_no_curator_any_more_does_not_resume_a_rebuilding(budibase: Budibase, curator: Actor) -> None:
    _mapped(curator)
    run = rebuild_app(curator, app="CRM").run
    assert run is not None
    cancel_run(curator, run_id=run.pk)

    with pytest.raises(Forbidden):
        resume_run(_demoted(curator), run_id=run.pk)
    assert AppRun.objects.get(pk=run.pk).state == RunState.CANCELLED


def test_a_rebuilding_stops_when_its_curator_is_none_any_more_and_another_can_go_on(
    budibase: Budibase, curator: Actor
) -> None:
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


def test_a_name_that_cannot_be_stored_stops_nothing(budibase: Budibase) -> None:
    budibase.apps.append({"_id": "app_odd", "name": "Odd\u202e\nname" + "x" * 300})
    budibase.tables["app_odd"] = []

    bootstrap_apps(make_actor(), connector="budibase")
    carry_on_runs()

    assert AppRun.objects.get().state == RunState.DONE
    assert App.objects.filter(app_id__in=[BILLING, "app_odd"]).count() == 2
