"""An outside system that answers with a value of another type: the connector says so, or takes nothing from it."""

from collections.abc import Callable, Iterator
from contextlib import suppress
from copy import deepcopy
from functools import partial
from itertools import count
from typing import Any

import pytest

from knowledge.app_maps.connectors import budibase
from knowledge.app_maps.connectors.contract import Connector, ConnectorError
from knowledge.app_maps.connectors.web_api import WebApi
from tests.knowledge import budibase_server
from tests.wrong_types import spoilt

Asked = tuple[str, str, str]


def _questions(app_id: str, table_id: str, row_id: str) -> Iterator[Callable[[Connector], object]]:
    yield lambda connector: list(connector.apps())
    yield lambda connector: list(connector.tables(app_id))
    yield lambda connector: connector.table(app_id, table_id)
    yield lambda connector: connector.row(app_id, table_id, row_id)
    yield lambda connector: connector.find_rows(app_id, table_id, "Name", "Elicit")
    yield lambda connector: connector.find_rows(app_id, table_id, "Name", "Eli", loosely=True)


def test_no_answer_of_another_type_stops_more_than_its_own_question(settings: Any, monkeypatch: pytest.MonkeyPatch):
    answers: dict[Asked, Any] = {}
    ask = WebApi.ask

    def record(api: WebApi, method: str, path: str, **more: Any) -> Any:
        answers[method, path, str(more)] = ask(api, method, path, **more)
        return deepcopy(answers[method, path, str(more)])

    with budibase_server.Budibase() as running:
        connector = _connector(settings, running.url)
        table = next(iter(connector.tables(budibase_server.CRM)))
        row = connector.find_rows(budibase_server.CRM, table.table_id, "Name", "Elicit")[0]
        monkeypatch.setattr(WebApi, "ask", record)
        questions = list(_questions(budibase_server.CRM, table.table_id, row.row_id))
        for question in questions:
            question(connector)

    for asked, answer in list(answers.items()):
        for other in spoilt(answer):
            told = {**answers, asked: other}
            monkeypatch.setattr(WebApi, "ask", partial(_answer, told))
            for question in questions:
                with suppress(ConnectorError):
                    question(connector)


def test_a_list_whose_pages_never_end_is_read_to_a_bound(settings: Any, monkeypatch: pytest.MonkeyPatch):
    numbers = count(1)
    monkeypatch.setattr(budibase, "PAGES", 5)

    def answer(*_: Any, **__: Any) -> Any:
        number = next(numbers)
        return {"data": [{"_id": f"a{number}"}], "hasNextPage": True, "bookmark": number}

    monkeypatch.setattr(WebApi, "ask", answer)

    assert len(list(_connector(settings, "https://example.com").apps())) == 5


def _connector(settings: Any, url: str) -> Connector:
    settings.BUDIBASE_URL, settings.BUDIBASE_API_KEY = url, budibase_server.KEY
    connector = budibase.Budibase.from_settings()
    assert connector is not None
    return connector


def _answer(told: dict[Asked, Any], method: str, path: str, **more: Any) -> Any:
    return told.get((method, path, str(more)))
