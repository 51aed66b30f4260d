"""What OpenAPI says of one operation: parameters, body, replies, refusals, examples."""

import re
from typing import Any

from bigmind.core.operations import Effect, Operation
from bigmind.transports.mcp.request_context import AGENT_HOST_HEADER, CONVERSATION_HEADER
from bigmind.transports.rest.examples import example_arguments, example_reply
from bigmind.transports.rest.json_schema import schema_of, without_null
from bigmind.transports.rest.problems import CONTENT_TYPE, TITLES
from bigmind.transports.rest.request_reading import CURRENT, IN_THE_QUERY
from bigmind.transports.rest.routes import operations_by_path, path_parameters
from bigmind.transports.rest.views import LIMIT, NOTICE, POLICY, REPLAYED, adds

Part = dict[str, Any]

SCHEMAS: dict[str, Part] = {
    "Problem": {
        "type": "object",
        "description": "Why a request was refused (RFC 9457). Further members are facts that a program can use.",
        "properties": {
            "type": {"type": "string", "format": "uri", "description": "The kind of problem; its last part is a word."},
            "title": {"type": "string", "enum": sorted(TITLES.values())},
            "status": {"type": "integer", "minimum": 400, "maximum": 599},
            "detail": {"type": "string", "description": "What is wrong."},
            "hint": {"type": "string", "description": "What to do next."},
            "request_id": {"type": "string", "description": "As in the header X-Request-Id and in the log."},
            "errors": {
                "type": "array",
                "description": "What is wrong, field by field.",
                "items": {
                    "type": "object",
                    "properties": {"field": {"type": "string"}, "message": {"type": "string"}},
                    "required": ["field", "message"],
                },
            },
        },
        "required": ["type", "title", "status", "detail", "hint", "request_id"],
    }
}

_REFUSALS = {
    400: ("Malformed", "The request cannot be read: the JSON or the query."),
    401: ("Unauthorized", "The key is missing or invalid."),
    403: ("Forbidden", "The key lacks the scope or the toolset, or its user the role."),
    404: ("NotFound", "It does not exist, or it is someone else's."),
    405: ("MethodNotAllowed", "The route has other methods: the header Allow lists them."),
    406: ("NotAcceptable", "The Accept header excludes JSON."),
    409: ("Conflict", "The item's state does not allow this, or the idempotency key was used before."),
    412: ("PreconditionFailed", "The ETag in the header If-Match is not the item's current one."),
    413: ("TooLarge", "The body is too large."),
    415: ("UnsupportedMediaType", "The body is not JSON."),
    422: ("Invalid", "Arguments are invalid: `errors` names each with its limit."),
    429: ("TooMany", "More operations per minute than this BigMind allows a key."),
    500: ("Internal", "The server failed; the caller is not at fault."),
    503: ("Unavailable", "The database does not answer."),
}
_EVERYWHERE = (400, 401, 403, 404, 405, 406, 422, 429, 500, 503)
_CHALLENGE = {
    "WWW-Authenticate": {"schema": {"type": "string"}, "description": 'Bearer realm="BigMind", and what is wrong.'}
}
_RETRY = {"Retry-After": {"schema": {"type": "integer"}, "description": "Seconds to wait."}}
_NOTICE = {
    NOTICE: {
        "schema": {"type": "string"},
        "description": "Warnings about what you sent, in sentences, such as that it seems to contain a secret.",
    }
}
_LIMITS = {
    POLICY: {
        "schema": {"type": "string"},
        "description": 'The limit: `"minute";q=600;w=60` is 600 a minute.',
    },
    LIMIT: {
        "schema": {"type": "string"},
        "description": 'What is left of it: `"minute";r=597;t=41` is 597 operations, with a reset in 41 s.',
    },
}
_ALLOW = {"Allow": {"schema": {"type": "string"}, "description": "The methods of the route."}}
_LINK = {
    "Link": {
        "schema": {"type": "string"},
        "description": 'The next page, and with an offset the previous one: `<https://…>; rel="next"`.',
    }
}
_HEADERS = {401: _CHALLENGE, 403: _CHALLENGE, 405: _ALLOW, 429: {**_RETRY, **_LIMITS}, 503: _RETRY}

RESPONSES: dict[str, Part] = {
    name: {
        "description": about,
        "content": {CONTENT_TYPE: {"schema": {"$ref": "#/components/schemas/Problem"}}},
        **({"headers": _HEADERS[status]} if status in _HEADERS else {}),
    }
    for status, (name, about) in _REFUSALS.items()
}


def _header(name: str, about: str, **schema: Any) -> Part:
    return {"name": name, "in": "header", "description": about, "schema": {"type": "string", **schema}}


PARAMETERS: dict[str, Part] = {
    "IdempotencyKey": _header(
        "Idempotency-Key",
        "Your own text for this one write. A repeat within 7 days returns the first reply "
        f"and the header {REPLAYED}, and has no second effect.",
        # Of Latin-1, which a header is written in, what the gate accepts (`isprintable`).
        pattern=r"^[!-~\u00a1-\u00ac\u00ae-\u00ff][ -~\u00a1-\u00ac\u00ae-\u00ff]{0,199}$",
    ),
    "Conversation": _header(
        CONVERSATION_HEADER,
        "Any id of your own for the conversation or run this belongs to: writes go to its session, and to no other's.",
        examples=["run-42"],
    ),
    "AgentHost": _header(AGENT_HOST_HEADER, "The machine you run on. With `User-Agent` it names the agent."),
    "IfNoneMatch": _header(
        "If-None-Match",
        "The ETag of your copy. If it is still current, the reply is an empty 304.",
    ),
}


def describe(operation: Operation, reading: Operation | None) -> tuple[Part, dict[str, Part]]:
    """Return the description of an operation, and the component schemas it refers to.

    Args:
        reading: The operation that answers GET on the same path.
    """
    arguments, sent = schema_of(operation.arguments, "validation")
    reply, received = schema_of(operation.shape, "serialization")
    name = operation.shape.__name__
    summary, _, rest = operation.description.partition("\n\n")
    description: Part = {
        "operationId": operation.name,
        "summary": operation.title,
        "description": f"{summary}\n\n{rest}\n\nScope: `{operation.scope}`.".replace("\n\n\n\n", "\n\n"),
        "tags": [operation.toolset],
        "parameters": _parameters(operation, arguments),
        "responses": _responses(operation, name, has_etag=reading is not None),
    }
    if operation.method not in IN_THE_QUERY:
        description["requestBody"] = _body(operation, arguments)
    return description, {**sent, **received, name: reply}


def _parameters(operation: Operation, arguments: Part) -> list[Part]:
    in_path, required = path_parameters(operation), arguments.get("required", [])
    found = [_in_path(name, arguments["properties"][name], optional=name not in required) for name in in_path]
    if operation.method in IN_THE_QUERY:
        found += [
            _in_query(name, schema, required=name in required)
            for name, schema in arguments.get("properties", {}).items()
            if name not in in_path
        ]
    condition = "IfNoneMatch" if operation.effect is Effect.READ else "IdempotencyKey"
    examples = example_arguments(operation)
    for parameter in found:
        if parameter["name"] in examples:
            parameter["example"] = examples[parameter["name"]]
    shared = (condition, "Conversation", "AgentHost")
    return [*found, *({"$ref": f"#/components/parameters/{name}"} for name in shared)]


def _in_path(name: str, schema: Part, *, optional: bool) -> Part:
    schema = without_null(schema)
    about = schema.pop("description", "")
    if optional:
        schema = {"anyOf": [schema, {"const": CURRENT}]}
        about = f"{about} In the path: `{CURRENT}`."
    return {"name": name, "in": "path", "required": True, "description": about, "schema": schema}


def _in_query(name: str, schema: Part, *, required: bool) -> Part:
    schema = without_null(schema)
    if "anyOf" in schema and schema["anyOf"][0].get("type") == "array":
        schema = {**{key: value for key, value in schema.items() if key != "anyOf"}, **schema["anyOf"][0]}
    about = schema.pop("description", "")
    if schema.get("type") == "array":
        schema = {"anyOf": [schema, schema["items"]]}
        about = f"{about} Repeat it, or separate names by commas."
    return {"name": name, "in": "query", "required": required, "description": about, "schema": schema}


def _body(operation: Operation, arguments: Part) -> Part:
    in_path = path_parameters(operation)
    properties = {name: part for name, part in arguments.get("properties", {}).items() if name not in in_path}
    required = [name for name in arguments.get("required", []) if name not in in_path]
    schema = {"type": "object", "properties": properties, "required": required, "additionalProperties": False}
    example = {name: value for name, value in example_arguments(operation).items() if name not in in_path}
    content = {"schema": {k: v for k, v in schema.items() if v or k != "required"}, "example": example}
    return {"required": bool(required), "content": {"application/json": content}}


def _responses(operation: Operation, name: str, *, has_etag: bool) -> dict[str, Part]:
    shown = {"schema": {"$ref": f"#/components/schemas/{name}"}, "example": example_reply(operation)}
    reply: Part = {"description": operation.shape.__doc__ or operation.title, "content": {"application/json": shown}}
    reply["headers"] = _LIMITS if operation.effect is Effect.READ else {**_NOTICE, **_LIMITS}
    if {"items", "offset"} <= set(operation.shape.model_fields):
        reply["headers"] = {**reply["headers"], **_LINK}
    responses: dict[str, Part] = {"200": reply}
    if adds(operation):
        responses = {"201": {**reply, "description": f"Added. {reply['description']}"}}
        if "duplicate" in operation.shape.model_fields:
            responses["200"] = {**reply, "description": f"Known already. {reply['description']}"}
    if operation.effect is Effect.READ:
        responses["304"] = {"description": "Your copy is still current."}
    statuses = [*_EVERYWHERE, *_only_here(operation, has_etag=has_etag)]
    return responses | {str(s): {"$ref": f"#/components/responses/{_REFUSALS[s][0]}"} for s in sorted(statuses)}


def statuses_of(operation: Operation) -> list[tuple[int, str, str]]:
    """Return the refusals that an operation may be answered with: status, kind of problem, and what it means."""
    statuses = {*_EVERYWHERE, *_only_here(operation, has_etag="get" in operations_by_path()[operation.path])}
    kinds = {status: re.sub(r"(?<!^)(?=[A-Z])", "_", name).lower() for status, (name, _) in _REFUSALS.items()}
    return [(status, kinds[status], about) for status, (_, about) in _REFUSALS.items() if status in statuses]


def _only_here(operation: Operation, *, has_etag: bool) -> list[int]:
    if operation.effect is Effect.READ:
        return []
    with_body = [] if operation.method in IN_THE_QUERY else [413, 415]
    return [409, *([412] if has_etag else []), *with_body]
