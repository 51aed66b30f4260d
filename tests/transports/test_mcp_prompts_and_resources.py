"""Prompts and resources over MCP."""

from typing import Any

import httpx

from tests.factories import make_key
from tests.serving import Served
from tests.transports.mcp_wire import Wire


def _text_of_prompt(response: httpx.Response) -> str:
    text: str = response.json()["result"]["messages"][0]["content"]["text"]
    return text


def _text_of_resource(response: httpx.Response) -> str:
    text: str = response.json()["result"]["contents"][0]["text"]
    return text


def _resources(wire: Wire) -> dict[str, Any]:
    return {resource["uri"]: resource for resource in wire.send("resources/list").json()["result"]["resources"]}


def _set_note(wire: Wire, domain: str, content: str = "Best, P.") -> None:
    wire.call("knowledge_set", {"domain": domain, "key": "signature", "content": content})


def test_the_init_prompt_holds_the_context_as_it_is_now(served: Served) -> None:
    wire = Wire(served, make_key().text)
    wire.call("memory_store_fact", {"category": "preference", "fact": "Prefers tea."})

    prompt = wire.send("prompts/get", {"name": "bigmind_init"})

    assert "Prefers tea." in _text_of_prompt(prompt)
    assert "END: when the work is done, memory_end_session" in _text_of_prompt(prompt)


def test_the_recall_prompt_holds_what_matches_the_question(served: Served) -> None:
    wire = Wire(served, make_key().text)
    wire.call("memory_start_session")
    wire.call("memory_flag_important", {"content": "We keep PostgreSQL for the depot."})

    prompt = wire.send("prompts/get", {"name": "recall", "arguments": {"question": "What do we keep for the depot?"}})

    assert "What do we keep for the depot?" in _text_of_prompt(prompt)
    assert "We keep PostgreSQL for the depot." in _text_of_prompt(prompt)


def test_a_prompt_without_its_argument_says_which(served: Served) -> None:
    wire = Wire(served, make_key().text)

    error = wire.send("prompts/get", {"name": "recall"}).json()["error"]

    assert error["code"] == -32602
    assert "question" in error["message"]


def test_an_unknown_prompt_names_those_there_are(served: Served) -> None:
    wire = Wire(served, make_key().text)

    error = wire.send("prompts/get", {"name": "celebrate"}).json()["error"]

    assert error["code"] == -32602
    assert "bigmind_init, recall, look_up, promote, wrap_up" in error["message"]


def test_context_and_guide_can_be_attached(served: Served) -> None:
    wire = Wire(served, make_key().text)

    context, guide = (wire.send("resources/read", {"uri": f"bigmind://{name}"}) for name in ("context", "instructions"))

    assert "BigMind Context" in _text_of_resource(context)
    assert "How to use BigMind" in _text_of_resource(guide)
    assert guide.json()["result"]["contents"][0]["mimeType"] == "text/markdown"


def test_each_domain_of_notes_is_a_resource_whatever_its_name(served: Served) -> None:
    wire = Wire(served, make_key().text)
    _set_note(wire, "e-mail / über uns?#%")

    (uri,) = (uri for uri in _resources(wire) if uri.startswith("bigmind://notes/"))

    assert uri == "bigmind://notes/e-mail%20%2F%20%C3%BCber%20uns%3F%23%25"
    assert "Best, P." in _text_of_resource(wire.send("resources/read", {"uri": uri}))


def test_the_pattern_of_the_domains_is_offered(served: Served) -> None:
    wire = Wire(served, make_key().text)

    (template,) = wire.send("resources/templates/list").json()["result"]["resourceTemplates"]

    assert template["uriTemplate"] == "bigmind://notes/{domain}"


def test_the_domain_is_completed_while_it_is_typed(served: Served) -> None:
    wire = Wire(served, make_key().text)
    for domain in ("email", "Emergencies", "calendar"):
        _set_note(wire, domain)
    ref = {"type": "ref/resource", "uri": "bigmind://notes/{domain}"}

    completed = wire.send("completion/complete", {"ref": ref, "argument": {"name": "domain", "value": "em"}})

    assert completed.json()["result"]["completion"]["values"] == ["Emergencies", "email"]


def test_a_resource_that_does_not_exist_is_a_protocol_error(served: Served) -> None:
    wire = Wire(served, make_key().text)

    for uri in ("bigmind://notes/none", "bigmind://secrets", "file:///etc/passwd"):
        assert wire.send("resources/read", {"uri": uri}).json()["error"]["code"] == -32602


def test_nobody_sees_the_domains_of_somebody_else(served: Served) -> None:
    owner, stranger = (Wire(served, make_key().text) for _ in range(2))
    _set_note(owner, "email")

    foreign = stranger.send("resources/read", {"uri": "bigmind://notes/email"})
    random = stranger.send("resources/read", {"uri": "bigmind://notes/other"})

    assert len(_resources(stranger)) == 2
    assert foreign.json()["error"]["message"].replace("email", "other") == random.json()["error"]["message"]


def test_a_key_without_the_toolset_of_notes_sees_no_domains(served: Served) -> None:
    key = make_key()
    _set_note(Wire(served, key.text), "email")
    limited = Wire(served, make_key(key.key.user, toolsets=["core"]).text)

    error = limited.send("resources/read", {"uri": "bigmind://notes/email"}).json()["error"]

    assert len(_resources(limited)) == 2
    assert "limited to: core" in error["message"]


def test_a_cursor_that_was_not_given_is_refused(served: Served) -> None:
    wire = Wire(served, make_key().text)

    error = wire.send("resources/list", {"cursor": "²"}).json()["error"]

    assert error["code"] == -32602


def test_the_promote_prompt_holds_what_is_approved_already(served: Served) -> None:
    wire = Wire(served, make_key().text)
    said = {"category": "standard", "title": "Health", "content": "Every service answers /healthz."}
    wire.call("memory_promote_to_global", said)

    prompt = wire.send("prompts/get", {"name": "promote", "arguments": {"what": "Services answer /healthz."}})

    assert "Every service answers /healthz." in _text_of_prompt(prompt)
    assert "memory_promote_to_global" in _text_of_prompt(prompt)
