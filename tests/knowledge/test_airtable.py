"""Reading Airtable as its published Web API answers: bases, schemas, records, and ways to fail."""

from collections.abc import Iterator
from typing import Any

import pytest

from knowledge.app_maps.connectors import available_connectors, web_api
from knowledge.app_maps.connectors.airtable import Airtable as Connector
from knowledge.app_maps.connectors.contract import ConnectorError
from knowledge.app_maps.healing import report_failure
from knowledge.app_maps.resolving import resolve_name
from knowledge.app_maps.runs import bootstrap_apps
from knowledge.models import AppTable
from knowledge.tasks import carry_on_app_runs
from tests.factories import make_actor
from tests.knowledge.airtable_server import CLIENTS, DEALS, ELICIT, KEY, SALES, Airtable
from tests.knowledge.counting_server import Answer


@pytest.fixture
def server(settings: Any, monkeypatch: pytest.MonkeyPatch) -> Iterator[Airtable]:
    """An Airtable that counts, and settings that name it."""
    monkeypatch.setattr(web_api, "PAUSES", (0.0, 0.0))
    monkeypatch.setattr(web_api, "HURRIED_PAUSES", (0.0,))
    with Airtable(page=10) as airtable:
        settings.AIRTABLE_URL, settings.AIRTABLE_API_KEY = airtable.url, KEY
        yield airtable


def _connector() -> Connector:
    connector = Connector.from_settings()
    assert connector
    return connector


def test_a_token_is_all_it_needs(settings: Any) -> None:
    assert available_connectors() == []
    settings.AIRTABLE_API_KEY = KEY

    assert available_connectors() == ["airtable"]
    assert _connector().server == "https://api.airtable.com"


def test_bases_are_apps_however_many_pages_they_take(server: Airtable) -> None:
    server.bases += [{"id": f"app{n}", "name": f"Base {n}"} for n in range(25)]

    assert [one.name for one in _connector().apps()] == ["Sales", *(f"Base {n}" for n in range(25))]
    assert server.calls == {"meta/bases": 3}


def test_schemas_come_with_the_tables_in_one_call(server: Airtable) -> None:
    clients, deals = _connector().tables(SALES)

    assert clients.fields == {
        "Name": {"type": "singleLineText", "primary": True},
        "Notes": {"type": "multilineText"},
        "Status": {"type": "singleSelect", "values": ["Active", "Lead"]},
        "Deals": {"type": "multipleRecordLinks", "target": "Deals"},
    }
    assert server.calls == {"meta/bases": 1}
    assert _connector().table(SALES, DEALS) == deals
    assert _connector().table(SALES, "tblGONE") is None
    with pytest.raises(ConnectorError, match="Airtable has no base appGONE that the token may read"):
        list(_connector().tables("appGONE"))


def test_records_are_found_by_id_and_by_value(server: Airtable) -> None:
    connector = _connector()

    row = connector.row(SALES, CLIENTS, ELICIT)

    assert row
    assert row.values == {"Name": "Elicit"}
    assert connector.row(SALES, CLIENTS, "recGONE") is None
    assert [one.row_id for one in connector.find_rows(SALES, CLIENTS, "Name", "Elicit")] == [ELICIT]
    assert [one.row_id for one in connector.find_rows(SALES, CLIENTS, "Name", "ELICIT", loosely=True)] == [
        ELICIT,
        "recPLANT",
    ]


@pytest.mark.parametrize(
    "name", ['Say "hello"', "L'Oréal", "a\\b\\", '\\"', "{Name}", '") OR TRUE() & ("', "顧客", "Ünï (x), y"]
)
@pytest.mark.parametrize("loosely", [False, True])
def test_no_value_can_be_taken_for_a_formula(server: Airtable, name: str, loosely: bool) -> None:
    server.records[CLIENTS] = {"rec1": {"Name": name}, "rec2": {"Name": "another"}}

    assert [one.row_id for one in _connector().find_rows(SALES, CLIENTS, "Name", name, loosely=loosely)] == ["rec1"]


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (Answer(401, "{}"), "Airtable refuses the key .401.*BIGMIND_AIRTABLE_API_KEY"),
        (Answer(200, '{"bases": [{"name": "x"}]}'), "not Airtable's API"),
        (Answer(422, "{}"), "does not take this request .422."),
        (Answer(429, "{}", {"Retry-After": "3600"}), "asked too often"),
    ],
)
def test_what_fails_is_said_in_words_that_help(server: Airtable, answer: Answer, said: str) -> None:
    server.answers.append(answer)

    with pytest.raises(ConnectorError, match=said):
        list(_connector().apps())


@pytest.mark.django_db
def test_an_app_is_mapped_found_in_and_healed(server: Airtable) -> None:
    actor = make_actor(curator=True)
    bootstrap_apps(actor, connector="airtable")
    carry_on_app_runs()

    found = resolve_name(actor, name="elicit", request="the client Elicit")
    server.records[CLIENTS] = {"recNEW": {"Name": "Elicit"}}
    healed = report_failure(actor, app="Sales", failure="row_gone", entity="Elicit", failed_id=ELICIT)
    server.tables[SALES].pop(0)
    gone = report_failure(actor, app="Sales", failure="row_gone", entity="Elicit", failed_id="recNEW")

    assert found.place
    assert healed.place
    assert (found.place.row_id, healed.place.row_id) == (ELICIT, "recNEW")
    # Of a table that is gone Airtable says that the token may not: nothing is forgotten for that.
    assert (gone.status, AppTable.objects.filter(name="Clients").exists()) == ("next_step", True)
