"""T8, for what there is by now: many at once on the same thing have one effect, and the losers are told."""

import json
import re
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from urllib.parse import urlsplit

import httpx
import pytest

from tests.embedded.instance import Instance, command
from tests.torture.contenders import all_at_once, first_user
from tests.torture.scale import CONTENDERS, PATIENCE
from tests.torture.writes import findable_texts, query

pytestmark = pytest.mark.torture


def test_what_all_learn_of_one_app_at_once_is_all_there(bigmind: Instance, client: httpx.Client) -> None:
    answers = all_at_once(lambda n: client.post("apps/learn/", json=_learnt(n)))

    assert _statuses(answers) == {200: CONTENDERS}
    ((apps,),) = query(bigmind.home, "SELECT count(*) FROM knowledge_app WHERE name = 'Torture'")
    ((tables,),) = query(bigmind.home, "SELECT count(*) FROM knowledge_apptable")
    rows = query(bigmind.home, "SELECT name FROM knowledge_appentity")
    ((fields,),) = query(bigmind.home, "SELECT jsonb_array_length(fields) FROM knowledge_apptable")
    assert (apps, tables, fields) == (1, 1, CONTENDERS)
    assert sorted(name for (name,) in rows) == sorted(["Shared", *(f"Row {n}" for n in range(CONTENDERS))])
    assert sum(answer.json()["is_new"] for answer in answers) == 1


def _learnt(n: int) -> dict[str, Any]:
    """What one of them found out: a row and a field of its own, and a row that all found."""
    rows = [{"name": name, "table": "Clients", "row_id": f"ro_{n}"} for name in (f"Row {n}", "Shared")]
    tables = [{"name": "Clients", "table_id": "ta_1", "fields": {f"Field {n}": {"type": "string"}}}]
    return {"app": "Torture", "app_id": "app_torture", "tables": tables, "entities": rows}


def test_a_note_set_by_all_at_once_is_one_note_with_the_words_of_one_of_them(bigmind, client):
    answers = all_at_once(lambda n: client.put("notes/", json=_note("set", f"Words of {n}.")))

    assert _statuses(answers) == {200: CONTENDERS}
    ((content,),) = query(bigmind.home, "SELECT content FROM knowledge_note WHERE key = 'set'")
    assert content in {f"Words of {n}." for n in range(CONTENDERS)}
    assert findable_texts(bigmind.home)[f"torture set\n\n{content}"] == 1
    assert len(query(bigmind.home, "SELECT 1 FROM knowledge_passage WHERE text LIKE 'torture set%%'")) == 1


def test_a_key_rotated_by_all_at_once_has_one_successor_and_the_others_are_told(bigmind: Instance) -> None:
    made = json.loads(command(bigmind.home, "key_create", first_user(bigmind), "--json").stdout)
    page = f"keys/{made['id']}/rotate/"
    with _signed_in(bigmind) as browser:
        form = {"overlap": "24", "csrfmiddlewaretoken": _form_token(browser.get(page))}

        answers = all_at_once(lambda _: browser.post(page, data=form))

    assert _statuses(answers) == {302: 1, 409: CONTENDERS - 1}
    successors = query(bigmind.home, "SELECT id FROM accounts_apikey WHERE replaces_id = %s", made["id"])
    assert len(successors) == 1


def _statuses(answers: list[httpx.Response]) -> Counter[int]:
    return Counter(answer.status_code for answer in answers)


def _note(key: str, content: str) -> dict[str, str]:
    return {"domain": "torture", "key": key, "content": content}


@contextmanager
def _signed_in(instance: Instance) -> Iterator[httpx.Client]:
    """Yield a browser that has used the sign-in link of the first start."""
    link = urlsplit(re.search(r"\S+/sign-in/\S+", instance.printed).group()).path
    with httpx.Client(base_url=instance.url, timeout=PATIENCE, limits=httpx.Limits(max_connections=None)) as browser:
        entered = browser.post(link, data={"csrfmiddlewaretoken": _form_token(browser.get(link))})
        assert entered.status_code == 302, entered.text
        yield browser


def _form_token(page: httpx.Response) -> str:
    return re.search(r'name="csrfmiddlewaretoken" value="(\w+)"', page.text).group(1)
