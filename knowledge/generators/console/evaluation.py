"""What expressions stand for: the words of the line are followed through names, slices, tables and calls."""

import re
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import replace

from tree_sitter import Node

from knowledge.generators.console.places import Place
from knowledge.generators.console.requests import request_of
from knowledge.generators.console.source import (
    FUNCTIONS,
    Declared,
    Source,
    arguments_of,
    properties_of,
    string_of,
    text_of,
    unwrapped,
)
from knowledge.generators.console.values import (
    UNKNOWN,
    Choice,
    Code,
    Dynamic,
    Flag,
    Flags,
    Instance,
    Item,
    Line,
    Records,
    Table,
    Text,
    Texts,
    Value,
    Way,
    Word,
    Words,
)
from knowledge.generators.drafts import Trouble

Env = dict[str, Value]
DEEPEST_EXPRESSION = 80

_SAME_WORD = {"toLowerCase", "toUpperCase", "trim", "toString", "valueOf", "normalize"}
_SAME_WORDS = {"filter", "map", "flat", "concat", "reverse", "values"}
_PARSER = re.compile(r"(parse|get|extract|read|split)?_?\w*(args?|argv|arguments|flags?|options?|opts|params)$", re.I)
_PARSERS = {"minimist", "yargs", "yargsParser", "mri", "getopts", "arg", "meow", "cac", "parser", "parse"}
_FLAG_BAGS = {"flags", "options", "opts", "params", "named", "values", "argv", "kwargs"}
_WORD_BAGS = {"_", "positional", "positionals", "rest", "args", "operands", "words", "tokens"}
_HANDLER_KEYS = ("handler", "handle", "run", "execute", "exec", "action", "fn", "callback", "func", "call")
_NAME_KEYS = ("name", "command", "cmd", "key", "id", "keyword", "trigger", "verb")
_DESCRIPTION_KEYS = ("description", "desc", "summary", "help", "about", "describe")
_BLANK_SEPARATORS = re.compile(r"""^(['"`] ['"`]|/(\\s|\[\\s\]| )[+*]?/\w*)$""")


class Evaluation(ABC):
    """Evaluates expressions, and notes at a place what they print, ask for and request."""

    def __init__(self, source: Source, program: str, ends: float) -> None:
        self.source, self.program, self.ends = source, program, ends
        self.troubles: dict[Trouble, None] = {}
        self.stack: list[tuple[object, ...]] = []
        self.entered: set[tuple[object, ...]] = set()
        self.reached: set[int] = set()
        self.other_names: dict[tuple[int, str], list[str]] = {}
        self.steps = self.depth = self.places = self.nested = 0

    @abstractmethod
    def enter(self, code: Code, arguments: Sequence[Value], place: Place) -> None:
        """Go through a function."""

    @abstractmethod
    def choose(self, choice: Choice, arguments: Sequence[Value], place: Place, node: Node) -> None:
        """Go through what a table may have given."""

    @abstractmethod
    def spend(self) -> None:
        """Count a step."""

    def trouble(self, node: Node, says: str) -> None:
        """Note what could not be followed."""
        self.troubles.setdefault(Trouble(where=self.source.place(node), says=says))

    def evaluate(self, node: Node, env: Env, place: Place) -> Value:
        """Return what an expression stands for."""
        self.spend()
        node = unwrapped(node)
        if self.nested > DEEPEST_EXPRESSION:
            return UNKNOWN
        self.nested += 1
        try:
            read = getattr(self, f"_{node.type}", None)
            found = read(node, env, place) if read else self._others(node, env, place)
            assert isinstance(found, Value)
            return found
        finally:
            self.nested -= 1

    # --- names and constants ---

    def _identifier(self, node: Node, env: Env, place: Place) -> Value:
        name = text_of(node)
        declared = None if name in env else self.source.lookup(name, node)
        found = env.get(name) or (self._constant(declared, place) if declared is not None else UNKNOWN)
        return replace(found, name=name) if isinstance(found, Table) and self.source.filled(name) else found

    def _constant(self, declared: Declared, place: Place) -> Value:
        value = declared.value
        if value.type in FUNCTIONS:
            return Code(value, declared.statement)
        if value.type in ("string", "template_string", "object", "array", "enum_declaration", "new_expression",
                          "identifier", "member_expression", "binary_expression"):  # fmt: skip
            return self.evaluate(value, {}, Place())
        return UNKNOWN

    def _string(self, node: Node, env: Env, place: Place) -> Value:
        return Text(string_of(node))

    def _template_string(self, node: Node, env: Env, place: Place) -> Value:
        inside = [each for each in node.named_children if each.type == "template_substitution"]
        values = [self.evaluate(each.named_children[0], env, place) for each in inside if each.named_children]
        fragments = [text_of(each) for each in node.named_children if each.type == "string_fragment"]
        if any(isinstance(value, Line) for value in values) and len(values) == 1 and len("".join(fragments)) < 40:
            self.program = self.program or "".join(fragments).strip()
            return values[0]
        if values and not "".join(fragments).strip(" :.") and all(isinstance(value, Word) for value in values):
            return values[0]
        said = string_of(node)
        for value in values:
            if isinstance(value, Word) and value.position >= len(place.path):
                place.bound.setdefault(value.position, "[value]" if value.default else "value")
        for each, value in zip(inside, values, strict=False):
            if isinstance(value, Text):
                name = re.findall(r"[A-Za-z_$][\w$]*", text_of(each)[2:200])
                said = said.replace("{" + (name[0] if name else "value") + "}", value.text)
        return Text(said)

    def _array(self, node: Node, env: Env, place: Place) -> Value:
        elements = [each for each in node.named_children if each.type != "comment"]
        if elements and all(unwrapped(each).type == "object" for each in elements):
            return Records(node, env)
        fixed: list[Value] = []
        for each in elements:
            if each.type == "spread_element":
                spread = self.evaluate(each.named_children[0], env, place)
                if isinstance(spread, Words):
                    return Words(spread.start, (*fixed, *spread.fixed))
            fixed.append(self.evaluate(each, env, place))
        texts = [value.text for value in fixed if isinstance(value, Text)]
        return Texts(tuple(texts)) if texts and len(texts) == len(fixed) else UNKNOWN

    def _object(self, node: Node, env: Env, place: Place) -> Value:
        return Table(node, env)

    def _enum_declaration(self, node: Node, env: Env, place: Place) -> Value:
        return Table(node, env)

    def _new_expression(self, node: Node, env: Env, place: Place) -> Value:
        arguments = arguments_of(node)
        constructor = node.child_by_field_name("constructor")
        kind = text_of(constructor) if constructor is not None else ""
        if kind == "Map" and not arguments:
            return Table(node, env)
        if kind in ("Map", "Set") and arguments:
            first = unwrapped(arguments[0])
            return self.evaluate(first, env, place) if kind == "Set" else Table(first, env)
        for each in arguments:
            self.say(self.evaluate(each, env, place), place)
        declared = self.source.lookup(kind, node)
        body = declared.value.child_by_field_name("body") if declared is not None else None
        return Instance(body) if body is not None and body.type == "class_body" else UNKNOWN

    def _arrow_function(self, node: Node, env: Env, place: Place) -> Value:
        return Code(node, node, env)

    _function_expression = _arrow_function
    _method_definition = _arrow_function

    def _this(self, node: Node, env: Env, place: Place) -> Value:
        return UNKNOWN

    # --- parts of something ---

    def _member_expression(self, node: Node, env: Env, place: Place) -> Value:
        owner, member = node.child_by_field_name("object"), node.child_by_field_name("property")
        name = text_of(member) if member is not None else ""
        if owner is None or owner.type == "this":
            declared = self.source.member(name, node)
            return self._constant(declared, place) if declared is not None else UNKNOWN
        return self.part(self.evaluate(owner, env, place), name, place)

    def part(self, value: Value, name: str, place: Place) -> Value:
        """Return what `value.name` is."""
        if isinstance(value, Flags):
            if name in _WORD_BAGS:
                return value.words
            return value if name in _FLAG_BAGS else self.flag(name, place)
        if isinstance(value, Choice):
            return Choice(tuple(Way(each.position, each.labels, self.part(each.value, name, place), each.entry)
                                for each in value.ways))  # fmt: skip
        if isinstance(value, Table):
            return self.entry(value, name, place)
        if isinstance(value, Dynamic):
            return value
        if isinstance(value, Instance):
            declared = self.source.method(name, value.node)
            return self._constant(declared, place) if declared is not None else UNKNOWN
        return UNKNOWN

    def flag(self, name: str, place: Place) -> Flag:
        """Note an option by the name that the code uses for it."""
        typed = name if name.startswith("-") else f"--{name}" if len(name) > 1 else f"-{name}"
        if re.fullmatch(r"--?[A-Za-z0-9][\w.-]*", typed):
            place.option(typed)
        return Flag(typed)

    def _subscript_expression(self, node: Node, env: Env, place: Place) -> Value:
        owner, index = node.child_by_field_name("object"), node.child_by_field_name("index")
        if owner is None or index is None:
            return UNKNOWN
        on, at = self.evaluate(owner, env, place), self.evaluate(index, env, place)
        if isinstance(on, Words):
            return self.word(on.at(int(text_of(index))), place) if text_of(index).isdecimal() else UNKNOWN
        if isinstance(on, Flags) and isinstance(at, Text):
            return self.part(on, at.text, place)
        return self.look_up(on, at, node, place)

    def word(self, found: Value, place: Place) -> Value:
        """Return a word, as the text it is where that is known."""
        if isinstance(found, Word) and found.position < len(place.path):
            return Text(place.path[found.position])
        return found

    def look_up(self, on: Value, at: Value, node: Node, place: Place) -> Value:
        """Return what a table gives for a key."""
        at = self.word(at, place)
        if isinstance(at, Text):
            return self.part(on, at.text, place)
        if isinstance(at, Line):
            at = Word(0)
        if not isinstance(at, Word):
            return UNKNOWN
        if isinstance(on, Table):
            ways_of_table = tuple(self._ways_of(on, at.position, place))
            return Choice(ways_of_table) if ways_of_table else Dynamic(node)
        if isinstance(on, Choice):
            ways = [(way, self.look_up(way.value, at, node, place)) for way in on.ways]
            return Choice(tuple(Way(way.position, way.labels, found, way.entry) for way, found in ways))
        return Dynamic(node) if not isinstance(on, Words | Flags | Records) else UNKNOWN

    def entries(self, table: Table, place: Place) -> list[tuple[str | None, Value, Node]]:
        """Return the entries of a table: key, value, and where it stands; no key where that cannot be read."""
        return [*self._entries_at_first(table, place), *self._entries_put_in(table)]

    def _entries_put_in(self, table: Table) -> list[tuple[str | None, Value, Node]]:
        found: list[tuple[str | None, Value, Node]] = []
        for key, value, statement in self.source.filled(table.name) if table.name else ():
            entry = value if value.type == "object" else statement
            said = None if key.type == "property_identifier" else self.evaluate(key, table.env, Place())
            text = text_of(key) if said is None else said.text if isinstance(said, Text) else None
            found.append((text, self._entry_value(value, statement, table.env), entry))
        return found

    def _entries_at_first(self, table: Table, place: Place) -> list[tuple[str | None, Value, Node]]:
        if table.node.type == "array":
            return self._pairs(table, place)
        if table.node.type == "enum_declaration":
            body = table.node.child_by_field_name("body")
            members = body.named_children if body is not None else []
            return [member for each in members if (member := _member_of(each))]
        found: list[tuple[str | None, Value, Node]] = []
        for key, value, entry in properties_of(table.node):
            if entry.type == "spread_element":
                inner = self.evaluate(entry.named_children[0], table.env, Place())
                found += self.entries(inner, place) if isinstance(inner, Table) else [(None, UNKNOWN, entry)]
            else:
                found.append((self._key(key, table.env), self._entry_value(value, entry, table.env), entry))
        return found

    def _entry_value(self, value: Node, entry: Node, env: Env) -> Value:
        if value.type in FUNCTIONS:
            return Code(value, entry, env)
        if value.type == "shorthand_property_identifier":
            declared = self.source.lookup(text_of(value), value)
            return env.get(text_of(value)) or (self._constant(declared, Place()) if declared else UNKNOWN)
        return self.evaluate(value, env, Place())

    def _pairs(self, table: Table, place: Place) -> list[tuple[str | None, Value, Node]]:
        found: list[tuple[str | None, Value, Node]] = []
        for pair in table.node.named_children:
            parts = [each for each in pair.named_children if each.type != "comment"] if pair.type == "array" else []
            if len(parts) == 2:
                key = self.evaluate(parts[0], table.env, Place())
                text = key.text if isinstance(key, Text) else None
                found.append((text, self._entry_value(unwrapped(parts[1]), pair, table.env), pair))
            elif pair.type != "comment":
                found.append((None, UNKNOWN, pair))
        return found

    def _key(self, key: Node, env: Env) -> str | None:
        if key.type == "string":
            return string_of(key)
        if key.type == "computed_property_name":
            value = self.evaluate(key.named_children[0], env, Place())
            return value.text if isinstance(value, Text) else None
        return text_of(key)

    def entry(self, table: Table, name: str, place: Place) -> Value:
        """Return the entry of a table under a key."""
        return next((value for key, value, _ in self.entries(table, place) if key == name), UNKNOWN)

    def _ways_of(self, table: Table, position: int, place: Place) -> list[Way]:
        ways: list[tuple[list[str], Value, Node]] = []
        for key, value, entry in self.entries(table, place):
            if key is None:
                self.trouble(entry, f"Which words `{text_of(entry)[:60]}` adds cannot be read.")
                continue
            # Two keys of one function are two spellings of one command.
            same = next((way for way in ways if isinstance(value, Code) and way[1] == value), None)
            if same:
                same[0].append(key)
            else:
                ways.append(([key, *self._aliases_in(value, place)], value, entry))
        return [Way(position, tuple(keys), value, entry) for keys, value, entry in ways]

    def _aliases_in(self, value: Value, place: Place) -> tuple[str, ...]:
        found = self.entry(value, "aliases", place) if isinstance(value, Table) else UNKNOWN
        return found.texts if isinstance(found, Texts) else ()

    def records_by(self, records: Records, position: int, place: Place) -> Choice:
        """Return the ways of a list of objects that are found by their name."""
        ways = []
        for node in records.node.named_children:
            if (bare := unwrapped(node)).type != "object":
                continue
            table = Table(bare, records.env)
            names = [value.text for key in _NAME_KEYS if isinstance(value := self.entry(table, key, place), Text)]
            if names:
                ways.append(Way(position, (names[0], *self._aliases_in(table, place)), table, bare))
            else:
                self.trouble(bare, "This entry has no name that can be read.")
        return Choice(tuple(ways))

    def describe(self, entry: Node, place: Place) -> None:
        """Take over what the object behind an entry says about its command."""
        value = entry.child_by_field_name("value") if entry.type == "pair" else entry
        if value is None or (value := unwrapped(value)).type != "object":
            return
        for key, found, _ in self.entries(Table(value), place):
            if isinstance(found, Text) and key in _DESCRIPTION_KEYS:
                place.described.setdefault("description", found.text)
            elif isinstance(found, Text) and key in ("usage", "syntax", "example"):
                place.said.append(f"{'Example' if key == 'example' else 'Usage'}: {found.text}")
            elif isinstance(found, Texts) and key == "examples":
                place.said.extend(f"Example: {text}" for text in found.texts)

    # --- operators ---

    def _binary_expression(self, node: Node, env: Env, place: Place) -> Value:
        left, right = node.child_by_field_name("left"), node.child_by_field_name("right")
        sign = node.child_by_field_name("operator")
        if left is None or right is None or sign is None:
            return UNKNOWN
        one, other = self.evaluate(left, env, place), self.evaluate(right, env, place)
        operator = text_of(sign)
        if operator in ("||", "??"):
            return self._or(one, other, place)
        if operator == "+" and isinstance(one, Text) and isinstance(other, Text):
            return Text(one.text + other.text)
        if operator == "+" and isinstance(one, Text):
            return Text(one.text + "{" + (re.sub(r"\W.*", "", text_of(right)) or "value") + "}")
        if isinstance(one, Item) and isinstance(other, Text) and other.text.startswith("--"):
            place.option(other.text.split("=")[0])
        return other if operator == "&&" else UNKNOWN

    def _or(self, one: Value, other: Value, place: Place) -> Value:
        if isinstance(one, Choice) and isinstance(other, Word | Line) and self._are_names(one):
            return other
        default = other.text if isinstance(other, Text) else ""
        if isinstance(one, Word):
            return Word(one.position, one.default or default)
        if isinstance(one, Flag) and default:
            takes_value = default not in ("true", "false")
            place.option(one.name, default=default, value=f"<{one.name.lstrip('-')}>" if takes_value else "")
        return other if one is UNKNOWN else one

    def _are_names(self, choice: Choice) -> bool:
        """Take over a table that gives the proper word for others: `NAMES[word] ?? word`."""
        named = [(way, way.value.text) for way in choice.ways if isinstance(way.value, Text)]
        for way, proper in named:
            self.other_names.setdefault((way.position, proper), []).extend(way.labels)
        return len(named) == len(choice.ways)

    def _ternary_expression(self, node: Node, env: Env, place: Place) -> Value:
        condition = node.child_by_field_name("condition")
        if condition is not None:
            self.evaluate(condition, env, place)
        parts = (node.child_by_field_name("consequence"), node.child_by_field_name("alternative"))
        values = [self.evaluate(part, env, place) for part in parts if part is not None]
        return next((value for value in values if value is not UNKNOWN and not isinstance(value, Text)), UNKNOWN)

    def _assignment_expression(self, node: Node, env: Env, place: Place) -> Value:
        left, right = node.child_by_field_name("left"), node.child_by_field_name("right")
        if left is None or right is None:
            return UNKNOWN
        value = self.evaluate(right, env, place)
        self.bind(left, value, env, place)
        return value

    def _others(self, node: Node, env: Env, place: Place) -> Value:
        if node.type.startswith("jsx"):
            return UNKNOWN
        for child in node.named_children:
            self.evaluate(child, env, place)
        return UNKNOWN

    def _statement_block(self, node: Node, env: Env, place: Place) -> Value:
        return UNKNOWN

    # --- names for values ---

    def bind(self, pattern: Node, value: Value, env: Env, place: Place | None) -> None:
        """Give a name, or the names of a pattern, to a value."""
        here = place if place is not None else Place()
        if pattern.type == "identifier":
            env[text_of(pattern)] = value
            self._name_word(text_of(pattern), value, here)
        elif pattern.type == "assignment_pattern":
            left, right = pattern.child_by_field_name("left"), pattern.child_by_field_name("right")
            if left is not None and right is not None:
                self.bind(left, self._or(value, self.evaluate(right, env, here), here), env, place)
        elif pattern.type == "array_pattern":
            self._bind_elements(pattern, value, env, here)
        elif pattern.type == "object_pattern":
            for part in pattern.named_children:
                self._bind_property(part, value, env, here)

    def _name_word(self, name: str, value: Value, place: Place) -> None:
        if isinstance(value, Word) and value.position >= len(place.path):
            place.bound.setdefault(value.position, f"[{name}]" if value.default else name)

    def _bind_elements(self, pattern: Node, value: Value, env: Env, place: Place) -> None:
        index = 0
        for child in pattern.children:
            if child.type == ",":
                index += 1
            elif child.type == "rest_pattern" and child.named_children:
                self.bind(
                    child.named_children[0], value.behind(index) if isinstance(value, Words) else UNKNOWN, env, place
                )
            elif child.is_named and child.type != "comment":
                found = self.word(value.at(index), place) if isinstance(value, Words) else UNKNOWN
                self.bind(child, found, env, place)

    def _bind_property(self, part: Node, value: Value, env: Env, place: Place) -> None:
        if part.type == "shorthand_property_identifier_pattern":
            env[text_of(part)] = self.part(value, text_of(part), place)
        elif part.type == "pair_pattern":
            key, target = part.child_by_field_name("key"), part.child_by_field_name("value")
            if key is not None and target is not None:
                name = string_of(key) if key.type == "string" else text_of(key)
                self.bind(target, self.part(value, name, place), env, place)
        elif part.type == "object_assignment_pattern":
            left, right = part.child_by_field_name("left"), part.child_by_field_name("right")
            if left is not None and right is not None:
                default = self.evaluate(right, env, place)
                env[text_of(left)] = self._or(self.part(value, text_of(left), place), default, place)
        elif part.type == "rest_pattern" and part.named_children:
            self.bind(part.named_children[0], value if isinstance(value, Flags) else UNKNOWN, env, place)

    def gathered(self, values: Sequence[Value]) -> Value:
        """Return several arguments as the words they are."""
        first = values[0] if values else UNKNOWN
        return Words(first.position) if isinstance(first, Word) else first if isinstance(first, Words) else UNKNOWN

    def item_of(self, value: Value) -> Value:
        """Return what a loop over a value sees."""
        return Item() if isinstance(value, Words) else UNKNOWN

    # --- calls ---

    def _call_expression(self, node: Node, env: Env, place: Place) -> Value:
        callee = node.child_by_field_name("function")
        nodes = arguments_of(node)
        if callee is None:
            return UNKNOWN
        callee = unwrapped(callee)
        if callee.type == "member_expression":
            owner, member = callee.child_by_field_name("object"), callee.child_by_field_name("property")
            if owner is not None and member is not None and owner.type != "this":
                on = self.evaluate(owner, env, place)
                found = self._method(on, text_of(member), node, owner, nodes, env, place)
                if found is not None:
                    return found
        arguments = [self._argument(each, env, place) for each in nodes]
        if (request := request_of(node, nodes, arguments, self.texts_of)) is not None:
            place.call(request)
            return UNKNOWN
        return self._called(self.evaluate(callee, env, place), callee, node, arguments, place)

    def _argument(self, node: Node, env: Env, place: Place) -> Value:
        if node.type == "spread_element":
            return self.evaluate(node.named_children[0], env, place)
        return self.evaluate(node, env, place)

    def _called(self, function: Value, callee: Node, node: Node, arguments: Sequence[Value], place: Place) -> Value:
        name = text_of(callee).rpartition(".")[2]
        words = next((each for each in arguments if isinstance(each, Words)), None)
        if words is not None and self._parses_options(function, name):
            return Flags(words)
        if isinstance(function, Code):
            for each in arguments:
                self.say(each, place)
            if not arguments or any(isinstance(each, _FOLLOWED) for each in arguments):
                self.enter(function, arguments, place)
            return UNKNOWN
        if isinstance(function, Choice):
            self.choose(function, arguments, place, node)
        elif isinstance(function, Dynamic):
            self.trouble(
                function.node, f"Which commands `{text_of(function.node)[:60]}` answers cannot be seen from here."
            )
        for each in arguments:
            self.say(each, place)
            self.call_back(each, place)
        return UNKNOWN

    def _parses_options(self, function: Value, name: str) -> bool:
        if name in _PARSERS or name == "hideBin":
            return True
        if isinstance(function, Code):
            return bool(re.search(r"""['"`]--?['"`]|/\^--?""", text_of(function.node)))
        return function is UNKNOWN and bool(_PARSER.fullmatch(name))

    def hidden_commands(self, call: Node, env: Env, place: Place) -> None:
        """Report a call that hands the words to code of another file, whose commands nobody sees from here."""
        callee = call.child_by_field_name("function")
        if callee is None or self.evaluate(callee, env, place) is not UNKNOWN:
            return
        name = text_of(callee)
        if "." in name and name.split(".")[0] in ("console", "Object", "JSON", "Array", "window", "process"):
            return
        handed = [self.evaluate(each, env, Place(path=place.path)) for each in arguments_of(call)]
        ahead = [
            each for each in handed if isinstance(each, Words | Line) and getattr(each, "start", 0) <= len(place.path)
        ]
        if ahead and not re.match(r"(set[A-Z]|add[A-Z]|push|log|print|write|show)", name.rpartition(".")[2]):
            typed = " ".join(place.path) or "the line"
            self.trouble(call, f"`{name[:60]}` gets what follows `{typed}`, and is not in this file.")

    def call_back(self, value: Value, place: Place) -> None:
        """Go through a function that is handed over, as to `then`, `map` or `setTimeout`."""
        if isinstance(value, Code) and value.node.type != "method_definition":
            self.enter(value, (), place)

    def _method(
        self, on: Value, name: str, node: Node, owner: Node, nodes: Sequence[Node], env: Env, place: Place
    ) -> Value | None:
        """Return what a method of a known value gives; nothing when the call is like any other."""
        if isinstance(on, Words):
            return self._method_of_words(on, name, owner, nodes, env, place)
        if isinstance(on, Line):
            return self._method_of_line(name, nodes, env, place)
        if isinstance(on, Word | Flag | Item | Text):
            return self._method_of_word(on, name, nodes, env, place)
        if isinstance(on, Table | Choice) and name in ("get", "has") and nodes:
            return self.look_up(on, self.evaluate(nodes[0], env, place), node, place) if name == "get" else UNKNOWN
        if isinstance(on, Records) and name in ("find", "filter", "some") and nodes:
            return self._found(on, nodes[0], env, place)
        if on is UNKNOWN and name == "find" and nodes and self._word_sought(nodes[0], env, place) is not None:
            return Dynamic(node)
        if (
            name == "split"
            and not place.path
            and nodes
            and _BLANK_SEPARATORS.match(text_of(nodes[0]))
            and on is UNKNOWN
        ):
            return Words(0)
        if name in ("trim", "toLowerCase") and on is UNKNOWN:
            return UNKNOWN
        if text_of(owner) == "process.argv" and name == "slice":
            return Words(0)
        return None

    def _method_of_words(
        self, on: Words, name: str, owner: Node, nodes: Sequence[Node], env: Env, place: Place
    ) -> Value:
        given = [self.evaluate(each, env, place) for each in nodes]
        first = text_of(nodes[0]) if nodes else "0"
        if name in ("slice", "splice"):
            return on.behind(int(first)) if first.isdecimal() else on
        if name == "at":
            return self.word(on.at(int(first)), place) if first.isdecimal() else UNKNOWN
        if name == "shift":
            if owner.type == "identifier":
                env[text_of(owner)] = on.behind(1)
            return self.word(on.at(0), place)
        if name == "join":
            return self.word(on.at(0), place)
        for value in given:
            if isinstance(value, Text) and re.match(r"--?[A-Za-z]", value.text):
                place.option(value.text.split("=")[0])
            elif isinstance(value, Code):
                self.enter(value, (Item(),), place)
        if name in ("find", "filter"):
            keeps_words = name == "filter" and "!" in text_of(nodes[0]) if nodes else False
            keeps_words = keeps_words or "--" not in text_of(nodes[0]) if nodes else True
            return on if name == "filter" and keeps_words else Item()
        return on if name in _SAME_WORDS else UNKNOWN

    def _method_of_line(self, name: str, nodes: Sequence[Node], env: Env, place: Place) -> Value:
        first = text_of(nodes[0]) if nodes else ""
        if name == "split":
            return Words(0) if _BLANK_SEPARATORS.match(first) else UNKNOWN
        if name == "match":
            return Words(0) if "\\S" in first else UNKNOWN
        if name == "replace" and (prefix := re.match(r"/\^([a-z][\w-]*)", first)):
            self.program = self.program or prefix[1]
        return Line() if name in (*_SAME_WORD, "replace", "slice", "substring", "substr") else UNKNOWN

    def _method_of_word(self, on: Value, name: str, nodes: Sequence[Node], env: Env, place: Place) -> Value | None:
        given = [self.evaluate(each, env, place) for each in nodes]
        if isinstance(on, Item) and name in ("startsWith", "includes"):
            for value in given:
                if isinstance(value, Text) and re.match(r"--?[A-Za-z]", value.text):
                    is_switch = "=" not in value.text
                    place.option(value.text.split("=")[0], value="" if is_switch else "<value>")
        if name in _SAME_WORD:
            return on
        if isinstance(on, Item) and name in ("replace", "slice", "split", "substring"):
            return on
        return UNKNOWN

    def _found(self, records: Records, predicate: Node, env: Env, place: Place) -> Value:
        """Return which records a predicate lets through: those whose name is a word of the line."""
        position = self._word_sought(predicate, env, place)
        return UNKNOWN if position is None else self.records_by(records, position, place)

    def _word_sought(self, predicate: Node, env: Env, place: Place) -> int | None:
        """Return the position of the word that a predicate compares names with; none where it compares no names."""
        names = set(re.findall(r"\.(\w+)\s*={2,3}|={2,3}\s*\w+\.(\w+)", text_of(predicate)))
        used = {name for pair in names for name in pair if name}
        words = [value for value in self._values_in(predicate, env, place) if isinstance(value, Word | Line)]
        if not words or not used & set(_NAME_KEYS):
            return None
        position = words[0].position if isinstance(words[0], Word) else 0
        return position if position >= len(place.path) else None

    def _values_in(self, node: Node, env: Env, place: Place) -> list[Value]:
        found, waiting = [], [node]
        while waiting:
            each = waiting.pop()
            if each.type == "identifier" and text_of(each) in env:
                found.append(env[text_of(each)])
            elif each.type == "subscript_expression":
                found.append(self.evaluate(each, env, place))
            waiting.extend(each.named_children)
        return found

    # --- what is printed ---

    def say(self, value: Value, place: Place) -> None:
        """Note what is handed to an unknown function: most print it."""
        for text in self.texts_of(value):
            # One word is a kind of output (`error`), or a name; a heading ends with a colon.
            if len(place.said) < 400 and (not text.strip() or " " in text.strip() or text.endswith(":")):
                place.said.extend(text.splitlines()[:200] or [""])

    def texts_of(self, value: Value) -> tuple[str, ...]:
        """Return the texts of a value."""
        if isinstance(value, Text):
            return (value.text,)
        if isinstance(value, Texts):
            return value.texts
        if isinstance(value, Table) and value.node.type == "object":
            return tuple(found.text for _, found, _ in self.entries(value, Place()) if isinstance(found, Text))
        return ()


_FOLLOWED = Line | Words | Word | Flags | Flag | Choice


def _member_of(member: Node) -> tuple[str | None, Value, Node] | None:
    name, value = member.child_by_field_name("name"), member.child_by_field_name("value")
    if name is not None and value is not None and value.type == "string":
        return text_of(name), Text(string_of(value)), member
    return None
