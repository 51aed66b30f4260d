"""Corrected calls: the call that was meant, beside the refusal of one that was misspelt.

A call is offered only where the operation accepts it as written and it differs from what was sent in spelling alone.
Whatever else is wrong, only the caller knows what was meant.
"""

import json
from collections.abc import Collection, Mapping
from difflib import get_close_matches
from typing import Any

from bigmind.core.errors import Invalid
from bigmind.core.operations import Operation
from bigmind.privacy.screening import redact
from bigmind.text.common_words import is_common
from bigmind.text.hygiene import Told

SHOWN_CHARS = 1_000
"""A longer call is not repeated: its answer would cost as much as it did."""
_ALIKE = 0.8


def correct(operation: Operation, arguments: Mapping[str, Any], *, through: str = "", respelled: bool = True) -> str:
    """Return the call to send instead, in one line; in words where it is long or holds a secret; empty if unknown.

    Args:
        through: The operation that performs it, for a client that does not list this one.
        respelled: Whether to return it only if a spelling was wrong: what else is refused would be refused again.
    """
    properties = operation.input_schema.get("properties", {})
    try:
        sent = operation.forgive(arguments)
        names = _respell_names(sent, properties)
        call = {own: _respell_choice(sent[name], properties.get(own, {})) for name, own in names.items()}
        operation.accept(call)
    except Invalid:
        return ""
    if respelled and call == sent:
        return ""
    tool, body = (through, {"tool": operation.name, "arguments": call}) if through else (operation.name, call)
    written = _write(body)
    if len(written) <= SHOWN_CHARS and redact(written) == written:
        return Told(f"{tool}({written})")
    respelt = [own for name, own in names.items() if name != own]
    respelt += [f"{own}={_write(call[own])}" for name, own in names.items() if call[own] != sent[name]]
    return Told(f"{operation.name} with the same arguments{', spelled ' if respelt else ''}{', '.join(respelt)}")


def _respell_names(sent: Mapping[str, Any], properties: Mapping[str, Any]) -> dict[str, str]:
    """Return the name of each argument as it is spelled here, or all as they were sent where two would become one."""
    free = [name for name in properties if name not in sent]
    names = {name: name if name in properties else _only_spelling(name, free) for name in sent}
    return names if len(set(names.values())) == len(names) else {name: name for name in sent}


def _respell_choice(value: Any, schema: Mapping[str, Any]) -> Any:
    if isinstance(value, list):
        return [_respell_choice(item, schema.get("items", {})) for item in value]
    choices = schema.get("enum", ())
    return _only_spelling(value, choices) if isinstance(value, str) and value not in choices else value


def _only_spelling(word: str, choices: Collection[str]) -> str:
    """Return the one choice that a word misspells, else the word.

    `unapprove` and `unuseful` mean the opposite, and a word of its own, such as `refused`, is no slip for `refuted`.
    """
    small = word[:100].lower()
    possible = [
        one
        for one in choices
        if one[:1] == small[:1]
        and not small.endswith(one)
        and (small.startswith(one) or one.startswith(small) or not is_common(small))
    ]
    alike = get_close_matches(small, possible, 2, _ALIKE)
    return alike[0] if len(alike) == 1 else word


def _write(value: Any) -> str:
    """Return JSON in one line, in which a text cannot leave its quotes and nothing is invisible."""
    written = json.dumps(value, ensure_ascii=False)
    return "".join(char if char.isprintable() else json.dumps(char)[1:-1] for char in written)
