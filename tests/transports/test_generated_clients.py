"""Clients that the usual generators make of the OpenAPI document send and read what every operation takes and gives."""

import importlib
import inspect
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from datetime import datetime
from enum import Enum
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import Any, get_args
from urllib.parse import parse_qsl, urlsplit
from uuid import UUID

import httpx
import pytest

from bigmind.core.operations import Operation
from bigmind.operations import CATALOGUE
from bigmind.transports.rest.examples import example_arguments
from bigmind.transports.rest.openapi_document import openapi
from bigmind.transports.rest.reference_pages import ExampleRequest
from bigmind.transports.rest.request_reading import IN_THE_QUERY
from bigmind.transports.rest.routes import path_parameters
from knowledge.models import Fact
from tests.factories import make_key

URL = "http://bigmind.test"
PROGRAMS = Path(__file__).with_name("typescript")


@pytest.fixture(scope="module")
def document(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("openapi") / "openapi.json"
    path.write_text(json.dumps(openapi()))
    return path


@pytest.fixture(scope="module")
def client(document: Path) -> Iterator[ModuleType]:
    """What openapi-python-client writes, without a word of complaint."""
    folder = document.parent
    command = [sys.executable, "-m", "openapi_python_client", "generate", "--meta", "none", "--fail-on-warning"]
    environment = {**os.environ, "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"}
    made = subprocess.run(
        [*command, "--path", document, "--output-path", folder / "generated_client"],
        capture_output=True,
        text=True,
        check=False,
        env=environment,
    )
    assert made.returncode == 0, made.stdout
    sys.path.insert(0, str(folder))
    yield importlib.import_module("generated_client")
    sys.path.remove(str(folder))


def test_in_python_every_operation_sends_its_example_and_reads_its_reply(client: ModuleType) -> None:
    for operation in CATALOGUE.values():
        sent: list[httpx.Request] = []
        status, reply = _reply_of(operation)

        answer = partial(_answer, sent, httpx.Response(status, json=reply))
        opened = client.AuthenticatedClient(URL, "bm_x", httpx_args={"transport": httpx.MockTransport(answer)})
        parsed = _call(client, operation, opened).parsed

        wanted = ExampleRequest.of(operation, URL)
        assert sent[0].method == wanted.method, operation.name
        # It also sends what a query means where it says nothing.
        path, query = _parts(str(sent[0].url))
        assert path == _parts(wanted.address)[0]
        assert query >= _parts(wanted.address)[1], operation.name
        assert _plain(json.loads(sent[0].content or b"null")) == _plain(wanted.body), operation.name
        assert _plain(parsed.to_dict()) == _plain(reply), operation.name


@pytest.mark.django_db(transaction=True)
def test_in_python_it_works_with_a_served_bigmind(client: ModuleType, live_server: Any) -> None:
    opened = client.AuthenticatedClient(live_server.url, make_key().text)

    stored = _call(client, CATALOGUE["memory_store_fact"], opened).parsed
    refused = _call(client, CATALOGUE["memory_store_fact"], client.AuthenticatedClient(live_server.url, "bm_no")).parsed

    assert stored.fact.fact == Fact.objects.get().fact
    assert (refused.status, type(refused).__name__) == (401, "Problem")


@pytest.mark.django_db(transaction=True)
def test_in_typescript_every_example_has_the_type_of_its_operation(document: Path, live_server: Any) -> None:
    if shutil.which("node") is None or not (PROGRAMS / "node_modules" / "openapi-typescript").exists():
        (pytest.fail if os.environ.get("CI") else pytest.skip)("Node.js or the generator is not installed.")
    folder = document.parent / "typescript"
    folder.mkdir()
    (folder / "node_modules").symlink_to(PROGRAMS / "node_modules")
    (folder / "package.json").write_text('{"type": "module"}')
    (folder / "every.ts").write_text(_typescript_of_every_operation())
    (folder / "calls.ts").write_text(CALLS)

    _run(folder, "openapi-typescript", document, "-o", folder / "api.d.ts")
    _run(folder, "tsc", "--strict", "--target", "es2022", "--module", "nodenext", "every.ts", "calls.ts")
    seen = json.loads(_run(folder, "node", "calls.js", live_server.url, make_key().text))

    assert seen == {"stored": Fact.objects.get().fact, "refused": 422}


CALLS = """
import createClient from "openapi-fetch";
import type { paths } from "./api.js";
declare const process: { argv: string[] };
const [url, key] = process.argv.slice(2);
const client = createClient<paths>({ baseUrl: url, headers: { Authorization: `Bearer ${key}` } });
const body = { category: "preference", fact: "Prefers pnpm to npm." } as const;
const { data } = await client.POST("/api/v1/facts/", { body });
const { error } = await client.POST("/api/v1/facts/", { body: { ...body, confidence: 7 } });
console.log(JSON.stringify({ stored: data?.fact.fact, refused: error?.status }));
"""


def _typescript_of_every_operation() -> str:
    """Write a call of every operation with its example, and read a reply from the text of its example."""
    lines = [
        'import createClient from "openapi-fetch";',
        'import type { paths, operations } from "./api.js";',
        'const client = createClient<paths>({ baseUrl: "" });',
        "export async function callAll() {",
    ]
    for operation in CATALOGUE.values():
        arguments, in_path = example_arguments(operation), path_parameters(operation)
        rest = {name: value for name, value in arguments.items() if name not in in_path}
        parts = {"path": {name: arguments[name] for name in in_path}} if in_path else {}
        in_query = operation.method in IN_THE_QUERY
        parts |= {"query": rest} if in_query and rest else {}
        sent = {"params": parts} if parts else {}
        sent |= {} if in_query else {"body": rest}
        path = next(path for path, methods in openapi()["paths"].items() if _is_in(methods, operation))
        lines.append(f"  await client.{operation.method}({json.dumps(path)}, {json.dumps(sent)});")
        status, reply = _reply_of(operation)
        kind = f'operations["{operation.name}"]["responses"][{status}]["content"]["application/json"]'
        lines.append(f"  ({json.dumps(reply)}) satisfies {kind};")
    return "\n".join([*lines, "}", ""])


def _run(folder: Path, program: str, *arguments: object) -> str:
    command = [shutil.which(program) or folder / "node_modules" / ".bin" / program, *arguments]
    done = subprocess.run(list(map(str, command)), cwd=folder, capture_output=True, text=True, check=False, timeout=120)
    assert done.returncode == 0, done.stdout[:4000] + done.stderr[:2000]
    return done.stdout


def _is_in(methods: dict[str, Any], operation: Operation) -> bool:
    return methods.get(operation.method.lower(), {}).get("operationId") == operation.name


def _reply_of(operation: Operation) -> tuple[int, Any]:
    """Return the first status of success that the document names, and its example."""
    described = next(
        methods[operation.method.lower()] for methods in openapi()["paths"].values() if _is_in(methods, operation)
    )
    status = next(status for status in described["responses"] if status.startswith("2"))
    return int(status), described["responses"][status]["content"]["application/json"]["example"]


def _call(client: ModuleType, operation: Operation, opened: Any) -> Any:
    """Call the generated function of an operation with its example, as somebody would who reads its types."""
    tag = operation.toolset.replace("-", "_")
    module = importlib.import_module(f"{client.__name__}.api.{tag}.{operation.name}")
    parameters = inspect.signature(module.sync_detailed).parameters
    arguments, in_path = example_arguments(operation), path_parameters(operation)
    if operation.method not in IN_THE_QUERY and "body" in parameters:
        rest = {name: value for name, value in arguments.items() if name not in in_path}
        annotation = parameters["body"].annotation
        body = next(kind for kind in (annotation, *get_args(annotation)) if hasattr(kind, "from_dict"))
        arguments = {"body": body.from_dict(rest), **{name: arguments[name] for name in in_path}}
    # A name that Python has already gets a line behind it.
    named = {name if name in parameters else f"{name}_": value for name, value in arguments.items()}
    given = {name: _typed(value, parameters[name].annotation) for name, value in named.items()}
    return module.sync_detailed(client=opened, **given)


def _typed(value: Any, annotation: Any) -> Any:
    """Return a value as the type that a generated function asks for."""
    kinds = [annotation, *get_args(annotation)]
    if isinstance(value, list):
        return [_typed(each, inner) for inner in _inner(kinds) for each in value]
    for kind in kinds:
        if isinstance(kind, type) and issubclass(kind, Enum) and isinstance(value, str):
            return kind(value)
        if kind is datetime:
            return datetime.fromisoformat(value)
        if kind is UUID:
            return UUID(value)
    return value


def _inner(kinds: list[Any]) -> list[Any]:
    return [get_args(kind)[0] for kind in kinds if getattr(kind, "__origin__", None) is list][:1]


def _answer(sent: list[httpx.Request], response: httpx.Response, request: httpx.Request) -> httpx.Response:
    sent.append(request)
    return response


def _parts(address: str) -> tuple[str, set[tuple[str, str]]]:
    parts = urlsplit(address)
    return parts.path, {(name, str(_plain(value))) for name, value in parse_qsl(parts.query)}


def _plain(value: Any) -> Any:
    """Return a value with each moment written in one way."""
    if isinstance(value, dict):
        return {name: _plain(each) for name, each in value.items()}
    if isinstance(value, list):
        return [_plain(each) for each in value]
    return value.replace("+00:00", "Z") if isinstance(value, str) else value
