"""What really changed, found by Python's own parser, or acorn, and by rules of another kind than those measured."""

import ast
import json
import subprocess
from dataclasses import dataclass
from functools import cache, lru_cache
from pathlib import Path

from .histories import acorn_in, content_of, files_at

SPOKEN = (int, float, str, bool)
TELLING = 120
"""From how many characters of dump on the same body under another name is the same thing."""


@dataclass(frozen=True)
class Thing:
    """A definition: its own name is left out of what it does."""

    path: str
    name: str
    does: str
    value: str = ""
    """Of a constant, its literal."""


def things_at(repository: Path, commit: str) -> dict[tuple[str, str], Thing]:
    """Return the functions, classes and constants of a version, by path and name."""
    found = {}
    for path, object_id in files_at(repository, commit).items():
        read = _things_in if path.endswith(".py") else _things_in_javascript
        for name, (does, value) in read(repository, object_id).items():
            found[path, name] = Thing(path, name, does, value)
    return found


def what_became_of(thing: Thing, before: dict[tuple[str, str], Thing], after: dict[tuple[str, str], Thing]) -> str:
    """Return `holds`, `doubtful` or `false` for something that was there before."""
    now = after.get((thing.path, thing.name))
    if now is None:
        new = [other for place, other in after.items() if place not in before]
        same = [other for other in new if other.does == thing.does]
        named = [other for other in same if other.name.rpartition(".")[2] == thing.name.rpartition(".")[2]]
        alike = [other for other in new if other.name == thing.name]
        if len(named) == 1 or (len(same) == 1 and len(thing.does) > TELLING):
            return "holds"
        return "doubtful" if len(alike) == 1 and not thing.value else "false"
    if now.does == thing.does:
        return "holds"
    return "false" if thing.value else "doubtful"


@lru_cache(maxsize=20_000)
def _things_in(repository: Path, object_id: str) -> dict[str, tuple[str, str]]:
    try:
        tree = ast.parse(content_of(repository, object_id))
    except (SyntaxError, ValueError):
        return {}
    found: dict[str, tuple[str, str]] = {}
    _collect(tree, "", found)
    return found


@lru_cache(maxsize=20_000)
def _things_in_javascript(repository: Path, object_id: str) -> dict[str, tuple[str, str]]:
    asked = _acorn(acorn_in(repository.parent.parent))
    assert asked.stdin
    assert asked.stdout
    asked.stdin.write(json.dumps(content_of(repository, object_id)) + "\n")
    asked.stdin.flush()
    found: dict[str, tuple[str, str]] = {}
    for name, does, value in json.loads(asked.stdout.readline()):
        _add(found, name, does, value)
    return found


@cache
def _acorn(folder: Path) -> "subprocess.Popen[str]":
    command = ["node", str(Path(__file__).with_name("things.mjs")), str(folder)]
    return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


def _collect(node: ast.AST, around: str, found: dict[str, tuple[str, str]]) -> None:
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            name = f"{around}{child.name}"
            _add(found, name, _dump(child, child.name), "")
            _collect(child, f"{name}.", found)
        elif isinstance(child, ast.Assign | ast.AnnAssign) and not isinstance(
            node, ast.FunctionDef | ast.AsyncFunctionDef
        ):
            target = child.targets[0] if isinstance(child, ast.Assign) else child.target
            if isinstance(target, ast.Name) and isinstance(child.value, ast.Constant) and not around:
                literal = child.value.value
                spoken = repr(literal) if isinstance(literal, SPOKEN) and len(repr(literal)) < 40 else ""
                _add(found, target.id, _dump(child, target.id), spoken)
        elif isinstance(child, ast.If | ast.Try | ast.With):
            _collect(child, around, found)


def _add(found: dict[str, tuple[str, str]], name: str, does: str, value: str) -> None:
    known = found.get(name)
    found[name] = (f"{known[0]}\n{does}", "") if known else (does, value)


def _dump(node: ast.AST, own: str) -> str:
    for inner in ast.walk(node):
        body = getattr(inner, "body", None)
        if isinstance(body, list):
            inner.body = [each for each in body if not _is_text(each)]  # type: ignore[attr-defined]
    return ast.dump(node).replace(f"'{own}'", "'_'")


def _is_text(statement: ast.AST) -> bool:
    is_constant = isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)
    return is_constant and isinstance(statement.value.value, str)  # type: ignore[attr-defined]
