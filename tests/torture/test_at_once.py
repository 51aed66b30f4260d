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
from tests.torture.contenders import all_at_once, first_user, key_of_curator
from tests.torture.scale import CONTENDERS, PATIENCE
from tests.torture.writes import REPLAYED, Write, findable_texts, numbered, query, stored_texts

pytestmark = pytest.mark.torture


def test_one_write_tried_by_all_at_once_has_one_effect(bigmind: Instance, client: httpx.Client) -> None:
    write = Write("hypothesis", "Everybody tries this one.")

    answers = all_at_once(lambda _: write.send(client))

    assert _statuses(answers) == {201: CONTENDERS}
    assert sum(REPLAYED in answer.headers for answer in answers) == CONTENDERS - 1
    assert stored_texts(bigmind.home)[write.text] == 1


def test_the_same_fact_stored_by_all_at_once_is_stored_once(bigmind: Instance, client: httpx.Client) -> None:
    fact = {"fact": "Everybody knows this one.", "category": "identity"}

    answers = all_at_once(lambda _: client.post("facts/", json=fact))

    assert _statuses(answers) == {201: 1, 200: CONTENDERS - 1}
    assert Counter(answer.json()["duplicate"] for answer in answers) == {False: 1, True: CONTENDERS - 1}
    assert len({answer.json()["fact"]["id"] for answer in answers}) == 1
    assert stored_texts(bigmind.home)[fact["fact"]] == findable_texts(bigmind.home)[fact["fact"]] == 1


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


def test_a_note_set_by_all_at_once_is_one_note_with_the_words_of_one_of_them(
    bigmind: Instance, client: httpx.Client
) -> None:
    answers = all_at_once(lambda n: client.put("notes/", json=_note("set", f"Words of {n}.")))

    assert _statuses(answers) == {200: CONTENDERS}
    ((content,),) = query(bigmind.home, "SELECT content FROM knowledge_note WHERE key = 'set'")
    assert content in {f"Words of {n}." for n in range(CONTENDERS)}
    assert findable_texts(bigmind.home)[f"torture set\n\n{content}"] == 1
    assert len(query(bigmind.home, "SELECT 1 FROM knowledge_passage WHERE text LIKE 'torture set%%'")) == 1


def test_a_note_made_by_all_at_once_is_made_by_one_and_the_others_are_told(
    bigmind: Instance, client: httpx.Client
) -> None:
    answers = all_at_once(
        lambda n: client.put("notes/", json=_note("made", f"Words of {n}."), headers={"If-None-Match": "*"})
    )

    assert _statuses(answers) == {200: 1, 412: CONTENDERS - 1}
    (winner,) = [answer.json()["content"] for answer in answers if answer.is_success]
    assert query(bigmind.home, "SELECT content FROM knowledge_note WHERE key = 'made'") == [(winner,)]


def test_a_copy_changed_by_all_at_once_is_stale_for_all_but_one(bigmind: Instance, client: httpx.Client) -> None:
    etag = client.get("profile/").headers["ETag"]

    answers = all_at_once(
        lambda n: client.patch("profile/", json={"role": f"Role {n}"}, headers={"If-Match": etag}),
    )

    assert _statuses(answers) == {200: 1, 412: CONTENDERS - 1}
    (winner,) = [answer.json()["role"] for answer in answers if answer.is_success]
    assert query(bigmind.home, "SELECT role FROM accounts_profile WHERE role LIKE 'Role %%'") == [(winner,)]


def test_a_key_rotated_by_all_at_once_has_one_successor_and_the_others_are_told(bigmind: Instance) -> None:
    made = json.loads(command(bigmind.home, "key_create", first_user(bigmind), "--json").stdout)
    page = f"keys/{made['id']}/rotate/"
    with _signed_in(bigmind) as browser:
        form = {"overlap": "24", "csrfmiddlewaretoken": _form_token(browser.get(page))}

        answers = all_at_once(lambda _: browser.post(page, data=form))

    assert _statuses(answers) == {302: 1, 409: CONTENDERS - 1}
    successors = query(bigmind.home, "SELECT id FROM accounts_apikey WHERE replaces_id = %s", made["id"])
    assert len(successors) == 1


@pytest.mark.parametrize("kinds", [("hypotheses",), ("profile", "facts", "hypotheses", "notes")], ids=" ".join)
def test_a_document_imported_by_all_at_once_is_imported_once(
    bigmind: Instance, client: httpx.Client, kinds: tuple[str, ...]
) -> None:
    document = _document_with(client, kinds)
    newcomer = {"Authorization": f"Bearer {_key_of_newcomer(bigmind, len(kinds))}"}

    answers = all_at_once(lambda _: client.post("import/", json={"document": document}, headers=newcomer))

    imported = client.get("export/", headers=newcomer).json()
    assert _statuses(answers) == {200: CONTENDERS}
    assert _words_of(imported) == _words_of(document)


def test_the_same_proposal_made_by_all_at_once_is_made_once(bigmind: Instance, client: httpx.Client) -> None:
    proposal = {"category": "standard", "title": "Health", "content": "Every service answers /healthz."}

    answers = all_at_once(lambda _: client.post("company/", json=proposal))

    assert _statuses(answers) == {201: 1, 200: CONTENDERS - 1}
    assert Counter(answer.json()["duplicate"] for answer in answers) == {False: 1, True: CONTENDERS - 1}
    assert len(query(bigmind.home, "SELECT 1 FROM knowledge_companyentry WHERE title = 'Health'")) == 1


@pytest.mark.parametrize("action", ["verify", "deprecate"])
def test_an_entry_decided_by_all_at_once_is_decided_by_one_and_the_others_are_told(
    bigmind: Instance, client: httpx.Client, action: str
) -> None:
    said = {"category": "pattern", "title": f"To {action}", "content": f"To {action}: retry with a growing pause."}
    entry = client.post("company/", json=said).json()["entry"]
    curator = {"Authorization": f"Bearer {key_of_curator(bigmind)}"}
    decision = {"action": action, "revision": entry["revision"]}

    answers = all_at_once(lambda _: client.post(f"company/{entry['id']}/decide/", json=decision, headers=curator))

    assert _statuses(answers) == {200: 1, 409: CONTENDERS - 1}
    steps = "SELECT 1 FROM curation_review WHERE entry_id = %s AND action = %s"
    assert len(query(bigmind.home, steps, entry["id"], action)) == 1


def _statuses(answers: list[httpx.Response]) -> Counter[int]:
    return Counter(answer.status_code for answer in answers)


def _note(key: str, content: str) -> dict[str, str]:
    return {"domain": "torture", "key": key, "content": content}


def _document_with(client: httpx.Client, kinds: tuple[str, ...]) -> dict[str, Any]:
    """Return an export with a few things of these kinds."""
    client.patch("profile/", json={"role": "Somebody who moves house"})
    client.put("notes/", json=_note("moves", "This one moves house."))
    for number in range(10):
        numbered(number, f"Number {number} moves house.").send(client)
    exported = client.get("export/").json()
    few = {kind: exported[kind][-10:] if isinstance(exported[kind], list) else exported[kind] for kind in kinds}
    return {"format": exported["format"], "version": exported["version"], **few}


def _key_of_newcomer(instance: Instance, number: int) -> str:
    command(instance.home, "user_add", f"newcomer-{number}")
    return command(instance.home, "key_create", f"newcomer-{number}", "--quiet").stdout.strip()


def _words_of(document: dict[str, Any]) -> dict[str, Counter[str]]:
    """Return what a document says: how often each fact, belief and note."""
    said = {"facts": "fact", "hypotheses": "hypothesis", "notes": "content"}
    return {kind: Counter(item[field] for item in document.get(kind, [])) for kind, field in said.items()}


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
