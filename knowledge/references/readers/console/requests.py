"""Requests that the code of a command makes: `GET /api/users/{email}`."""

import re
from collections.abc import Callable, Sequence

from tree_sitter import Node

from knowledge.references.readers.console.source import text_of
from knowledge.references.readers.console.values import SourceText, Value

_METHODS = ("GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS")
_ASKS = re.compile(r"(api|fetch|http|request|axios|client|rest|^ky$|^got$)", re.I)
_PATH = re.compile(r"(https?://[^/\s]+|\{\w+\})?(?P<path>/[\w{][^\s?#]*)")


def request_of(
    call: Node, nodes: Sequence[Node], arguments: Sequence[Value], texts_of: Callable[[Value], tuple[str, ...]]
) -> str | None:
    """Return the request that a call makes, if it is one."""
    callee = call.child_by_field_name("function")
    name = text_of(callee) if callee is not None else ""
    if not _ASKS.search(name.split("(")[0]):
        return None
    texts = [value.text for value in arguments if isinstance(value, SourceText)]
    path = next((found["path"] for text in texts if (found := _PATH.match(text))), None)
    if path is None:
        return None
    return f"{_method(name, texts, nodes)} {path}"


def _method(name: str, texts: Sequence[str], nodes: Sequence[Node]) -> str:
    last = name.rpartition(".")[2].upper().replace("DEL", "DELETE").replace("DELETEETE", "DELETE")
    by_word = next((text.upper() for text in texts if text.upper() in _METHODS), "")
    in_options = next((found[1] for node in nodes if node.type == "object"
                       and (found := re.search(r"\bmethod:\s*['\"`](\w+)", text_of(node)))), "")  # fmt: skip
    return by_word or (last if last in _METHODS else "") or in_options.upper() or "GET"
