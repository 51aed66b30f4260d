"""Every sentence of the code that pages say in the reader's language, read from the code itself, as templates.

Refusals, alerts, notices and what settings do are written in English where they arise. Nothing has to be marked there.
"""

import ast
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator
from functools import cache
from itertools import count, product
from pathlib import Path

from bigmind.core.argument_checks import PHRASES
from bigmind.core.sentences import CONTEXT
from bigmind.environment.listing import GROUPS, fields_of, title_of
from bigmind.privacy.injections import SIGNS
from bigmind.toolsets import TOOLSETS
from bigmind.web.admin_words import english_words
from bigmind.web.words import NAMES
from curation.notifications.notices import SENTENCES
from devtools.refusals import PACKAGES, ROOT
from knowledge.kinds import KINDS, LISTED

NO_PAGES = {
    "migrations",
    "management",
    "embedded",
    "connecting",
    "backup",
    "mcp",
    "rest",
    "hooks",
    "file_cache",
}
"""Parts of the code that talk to programs, to agents or on the command line."""
READ_ANYWAY = {"runs"}
"""Modules of such parts that pages quote."""
NOT_TOLD = {
    "TypeError",
    "ImproperlyConfigured",
    "KeyError",
    "NotImplementedError",
    "RuntimeError",
    "Http404",
    "MaskedRow",
}
ERRORS = {"Invalid", "Conflict", "NotFound", "Forbidden", "TooMany", "PydanticCustomError", "add_notice"}
"""What is also made without being raised at once, and notices about what was sent."""
SAID_IN = {"message", "hint"}
TOLD_BY = {
    **dict.fromkeys(("tell", "messages.success", "messages.warning", "messages.error"), 1),
    **dict.fromkeys(("HealthCheck", "LeftAsIs"), 1),
    **dict.fromkeys(("AnchorFinding", "PackNews", "Trial", "_finding"), 2),
    "FindingShape": 3,
    "LineChange": 6,
}
"""What says something on a page, and at which place of its arguments the text stands."""
TOLD_AS = {"left", "says", "fallback"}
RETURNED_BY = {"error_of", "note_of", "problem_of", "_delay", "_differences", "_differing_fields"}
"""Functions that return or yield what a page says; those whose names end in `_error` do, too."""
_WORD = re.compile(r"[^\W\d_]{3,}")
_VALUE = re.compile(r"\{\w+\}")
_FORMAT = re.compile(r"\{(\w+):[^{}]*\}")


@cache
def sentences() -> set[str]:
    """Return the templates: `There is no note {id}.`"""
    found = {*_of_code(), *SENTENCES, *_of_settings(), *(sign.why for sign in SIGNS)}
    found |= {_FORMAT.sub(r"{\1}", phrase) for phrase in PHRASES.values()}
    return {one for one in found if _WORD.search(_VALUE.sub("", one))}


def write_for_gettext(path: str) -> None:
    """Write what `makemessages` cannot find by itself where it finds it."""
    lines = [f"pgettext({CONTEXT!r}, {one!r})" for one in sorted(sentences())]
    words = [f"gettext({one!r})" for one in sorted(words_of_tables())]
    Path(path).write_text("\n".join([*lines, *words]), encoding="utf-8")


def words_of_tables() -> set[str]:
    """Return the words of pages that stand in a table of the code: of models, kinds, toolsets and the like."""
    names = (name for listed in NAMES for name in listed.split(" / "))
    return {*english_words(), *_words_for_kinds(), *TOOLSETS.values(), *(sign.kind for sign in SIGNS), *names}


def _words_for_kinds() -> set[str]:
    words = {word for kind, row in KINDS.items() for word in (str(kind), row.word, row.label)}
    words |= {row.label.lower() for row in KINDS.values() if row.list_route}
    return words | {word.capitalize() for word in LISTED}


def _of_settings() -> Iterator[str]:
    for group, topic in GROUPS.items():
        yield group
        for name, field in fields_of(topic).items():
            yield from (title_of(name), field.description or "")


def _of_code() -> Iterator[str]:
    for package in PACKAGES:
        for path in sorted((ROOT / package).rglob("*.py")):
            if path.stem in READ_ANYWAY or NO_PAGES.isdisjoint({*path.relative_to(ROOT).parts, path.stem}):
                yield from _SpokenModule(ast.parse(path.read_text(encoding="utf-8"))).sentences()


class _SpokenModule:
    """What one module says: in what it raises, in problems of arguments, in alerts."""

    def __init__(self, tree: ast.Module) -> None:
        self.nodes = list(ast.walk(tree))
        self.functions = {node.name: node for node in self.nodes if isinstance(node, ast.FunctionDef)}
        self.assigned: dict[str, list[ast.expr]] = defaultdict(list)
        for node in self.nodes:
            if isinstance(node, ast.Assign):
                for target in node.targets:
                    if isinstance(target, ast.Name):
                        self.assigned[target.id].append(node.value)

    def sentences(self) -> Iterator[str]:
        for node in self.nodes:
            for said in _find_texts(node):
                yield from self._templates(said)
        for name, function in self.functions.items():
            if name in RETURNED_BY or name.endswith("_error"):
                for part in ast.walk(function):
                    if isinstance(part, ast.Return | ast.Yield) and part.value:
                        yield from self._templates(part.value)

    def _templates(self, node: ast.expr, depth: int = 3) -> list[str]:
        """Return what an expression may say; nothing where other code puts it together."""
        if isinstance(node, ast.Constant):
            return [node.value] if isinstance(node.value, str) else []
        if isinstance(node, ast.IfExp):
            return self._templates(node.body, depth) + self._templates(node.orelse, depth)
        if isinstance(node, ast.BoolOp):
            return [one for value in node.values for one in self._templates(value, depth)]
        if isinstance(node, ast.JoinedStr):
            return self._join(node.values)
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
            return self._join([node.left, node.right])
        if depth and isinstance(node, ast.Name) and node.id in self.assigned:
            return [one for value in self.assigned[node.id] for one in self._templates(value, depth - 1)]
        if depth and isinstance(node, ast.Call) and (function := self.functions.get(_name_of(node.func))):
            returned = (part.value for part in ast.walk(function) if isinstance(part, ast.Return) and part.value)
            return [one for value in returned for one in self._templates(value, depth - 1)]
        return []

    def _join(self, parts: Iterable[ast.expr]) -> list[str]:
        """Return the ways to put parts of a text together: a value that is one of two words gives two sentences."""
        taken: set[str] = set()
        return ["".join(way) for way in product(*(self._ways(part, taken) for part in parts))]

    def _ways(self, part: ast.expr, taken: set[str]) -> list[str]:
        if isinstance(part, ast.Constant):
            return [str(part.value)]
        if isinstance(part, ast.JoinedStr):
            return ["".join(way) for way in product(*(self._ways(one, taken) for one in part.values))]
        value = part.value if isinstance(part, ast.FormattedValue) else part
        if isinstance(value, ast.BinOp) and isinstance(value.op, ast.Add) and not _is_number(value.right):
            return ["".join(way) for way in product(self._ways(value.left, taken), self._ways(value.right, taken))]
        if isinstance(value, ast.Name) and len(known := self.assigned.get(value.id, [])) == 1 and _is_text(known[0]):
            value = known[0]
        if _is_text(value):
            branches = [value.body, value.orelse] if isinstance(value, ast.IfExp) else [value]
            return [way for branch in branches for way in self._ways(branch, taken)]
        return [_placeholder(value, taken)]


def _is_text(value: ast.expr) -> bool:
    """Whether a value is written in the code: one text, or one of two."""
    if isinstance(value, ast.IfExp):
        return _is_text(value.body) and _is_text(value.orelse)
    return isinstance(value, ast.JoinedStr) or (isinstance(value, ast.Constant) and isinstance(value.value, str))


def _placeholder(value: ast.expr, taken: set[str]) -> str:
    base = _name_of(value).strip("_").lower() or "value"
    name = next(one for number in count(1) if (one := base if number == 1 else f"{base}_{number}") not in taken)
    taken.add(name)
    return f"{{{name}}}"


def _find_texts(node: ast.AST) -> Iterator[ast.expr]:
    """Return the expressions of a piece of code that people read."""
    if isinstance(node, ast.Raise) and isinstance(node.exc, ast.Call):
        yield from _arguments(node.exc)
    elif isinstance(node, ast.Call):
        called = _path_of(node.func)
        name, _, method = called.partition(".")
        values = [*node.args, *(keyword.value for keyword in node.keywords)]
        is_alert = any(_path_of(value).startswith("Alert.Topic.") for value in values)
        if is_alert:
            yield from (keyword.value for keyword in node.keywords if keyword.arg == "text")
        if (name in ERRORS and method in {"", "of"}) or is_alert:
            yield from _arguments(node)
        if (place := TOLD_BY.get(called)) is not None:
            yield from node.args[place : place + 1]
            yield from (keyword.value for keyword in node.keywords if keyword.arg in TOLD_AS)
        if name == "replace":
            yield from (keyword.value for keyword in node.keywords if keyword.arg == "reason")
    elif isinstance(node, ast.Dict):
        for key, value in zip(node.keys, node.values, strict=True):
            if isinstance(key, ast.Constant) and key.value == "message":
                yield value


def _arguments(call: ast.Call) -> Iterator[ast.expr]:
    name, _, method = _path_of(call.func).partition(".")
    if name in NOT_TOLD:
        return
    yield from call.args[1:] if method == "of" or name == "PydanticCustomError" else call.args
    yield from (keyword.value for keyword in call.keywords if keyword.arg in SAID_IN)


def _path_of(node: ast.expr) -> str:
    """Return names that points join: `Alert.Topic.KEYS`; nothing for any other expression."""
    if isinstance(node, ast.Attribute):
        base = _path_of(node.value)
        return f"{base}.{node.attr}" if base else ""
    return node.id if isinstance(node, ast.Name) else ""


def _name_of(node: ast.expr) -> str:
    """Return the word by which a value is known in the code: `title` of `mention(entry.title)`."""
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Attribute):
        return node.attr
    if isinstance(node, ast.Subscript):
        return _name_of(node.value)
    if isinstance(node, ast.BinOp):
        return _name_of(node.left)
    if isinstance(node, ast.IfExp):
        return _name_of(node.body)
    if isinstance(node, ast.Call):
        if isinstance(node.func, ast.Attribute) and not node.args:
            if node.func.attr.startswith("get_"):
                return node.func.attr.removeprefix("get_").removesuffix("_display")
            return _name_of(node.func.value).replace("self", "") or node.func.attr
        return _name_of(node.args[0]) if node.args else _name_of(node.func)
    return ""


def _is_number(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, int)
