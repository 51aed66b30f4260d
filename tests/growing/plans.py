"""What PostgreSQL's plans say of a statement: by which conditions each table is asked, without row-level security."""

import json
import re
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import Any

ROOT = Path(__file__).parents[2]
STATEMENT = re.compile(r"[\s(]*(WITH|SELECT|INSERT|UPDATE|DELETE)\b")
TEXT = re.compile(r"'(?:[^']|'')*'")
ASIDE = ("/.venv/", "/tests/", "/bigmind/core/")


@dataclass(frozen=True)
class Keys:
    """The columns of a table by which its rows may be asked: the one of its owner, and those of what they are part of.

    `owner` is None where the row reaches its owner by what it is part of alone.
    """

    owner: str | None
    parents: frozenset[str]


@dataclass(frozen=True)
class Asked:
    """One look into a table: the module that asks, and by what: `owner`, `id`, `parent`, or `anything`."""

    table: str
    module: str
    by: str


class PlanReader:
    """Wraps the statements of a connection: has each planned before it runs, and keeps how tables are asked."""

    def __init__(self, tables: Mapping[str, Keys]) -> None:
        self.found: dict[Asked, str] = {}
        self._tables, self._is_busy = tables, False

    def __call__(self, execute: Callable[..., Any], sql: str, params: Any, many: bool, context: Any) -> Any:
        """Plan a statement, then run it."""
        if not self._is_busy and not many and STATEMENT.match(str(sql)):
            self._is_busy = True
            try:
                with context["connection"].cursor() as cursor:
                    cursor.execute(f"EXPLAIN (VERBOSE, FORMAT JSON) {sql}", params)
                    (told,) = cursor.fetchone()
                self._read(json.loads(told) if isinstance(told, str) else told, str(sql))
            finally:
                self._is_busy = False
        return execute(sql, params, many, context)

    def _read(self, plans: list[dict[str, Any]], sql: str) -> None:
        (plan,) = plans
        names = {node["Alias"]: node["Relation Name"] for node in _nodes(plan["Plan"]) if "Relation Name" in node}
        for table, alias, conditions in _scans(plan["Plan"], ()):
            if table in self._tables:
                parts = [part for one in conditions for part in _parts(one)]
                self.found.setdefault(Asked(table, _module(), self._key_of(table, alias, parts, names)), sql)

    def _key_of(self, table: str, alias: str, parts: list[str], names: Mapping[str, str]) -> str:
        keys = self._tables[table]
        if keys.owner and any(self._names_owner(part, f"{alias}.{keys.owner}", names) for part in parts):
            return "owner"
        wanted = {"id": ["id"], "parent": keys.parents}
        for by, columns in wanted.items():
            if any(
                re.search(rf"(?<![\w.]){alias}\.{column} = |= {alias}\.{column}\b", part)
                for part in parts
                for column in columns
                if " OR " not in part
            ):
                return by
        return "anything"

    def _names_owner(self, part: str, column: str, names: Mapping[str, str]) -> bool:
        """Whether a condition says whose rows: as a value, as no owner, or as the owner of rows of another table."""
        if part == f"{column} IS NULL":
            return True
        sides = part.split(" = ")
        if len(sides) != 2 or column not in sides:
            return False
        (other,) = [side for side in sides if side != column] or [""]
        alias, _, name = other.partition(".")
        joined = names.get(alias)
        return joined is None or (joined in self._tables and self._tables[joined].owner == name)


def _nodes(node: dict[str, Any]) -> Iterator[dict[str, Any]]:
    yield node
    for child in node.get("Plans", []):
        yield from _nodes(child)


def _scans(
    node: dict[str, Any], above: tuple[str, ...], is_apart: bool = False
) -> Iterator[tuple[str, str, tuple[str, ...]]]:
    """Yield each table that is read, how the statement calls it, and the conditions that it or a join above has.

    A policy looks up whose session a row belongs to, in a plan apart that has no condition of the statement's.
    """
    own = tuple(str(node[key]) for key in node if key.endswith(("Cond", "Filter")))
    is_apart = is_apart or node.get("Parent Relationship") == "SubPlan"
    is_policy = is_apart and not any(True for one in own for _ in _parts(one))
    if "Relation Name" in node and node["Node Type"] != "ModifyTable" and not is_policy:
        yield node["Relation Name"], node["Alias"], (*above, *own)
    for child in node.get("Plans", []):
        yield from _scans(child, (*above, *own), is_apart)


def _parts(condition: str) -> Iterator[str]:
    """Yield what must all hold: `((a = 1) AND (b = 2))` is two parts, and an OR is one. Policies are left out."""
    text = TEXT.sub("''", condition).strip()
    while text.startswith("(") and _end(text) == len(text) - 1:
        text = text[1:-1]
    parts, depth, start = [], 0, 0
    for place, letter in enumerate(text):
        depth += (letter == "(") - (letter == ")")
        if depth == 0 and text.startswith(" AND ", place):
            parts.append(text[start:place])
            start = place + 5
    if parts:
        for part in (*parts, text[start:]):
            yield from _parts(part)
    elif "InitPlan" not in text:
        yield text


def _end(text: str) -> int:
    depth = 0
    for place, letter in enumerate(text):
        depth += (letter == "(") - (letter == ")")
        if depth == 0:
            return place
    return -1


def _files() -> Iterator[str]:
    frame: FrameType | None = sys._getframe()
    while frame := frame.f_back:
        yield frame.f_code.co_filename


def _module() -> str:
    """Return the module of ours that asks: the innermost that is neither a test nor a tool of all."""
    ours = (name for name in _files() if name.startswith(f"{ROOT}/") and not any(part in name for part in ASIDE))
    return str(Path(next(ours, f"{ROOT}/?")).relative_to(ROOT)).removesuffix(".py").replace("/", ".")
