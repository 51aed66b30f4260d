"""Reading a NocoDB server as its published API answers: bases, schemas, records, and every way to fail."""

from collections.abc import Iterator
from typing import Any

import pytest

from bigmind.core.operations import carry_out
from knowledge.app_maps.connectors import available_connectors, connector_called, web_api
from knowledge.app_maps.connectors.contract import ConnectorError, DiscoveredApp
from knowledge.app_maps.connectors.nocodb import NocoDB
from knowledge.app_maps.healing import report_failure
from knowledge.app_maps.learning import learn_app
from knowledge.app_maps.resolving import resolve_name
from knowledge.app_maps.runs import bootstrap_apps
from knowledge.models import App, AppTable
from knowledge.tasks import carry_on_app_runs
from tests.factories import make_actor
from tests.knowledge.counting_server import Answer
from tests.knowledge.nocodb_server import CLIENTS, DEALS, KEY, SALES, Nocodb, column


@pytest.fixture(autouse=True)
def _without_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(web_api, "PAUSES", (0.0, 0.0))
    monkeypatch.setattr(web_api, "HURRIED_PAUSES", (0.0,))


@pytest.fixture
def server(settings: Any) -> Iterator[Nocodb]:
    """A NocoDB that counts, and settings that name it."""
    with Nocodb() as nocodb:
        settings.NOCODB_URL, settings.NOCODB_API_KEY = nocodb.url, KEY
        yield nocodb


def _connector() -> NocoDB:
    connector = NocoDB.from_settings()
    assert connector
    return connector


def test_it_is_there_when_the_settings_name_a_server(server: Nocodb, settings: Any) -> None:
    assert available_connectors() == ["nocodb"]
    assert _connector().server == server.url
    assert connector_called("nocodb", server="https://elsewhere.example") is None
    settings.NOCODB_API_KEY = ""
    assert available_connectors() == []


@pytest.mark.parametrize("workspaces", [False, True])
def test_bases_are_apps_on_a_server_of_ones_own_and_in_the_cloud(server: Nocodb, workspaces: bool) -> None:
    server.workspaces, server.page = workspaces, 10
    server.bases += [{"id": f"p_{n}", "title": f"Base {n}"} for n in range(25)]

    apps = list(_connector().apps())

    assert apps[0] == DiscoveredApp(SALES, "Sales")
    assert [one.name for one in apps][1:] == [f"Base {n}" for n in range(25)]


def test_a_schema_says_types_values_links_and_what_rows_are_called_by(server: Nocodb) -> None:
    clients, deals = _connector().tables(SALES)

    assert (clients.table_id, deals.name) == (CLIENTS, "Deals")
    assert clients.fields == {
        "Name": {"type": "SingleLineText", "primary": True},
        "Notes": {"type": "LongText"},
        "Status": {"type": "SingleSelect", "values": ["Active", "Lead"]},
        "Deals": {"type": "Links", "target": "Deals"},
    }
    assert _connector().table(SALES, CLIENTS) == clients
    assert _connector().table(SALES, "m_gone") is None


def test_a_base_that_is_gone_is_said_to_be(server: Nocodb) -> None:
    with pytest.raises(ConnectorError, match="NocoDB has no base p_gone"):
        list(_connector().tables("p_gone"))


def test_records_are_found_by_id_and_by_value(server: Nocodb) -> None:
    connector = _connector()

    row = connector.row(SALES, CLIENTS, "1")

    assert row
    assert (row.row_id, row.values["Name"]) == ("1", "Elicit")
    assert connector.row(SALES, CLIENTS, "99") is None
    assert [one.row_id for one in connector.find_rows(SALES, CLIENTS, "Name", "Elicit")] == ["1"]
    assert [one.row_id for one in connector.find_rows(SALES, CLIENTS, "Name", "elicit", loosely=True)] == ["1", "2"]
    assert connector.find_rows(SALES, CLIENTS, "Name", "elicit") == []
    assert connector.find_rows(SALES, "m_gone", "Name", "Elicit") == []


@pytest.mark.parametrize(
    "name",
    [
        "Laptop, 15-inch (new)",
        'Say "hello"',
        "L'Oréal",
        "`a` 'b' \"c\"",
        "a\\b",
        "50 % off_now",
        "顧客 ~and(x,eq,y)",
        "),eq,(",
        "",
    ],
)
@pytest.mark.parametrize("loosely", [False, True])
def test_no_value_can_be_taken_for_a_condition(server: Nocodb, name: str, loosely: bool) -> None:
    server.records[CLIENTS] = {1: {"Name": name}, 2: {"Name": "50 X offXnow"}, 3: {"Name": "aXb"}}

    rows = _connector().find_rows(SALES, CLIENTS, "Name", name, limit=1, loosely=loosely)

    assert [one.row_id for one in rows] == ["1"]


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (Answer(401, '{"error": "ERR_AUTHENTICATION_REQUIRED"}'), "refuses the key .401.*BIGMIND_NOCODB_API_KEY"),
        (Answer(200, "<html>", {"Content-Type": "text/html"}), "There is no NocoDB at .*BIGMIND_NOCODB_URL"),
        (Answer(200, '{"hello": 1}'), "not NocoDB's API. Look at BIGMIND_NOCODB_URL"),
        (Answer(200, '{"list": [{"title": "x"}]}'), "not NocoDB's API"),
        (Answer(302, "", {"Location": "https://elsewhere.example"}), "sends elsewhere"),
        (Answer(422, '{"error": "ERR_INVALID"}'), "does not take this request .422."),
    ],
)
def test_what_fails_for_good_is_said_in_words_that_help(server: Nocodb, answer: Answer, said: str) -> None:
    server.answers.append(answer)

    with pytest.raises(ConnectorError, match=said):
        list(_connector().apps())


def test_too_many_requests_are_waited_out_and_then_told(server: Nocodb) -> None:
    server.answers.extend([Answer(429, '{"msg": "Too many requests"}'), Answer(503, "{}")])
    assert len(list(_connector().apps())) == 1

    server.answers.extend([Answer(429, '{"msg": "Too many requests"}', {"Retry-After": "3600"})])
    with pytest.raises(ConnectorError, match="asked too often"):
        list(_connector().apps())


@pytest.mark.django_db
def test_an_app_is_mapped_found_in_and_healed(server: Nocodb) -> None:
    actor = make_actor(curator=True)

    bootstrap_apps(actor, connector="nocodb")
    carry_on_app_runs()
    found = resolve_name(actor, name="elicit", request="add a note to the client Elicit")
    note = {"name": "add_note", "trigger": "add note to [client]", "field": "Notes", "table": "Clients"}
    carry_out(learn_app, actor, {"app": "Sales", "workflows": [note]})
    server.records[CLIENTS] = {7: {"Name": "Elicit", "Notes": ""}}
    healed = report_failure(actor, app="Sales", failure="row_gone", entity="Elicit", failed_id="1")
    server.tables[SALES][CLIENTS]["columns"][3] = column("Remarks", "LongText")
    changed = report_failure(actor, app="Sales", failure="schema_changed", table="Clients")

    assert (App.objects.get().connector, App.objects.get().server) == ("nocodb", server.url)
    assert set(AppTable.objects.values_list("table_id", flat=True)) == {CLIENTS, DEALS}
    assert found.place
    assert (found.place.row_id, found.place.table) == ("1", "Clients")
    assert healed.place
    assert (healed.status, healed.place.row_id) == ("healed", "7")
    assert [one.problem for one in changed.workflows] == ["names the field Notes, which is gone; it may be Remarks now"]
