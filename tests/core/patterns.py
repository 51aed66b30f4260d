"""Every pattern in the code, how it is applied, and texts made from its own parts to take it as long as they can."""

import ast
import importlib
import itertools
import pkgutil
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, is_dataclass
from functools import cache, reduce
from operator import or_
from pathlib import Path
from re import _constants as opcodes  # type: ignore[attr-defined]
from re import _parser as parser  # type: ignore[attr-defined]
from types import ModuleType
from typing import Any

PACKAGES = ("bigmind", "accounts", "knowledge", "curation")
METHODS = {"search", "match", "fullmatch", "findall", "finditer", "sub", "subn", "split"}
NAMES_A_METHOD = re.compile(rf"\.\s*(?:{'|'.join(METHODS)})\b")
MODULE_FLAGS = {"I", "IGNORECASE", "M", "MULTILINE", "S", "DOTALL"}
CATEGORIES = {
    opcodes.CATEGORY_SPACE: " \n",
    opcodes.CATEGORY_DIGIT: "0",
    opcodes.CATEGORY_WORD: "a_0",
    opcodes.CATEGORY_NOT_SPACE: "a!",
    opcodes.CATEGORY_NOT_DIGIT: "a ",
    opcodes.CATEGORY_NOT_WORD: " !",
}
ENDS = ("\n!\0", "\0")
NAMED = ast.Name | ast.Attribute
MOST_PUMPS = 24


@dataclass(frozen=True)
class Applied:
    """A pattern, and the ways in which the code applies it to a text."""

    where: str
    pattern: re.Pattern[str]
    methods: frozenset[str]

    def __str__(self) -> str:
        return self.where


@cache
def every_pattern() -> list[Applied]:
    """Return each pattern of the packages once: those kept in modules, and those written where they are used."""
    modules = list(modules_of_the_packages())
    nodes = {module: _nodes_of(_source(module)) for module in modules}
    here = {module: _uses(nodes[module]) for module in modules}
    anywhere: defaultdict[str, set[str]] = defaultdict(set)
    for name, methods in itertools.chain.from_iterable(uses.items() for uses in here.values()):
        anywhere[name] |= methods
    found: dict[tuple[str, int], Applied] = {}
    for module in modules:
        for where, pattern, methods in itertools.chain(
            _kept(module, here[module], anywhere), _written(module, nodes[module])
        ):
            before = found.get((pattern.pattern, pattern.flags))
            known = before.methods if before else frozenset()
            found[pattern.pattern, pattern.flags] = Applied(before.where if before else where, pattern, methods | known)
    return sorted(found.values(), key=lambda one: one.where)


def modules_of_the_packages() -> Iterator[ModuleType]:
    for package in PACKAGES:
        root = importlib.import_module(package)
        for each in pkgutil.walk_packages(root.__path__, f"{package}."):
            # Importing what serves denies this whole process the rows of people.
            if ".migrations" not in each.name and not each.name.endswith(("__main__", ".asgi", ".wsgi")):
                yield importlib.import_module(each.name)


def _source(module: ModuleType) -> str:
    return Path(str(module.__file__)).read_text(encoding="utf-8")


def _nodes_of(source: str) -> list[ast.AST]:
    """Read a source, unless it has none of the methods: most have not, and to read all takes seconds."""
    return list(ast.walk(ast.parse(source))) if NAMES_A_METHOD.search(source) else []


def _uses(nodes: Iterable[ast.AST]) -> dict[str, set[str]]:
    """Return by which methods a name is applied: `WORD.findall(text)`."""
    uses = defaultdict(set)
    for node in nodes:
        if (
            isinstance(node, ast.Attribute)
            and node.attr in METHODS
            and isinstance(node.value, ast.Name | ast.Attribute)
        ):
            name = node.value.id if isinstance(node.value, ast.Name) else node.value.attr
            uses[name].add(node.attr)
    return uses


def _kept(
    module: ModuleType, here: dict[str, set[str]], anywhere: dict[str, set[str]]
) -> Iterator[tuple[str, re.Pattern[str], frozenset[str]]]:
    for name, value in vars(module).items():
        uses = here if name.startswith("_") else anywhere
        for pattern in _patterns_in(value, 0):
            # What stands in a table or is handed on may be applied in any way.
            methods = uses.get(name, set()) if isinstance(value, re.Pattern) else set()
            yield f"{module.__name__}.{name}", pattern, frozenset(methods or {"search"})


def _patterns_in(value: Any, depth: int) -> Iterator[re.Pattern[str]]:
    if isinstance(value, re.Pattern):
        if isinstance(value.pattern, str):
            yield value
    elif depth < 4 and isinstance(value, tuple | list | set | frozenset):
        for each in value:
            yield from _patterns_in(each, depth + 1)
    elif depth < 4 and isinstance(value, dict):
        for each in value.values():
            yield from _patterns_in(each, depth + 1)
    elif depth < 4 and is_dataclass(value) and not isinstance(value, type):
        for name in value.__dataclass_fields__:
            yield from _patterns_in(getattr(value, name, None), depth + 1)


def _written(module: ModuleType, nodes: Iterable[ast.AST]) -> Iterator[tuple[str, re.Pattern[str], frozenset[str]]]:
    """Find `re.sub("…", …)`, where the pattern is a text that can be known without running the function."""
    for node in nodes:
        if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.args):
            continue
        if not (isinstance(node.func.value, ast.Name) and node.func.value.id == "re" and node.func.attr in METHODS):
            continue
        text = _constant(node.args[0], module)
        if isinstance(text, str):
            flags = {each.attr for each in ast.walk(node) if isinstance(each, ast.Attribute)} & MODULE_FLAGS
            pattern = re.compile(text, reduce(or_, (getattr(re, each) for each in flags), re.NOFLAG))
            yield f"{module.__name__}:{node.lineno}", pattern, frozenset({node.func.attr})


def _constant(node: ast.expr, module: ModuleType) -> object:
    try:
        return eval(compile(ast.Expression(node), "pattern", "eval"), dict(vars(module)))
    except NameError:
        return None


def hostile_texts(pattern: re.Pattern[str], sizes: Iterable[int]) -> Iterator[list[str]]:
    """Yield texts of about so many characters: what comes before a repeat, the repeat's own words, and no end to it."""
    tree = list(parser.parse(pattern.pattern, pattern.flags & ~re.UNICODE))
    begins = list(dict.fromkeys(["", *_begins(tree)]))[:3]
    for pump, begin, end in itertools.product(_pumps(tree), begins, ENDS):
        yield [begin + pump * (chars // len(pump)) + end for chars in sizes]


def examples_of(pattern: re.Pattern[str], count: int) -> list[str]:
    """Return up to so many texts that a pattern (its lookarounds aside) matches."""
    return _examples(list(parser.parse(pattern.pattern, pattern.flags & ~re.UNICODE)), count)


def _pumps(tree: list[Any]) -> list[str]:
    letters = sorted({char for char in _letters(tree) if ord(char) < 0x3000})
    bodies = [example for repeat in _repeats(tree) for example in _examples(repeat, 3)]
    starts = _begins(tree)
    chosen = letters[:: max(1, len(letters) // 24)]
    pairs = [one + other for one, other in itertools.product(chosen[:: max(1, len(chosen) // 6)], repeat=2)]
    singles = [*chosen, " ", "\n", "a", "0", "`", "(", "-", "a ", "a\n", " \n", "a.", "\t"]
    longer = [example + tail for example in (*starts, *_examples(tree, 3)) for tail in ("", " ", "\n")]
    return [pump for pump in dict.fromkeys([*singles, *bodies, *longer, *pairs]) if pump][:MOST_PUMPS]


def _letters(tree: Iterable[Any]) -> Iterator[str]:
    for code, argument in _nodes(tree):
        if code in {opcodes.LITERAL, opcodes.NOT_LITERAL}:
            yield chr(argument)
        elif code is opcodes.IN:
            yield from _members(argument)


def _members(argument: Iterable[Any]) -> list[str]:
    members: list[str] = []
    negated = False
    for code, value in argument:
        negated = negated or code is opcodes.NEGATE
        if code is opcodes.LITERAL:
            members.append(chr(value))
        elif code is opcodes.RANGE:
            members.append(chr(value[0]))
        elif code is opcodes.CATEGORY:
            members.extend(CATEGORIES[value])
    if negated:
        return [char for char in "a 0-.\n:" if char not in members][:2] or ["é"]
    return members


def _nodes(tree: Iterable[Any]) -> Iterator[tuple[Any, Any]]:
    for code, argument in tree:
        yield code, argument
        for part in _parts(code, argument):
            yield from _nodes(part)


def _parts(code: Any, argument: Any) -> list[Any]:
    if code in {opcodes.MAX_REPEAT, opcodes.MIN_REPEAT, opcodes.POSSESSIVE_REPEAT}:
        return [argument[2]]
    if code is opcodes.SUBPATTERN:
        return [argument[3]]
    if code is opcodes.BRANCH:
        return list(argument[1])
    if code in {opcodes.ASSERT, opcodes.ASSERT_NOT}:
        return [argument[1]]
    if code is opcodes.ATOMIC_GROUP:
        return [argument]
    if code is opcodes.GROUPREF_EXISTS:
        return [part for part in argument[1:] if part]
    return []


def _repeats(tree: Iterable[Any]) -> Iterator[Any]:
    for code, argument in _nodes(tree):
        if code in {opcodes.MAX_REPEAT, opcodes.MIN_REPEAT, opcodes.POSSESSIVE_REPEAT} and argument[1] > 1:
            yield argument[2]


def _begins(tree: Iterable[Any]) -> list[str]:
    """Return what satisfies the pattern up to each of its parts, on the outermost level and in each group."""
    begins, said = [], ""
    for code, argument in tree:
        for part in _parts(code, argument):
            begins.extend(said + begin for begin in _begins(part))
        said += next(iter(_examples([(code, argument)], 1)), "")
        begins.append(said)
    return [begin for begin in dict.fromkeys(begins) if len(begin) < 60][:24]


def _examples(tree: Iterable[Any], count: int) -> list[str]:
    """Return up to so many texts that (lookarounds aside) match."""
    examples = [""]
    for code, argument in tree:
        choices = _choices(code, argument, count)
        examples = [one + other for one, other in itertools.product(examples, choices)][: count * count]
    return list(dict.fromkeys(examples))[:count]


def _choices(code: Any, argument: Any, count: int) -> list[str]:
    if code is opcodes.LITERAL:
        return [chr(argument)]
    if code is opcodes.NOT_LITERAL:
        return ["a" if chr(argument) != "a" else "b"]
    if code is opcodes.ANY:
        return ["a", " "][:count]
    if code is opcodes.IN:
        return _members(argument)[:count]
    if code in {opcodes.MAX_REPEAT, opcodes.MIN_REPEAT, opcodes.POSSESSIVE_REPEAT}:
        least = max(1, min(argument[0], 200)) if argument[1] else 0
        return [example * least for example in _examples(argument[2], count)]
    if code is opcodes.SUBPATTERN:
        return _examples(argument[3], count)
    if code is opcodes.ATOMIC_GROUP:
        return _examples(argument, count)
    if code is opcodes.BRANCH:
        return [example for branch in argument[1] for example in _examples(branch, 1)][: max(count, 6)]
    return [""]
