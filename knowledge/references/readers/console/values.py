"""What an expression of a console stands for, as far as it has to do with the typed line."""

from dataclasses import dataclass, field

from tree_sitter import Node


@dataclass(frozen=True)
class Value:
    """Something that has nothing to do with the line; base of what has."""


@dataclass(frozen=True)
class WholeLine(Value):
    """The line as it was typed; `program` is what the code puts in front of it."""

    program: str = ""


@dataclass(frozen=True)
class LineWords(Value):
    """The words of the line from a position on, behind those that the code itself puts in front."""

    start: int
    fixed: tuple[Value, ...] = ()

    def at(self, index: int) -> Value:
        """Return one word."""
        return self.fixed[index] if index < len(self.fixed) else Word(self.start + index - len(self.fixed))

    def behind(self, count: int) -> "LineWords":
        """Return the words without the first few."""
        return LineWords(self.start + max(0, count - len(self.fixed)), self.fixed[count:])


@dataclass(frozen=True)
class Word(Value):
    """The word at a position of the line; `default` is taken when nothing stands there."""

    position: int
    default: str = ""


@dataclass(frozen=True)
class AnyWord(Value):
    """Any word of the line, while code goes through all of them."""


@dataclass(frozen=True)
class SourceText(Value):
    """A text that the source says."""

    text: str


@dataclass(frozen=True)
class Texts(Value):
    """Several texts that the source says."""

    texts: tuple[str, ...]


@dataclass(frozen=True)
class Flags(Value):
    """The options of the line, read by some parser; `words` are those that are none."""

    words: LineWords = field(default_factory=lambda: LineWords(0))


@dataclass(frozen=True)
class Flag(Value):
    """The value of one option."""

    name: str


@dataclass(frozen=True)
class Code(Value):
    """A function of the source, and what its free names stand for."""

    node: Node
    statement: Node
    env: "dict[str, Value]" = field(default_factory=dict, compare=False)


@dataclass(frozen=True)
class CommandTable(Value):
    """An object or map whose keys may be words of commands; `name` is what it is called where more is put in."""

    node: Node
    env: "dict[str, Value]" = field(default_factory=dict, compare=False)
    name: str = ""


@dataclass(frozen=True)
class CommandRecords(Value):
    """A list of objects, each of which may describe a command."""

    node: Node
    env: "dict[str, Value]" = field(default_factory=dict, compare=False)


@dataclass(frozen=True)
class ClassInstance(Value):
    """An object of a class of the source; `node` is the body of the class."""

    node: Node


@dataclass(frozen=True)
class TableBranch(Value):
    """One way that a table offers: the words that lead there, and what is there."""

    position: int
    labels: tuple[str, ...]
    value: Value
    entry: Node


@dataclass(frozen=True)
class OneOfWays(Value):
    """What a table gives for a word that is not known: one of several ways."""

    ways: tuple[TableBranch, ...]


@dataclass(frozen=True)
class Dynamic(Value):
    """What code finds by a word in a place that cannot be seen from here."""

    node: Node


Env = dict[str, Value]
"""What names stand for."""

UNKNOWN = Value()
"""Whatever has nothing to do with the line."""
