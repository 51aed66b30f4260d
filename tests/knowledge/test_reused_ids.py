"""An id that an outside system gave to another row, table or app is not the thing that the map knows."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import pytest

from accounts.actor import Actor
from bigmind.core.operations import carry_out
from knowledge.app_maps.connectors import web_api
from knowledge.app_maps.healing import report_failure
from knowledge.app_maps.learning import learn_app
from knowledge.app_maps.runs import bootstrap_apps, rebuild_app
from knowledge.models import App, AppEntity, AppTable
from knowledge.tasks import carry_on_app_runs
from tests.factories import make_actor
from tests.knowledge import budibase_server

pytestmark = pytest.mark.django_db

Rows = dict[Any, dict[str, Any]]


@dataclass
class World:
    """One outside system, and how its clients, tables and apps are changed from outside."""

    server: Any
    app: str
    ids: tuple[Any, Any]
    set_rows: Callable[[Rows], None]
    rename_app: Callable[[str], None]
    add_app: Callable[[str, str], None]


def _budibase() -> World:
    server = budibase_server.Budibase()

    def rename_app(name: str) -> None:
        server.apps[0]["name"] = name

    def add_app(id: str, name: str) -> None:
        server.apps.append({**server.apps[0], "_id": id, "name": name})
        server.tables[id] = server.tables[budibase_server.CRM]

    return World(
        server,
        "CRM",
        (budibase_server.ELICIT, "ro_other"),
        lambda rows: server.rows.__setitem__(budibase_server.CLIENTS, rows),
        rename_app,
        add_app,
    )


@pytest.fixture
def world(settings: Any, monkeypatch: pytest.MonkeyPatch) -> Iterator[World]:
    """A system whose clients are mapped: Elicit by its id and its name."""
    monkeypatch.setattr(web_api, "PAUSES", (0.0, 0.0))
    monkeypatch.setattr(web_api, "HURRIED_PAUSES", (0.0,))
    made = _budibase()
    with made.server as server:
        settings.BUDIBASE_URL, settings.BUDIBASE_API_KEY = server.url, budibase_server.KEY
        yield made


@pytest.fixture
def curator(world: World) -> Actor:
    """Somebody who may have a map looked over, after it was learnt."""
    actor = make_actor(curator=True)
    world.set_rows({world.ids[0]: {"Name": "Elicit", "Notes": "Pays late."}})
    bootstrap_apps(actor, connector="budibase")
    carry_on_app_runs()
    row = {"name": "Elicit", "table": "Clients", "row_id": str(world.ids[0]), "match_field": "Name"}
    carry_out(learn_app, actor, {"app": world.app, "entities": [{**row, "match_value": "Elicit"}]})
    return actor


def _report(actor: Actor, world: World) -> Any:
    return report_failure(actor, app=world.app, failure="row_gone", entity="Elicit", failed_id=str(world.ids[0]))


def test_a_row_whose_id_was_given_to_another_customer_is_looked_for_by_its_name(world: World, curator: Actor) -> None:
    world.set_rows({world.ids[0]: {"Name": "Bosch"}, world.ids[1]: {"Name": "Elicit"}})

    told = _report(curator, world)

    assert (told.status, told.place.row_id) == ("healed", str(world.ids[1]))
    assert AppEntity.objects.get(name="Elicit").row_id == str(world.ids[1])


@pytest.mark.parametrize("other", [{"Name": "Bosch"}, {"Name": ""}, {"Notes": "Nobody."}])
def test_a_row_whose_id_is_another_customers_and_whose_name_is_nowhere_is_gone(world, curator, other):
    world.set_rows({world.ids[0]: other})

    told = _report(curator, world)

    assert (told.status, told.place) == ("forgotten", None)
    assert "its id is right" not in told.next_step
    assert "Do not write to the row with its id" in told.next_step
    assert not AppEntity.objects.filter(name="Elicit").exists()


@pytest.mark.parametrize("name", ["Elicit", "ELICIT", " Elicit "])
def test_a_row_with_its_own_name_is_the_row(world: World, curator: Actor, name: str) -> None:
    world.set_rows({world.ids[0]: {"Name": name}})

    told = _report(curator, world)

    assert (told.status, told.place.row_id) == ("unchanged", str(world.ids[0]))
    assert "its id is right" in told.next_step


def test_a_row_that_nothing_tells_from_others_is_shown_and_not_confirmed(world: World, curator: Actor) -> None:
    AppEntity.objects.update(match_field="", match_value="")
    AppTable.objects.update(fields=[])
    world.set_rows({world.ids[0]: {"Name": "Bosch"}})

    told = _report(curator, world)

    assert told.status == "unchanged"
    assert "Bosch" in told.next_step
    assert "its id is right" not in told.next_step


def test_building_a_map_again_finds_reused_ids_too(world: World, curator: Actor) -> None:
    world.set_rows({world.ids[0]: {"Name": "Bosch"}, world.ids[1]: {"Name": "Elicit"}})

    rebuild_app(curator, app=world.app)
    carry_on_app_runs()

    assert AppEntity.objects.get(name="Elicit").row_id == str(world.ids[1])


def test_an_app_whose_id_was_given_to_another_is_found_by_its_name(world: World, curator: Actor) -> None:
    world.rename_app("Payroll")
    world.add_app("app_restored", world.app)

    told = report_failure(curator, app=world.app, failure="app_gone")

    assert told.status == "healed"
    assert App.objects.get(name=world.app).app_id == "app_restored"


def test_an_app_that_was_only_renamed_is_the_app(world: World, curator: Actor) -> None:
    world.rename_app("Customers")

    told = report_failure(curator, app=world.app, failure="app_gone")

    assert (told.place.app, "its id is right" in told.next_step) == ("Customers", True)


def test_a_table_whose_id_was_given_to_another_is_found_by_its_name(world: World, curator: Actor) -> None:
    clients = AppTable.objects.get(name="Clients")
    others = AppTable.objects.filter(app=clients.app).exclude(pk=clients.pk)
    taken, own = others.values_list("table_id", flat=True)[0], clients.table_id
    others.delete()
    AppTable.objects.filter(pk=clients.pk).update(table_id=taken)

    told = report_failure(curator, app=world.app, failure="table_gone", table="Clients")

    assert told.status == "healed"
    assert AppTable.objects.get(name="Clients").table_id == own
