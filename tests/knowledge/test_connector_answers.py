"""Outside systems that answer with a value of another type: the connector says so, or takes nothing from it."""

from collections.abc import Callable, Iterator
from contextlib import suppress
from copy import deepcopy
from functools import partial
from itertools import count
from typing import Any

import pytest

from knowledge.app_maps.connectors.airtable import Airtable
from knowledge.app_maps.connectors.budibase import Budibase
from knowledge.app_maps.connectors.contract import Connector, ConnectorError
from knowledge.app_maps.connectors.nocodb import NocoDB
from knowledge.app_maps.connectors.web_api import WebApi
from tests.knowledge import airtable_server, budibase_server, nocodb_server
from tests.wrong_types import spoilt

SYSTEMS = {
    "airtable": (Airtable, airtable_server.Airtable, airtable_server.SALES, airtable_server.KEY),
    "budibase": (Budibase, budibase_server.Budibase, budibase_server.CRM, budibase_server.KEY),
    "nocodb": (NocoDB, nocodb_server.Nocodb, nocodb_server.SALES, nocodb_server.KEY),
}
Asked = tuple[str, str, str]


def _questions(app_id: str, table_id: str, row_id: str) -> Iterator[Callable[[Connector], object]]:
    yield lambda connector: list(connector.apps())
    yield lambda connector: list(connector.tables(app_id))
    yield lambda connector: connector.table(app_id, table_id)
    yield lambda connector: connector.row(app_id, table_id, row_id)
    yield lambda connector: connector.find_rows(app_id, table_id, "Name", "Elicit")
    yield lambda connector: connector.find_rows(app_id, table_id, "Name", "Eli", loosely=True)


@pytest.mark.parametrize("system", SYSTEMS)
def test_no_answer_of_another_type_stops_more_than_its_own_question(system, settings, monkeypatch):
    made, server, app_id, key = SYSTEMS[system]
    answers: dict[Asked, Any] = {}
    ask = WebApi.ask

    def record(api, method, path, **more):
        answers[method, path, str(more)] = ask(api, method, path, **more)
        return deepcopy(answers[method, path, str(more)])

    with server() as running:
        setattr(settings, f"{system.upper()}_URL", running.url)
        setattr(settings, f"{system.upper()}_API_KEY", key)
        connector = made.from_settings()
        table = next(iter(connector.tables(app_id)))
        row = connector.find_rows(app_id, table.table_id, "Name", "Elicit")[0]
        monkeypatch.setattr(WebApi, "ask", record)
        questions = list(_questions(app_id, table.table_id, row.row_id))
        for question in questions:
            question(connector)

    for asked, answer in list(answers.items()):
        for other in spoilt(answer):
            told = {**answers, asked: other}
            monkeypatch.setattr(WebApi, "ask", partial(_answer, told))
            for question in questions:
                with suppress(ConnectorError):
                    question(connector)


def _answer(told: dict[Asked, Any], method: str, path: str, **more: Any) -> Any:
    return told.get((method, path, str(more)))


@pytest.mark.parametrize(("system", "page"), [("airtable", "bases"), ("nocodb", "list")])
def test_a_list_whose_pages_never_end_is_read_to_a_bound(system, page, settings, monkeypatch):
    numbers = count(1)
    setattr(settings, f"{system.upper()}_URL", "https://example.com")
    setattr(settings, f"{system.upper()}_API_KEY", "key")
    monkeypatch.setattr(f"knowledge.app_maps.connectors.{system}.PAGES", 5)

    def answer(*_, **__):
        number = next(numbers)
        return {page: [{"id": f"a{number}"}], "offset": number, "pageInfo": {"isLastPage": False, "totalRows": 10**9}}

    monkeypatch.setattr(WebApi, "ask", answer)

    assert len(list(SYSTEMS[system][0].from_settings().apps())) == 5
