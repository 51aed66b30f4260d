"""The source of a console as a syntax tree: what is declared where, and where a typed line enters it."""

import html
import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from tree_sitter import Node

from bigmind.core.errors import Invalid
from knowledge.parsers.syntax_trees import parse_source
from knowledge.references.readers.console.expression_values import UNKNOWN, Code, LineWords, Value, WholeLine, Word

LARGEST_SOURCE = 4_000_000

FUNCTIONS = frozenset({
    "arrow_function", "function_expression", "function_declaration", "generator_function_declaration",
    "method_definition", "generator_function",
})  # fmt: skip
_SCOPES = FUNCTIONS | {"program", "statement_block", "class_body", "switch_body", "for_statement", "for_in_statement"}

_LINES = re.compile(
    r"(raw|full|typed|user)?_?(command|cmd|line|input|text|commandline|commandstring|cmdline|str)$", re.I
)
_WORDS = re.compile(r"_?(args?|argv|parts|tokens|words|params|rest)$", re.I)
_SPLITS = re.compile(r"""\.split\(\s*(['"`] ['"`]|/(\\s|\[\\s\]| )[+*]?/)|process\.argv|\.match\(/\\S""")


@dataclass(frozen=True)
class Declared:
    """What a name stands for, and the statement that says so."""

    value: Node
    statement: Node
    begins: int
    ends: int


class NamedScopes:
    """The declarations of one name: which of them is meant at a place, the innermost around it.

    Scopes lie in one another or apart, so what is meant changes only where one begins or ends. These places are noted
    once: code that declares a name ten thousand times may use it as often.
    """

    def __init__(self, declared: Sequence[Declared]) -> None:
        self._places: list[int] = []
        self._meant: list[Declared | None] = []
        around: list[Declared] = []
        for each in sorted(declared, key=lambda each: (each.begins, -each.ends)):
            self._close(around, each.begins)
            # Of several in one scope the first counts.
            if not (around and (around[-1].begins, around[-1].ends) == (each.begins, each.ends)):
                around.append(each)
                self._note(each.begins, each)
        self._close(around)

    def at(self, place: int) -> Declared | None:
        """Return what is meant at a place, counted in bytes."""
        number = bisect_right(self._places, place)
        return self._meant[number - 1] if number else None

    def _close(self, around: list[Declared], until: int | None = None) -> None:
        while around and (until is None or around[-1].ends <= until):
            ended = around.pop()
            self._note(ended.ends, around[-1] if around else None)

    def _note(self, place: int, meant: Declared | None) -> None:
        self._places.append(place)
        self._meant.append(meant)


class ParsedFile:
    """A parsed file."""

    def __init__(self, text: str, name: str) -> None:
        if len(text) > LARGEST_SOURCE:
            raise Invalid(f"`{name}` has {len(text):,} characters; at most {LARGEST_SOURCE:,} are read.")
        self.name = name
        source = text.encode(errors="replace")
        self.root = parse_source(source, "typescript" if name.endswith(".ts") else "tsx", name).root_node
        # One character for each byte, as nodes count.
        self._splits = [found.span() for found in _SPLITS.finditer(source.decode("latin-1"))]
        self.modules: set[str] = set()
        self.imports: dict[str, tuple[str, str]] = {}
        """What each imported name is bound to: its module, and what it is called there (`*` for the module itself)."""
        self.functions: list[Declared] = []
        self._declared: dict[str, list[Declared]] = {}
        self._members: dict[str, list[Declared]] = {}
        self._scopes: dict[tuple[int, str], NamedScopes] = {}
        self.jsx: list[Node] = []
        self.objects: list[Node] = []
        self.strings: list[Node] = []
        self.errors: list[Node] = []
        self._filled: dict[str, list[tuple[Node, Node, Node]]] = {}
        self._index()

    def line(self, node: Node) -> int:
        """Return the number of the line on which a node begins."""
        return node.start_point[0] + 1

    def place(self, node: Node) -> str:
        """Return file and line of a node."""
        return f"{self.name}:{self.line(node)}"

    def lookup(self, name: str, at: Node) -> Declared | None:
        """Return what a name means where it is used: the innermost declaration around it."""
        return self._find(self._declared, name, at)

    def member(self, name: str, at: Node) -> Declared | None:
        """Return the method or field of the class around a use of `this`."""
        return self._find(self._members, name, at)

    def _find(self, where: dict[str, list[Declared]], name: str, at: Node) -> Declared | None:
        if name not in where:
            return None
        scopes = self._scopes.get((id(where), name))
        if scopes is None:
            scopes = self._scopes[id(where), name] = NamedScopes(where[name])
        return scopes.at(at.start_byte)

    def cuts_into_words(self, node: Node) -> bool:
        """Whether code cuts a line into words somewhere in it."""
        number = bisect_left(self._splits, (node.start_byte, 0))
        return number < len(self._splits) and self._splits[number][1] <= node.end_byte

    def method(self, name: str, body: Node) -> Declared | None:
        """Return the method or field of a class by the class's body."""
        return next((each for each in self._members.get(name, ()) if each.begins == body.start_byte), None)

    def entries_of(self, name: str) -> list[tuple[Node, Node, Node]]:
        """Return what is put into a table later, by `name.set(…)` and `name[…] = …`: key, value and statement."""
        return self._filled.get(name, [])

    def _index(self) -> None:
        waiting: list[tuple[Node, Node, Node]] = [(self.root, self.root, self.root)]
        while waiting:
            node, scope, statement = waiting.pop()
            self._note(node, scope, statement)
            inner = node if node.type in _SCOPES else scope
            keeps = node.type in ("lexical_declaration", "variable_declaration", "export_statement")
            for child in reversed(node.named_children):
                waiting.append(
                    (
                        child,
                        inner,
                        node
                        if keeps and statement.type != "export_statement"
                        else statement
                        if keeps or node.type == "variable_declarator"
                        else child,
                    )
                )

    def _note(self, node: Node, scope: Node, statement: Node) -> None:
        kind = node.type
        if kind == "variable_declarator":
            name, value = node.child_by_field_name("name"), node.child_by_field_name("value")
            if name is not None and value is not None:
                self._note_required(name, unwrap(value))
            if name is not None and value is not None and name.type == "identifier":
                self._declare(self._declared, name, unwrap(value), scope, statement)
        elif kind in (
            "function_declaration",
            "generator_function_declaration",
            "enum_declaration",
            "class_declaration",
        ):
            name = node.child_by_field_name("name")
            if name is not None:
                self._declare(self._declared, name, node, scope, statement)
        elif kind in ("method_definition", "public_field_definition") and scope.type == "class_body":
            name, value = node.child_by_field_name("name"), node.child_by_field_name("value")
            if name is not None:
                self._declare(self._members, name, unwrap(value) if value else node, scope, node)
        elif kind == "call_expression":
            self._note_set(node)
            self.modules.add(module_of_require(node))
        elif kind == "import_statement":
            self._note_import(node)
        elif kind == "assignment_expression":
            self._note_assignment(node)
        elif kind == "jsx_element":
            self.jsx.append(node)
        elif kind == "object":
            self.objects.append(node)
        elif kind in ("string", "template_string"):
            self.strings.append(node)
        elif kind == "ERROR" or node.is_missing:
            self.errors.append(node)

    def _note_set(self, call: Node) -> None:
        callee, arguments = call.child_by_field_name("function"), arguments_of(call)
        if callee is None or callee.type != "member_expression" or len(arguments) != 2:
            return
        owner, member = callee.child_by_field_name("object"), callee.child_by_field_name("property")
        if owner is not None and owner.type == "identifier" and member is not None and text_of(member) == "set":
            self._filled.setdefault(text_of(owner), []).append((arguments[0], unwrap(arguments[1]), call))

    def _note_import(self, statement: Node) -> None:
        module = next((string_of(each) for each in nodes_in(statement) if each.type == "string"), "")
        self.modules.add(module)
        for node in nodes_in(statement):
            if node.type == "import_specifier":
                name, alias = node.child_by_field_name("name"), node.child_by_field_name("alias")
                if name is not None:
                    self.imports[text_of(alias or name)] = (module, text_of(name))
            elif node.type in ("import_clause", "namespace_import", "import_require_clause"):
                exported = "default" if node.type == "import_clause" else "*"
                names = [each for each in node.named_children if each.type == "identifier"]
                self.imports |= {text_of(each): (module, exported) for each in names}

    def _note_required(self, name: Node, value: Node) -> None:
        """Note what `const { Command } = require("commander")` and `= require("commander").program` bind."""
        member = value.child_by_field_name("property") if value.type == "member_expression" else None
        module = module_of_require(value.child_by_field_name("object") if member is not None else value)
        if not module:
            return
        if name.type == "identifier":
            self.imports[text_of(name)] = (module, text_of(member) if member is not None else "*")
        for each in name.named_children if name.type == "object_pattern" else ():
            key, local = each.child_by_field_name("key") or each, each.child_by_field_name("value") or each
            self.imports[text_of(local)] = (module, text_of(key))

    def _note_assignment(self, node: Node) -> None:
        left, right = node.child_by_field_name("left"), node.child_by_field_name("right")
        if left is None or right is None or left.type not in ("subscript_expression", "member_expression"):
            return
        owner, key = left.child_by_field_name("object"), left.child_by_field_name("index")
        key = key or left.child_by_field_name("property")
        if owner is not None and owner.type == "identifier" and key is not None:
            self._filled.setdefault(text_of(owner), []).append((key, unwrap(right), node))

    def _declare(self, where: dict[str, list[Declared]], name: Node, value: Node, scope: Node, stated: Node) -> None:
        declared = Declared(value, stated, scope.start_byte, scope.end_byte)
        where.setdefault(text_of(name), []).append(declared)
        if value.type in FUNCTIONS:
            self.functions.append(declared)


def module_of_require(node: Node | None) -> str:
    """Return the module that `require("x")` loads, also within what compilers put around it; else nothing."""
    for _ in range(3):
        if node is None or (node := unwrap(node)).type != "call_expression":
            return ""
        callee, given = node.child_by_field_name("function"), arguments_of(node)
        if callee is not None and callee.end_byte - callee.start_byte < 10 and text_of(callee) in ("require", "import"):
            return string_of(given[0]) if given and given[0].type in ("string", "template_string") else ""
        node = given[0] if len(given) == 1 else None
    return ""


def text_of(node: Node) -> str:
    """Return the source of a node."""
    return (node.text or b"").decode(errors="replace")


def unwrap(node: Node) -> Node:
    """Return what is inside parentheses, casts, `await` and React's wrappers of functions."""
    for _ in range(100):
        kind = node.type
        if kind in ("parenthesized_expression", "as_expression", "non_null_expression", "await_expression",
                    "satisfies_expression") and node.named_children:  # fmt: skip
            node = next((each for each in node.named_children if each.type != "comment"), node.named_children[0])
        elif kind == "call_expression" and _wraps(node):
            node = _return_value_of(arguments_of(node)[0])
        else:
            break
    return node


def _wraps(call: Node) -> bool:
    callee = call.child_by_field_name("function")
    name = text_of(callee).rpartition(".")[2] if callee is not None and callee.end_byte - callee.start_byte < 60 else ""
    arguments = arguments_of(call)
    return name in {"useCallback", "useMemo", "freeze", "memo", "debounce", "throttle", "useEvent"} and bool(arguments)


def _return_value_of(node: Node) -> Node:
    """Return what a function without statements returns, as in `useMemo(() => ({ … }))`; else the function."""
    body = node.child_by_field_name("body") if node.type == "arrow_function" else None
    is_plain = body is not None and body.type == "parenthesized_expression" and text_of(node)[:2] == "()"
    return body if body is not None and is_plain else node


def arguments_of(call: Node) -> list[Node]:
    """Return the arguments of a call."""
    arguments = call.child_by_field_name("arguments")
    if arguments is None or arguments.type != "arguments":
        return []
    return [each for each in arguments.named_children if each.type != "comment"]


def string_of(node: Node) -> str:
    """Return what a string says; in a template, `{name}` stands for what is put in."""
    parts = []
    for child in node.named_children:
        if child.type == "string_fragment":
            parts.append(text_of(child))
        elif child.type == "escape_sequence":
            parts.append(_unescape(text_of(child)))
        elif child.type == "template_substitution":
            parts.append("{" + _stand_in(child) + "}")
    return "".join(parts)


def _unescape(sequence: str) -> str:
    plain = {"\\n": "\n", "\\t": "\t", "\\r": ""}
    return plain.get(sequence, sequence[1:] if len(sequence) == 2 else "")


def _stand_in(substitution: Node) -> str:
    """Return a name for what a template puts in: the variable, whatever is done to it on the way."""
    names = re.findall(r"[A-Za-z_$][\w$]*", text_of(substitution)[2:200])
    plain = [name for name in names if name not in {"encodeURIComponent", "String", "await", "this"}]
    return plain[0] if plain else "value"


def comment_above(node: Node) -> str:
    """Return the comments right above a node, without their marks."""
    lines: list[str] = []
    below, above = node, node.prev_sibling
    while above is not None and above.type == "comment" and below.start_point[0] - above.end_point[0] <= 1:
        # What stands behind a statement is about that statement.
        if above.prev_sibling is not None and above.prev_sibling.end_point[0] == above.start_point[0]:
            break
        lines.insert(0, text_of(above))
        below, above = above, above.prev_sibling
    return plain_comment("\n".join(lines))


def plain_comment(text: str) -> str:
    """Return what a comment says, without marks, rulers and instructions to tools."""
    kept = []
    for line in text.splitlines():
        comment = re.sub(r"^\s*(/\*\*?|\*/|//+|\*)|\*/\s*$", "", line.strip()).strip(" \t=-#*─═")
        if comment.startswith("@") or re.match(r"(eslint|TODO|FIXME|prettier|ts-|istanbul|@ts)", comment):
            continue
        if comment and not (comment.isupper() and len(comment) > 2):
            kept.append(comment)
    return " ".join(kept)


def jsx_text(element: Node) -> str:
    """Return the text of an element, with what it puts in left out."""
    parts: list[str] = []
    waiting = list(reversed(element.named_children))
    while waiting:
        node = waiting.pop()
        if node.type in ("jsx_text", "html_character_reference"):
            parts.append(html.unescape(text_of(node)))
        elif node.type == "jsx_expression" and node.named_children and node.named_children[0].type == "string":
            parts.append(string_of(node.named_children[0]))
        elif node.type in ("jsx_element", "jsx_fragment"):
            waiting.extend(reversed(node.named_children))
    return " ".join("".join(parts).split())


def jsx_tag(element: Node) -> str:
    """Return the name of an element."""
    opening = element.child_by_field_name("open_tag")
    name = opening.child_by_field_name("name") if opening is not None else None
    return text_of(name) if name is not None else ""


def parameters_of(function: Node) -> list[Node]:
    """Return the parameters of a function, of which an arrow function may have one without parentheses."""
    single, several = function.child_by_field_name("parameter"), function.child_by_field_name("parameters")
    nodes = [single] if single is not None else several.named_children if several is not None else []
    return [each for each in nodes if each.type != "comment"]


def pattern_of(parameter: Node) -> Node:
    """Return the name of a parameter, or what it is taken apart into."""
    return parameter.child_by_field_name("pattern") or parameter


def nodes_in(node: Node) -> Iterator[Node]:
    """Yield a node and all within it, without recursion: code may nest deeper than Python does."""
    waiting = [node]
    while waiting:
        each = waiting.pop()
        yield each
        waiting.extend(each.named_children)


def identifiers_in(node: Node) -> Iterator[str]:
    """Return the names that code uses."""
    return (text_of(each) for each in nodes_in(node) if each.type in ("identifier", "shorthand_property_identifier"))


def properties_of(table: Node) -> Iterator[tuple[Node, Node, Node]]:
    """Return key, value and entry of an object's properties; spread entries have themselves for a key."""
    for entry in table.named_children:
        if entry.type == "pair":
            key, value = entry.child_by_field_name("key"), entry.child_by_field_name("value")
            if key is not None and value is not None:
                yield key, unwrap(value), entry
        elif entry.type == "method_definition":
            name = entry.child_by_field_name("name")
            if name is not None:
                yield name, entry, entry
        elif entry.type in ("shorthand_property_identifier", "spread_element"):
            yield entry, entry, entry


@dataclass(frozen=True)
class Root:
    """A function that takes a line, and what it takes.

    Attributes:
        is_strong: Whether it cuts the line into words itself.
    """

    code: Code
    arguments: tuple[Value, ...]
    is_strong: bool


def roots_of(source: ParsedFile) -> list[Root]:
    """Return the functions where a line may enter, those that cut it into words first."""
    found = []
    for declared in source.functions:
        arguments = _arguments(declared.value)
        splits = source.cuts_into_words(declared.value)
        if splits or any(value is not UNKNOWN for value in arguments):
            found.append(Root(Code(declared.value, declared.statement), arguments, splits))
    return sorted(found, key=lambda root: not root.is_strong)


def _arguments(function: Node) -> tuple[Value, ...]:
    kinds = [_kind(each) for each in parameters_of(function)]
    # `(action, args)`: the first word, and those behind it.
    position, values = 0, list[Value]()
    for number, kind in enumerate(kinds):
        if kind == "words":
            values.append(LineWords(position))
        elif kind == "text" and "words" in kinds[number:]:
            values.append(Word(position))
            position += 1
        else:
            values.append(WholeLine() if kind == "line" else UNKNOWN)
    return tuple(values)


def _kind(parameter: Node) -> str:
    """Say what a parameter is by its type and name: the line, its words, a text, or something else."""
    pattern = pattern_of(parameter)
    annotation = parameter.child_by_field_name("type")
    name, of_type = text_of(pattern), text_of(annotation).lstrip(": ") if annotation is not None else ""
    if pattern.type not in ("identifier", "rest_pattern"):
        return "other"
    if re.fullmatch(r"(readonly )?string\[\]|(Readonly)?Array<string>", of_type):
        return "words"
    if of_type in ("", "any", "unknown") and _WORDS.fullmatch(name.lstrip(".")):
        return "words"
    if of_type in ("string", "") and _LINES.fullmatch(name):
        return "line"
    return "text" if of_type == "string" else "other"
