"""Every refusal that the code can give, read from the code itself: what is said, and what to do next."""

import ast
import re
from collections import defaultdict
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from bigmind.core import errors
from bigmind.core.errors import BigMindError

ROOT = Path(__file__).parents[1]
PACKAGES = ("bigmind", "accounts", "knowledge", "curation")
COMMAND = "command"
LEAST_CHARS = 8
"""A message that is put together from other texts says nothing by itself."""

_VALUE = re.compile(r"%\(\w+\)s")
_CODES = {
    name: kind.code for name, kind in vars(errors).items() if isinstance(kind, type) and issubclass(kind, BigMindError)
} | {"Refused": COMMAND, "CannotStart": COMMAND, "_misuse": COMMAND}


@cache
def refusals() -> dict[str, dict[str, str]]:
    """Return, for each code, the messages with their hints; `…` stands for what differs from case to case."""
    found: dict[str, dict[str, str]] = defaultdict(dict)
    for package in PACKAGES:
        for path in sorted((ROOT / package).rglob("*.py")):
            if "migrations" not in path.parts:
                for code, message, hint in _in_module(ast.parse(path.read_text(encoding="utf-8"))):
                    found[code][message] = found[code].get(message) or hint
    return {code: dict(sorted(messages.items())) for code, messages in sorted(found.items())}


def _in_module(module: ast.Module) -> Iterator[tuple[str, str, str]]:
    for node in ast.walk(module):
        if not isinstance(node, ast.Call):
            continue
        called = ast.unparse(node.func)
        name, _, method = called.partition(".")
        code = _CODES.get(name)
        if code is None or method not in {"", "of"}:
            continue
        texts = [_text(argument) for argument in node.args]
        message = (" ".join(texts) if method == "of" else next(iter(texts), "")).strip()
        if len(message.replace("…", "").strip()) >= LEAST_CHARS:
            hint = next((_text(keyword.value) for keyword in node.keywords if keyword.arg == "hint"), "")
            yield code, message, "" if hint == "…" else hint


def _text(node: ast.expr) -> str:
    """Return a text as it is written in the code, with `…` for each value in it."""
    if isinstance(node, ast.Constant):
        return str(node.value) if isinstance(node.value, str) else ""
    if isinstance(node, ast.JoinedStr):
        parts = (part.value if isinstance(part, ast.Constant) else "…" for part in node.values)
        return "".join(str(part) for part in parts)
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        return _text(node.left) + _text(node.right)
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mod):
        return _VALUE.sub("…", _text(node.left))
    if isinstance(node, ast.Call) and ast.unparse(node.func) in {"_", "ngettext"}:
        return _text(node.args[0])
    if isinstance(node, ast.IfExp):
        return _text(node.body)
    return "…"
