"""Rows that no map knows: BigMind looks for them itself, in the likeliest tables, on material of a real size."""

from collections.abc import Iterator
from typing import Any

import pytest
from pytest_django.plugin import DjangoDbBlocker

from accounts.actor import Actor
from bigmind.core.operations import carry_out
from knowledge.app_maps import lookups
from knowledge.app_maps.connectors import web_api
from knowledge.app_maps.healing import report_failure
from knowledge.app_maps.learning import learn_app
from knowledge.app_maps.lookups import CALLS, rank_tables
from knowledge.app_maps.reading import MAP_BYTES, get_app, list_apps
from knowledge.app_maps.resolving import resolve_name
from knowledge.models import App, AppEntity, AppTable
from tests.factories import make_actor
from tests.knowledge.budibase_server import KEY, Answer, Budibase
from tests.worlds import keep_world

pytestmark = pytest.mark.django_db

APPS = [
    "CRM", "Billing", "Stock", "Ressources humaines", "Wartung & Prüfung", "販売管理", "Fleet", "Legal", "Helpdesk",
    "Field service", "Recruiting", "Marketing", "Événements", "Facilities", "R&D", "Quality", "Purchasing", "Payroll",
    "Training", "Travel", "Assets", "Contracts", "Grants", "Lab", "Library", "Membership", "Newsletter", "Roadmap",
    "Surveys", "app_dev_0123456789abcdef (copy)" + " of a copy" * 12,
]  # fmt: skip
TABLES = [
    "Clients",
    "Contacts",
    "Invoices",
    "Projects",
    "Tasks",
    "Suppliers",
    "Équipements",
    "顧客",
    "Notes",
    "Settings",
]


def _make_tables() -> list[AppTable]:
    """Make thirty apps, 300 tables and 3,000 rows that people asked for."""
    apps = [App(name=name, app_id=f"app_{n}", file=f"app-{n}", connector="budibase") for n, name in enumerate(APPS)]
    for one in apps:
        one.rename(one.name)
    App.objects.bulk_create(apps)
    fields = [{"name": "Name", "type": "string", "primary": True}, {"name": "Status", "type": "options"}]
    tables = [AppTable(app=app, table_id=f"ta_{a}_{t}", fields=fields) for a, app in enumerate(apps) for t in range(10)]
    for number, table in enumerate(tables):
        table.rename(TABLES[number % 10])
    AppTable.objects.bulk_create(tables)
    rows = [AppEntity(table=table, row_id=f"ro_{n}_{r}") for n, table in enumerate(tables[::3]) for r in range(30)]
    for number, row in enumerate(rows):
        row.rename(f"Row {number} of {row.table.name}")
    AppEntity.objects.bulk_create(rows)
    return tables


@pytest.fixture(scope="module")
def tables(django_db_setup: None, django_db_blocker: DjangoDbBlocker) -> Iterator[list[AppTable]]:
    """Make them once for all."""
    with keep_world(django_db_blocker, _make_tables) as made:
        yield made


@pytest.fixture
def world(tables: list[AppTable], settings: Any, monkeypatch: pytest.MonkeyPatch) -> Iterator[Budibase]:
    """A Budibase that has those tables, and more rows."""
    monkeypatch.setattr(web_api, "HURRIED_PAUSES", (0.0,))
    settings.BIGMIND_MODE = "team"
    apps = {table.app.app_id: table.app for table in tables}.values()
    with Budibase() as server:
        settings.BUDIBASE_URL, settings.BUDIBASE_API_KEY = server.url, KEY
        server.apps = [{"_id": one.app_id, "name": one.name} for one in apps]
        schema = {"Name": {"name": "Name", "type": "string"}, "Status": {"name": "Status", "type": "options"}}
        server.tables = {one.app_id: [] for one in apps}
        for table in tables:
            about = {"_id": table.table_id, "name": table.name, "primaryDisplay": "Name", "schema": schema}
            server.tables[table.app.app_id].append(about)
        server.rows = {table.table_id: {} for table in tables}
        yield server


def _table(app: str, table: str) -> str:
    return AppTable.objects.get(app__name=app, name=table).table_id


@pytest.mark.parametrize(
    ("request_", "app", "table"),
    [
        ("add a note to the invoice 4711 in billing", "Billing", "Invoices"),
        ("who looks after that customer? 顧客 in 販売管理", "販売管理", "顧客"),
        ("Équipement en panne, ressources humaines", "Ressources humaines", "Équipements"),
        ("close the task in helpdesk", "Helpdesk", "Tasks"),
        ("R&D project kickoff", "R&D", "Projects"),
    ],
)
def test_the_words_of_a_request_rank_three_hundred_tables(world: Budibase, request_: str, app: str, table: str) -> None:
    best = rank_tables("Zylotherm", request_, None)[:2]

    assert (app, table) in [(one.table.app.name, one.table.name) for one in best]


def test_where_rows_live_counts_and_names_that_are_alike(world: Budibase, curator: Actor) -> None:
    carry_out(learn_app, curator, {"app": "Grants", "entities": [{"name": "Zylotherm Inc", "table": "Notes"}]})

    assert str(rank_tables("Zylotherm Ltd", "", None)[0].table.app) == "Grants"
    assert rank_tables("Zylotherm", "", App.objects.get(name="Lab"))[0].table.entities.exists()


def test_nobody_is_sent_through_arbitrary_tables(world: Budibase) -> None:
    AppEntity.objects.all().delete()

    unknown = resolve_name(make_actor(), name="Zylotherm", request="call them back")

    assert rank_tables("Zylotherm", "call them back", None) == []
    assert unknown.next_step == (
        "Ask the user in which app and table it is, and resolve again with `app` and a `request` that says so."
    )
    assert not world.calls


def test_the_search_keeps_to_its_budget_and_says_where_it_looked(world: Budibase, curator: Actor) -> None:
    unknown = resolve_name(curator, name="Zylotherm", request="mark the client Zylotherm as paid")

    assert unknown.status == "unknown"
    assert world.discovery == CALLS == len(unknown.looked_in)
    assert f"BigMind looked in {CALLS} tables, and no row is called so" in unknown.next_step
    assert unknown.next_step.count("ta_") <= 5


def test_where_only_habit_speaks_it_is_looked_for_and_then_the_user_is_asked(world: Budibase, curator: Actor) -> None:
    unknown = resolve_name(curator, name="Zylotherm")

    assert world.discovery == CALLS
    assert "Ask the user how it is spelled, or in which app and table it is" in unknown.next_step
    assert "query_records" not in unknown.next_step


def test_a_slow_system_ends_the_search(world: Budibase, curator: Actor, monkeypatch: pytest.MonkeyPatch) -> None:
    moments = iter(range(0, 1000, 4))
    monkeypatch.setattr(lookups, "monotonic", lambda: float(next(moments)))

    unknown = resolve_name(curator, name="Zylotherm", request="mark the client Zylotherm as paid")

    assert len(unknown.looked_in) == world.discovery == 1


def test_a_row_in_several_apps_is_asked_about_and_the_choice_is_kept(world: Budibase, curator: Actor) -> None:
    for app in ("CRM", "Billing"):
        world.rows[_table(app, "Clients")] = {f"ro_{app}": {"Name": "Zylotherm"}}

    both = resolve_name(curator, name="Zylotherm", request="client Zylotherm, CRM or billing")
    one = resolve_name(curator, name="Zylotherm", app="Billing")

    assert (both.status, {place.row_id for place in both.candidates}) == ("ambiguous", {"ro_CRM", "ro_Billing"})
    assert one.place
    assert one.place.row_id == "ro_Billing"


def test_rows_of_one_name_in_one_table_are_told_apart_by_their_values(world: Budibase, curator: Actor) -> None:
    rows = {f"ro_{n}": {"Name": "Jean Martin", "Status": status} for n, status in enumerate(("new", "old"))}
    world.rows[_table("CRM", "Contacts")] = rows

    found = resolve_name(curator, name="Jean Martin", app="CRM", request="the contact Jean Martin")

    assert found.status == "ambiguous"
    assert [(one.row_id, one.values["Status"]) for one in found.candidates] == [("ro_0", "new"), ("ro_1", "old")]
    assert not AppEntity.objects.filter(name="Jean Martin").exists()


def test_what_begins_alike_is_suggested(world: Budibase, curator: Actor) -> None:
    world.rows[_table("CRM", "Clients")] = {"ro_1": {"Name": "Zylotherm Plant"}}

    unknown = resolve_name(curator, name="Zylotherm", app="CRM", request="client Zylotherm")

    assert (unknown.status, unknown.did_you_mean[0]) == ("unknown", "Zylotherm Plant")


@pytest.mark.parametrize(("setting", "calls"), [("curators", 0), ("everyone", CALLS)])
def test_for_members_a_connector_looks_where_the_operator_says_so(world, settings, setting, calls):
    settings.CONNECTOR_LOOKUPS = setting

    unknown = resolve_name(make_actor(), name="Zylotherm", request="mark the client Zylotherm as paid")

    assert world.discovery == calls
    assert "Call query_records in Clients" in unknown.next_step


def test_a_key_that_may_only_read_has_nothing_looked_for(world: Budibase) -> None:
    reader = make_actor(curator=True, scopes=["read"])

    assert resolve_name(reader, name="Zylotherm", request="client").looked_in == []


def test_a_table_that_cannot_be_searched_stops_no_other(world: Budibase, curator: Actor) -> None:
    world.rows[_table("CRM", "Suppliers")] = {"ro_1": {"Name": "Zylotherm"}}
    world.answers.append(Answer(400))

    found = resolve_name(curator, name="Zylotherm", app="CRM", request="the supplier or client Zylotherm")

    assert (found.status, found.looked_in[0]) == ("resolved", "Suppliers")


def test_a_system_that_is_away_is_asked_once_for_each_app_and_the_agent_is_told(world, curator):
    world.answers.extend([Answer(503)] * 50)

    unknown = resolve_name(curator, name="Zylotherm", request="mark the client Zylotherm as paid", app="CRM")

    assert unknown.next_step.startswith("BigMind could not look itself: Budibase is in trouble (503).")
    assert len(world.answers) == 48


def test_the_walk_through_the_ladder_on_a_real_size(world: Budibase, curator: Actor) -> None:
    clients = _table("CRM", "Clients")
    world.rows[clients] = {"ro_1": {"Name": "Elicit"}}
    first = resolve_name(curator, name="Elicit", app="CRM", request="add a comment on the client Elicit")
    world.rows[clients] = {"ro_2": {"Name": "Elicit"}}

    moved = report_failure(curator, app="CRM", failure="row_gone", entity="Elicit", failed_id="ro_1")
    world.rows[clients] = {}
    gone = report_failure(curator, app="CRM", failure="row_gone", entity="Elicit", failed_id="ro_2")

    assert first.place
    assert moved.place
    assert [first.place.row_id, moved.status, moved.place.row_id, gone.status] == [
        "ro_1",
        "healed",
        "ro_2",
        "forgotten",
    ]
    assert not AppEntity.objects.filter(name="Elicit").exists()


def test_every_map_of_a_real_size_keeps_to_five_kilobytes_and_the_index_names_every_app(world, curator):
    index = list_apps(curator)

    assert index.total == len(APPS)
    for name in (APPS[0], APPS[5], APPS[29]):
        read = get_app(curator, app=name)
        assert len(read.yaml.encode()) <= MAP_BYTES
        assert "Clients:" in read.yaml
