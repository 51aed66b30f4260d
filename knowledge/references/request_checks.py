"""Checks of a request against its documentation: its query parameters and their values, and its content type."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import parse_qsl, urlsplit

from bigmind.text.hygiene import echo_code
from knowledge.search.nearest_names import nearest
from knowledge.search.typed_names import Request, request_in, words_typed

_STANDS_FOR = re.compile(r"[{<$:\[]|\.\.\.|^[A-Z][A-Z0-9_]+$")
_KEY_IN_QUERY = re.compile(r"\(query ([^;()]{1,100})")
_TYPES = {
    "integer": re.compile(r"[+-]?\d{1,40}"),
    "number": re.compile(r"[+-]?\d{0,40}(?:\.\d{1,40})?(?:[eE][+-]?\d{1,5})?"),
    "boolean": re.compile(r"(?i:true|false|0|1)"),
}
MOST_VALUES = 50
"""From here on a list of values may have been cut when it was read."""
_DATA = ("-d", "--data", "--data-raw", "--data-binary", "--data-urlencode", "--json", "-F", "--form", "-T")


@dataclass(frozen=True)
class TypedRequest:
    """A request as it was written: its line, and what its headers say of its body."""

    request: Request
    content_type: str = ""

    @property
    def query(self) -> list[tuple[str, str]]:
        """Its query parameters, in their order."""
        return parse_qsl(urlsplit(self.request.path).query, keep_blank_values=True)


@dataclass(frozen=True)
class RequestProblems:
    """What is wrong with a request: parameters that there are not, values that are not taken, and what is missing."""

    unknown: tuple[str, ...] = ()
    values: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()


def read_request(text: str) -> TypedRequest | None:
    """Return a text as a request: `GET /users?active=true`, the head of an HTTP message, or a call of curl."""
    first, *others = text.strip().strip("`").splitlines() or [""]
    request = request_in(first.partition(" HTTP/")[0])
    if request is not None:
        return TypedRequest(request, _content_type_in(others))
    words = words_typed(text.replace("\\\n", " "))
    return _request_of_curl(words[1:]) if words[:1] == ["curl"] else None


def _request_of_curl(words: Sequence[str]) -> TypedRequest | None:
    method, url, headers, sends = "", "", [], ""
    following = [*words[1:], ""][: len(words)]
    for word, value in zip(words, following, strict=True):
        if word in ("-X", "--request"):
            method = value.upper()
        elif word in ("-H", "--header"):
            headers.append(value)
        elif word in _DATA:
            sends = word
        elif word.startswith(("https://", "http://")):
            url = url or word
    if "-G" in words or "--get" in words or not url:
        return None
    content_type = _content_type_in(headers) or ("application/json" if sends == "--json" else "")
    request = request_in(f"{method or ('POST' if sends else 'GET')} {url}")
    return TypedRequest(request, content_type) if request else None


def _content_type_in(headers: Sequence[str]) -> str:
    for header in headers:
        name, colon, value = header.partition(":")
        if not colon:
            break
        if name.strip().casefold() == "content-type":
            return value.partition(";")[0].strip().casefold()
    return ""


def check_request(typed: TypedRequest, form: Mapping[str, Any]) -> RequestProblems:
    """Compare a request with what its endpoint takes."""
    parameters = [one for one in form.get("parameters", ()) if one.get("in") == "query"]
    known = {one["name"]: one for one in parameters}
    given = dict(typed.query)
    bare = {name: name if name in known else re.split(r"[\[.]", name, maxsplit=1)[0] for name in given}
    unknown = [] if _takes_any(parameters) else [name for name in given if not _is_known(bare[name], known, form)]
    # Who writes a path alone asks whether there is one.
    needed = [one["name"] for one in parameters if one.get("required") and given]
    return RequestProblems(
        tuple(f"It has no query parameter {echo_code(name)}.{_nearest(name, known)}" for name in unknown),
        (*_wrong_values(given, bare, known), *_wrong_path(typed.request.path, form), *_wrong_content(typed, form)),
        tuple(
            f"The query parameter {echo_code(name)} is required."
            for name in needed
            if name not in {*given, *bare.values()}
        ),
    )


def _is_known(name: str, known: Mapping[str, Any], form: Mapping[str, Any]) -> bool:
    keys = [found[1] for text in form.get("security", ()) for found in _KEY_IN_QUERY.finditer(text)]
    return name in known or f"{name}[]" in known or name in keys


def _takes_any(parameters: Sequence[Mapping[str, Any]]) -> bool:
    """Whether a parameter is an object, each field of which may be a parameter of its own."""
    return any(not {"type", "enum"} & set(one.get("schema") or {}) or "object" in _types_of(one) for one in parameters)


def _types_of(parameter: Mapping[str, Any]) -> list[str]:
    kind = (parameter.get("schema") or {}).get("type", "")
    return kind if isinstance(kind, list) else str(kind).split(" or ")


def _wrong_values(
    given: Mapping[str, str], bare: Mapping[str, str], known: Mapping[str, Mapping[str, Any]]
) -> Iterator[str]:
    for name, value in given.items():
        parameter = known.get(name) or known.get(f"{name}[]") or (known.get(bare[name]) if bare[name] != name else None)
        if parameter is not None and (name == parameter["name"] or name.endswith("[]")):
            yield from _wrong_value(name, value, parameter.get("schema") or {})


def _wrong_value(name: str, value: str, schema: Mapping[str, Any]) -> Iterator[str]:
    items = schema.get("items")
    if isinstance(items, Mapping):
        for part in re.split(r"[,|]", value):
            yield from _wrong_value(name, part, items)
        return
    if _STANDS_FOR.search(value):
        return
    kind, allowed = schema.get("type"), [_text_of(one) for one in schema.get("enum", ())]
    if allowed and value not in allowed and len(allowed) < MOST_VALUES:
        yield f"{echo_code(name)} takes one of: {', '.join(map(echo_code, allowed))}; not {echo_code(value)}."
    elif isinstance(kind, str) and (pattern := _TYPES.get(kind)) and not pattern.fullmatch(value):
        yield f"{echo_code(name)} takes {'an' if kind == 'integer' else 'a'} {kind}; not {echo_code(value)}."


def _text_of(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _wrong_path(path: str, form: Mapping[str, Any]) -> Iterator[str]:
    """Return a problem for each segment that is none of the values its parameter lists."""
    written = [part for part in urlsplit(path).path.split("/") if part]
    template = [part for part in str(form.get("path", "")).split("/") if part]
    named = {one["name"]: one for one in form.get("parameters", ()) if one.get("in") == "path"}
    # From the end: the base path may have been left out.
    for value, part in zip(reversed(written), reversed(template), strict=False):
        parameter = named.get(part[1:-1]) if part[:1] == "{" and part[-1:] == "}" else None
        if parameter is not None and (enum := (parameter.get("schema") or {}).get("enum")):
            yield from _wrong_value(parameter["name"], value, {"enum": enum})


def _wrong_content(typed: TypedRequest, form: Mapping[str, Any]) -> Iterator[str]:
    taken = [name.casefold() for name in (form.get("body") or {}).get("content", ())]
    if typed.content_type and taken and not any(_covers(each, typed.content_type) for each in taken):
        yield f"Its body is one of: {', '.join(map(echo_code, taken))}; not {echo_code(typed.content_type)}."


def _covers(taken: str, given: str) -> bool:
    taken = taken.partition(";")[0].strip()
    return taken in ("*/*", given) or (taken.endswith("/*") and given.startswith(taken[:-1]))


def _nearest(name: str, known: Mapping[str, Any]) -> str:
    near = [echo_code(one) for one in nearest(name, known)]
    return f" Did you mean {' or '.join(near)}?" if near else ""
