"""Forgiving arguments: converts what models send to the form that the schema asks for, where the meaning is clear.

This applies to agents and to people at a command line. REST is strict: its document says what it takes.
"""

import ast
import json
import re
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Annotated, Any, get_args, get_origin

from pydantic import BaseModel

from bigmind.core.errors import Invalid
from bigmind.core.handles import Handle, id_in, name_among, read_handle
from bigmind.text.periods import read_period

_CLOSED_BY = {"[": "]", "{": "}"}
_ABSENT = frozenset({"", "null", "none", "undefined"})
_THIS_ONE = frozenset({"current", "latest", "this", "active", "default"})
"""What agents call their own session where it may be left out: the one of this conversation is the default."""
LITERAL_CHARS = 4_000
_SHARE = re.compile(r"(\d{1,4}(?:\.\d{1,4})?) ?(?:/ ?(\d{1,4})|%)")
_SIDE_BY_SIDE = re.compile(r"""['"]\s*['"](?!\s*[],}:])""")
_WRAPPERS = frozenset({"arguments", "params", "parameters", "input", "args", "kwargs"})
_CAPITAL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
UNTIL = frozenset({"until", "till", "to", "end", "end_date", "to_date"})
"""Names of an argument for the last day that is meant: `before` is the end of that day."""
NAMES_OF_TOOL = ("tool", "name", "tool_name", "operation", "function")
"""What agents call the argument that names an operation, its own name first."""
_OTHER_NAMES: dict[str, tuple[str, ...]] = {
    "query": ("question", "q", "search", "search_query", "search_term", "prompt", "keywords", "text"),
    "find": ("query", "question", "search", "description", "task", "want"),
    "tool": NAMES_OF_TOOL[1:],
    "fact": ("content", "text", "memory", "statement", "new_fact", "value"),
    "content": ("text", "message", "body", "memory", "note", "value", "exchange"),
    "hypothesis": ("belief", "text", "content", "statement"),
    "text": ("query", "q", "search", "contains"),
    "reason": ("why", "note", "deprecation_reason", "comment"),
    "flag_reason": ("reason", "why"),
    "one_liner": ("headline", "oneliner", "title", "one_line_summary"),
    "topics": ("tags", "labels", "keywords"),
    "tags": ("topics", "labels"),
    "project": ("repo", "repository", "project_name"),
    "category": ("type", "kind"),
    "since": ("from", "after", "start", "start_date", "from_date"),
    "before": (*UNTIL, "to_moment"),
    "valid_from": ("since", "from", "start", "start_date", "from_date", "starts_at"),
    "valid_until": ("until", "till", "end", "end_date", "expires", "expires_at", "ends_at"),
    "as_of": ("at", "when", "on", "date", "as_at"),
    "limit": ("top_k", "k", "n", "max_results", "num_results", "count", "size", "page_size"),
    "max_tokens": ("token_budget", "budget", "token_limit"),
    "session_id": ("session", "source_session", "id"),
    "source_session": ("session_id", "session"),
    "verdict": ("rating", "feedback", "usefulness"),
    "note": ("comment", "reason"),
    "fact_id": ("id", "handle"),
    "hypothesis_id": ("id", "handle"),
    "chunk_id": ("id", "handle"),
    "entry_id": ("id", "handle"),
    "id": ("handle", "fact_id", "entry_id", "source_id"),
    "key": ("old_key",),
    "domain": ("old_domain",),
    "older_than_days": ("days",),
}
"""What agents call an argument whose name they do not know."""
_SESSION = frozenset({"session_id", "source_session", "session"})
"""The session of a conversation, which agents are asked to send along with each write: some writes belong to none. With
what reads or deletes it would say which part is meant, so there it is refused."""


def forgive(
    model: type[BaseModel], schema: Mapping[str, Any], arguments: Mapping[str, Any], *, with_session: bool = False
) -> dict[str, Any]:
    """Return arguments in the form of their schema where their meaning is clear; all others unchanged.

    `null` counts as not sent; the JSON text of a list or an object becomes that list or object; the case of a choice
    does not matter; a handle such as `F12` becomes the id it names; another name for an argument, such as `question`,
    becomes its own.

    Args:
        with_session: Whether a session may be sent along. It is left out where no argument takes one.

    Raises:
        Invalid: a handle names another kind than the argument takes, or a text that looks like JSON is not valid.
    """
    properties, handles = schema.get("properties", {}), _handles_of(model)
    named, until = _rename(_unwrap(arguments, properties), properties)
    if with_session and not any("session" in name for name in properties):
        named = {name: value for name, value in named.items() if name not in _SESSION}
    sent = {name: value for name, value in named.items() if not _is_absent(name, value, schema, handles)}
    _fill_in_kinds(sent, handles, properties)
    problems = []
    # Choices first: an argument that names a kind decides which handles another argument accepts.
    for name in sorted(sent.keys() & properties.keys(), key=handles.__contains__):
        try:
            sent[name] = _convert(sent[name], properties[name], is_end=name == until)
            if name in handles:
                sent[name] = _without_handle(sent[name], handles[name], sent, properties[name])
        except ValueError as error:
            problems.append({"field": name, "message": str(error)})
    if problems:
        raise Invalid.of_all(problems)
    return sent


def list_in(text: str) -> list[Any] | None:
    """Return the list in a JSON text; None for any other text.

    Raises:
        ValueError: the text begins and ends like a list, but is not valid JSON.
    """
    found: list[Any] | None = _json_in(text, "[")
    return found


def _unwrap(arguments: Mapping[str, Any], properties: Mapping[str, Any]) -> Mapping[str, Any]:
    """Take arguments out of an object that they were all put into, such as `{"arguments": {…}}`."""
    if len(arguments) != 1:
        return arguments
    name, value = next(iter(arguments.items()))
    if name not in _WRAPPERS or name in properties:
        return arguments
    inner = _json_in(value, "{") if isinstance(value, str) else value
    return inner if isinstance(inner, dict) and all(isinstance(key, str) for key in inner) else arguments


def _rename(arguments: Mapping[str, Any], properties: Mapping[str, Any]) -> tuple[dict[str, Any], str]:
    """Give arguments their own names, and say which of them was sent as the last day that is meant.

    An argument is renamed when only one that was not sent can be meant, and no other one means it, too.
    """
    unknown = arguments.keys() - properties.keys()
    if not unknown:
        return dict(arguments), ""
    meant: dict[str, list[str]] = {}
    for name in unknown:
        for own in _own_names(name, properties, arguments):
            meant.setdefault(own, []).append(name)
    claims = [other for others in meant.values() for other in others]
    renamed = {others[0]: own for own, others in meant.items() if len(others) == 1 and claims.count(others[0]) == 1}
    until = next((own for other, own in renamed.items() if own == "before" and other.lower() in UNTIL), "")
    return {renamed.get(name, name): value for name, value in arguments.items()}, until


def _own_names(name: str, properties: Mapping[str, Any], sent: Mapping[str, Any]) -> list[str]:
    plain = _CAPITAL.sub("_", name[:100]).replace("-", "_").replace(" ", "_").lower()
    free = [own for own in properties if own not in sent]
    return [plain] if plain in free else [own for own in free if plain in _OTHER_NAMES.get(own, ())]


def _is_absent(name: str, value: Any, schema: Mapping[str, Any], handles: Mapping[str, Handle]) -> bool:
    """Return whether an argument says nothing: null, or a blank text where it may be left out."""
    part = schema.get("properties", {}).get(name)
    if part is None or value is None:
        return part is not None
    if not isinstance(value, str) or name in schema.get("required", ()):
        return False
    if part.get("type") == "string" and not part.keys() & {"enum", "format", "pattern"}:
        return not value.strip()  # Other words for nothing may be what a text says.
    is_ours = name in handles and handles[name].defaults_to_ours
    return value.strip().lower() in (_ABSENT | _THIS_ONE if is_ours else _ABSENT)


def _fill_in_kinds(sent: dict[str, Any], handles: Mapping[str, Handle], properties: Mapping[str, Any]) -> None:
    """Add the kind that a handle names where an argument for it was left out: `C3` is a company entry.

    It gets the name that the argument takes.
    """
    for name, handle in handles.items():
        value, kind = sent.get(name), sent.get(handle.kind_in)
        if handle.kind_in and kind is None and isinstance(value, str) and (found := read_handle(value)):
            kind = found[0]
        if handle.kind_in and isinstance(kind, str):
            sent[handle.kind_in] = name_among(kind, properties[handle.kind_in].get("enum", ()))


def _convert(value: Any, schema: Mapping[str, Any], *, is_end: bool = False) -> Any:
    if schema.get("type") == "array":
        found = _convert_list(value, schema.get("items", {}))
        return [_convert(item, schema.get("items", {})) for item in found] if isinstance(found, list) else found
    if schema.get("type") == "object" and isinstance(value, str):
        found = _json_in(value, "{")
        return value if found is None else found
    if isinstance(value, str) and "enum" in schema:
        plain = {_plain(choice): choice for choice in schema["enum"]}
        return plain.get(_plain(value), plain.get(_plain(value).removesuffix("s"), value))
    if isinstance(value, str) and schema.get("type") in {"integer", "number"}:
        return _number_in(value, schema)
    if is_end and isinstance(value, str) and (period := read_period(value)):
        return period.end.isoformat()  # “until March” has March in it.
    return value


def _plain(choice: str) -> str:
    return choice.strip().casefold().replace("-", "_").replace(" ", "_")


def _convert_list(value: Any, items: Mapping[str, Any]) -> Any:
    # Some models send a list as JSON text, and some wrap that text in a list of one.
    text = value[0] if isinstance(value, list) and len(value) == 1 else value
    found = list_in(text) if isinstance(text, str) else None
    if found is not None:
        return found
    if isinstance(value, int | float) and not isinstance(value, bool):
        return [value]
    if isinstance(value, str) and (items.get("type") == "integer" or "enum" in items):
        return [part.strip() for part in value.split(",") if part.strip()]
    return value


def _json_in(text: str, opening: str) -> Any:
    shown = text.strip()
    if not shown.startswith(opening) or not shown.endswith(_CLOSED_BY[opening]):
        return None
    try:
        return json.loads(shown)
    except (ValueError, RecursionError) as error:
        if (found := _python_in(shown)) is not None:
            return found
        if "\n" in shown and opening == "[":
            return None  # Such as a list of tasks: "[ ] One", "[x] Two".
        example = '["a", "b"]' if opening == "[" else '{"a": 1}'
        raise ValueError(f"looks like JSON and cannot be read as such. Send {example}") from error


def _python_in(text: str) -> Any:
    """Return a list or an object that Python's signs write, such as `['a', 'b, c']`; None for any other text."""
    # Python would join `'a' 'b'` to one text.
    if len(text) > LITERAL_CHARS or _SIDE_BY_SIDE.search(text):
        return None
    try:
        return json.loads(json.dumps(ast.literal_eval(text)))
    except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
        return None


def _number_in(text: str, schema: Mapping[str, Any]) -> Any:
    """Return the number that `8/10` or `90%` is where the argument ends at 10, or at 1; any other text unchanged."""
    found = _SHARE.fullmatch(text.strip())
    if found and found[2] and float(found[2]) == schema.get("maximum"):
        return found[1]
    return float(found[1]) / 100 if found and not found[2] and schema.get("maximum") == 1 else text


def _without_handle(value: Any, handle: Handle, sent: Mapping[str, Any], schema: Mapping[str, Any]) -> Any:
    if isinstance(value, list):
        return [_without_handle(item, handle, sent, schema.get("items", {})) for item in value]
    if isinstance(value, int) and not isinstance(value, bool) and schema.get("type") == "string":
        value = str(value)
    kind = handle.kind or sent.get(handle.kind_in)
    return id_in(value, kind) if isinstance(value, str) and isinstance(kind, str) else value


@cache
def _handles_of(model: type[BaseModel]) -> dict[str, Handle]:
    """Return which arguments are ids, and of which kind, by the marks in their annotations."""
    found = {
        name: next((mark for mark in (*field.metadata, *_marks(field.annotation)) if isinstance(mark, Handle)), None)
        for name, field in model.model_fields.items()
    }
    return {name: handle for name, handle in found.items() if handle}


def _marks(annotation: Any) -> Iterator[Any]:
    if get_origin(annotation) is Annotated:
        yield from annotation.__metadata__
    for part in get_args(annotation):
        yield from _marks(part)
