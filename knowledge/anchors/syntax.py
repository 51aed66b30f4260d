"""Definitions in source code, compared by their normalised syntax: comments, layout and quotes do not count."""

from dataclasses import dataclass, field
from functools import cached_property
from hashlib import blake2b
from heapq import nlargest
from itertools import islice

from tree_sitter import Node

from knowledge.parsers.syntax_trees import parse_source

LARGEST_SOURCE = 2_000_000
DEEPEST_DEFINITION = 12
"""How many definitions may lie in one another: each hashes what lies in it, so this bounds the work."""
NAME_BYTES = 200
VALUE_CHARS = 200
MOST_WORDS = 200
_COMMENTS = frozenset({"comment", "line_comment", "block_comment", "html_comment", "line_continuation"})
_FUNCTIONS = frozenset({
    "function_definition", "lambda", "arrow_function", "function_expression", "generator_function",
    "function_declaration", "generator_function_declaration", "method_definition", "method_declaration",
    "constructor_declaration", "func_literal", "lambda_expression",
})  # fmt: skip
_SCOPES = _FUNCTIONS | frozenset({
    "class_definition", "class_declaration", "abstract_class_declaration", "interface_declaration",
    "internal_module", "module_declaration", "enum_declaration", "record_declaration",
    "annotation_type_declaration", "type_spec",
    "type_alias_declaration", "type_alias_statement", "type_alias", "function_signature",
    "default_parameter", "typed_default_parameter",
})  # fmt: skip
"""What is defined everywhere."""
_VARIABLES = frozenset({
    "assignment", "assignment_expression", "pair", "variable_declarator", "public_field_definition",
    "property_signature", "method_signature", "abstract_method_signature", "enum_assignment", "enum_constant",
    "const_spec", "var_spec", "field_declaration", "method_elem", "method_spec",
})  # fmt: skip
"""What is defined outside of functions only: inside them, these are details of a body."""
_CALLS = frozenset({"call", "call_expression", "method_invocation"})
_STRINGS = frozenset({"string", "interpreted_string_literal", "string_literal", "raw_string_literal"})
_QUOTES = frozenset({'"', "'", "`", '"""'})
_NAMES = ("name", "left", "key")
_BODIES = ("body", "value", "right")
_CLOSING = frozenset({")", "]", "}"})


@dataclass
class Definition:
    """Something that has a name. Two are the same if signature and body are, whatever their own names."""

    name: str
    line: int
    signature: str
    body: str
    size: int
    """How many tokens the body has."""
    words: frozenset[str]
    """The names in its signature."""
    rare: tuple[str, ...] = ()
    """The longest words of its body: where one of them is missing, the body is not."""
    value: str | None = None
    """What a variable or a setting is set to."""
    is_call: bool = False
    """Whether a call names it, as in `os.environ.get("RATE_LIMIT")`; what defines that name itself takes precedence."""

    @property
    def simple_name(self) -> str:
        """The last part of its name."""
        return self.name.rpartition(".")[2]

    def is_same(self, other: "Definition") -> bool:
        """Whether nothing but its own name and place differs."""
        return (self.signature, self.body) == (other.signature, other.body)


@dataclass
class ParsedCode:
    """The definitions of a file, and the words it has in quotes."""

    definitions: dict[str, Definition] = field(default_factory=dict)
    strings: dict[str, int] = field(default_factory=dict)
    """Each short text in quotes, with its line."""
    whole: str = ""
    """A digest of all of its syntax."""
    has_error: bool = False

    def find(self, name: str) -> Definition | None:
        """Return what is meant by a name, or by the end of one if only one definition ends so."""
        if name in self.definitions:
            return self.definitions[name]
        ending = [each for each in self._by_simple_name.get(name.rpartition(".")[2], ()) if _ends(each.name, name)]
        return ending[0] if len(ending) == 1 else None

    @cached_property
    def _by_simple_name(self) -> dict[str, list[Definition]]:
        found: dict[str, list[Definition]] = {}
        for each in self.definitions.values():
            found.setdefault(each.simple_name, []).append(each)
        return found


def parse_definitions(source: bytes, language: str, name: str) -> ParsedCode:
    """Return the definitions of a source file.

    Raises:
        Invalid: parsing it takes longer than code of its size does.
    """
    root = parse_source(source, language, name).root_node
    walk = _DefinitionWalk(source, language)
    walk.visit(root)
    return ParsedCode(walk.by_name(), walk.strings, _digest(walk.tokens), root.has_error)


def _ends(name: str, ending: str) -> bool:
    return name == ending or name.endswith(f".{ending}")


def _digest(tokens: list[str]) -> str:
    return blake2b("\0".join(tokens).encode(errors="replace"), digest_size=12).hexdigest()


@dataclass
class _Frame:
    """A node that the walk is inside of."""

    kind: str
    end: int
    begins: int
    """The token that it begins with."""
    brackets: bool
    in_function: bool
    commas: int = 0
    text: str = ""
    """The name of the definition that it is, with those around it; else empty."""
    scope: str = ""
    body_id: int = 0
    body: tuple[int, int] = (0, 0)
    line: int = 0
    depth: int = 0
    is_body_of: "_Frame | None" = None
    value: str | None = None


class _DefinitionWalk:
    """One pass over a syntax tree: writes its tokens, and notes which of them belong to which definition."""

    def __init__(self, source: bytes, language: str) -> None:
        self.source = source
        self.language = language
        self.tokens: list[str] = []
        self._at = 0
        self.strings: dict[str, int] = {}
        self._found: list[Definition] = []

    def visit(self, root: Node) -> None:
        """Walk through the tree, without recursion: hostile code nests deeper than Python's stack."""
        cursor = root.walk()
        frames = [_Frame(root.type, root.end_byte, 0, brackets=False, in_function=False)]
        if not cursor.goto_first_child():
            return
        while True:
            node = cursor.node
            assert node is not None
            if self._enters(node, frames) and cursor.goto_first_child():
                continue
            while not cursor.goto_next_sibling():
                self._leave(frames)
                if not cursor.goto_parent() or len(frames) == 0:
                    return

    def by_name(self) -> dict[str, Definition]:
        """Return the definitions by name; several of one name (overloads, branches) count as one."""
        found: dict[str, Definition] = {}
        for each in sorted(self._found, key=lambda each: each.line):
            known = found.get(each.name)
            if known is not None and each.is_call:
                continue
            if known is not None and not known.is_call:
                known.signature = _digest([known.signature, each.signature])
                known.body = _digest([known.body, each.body])
                known.size += each.size
                known.words |= each.words if len(known.words) < MOST_WORDS else frozenset()
                # Of several definitions, such as branches, no value is the one.
                known.value = None
            else:
                found[each.name] = each
        return found

    def _enters(self, node: Node, frames: list[_Frame]) -> bool:
        """Write a leaf, or begin a node; return whether there is something inside that is walked through."""
        kind, around = node.type, frames[-1]
        if kind in _COMMENTS or self._is_docstring(node, around):
            self._at = node.end_byte
            return False
        self._write_between(node.start_byte)
        if node.child_count == 0 or kind == "string_content":
            self._write(node, kind, around)
            self._at = node.end_byte
            return False
        frames.append(self._frame(node, kind, around))
        if frames[-1].brackets:
            self.tokens.append(f"({kind}")
        return True

    def _frame(self, node: Node, kind: str, around: _Frame) -> _Frame:
        frame = _Frame(
            kind,
            node.end_byte,
            len(self.tokens),
            # Formatters put in and take out parentheses, semicolons and last commas: they are no part of what is
            # compared.
            brackets=kind not in {"parenthesized_expression", "decorated_definition"},
            in_function=around.in_function or kind in _FUNCTIONS,
            scope=around.scope,
            depth=around.depth,
        )
        if around.body_id == node.id:
            frame.is_body_of = around
        if kind in _STRINGS:
            self._note_string(node)
        elif kind in _CALLS:
            self._note_call(node, frame)
        elif kind in _SCOPES or (kind in _VARIABLES and not around.in_function):
            self._open(node, kind, frame, around)
        return frame

    def _open(self, node: Node, kind: str, frame: _Frame, around: _Frame) -> None:
        if around.depth >= DEEPEST_DEFINITION:
            return
        names = [found for found in (node.child_by_field_name(each) for each in _NAMES) if found is not None]
        name = self._name(names[0]) if names else ""
        if not name:
            return
        scope = self._receiver(node) or around.scope
        frame.text = f"{scope}.{name}" if scope else name
        frame.scope, frame.depth, frame.line = frame.text, around.depth + 1, node.start_point[0] + 1
        if around.kind in {"decorated_definition", "field_declaration"}:
            frame.begins = around.begins
        body = next((found for found in (node.child_by_field_name(each) for each in _BODIES) if found), None)
        if body is None and kind in {"type_spec", "type_alias"}:
            body = node.child_by_field_name("type")
        if body is not None:
            frame.body_id = body.id
            if kind in _VARIABLES or kind in {"default_parameter", "typed_default_parameter"}:
                frame.value = self._text(body)[:VALUE_CHARS]

    def _name(self, node: Node) -> str:
        if node.end_byte - node.start_byte > NAME_BYTES:
            return ""
        text = self._text(node)
        if node.type in {"member_expression", "attribute"}:
            text = "".join(text.split()).removeprefix("module.").removeprefix("exports.").replace(".prototype.", ".")
            return text if text.replace(".", "").replace("_", "").replace("$", "").isalnum() else ""
        if node.type in _STRINGS:
            return text.strip("\"'`")
        return text if node.type.endswith("identifier") else ""

    def _receiver(self, node: Node) -> str:
        """Return the type that a method of Go belongs to."""
        receiver = node.child_by_field_name("receiver") if self.language == "go" else None
        text = (
            self._text(receiver)
            if receiver is not None and receiver.end_byte - receiver.start_byte < NAME_BYTES
            else ""
        )
        return text.strip("() ").partition("[")[0].rpartition(" ")[2].lstrip("*")

    def _note_string(self, node: Node) -> None:
        if node.end_byte - node.start_byte < 80:
            self.strings.setdefault(self._text(node).strip("\"'`"), node.start_point[0] + 1)

    def _note_call(self, node: Node, frame: _Frame) -> None:
        """Let `os.environ.get("RATE_LIMIT", 60)` define RATE_LIMIT: a setting is often no more than that."""
        arguments = node.child_by_field_name("arguments")
        if arguments is None or frame.depth >= DEEPEST_DEFINITION:
            return
        first = arguments.named_child(0) if arguments.named_child_count else None
        if first is None or first.type not in _STRINGS or first.end_byte - first.start_byte > 80:
            return
        name = self._text(first).strip("\"'`")
        if len(name) > 2 and name.isupper() and name.replace("_", "").isalnum():
            frame.text, frame.line = name, node.start_point[0] + 1
            frame.body_id, frame.depth = arguments.id, frame.depth + 1
            rest = self._text(arguments)[1:-1].partition(",")[2].strip()
            frame.value = rest.removeprefix("default=").strip()[:VALUE_CHARS]

    def _is_docstring(self, node: Node, around: _Frame) -> bool:
        if self.language != "python" or node.type != "expression_statement" or around.kind not in {"block", "module"}:
            return False
        # A text alone in a line does nothing, wherever it stands.
        return node.child_count == 1 and node.child(0).type == "string"

    def _text(self, node: Node) -> str:
        # `node.text` reads the file from its beginning for each node.
        return self.source[node.start_byte : node.end_byte].decode(errors="replace")

    def _write_between(self, begins: int) -> None:
        """Write what no leaf of the tree covers, such as the text around an escape."""
        between = self.source[self._at : begins].strip() if begins > self._at else b""
        if between:
            self.tokens.append(between.decode(errors="replace"))
        self._at = max(self._at, begins)

    def _write(self, node: Node, kind: str, around: _Frame) -> None:
        text = self._text(node)
        if around.kind in _STRINGS:
            text = self._string_token(kind, text)
        elif kind in _CLOSING:
            self._drop_comma(around)
            text = "" if around.kind in {"parenthesized_expression", "block", "statement_block"} else text
        elif kind == "(" and around.kind == "parenthesized_expression":
            text = ""
        elif kind == ",":
            around.commas += 1
        elif kind == ";" and self.language in {"typescript", "tsx", "go"}:
            text = ""
        if around.body_id and node.id == around.body_id:
            around.body = (len(self.tokens), len(self.tokens) + 1)
        if text and not text.isspace():
            self.tokens.append(text)

    def _string_token(self, kind: str, text: str) -> str:
        if kind in {"string_start", "string_end"} or kind in _QUOTES:
            return text.lower().strip("\"'`u") + "'"
        return text.replace('\\"', '"').replace("\\'", "'")

    def _drop_comma(self, around: _Frame) -> None:
        """Leave out a comma before a closing bracket, but for a tuple of one."""
        is_needed = around.kind == "tuple" and around.commas == 1
        if self.tokens and self.tokens[-1] == "," and around.commas and not is_needed:
            self.tokens.pop()

    def _leave(self, frames: list[_Frame]) -> None:
        frame = frames.pop()
        self._write_between(frame.end)
        if frame.brackets:
            self.tokens.append(")")
        if frame.is_body_of is not None:
            frame.is_body_of.body = (frame.begins, len(self.tokens))
        if frame.text:
            self._keep(frame)

    def _keep(self, frame: _Frame) -> None:
        own, (begins, ends) = frame.text.rpartition(".")[2], frame.body
        # What calls itself is the same under another name.
        body = ["\1" if token == own else token for token in self.tokens[begins:ends]]
        rest = (
            [*self.tokens[frame.begins : begins], *self.tokens[ends:]] if ends > begins else self.tokens[frame.begins :]
        )
        signature = ["\1" if token == own else token for token in rest]
        words = nlargest(3, {token for token in body if token.isidentifier()}, key=lambda word: (len(word), word))
        names = frozenset(islice((token for token in signature if token.isidentifier()), MOST_WORDS))
        is_call = frame.kind in _CALLS
        self._found.append(
            Definition(
                name=frame.text,
                line=frame.line,
                signature="" if is_call else _digest(signature),
                body=_digest(body),
                size=len(body),
                words=names,
                rare=tuple(words),
                value=frame.value,
                is_call=is_call,
            )
        )
