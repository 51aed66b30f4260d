"""What every part of the walk shares, and tables and lists whose entries may be commands."""

import re
from abc import ABC, abstractmethod
from collections.abc import Sequence

from tree_sitter import Node

from knowledge.references.readers.console.expression_values import (
    UNKNOWN,
    ClassInstance,
    Code,
    CommandPoint,
    CommandRecords,
    CommandTable,
    Dynamic,
    Env,
    Flag,
    Flags,
    LineWords,
    OneOfWays,
    SourceText,
    TableBranch,
    Texts,
    Value,
    WholeLine,
    Word,
)
from knowledge.references.readers.console.source import (
    FUNCTIONS,
    Declared,
    ParsedFile,
    parameters_of,
    pattern_of,
    properties_of,
    string_of,
    text_of,
    unwrap,
)
from knowledge.references.readers.reference_drafts import ReaderProblem

_FLAG_BAGS = {"flags", "options", "opts", "params", "named", "values", "argv", "kwargs"}
_WORD_BAGS = {"_", "positional", "positionals", "rest", "args", "operands", "words", "tokens"}
NAME_KEYS = ("name", "command", "cmd", "key", "id", "keyword", "trigger", "verb")
_DESCRIPTION_KEYS = ("description", "desc", "summary", "help", "about", "describe")


class Following(ABC):
    """Follows the words of a line through code, and notes at a place what is printed, asked for and requested."""

    def __init__(self, source: ParsedFile, program: str, ends: float) -> None:
        self.source, self.program, self.ends = source, program, ends
        self.prefixes: dict[str, None] = {}
        self.problems: dict[ReaderProblem, None] = {}
        self.stack: list[tuple[object, ...]] = []
        self.entered: set[tuple[object, ...]] = set()
        self.reached: set[int] = set()
        self.parsers: dict[int, bool] = {}
        self.other_names: dict[tuple[int, str], list[str]] = {}
        self.steps = self.depth = self.places = self.nested = 0

    @property
    def program_so_far(self) -> str:
        """The program that was declared, else the one word that all prefixes asked for have in common."""
        return self.program or (next(iter(self.prefixes)) if len(self.prefixes) == 1 else "")

    @abstractmethod
    def enter(self, code: Code, arguments: Sequence[Value], place: CommandPoint) -> None:
        """Go through a function."""

    @abstractmethod
    def choose(self, choice: OneOfWays, arguments: Sequence[Value], place: CommandPoint, node: Node) -> None:
        """Go through what a table may have given."""

    @abstractmethod
    def spend(self) -> None:
        """Count a step."""

    @abstractmethod
    def evaluate(self, node: Node, env: Env, place: CommandPoint) -> Value:
        """Return what an expression stands for."""

    @abstractmethod
    def constant(self, declared: Declared, place: CommandPoint) -> Value:
        """Return what a declaration gives a name, wherever it stands."""

    def note_problem(self, node: Node, says: str) -> None:
        """Note what could not be followed."""
        self.problems.setdefault(ReaderProblem(where=self.source.place(node), says=says))


class Tables(Following):
    """Looks things up, and says what the entries of a table are."""

    def part(self, value: Value, name: str, place: CommandPoint) -> Value:
        """Return what `value.name` is."""
        if isinstance(value, Flags):
            if name in _WORD_BAGS:
                return value.words
            return value if name in _FLAG_BAGS else self.flag(name, place)
        if isinstance(value, OneOfWays):
            ways = (each for each in value.ways if not self._lacks(each.value, name, place))
            return OneOfWays(
                tuple(
                    TableBranch(each.position, each.labels, self.part(each.value, name, place), each.entry)
                    for each in ways
                )
            )
        if isinstance(value, CommandTable):
            return self.entry(value, name, place)
        if isinstance(value, Dynamic):
            return value
        if isinstance(value, ClassInstance):
            declared = self.source.method(name, value.node)
            return self.constant(declared, place) if declared is not None else UNKNOWN
        return UNKNOWN

    def flag(self, name: str, place: CommandPoint) -> Flag:
        """Note an option by the name that the code uses for it."""
        typed = name if name.startswith("-") else f"--{name}" if len(name) > 1 else f"-{name}"
        if re.fullmatch(r"--?[A-Za-z0-9][\w.-]*", typed):
            place.option(typed)
        return Flag(typed)

    def word(self, found: Value, place: CommandPoint) -> Value:
        """Return a word, as the text it is where that is known."""
        if isinstance(found, Word) and found.position < len(place.path):
            return SourceText(place.path[found.position])
        return found

    def look_up(self, on: Value, at: Value, node: Node, place: CommandPoint) -> Value:
        """Return what a table gives for a key."""
        at = self.word(at, place)
        if isinstance(at, SourceText):
            return self.part(on, at.text, place)
        if isinstance(at, WholeLine):
            at = Word(0)
        if not isinstance(at, Word):
            return UNKNOWN
        if isinstance(on, CommandTable):
            ways_of_table = tuple(self._ways_of(on, at.position, place))
            return OneOfWays(ways_of_table) if ways_of_table else Dynamic(node)
        if isinstance(on, OneOfWays):
            ways = [(way, self.look_up(way.value, at, node, place)) for way in on.ways]
            return OneOfWays(tuple(TableBranch(way.position, way.labels, found, way.entry) for way, found in ways))
        return Dynamic(node) if not isinstance(on, LineWords | Flags | CommandRecords) else UNKNOWN

    def entries(self, table: CommandTable, place: CommandPoint) -> list[tuple[str | None, Value, Node]]:
        """Return the entries of a table: key, value, and where it stands; no key where that cannot be read."""
        return [*self._entries_at_first(table, place), *self._entries_put_in(table)]

    def _entries_put_in(self, table: CommandTable) -> list[tuple[str | None, Value, Node]]:
        found: list[tuple[str | None, Value, Node]] = []
        for key, value, statement in self.source.entries_of(table.name) if table.name else ():
            entry = value if value.type == "object" else statement
            key_value = None if key.type == "property_identifier" else self.evaluate(key, table.env, CommandPoint())
            text = text_of(key) if key_value is None else key_value.text if isinstance(key_value, SourceText) else None
            found.append((text, self._entry_value(value, statement, table.env), entry))
        return found

    def _entries_at_first(self, table: CommandTable, place: CommandPoint) -> list[tuple[str | None, Value, Node]]:
        if table.node.type == "array":
            return self._pairs(table, place)
        if table.node.type == "enum_declaration":
            body = table.node.child_by_field_name("body")
            members = body.named_children if body is not None else []
            return [member for each in members if (member := _member_of(each))]
        found: list[tuple[str | None, Value, Node]] = []
        for key, value, entry in properties_of(table.node):
            if entry.type == "spread_element":
                inner = self.evaluate(entry.named_children[0], table.env, CommandPoint())
                found += self.entries(inner, place) if isinstance(inner, CommandTable) else [(None, UNKNOWN, entry)]
            else:
                found.append((self._key(key, table.env), self._entry_value(value, entry, table.env), entry))
        return found

    def _entry_value(self, value: Node, entry: Node, env: Env) -> Value:
        if value.type in FUNCTIONS:
            return Code(value, entry, env)
        if value.type == "shorthand_property_identifier":
            declared = self.source.lookup(text_of(value), value)
            return env.get(text_of(value)) or (self.constant(declared, CommandPoint()) if declared else UNKNOWN)
        return self.evaluate(value, env, CommandPoint())

    def _pairs(self, table: CommandTable, place: CommandPoint) -> list[tuple[str | None, Value, Node]]:
        found: list[tuple[str | None, Value, Node]] = []
        for pair in table.node.named_children:
            parts = [each for each in pair.named_children if each.type != "comment"] if pair.type == "array" else []
            if len(parts) == 2:
                key = self.evaluate(parts[0], table.env, CommandPoint())
                text = key.text if isinstance(key, SourceText) else None
                found.append((text, self._entry_value(unwrap(parts[1]), pair, table.env), pair))
            elif pair.type != "comment":
                found.append((None, UNKNOWN, pair))
        return found

    def _key(self, key: Node, env: Env) -> str | None:
        if key.type == "string":
            return string_of(key)
        if key.type == "computed_property_name":
            value = self.evaluate(key.named_children[0], env, CommandPoint())
            return value.text if isinstance(value, SourceText) else None
        return text_of(key)

    def entry(self, table: CommandTable, name: str, place: CommandPoint) -> Value:
        """Return the entry of a table under a key."""
        return next((value for key, value, _ in self.entries(table, place) if key == name), UNKNOWN)

    def _lacks(self, value: Value, name: str, place: CommandPoint) -> bool:
        """Say whether a table certainly has no such entry: a command with subcommands need have no `run`."""
        if not isinstance(value, CommandTable) or value.node.type != "object" or self.source.entries_of(value.name):
            return False
        keys = [key for key, _, _ in self.entries(value, place)]
        return bool(keys) and None not in keys and name not in keys

    def _ways_of(self, table: CommandTable, position: int, place: CommandPoint) -> list[TableBranch]:
        ways: list[tuple[list[str], Value, Node]] = []
        for key, value, entry in self.entries(table, place):
            if key is None and not _spreads_a_parameter(entry):
                self.note_problem(entry, f"Which words `{text_of(entry)[:60]}` adds cannot be read.")
            if key is None:
                continue
            # Two keys of one function are two spellings of one command.
            same = next((way for way in ways if isinstance(value, Code) and way[1] == value), None)
            if same:
                same[0].append(key)
            else:
                ways.append(([key, *self._aliases_in(value, place)], value, entry))
        return [TableBranch(position, tuple(keys), value, entry) for keys, value, entry in ways]

    def _aliases_in(self, value: Value, place: CommandPoint) -> tuple[str, ...]:
        found = self.entry(value, "aliases", place) if isinstance(value, CommandTable) else UNKNOWN
        return found.texts if isinstance(found, Texts) else ()

    def records_by(self, records: CommandRecords, position: int, place: CommandPoint) -> OneOfWays:
        """Return the ways of a list of objects that are found by their name."""
        ways = []
        for node in records.node.named_children:
            if (bare := unwrap(node)).type != "object":
                continue
            table = CommandTable(bare, records.env)
            names = [value.text for key in NAME_KEYS if isinstance(value := self.entry(table, key, place), SourceText)]
            if names:
                ways.append(TableBranch(position, (names[0], *self._aliases_in(table, place)), table, bare))
            else:
                self.note_problem(bare, "This entry has no name that can be read.")
        return OneOfWays(tuple(ways))

    def describe(self, entry: Node, place: CommandPoint) -> None:
        """Take over what the object behind an entry says about its command."""
        value = entry.child_by_field_name("value") if entry.type == "pair" else entry
        if value is None or (value := unwrap(value)).type != "object":
            return
        for key, found, _ in self.entries(CommandTable(value), place):
            if isinstance(found, SourceText) and key in _DESCRIPTION_KEYS:
                place.described.setdefault("description", found.text)
            elif isinstance(found, SourceText) and key in ("usage", "syntax", "example"):
                place.said.append(f"{'Example' if key == 'example' else 'Usage'}: {found.text}")
            elif isinstance(found, Texts) and key == "examples":
                place.said.extend(f"Example: {text}" for text in found.texts)

    def say(self, value: Value, place: CommandPoint) -> None:
        """Note what is handed to an unknown function: most print it."""
        for text in self.texts_of(value):
            # One word is a kind of output (`error`), or a name; a heading ends with a colon.
            if len(place.said) < 400 and (not text.strip() or " " in text.strip() or text.endswith(":")):
                place.said.extend(text.splitlines()[:200] or [""])

    def texts_of(self, value: Value) -> tuple[str, ...]:
        """Return the texts of a value."""
        if isinstance(value, SourceText):
            return (value.text,)
        if isinstance(value, Texts):
            return value.texts
        if isinstance(value, CommandTable) and value.node.type == "object":
            return tuple(
                found.text for _, found, _ in self.entries(value, CommandPoint()) if isinstance(found, SourceText)
            )
        return ()


def _member_of(member: Node) -> tuple[str | None, Value, Node] | None:
    name, value = member.child_by_field_name("name"), member.child_by_field_name("value")
    if name is not None and value is not None and value.type == "string":
        return text_of(name), SourceText(string_of(value)), member
    return None


def _spreads_a_parameter(entry: Node) -> bool:
    """Whether an entry spreads what its function is handed, as `{...prev}` of React's state: that declares nothing."""
    spread = text_of(entry).lstrip(".") if entry.type == "spread_element" else ""
    above = entry.parent if spread.isidentifier() else None
    while above is not None:
        if above.type in FUNCTIONS:
            return any(text_of(pattern_of(each)) == spread for each in parameters_of(above))
        above = above.parent
    return False
