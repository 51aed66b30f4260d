"""The Budibase connector, against a local server that answers as the published API does, and fails as servers do."""

from collections.abc import Iterator
from dataclasses import replace
from time import monotonic
from typing import Any

import pytest

from knowledge.app_maps.connectors import available_connectors, connector_called, web_api
from knowledge.app_maps.connectors.budibase import Budibase as Connector
from knowledge.app_maps.connectors.contract import ConnectorError
from tests.dribbling import dribbling
from tests.knowledge.budibase_server import BILLING, CLIENTS, CRM, ELICIT, KEY, PROJECTS, Answer, Budibase


@pytest.fixture
def budibase(settings: Any) -> Iterator[Budibase]:
    """A server, and settings that name it."""
    with Budibase() as server:
        settings.BUDIBASE_URL, settings.BUDIBASE_API_KEY = server.url, KEY
        yield server


@pytest.fixture
def pauses() -> list[float]:
    """How long the connector would have waited."""
    return []


@pytest.fixture
def connector(budibase: Budibase, pauses: list[float]) -> Connector:
    """The connector of the settings, which does not really wait."""
    made = connector_called("budibase")
    assert isinstance(made, Connector)
    return Connector(replace(made.api, pause=pauses.append))


def test_each_app_is_there_once_as_published_where_it_is(connector: Connector) -> None:
    assert [(app.app_id, app.name) for app in connector.apps()] == [(CRM, "CRM"), (BILLING, "Billing")]


def test_fields_have_types_values_and_the_names_of_the_tables_they_lead_to(connector: Connector) -> None:
    clients, projects = connector.tables(CRM)

    assert (clients.table_id, clients.name) == (CLIENTS, "Clients")
    assert clients.fields == {
        "Name": {"type": "string", "primary": True},
        "Notes": {"type": "longform"},
        "Status": {"type": "options", "values": ["Active", "Inactive", "Lead"]},
        "Projects": {"type": "link", "target": "Projects", "display": "Name"},
    }
    assert projects.fields["Client"] == {"type": "link", "target": "Clients", "display": "Name"}
    assert connector.table(CRM, CLIENTS) == clients


def test_rows_are_found_by_id_and_by_field(connector: Connector, budibase: Budibase) -> None:
    row = connector.row(CRM, CLIENTS, ELICIT)

    assert row is not None
    assert row.values["Name"] == "Elicit"
    assert [one.row_id for one in connector.find_rows(CRM, CLIENTS, "Name", "Elicit")] == [ELICIT]
    assert all(one["x-budibase-app-id"] == CRM for one in budibase.headers)


def test_what_is_gone_is_none(connector: Connector) -> None:
    assert connector.row(CRM, CLIENTS, "ro_none") is None
    assert connector.table(CRM, "ta_none") is None
    assert connector.find_rows(CRM, "ta_none", "Name", "x") == []


def test_pages_are_read_until_there_is_no_other(connector: Connector, budibase: Budibase) -> None:
    budibase.page_rows = 2
    budibase.rows[PROJECTS] = {f"ro_{number}": {"Name": "Same"} for number in range(5)}

    rows = connector.find_rows(CRM, PROJECTS, "Name", "Same", limit=100)

    assert len({row.row_id for row in rows}) == 5
    assert budibase.calls["query_records"] == 3


def test_no_more_is_asked_than_is_wanted(connector: Connector, budibase: Budibase) -> None:
    budibase.page_rows = 2
    budibase.rows[PROJECTS] = {f"ro_{number}": {"Name": "Same"} for number in range(50)}

    assert len(connector.find_rows(CRM, PROJECTS, "Name", "Same", limit=3)) == 3
    assert budibase.calls["query_records"] == 2


def test_what_passes_is_tried_again_after_the_time_it_asks_for(connector, budibase, pauses):
    budibase.answers.extend([Answer(429, headers={"Retry-After": "7"}), Answer(503), Answer(502)])

    assert len(list(connector.apps())) == 2
    assert pauses == [7.0, 2.0, 4.0]


def test_what_does_not_pass_is_given_up_in_words(connector: Connector, budibase: Budibase) -> None:
    budibase.answers.extend([Answer(500)] * 10)

    with pytest.raises(ConnectorError, match=r"Budibase is in trouble \(500\)"):
        list(connector.apps())
    assert len(budibase.headers) == 4


def test_whoever_asks_for_an_hour_is_not_waited_for(connector, budibase, pauses):
    budibase.answers.append(Answer(429, headers={"Retry-After": "3600"}))

    with pytest.raises(ConnectorError, match="asked too often"):
        list(connector.apps())
    assert pauses == []


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (Answer(301, headers={"Location": "https://elsewhere.example"}), "sends elsewhere"),
        (Answer(200, "<html>Welcome</html>", {"Content-Type": "text/html"}), "There is no Budibase at .* is no JSON"),
        (Answer(200, '{"hello": "world"}'), "not Budibase's API"),
        (Answer(200, '{"data": [{"name": "no id"}]}'), "not Budibase's API"),
        (Answer(404, "<html>", {"Content-Type": "text/html"}), "There is no Budibase at .* it answers 404"),
        (Answer(400), r"does not take this request \(400\)"),
    ],
)
def test_an_answer_that_is_none_says_what_to_look_at(connector, budibase, answer, said):
    budibase.answers.append(answer)

    with pytest.raises(ConnectorError, match=said):
        list(connector.apps())


def test_a_wrong_key_is_told_and_never_shown(budibase: Budibase, settings: Any) -> None:
    settings.BUDIBASE_API_KEY = "wrong-key-in-the-settings"
    wrong = connector_called("budibase")
    assert wrong is not None

    with pytest.raises(ConnectorError) as refusal:
        list(wrong.apps())

    assert "refuses the key (403)" in str(refusal.value)
    assert "BIGMIND_BUDIBASE_API_KEY" in str(refusal.value)
    assert "wrong-key" not in str(refusal.value) + repr(wrong)


def test_an_address_where_nobody_answers_is_told(connector: Connector) -> None:
    away = Connector(replace(connector.api, url="http://127.0.0.1:9/api/public/v1"))

    with pytest.raises(ConnectorError, match="cannot be reached"):
        list(away.apps())


def test_a_server_without_tls_where_tls_is_meant_is_told(connector: Connector) -> None:
    odd = Connector(replace(connector.api, url=connector.api.url.replace("http://", "https://")))

    with pytest.raises(ConnectorError, match=r"certificate .* is not trusted|cannot be reached"):
        list(odd.apps())


def test_a_server_that_answers_byte_by_byte_is_hung_up_on_and_not_asked_again(connector, pauses, monkeypatch):
    monkeypatch.setattr(web_api, "SECONDS_EACH", 0.5)
    with dribbling() as url:
        slow = Connector(replace(connector.api, url=f"{url}/api/public/v1"))
        began = monotonic()

        with pytest.raises(ConnectorError, match="answers too slowly"):
            list(slow.apps())

        assert monotonic() - began < 4
        assert pauses == []


def test_an_app_that_is_gone_is_told(connector: Connector) -> None:
    with pytest.raises(ConnectorError, match="Budibase has no app app_none"):
        list(connector.tables("app_none"))


@pytest.mark.parametrize("ending", ["", "/", "/api/public/v1", "/api/public/v1/"])
def test_the_address_may_be_given_with_the_path_or_without(budibase: Budibase, settings: Any, ending: str) -> None:
    settings.BUDIBASE_URL = budibase.url + ending

    made = connector_called("budibase")

    assert made is not None
    assert len(list(made.apps())) == 2


def test_without_settings_there_is_no_connector(settings: Any) -> None:
    settings.BUDIBASE_URL = ""

    assert available_connectors() == []
    assert connector_called("budibase") is None
    assert connector_called("airtable") is None
