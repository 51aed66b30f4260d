"""What an expression of a console stands for, and the points that typed words lead to."""

from collections.abc import Iterator
from dataclasses import dataclass, field

from tree_sitter import Node

from knowledge.references.readers.reference_drafts import Option

MOST_POINTS = 3_000


@dataclass(frozen=True)
class Value:
    """A value unrelated to the line; base class of those that are related."""


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
    """The options of the line, read by some parser; `words` are the rest."""

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
    """The value that code looks up by a word, in a place not visible from here."""

    node: Node


Env = dict[str, Value]
"""The values of names."""

UNKNOWN = Value()
"""Any value unrelated to the line."""


@dataclass
class CommandPoint:
    """A point that a line can lead to.

    Attributes:
        path: The words typed so far.
        spellings: The words that are taken in the place of each, itself first.
        said: What the code prints there, line by line.
        bound: The names that code gives to words, by position; a name in brackets may be left out.
        default: The next word that is taken when none is typed.
        acts_alone: Whether it does something besides leading further.
    """

    path: tuple[str, ...] = ()
    spellings: tuple[tuple[str, ...], ...] = ()
    node: Node | None = None
    doc: str = ""
    described: dict[str, str] = field(default_factory=dict)
    said: list[str] = field(default_factory=list)
    options: dict[str, Option] = field(default_factory=dict)
    calls: dict[str, None] = field(default_factory=dict)
    bound: dict[int, str] = field(default_factory=dict)
    children: "dict[str, CommandPoint]" = field(default_factory=dict)
    default: str = ""
    acts_alone: bool = False

    def beyond(self, words: tuple[str, ...], spellings: tuple[str, ...], node: Node) -> "CommandPoint":
        """Return the place that further words lead to."""
        place = self
        for number, word in enumerate(words):
            here = spellings if number == len(words) - 1 else (word,)
            place = place._next(word, here, node)
        return place

    def _next(self, word: str, spellings: tuple[str, ...], node: Node) -> "CommandPoint":
        known = self.children.get(word)
        if known is None:
            bound = {position: name for position, name in self.bound.items() if position > len(self.path)}
            known = CommandPoint((*self.path, word), (*self.spellings, spellings), node, bound=bound)
            self.children[word] = known
        elif set(spellings) - set(known.spellings[-1]):
            known.spellings = (*known.spellings[:-1], tuple(dict.fromkeys((*known.spellings[-1], *spellings))))
        return known

    def call(self, request: str) -> None:
        """Record a request that the code makes there."""
        self.calls.setdefault(request)
        self.acts_alone = self.acts_alone or bool(self.children)

    def option(self, name: str, *, value: str = "", default: str = "", values: tuple[str, ...] = ()) -> None:
        """Record an option that the code reads there."""
        known = self.options.get(name) or Option(name=name)
        update = {"value": value, "default": default, "values": values}
        self.options[name] = known.model_copy(update={key: given for key, given in update.items() if given})

    def all(self) -> "Iterator[CommandPoint]":
        """Return this place and all that it leads to."""
        waiting = [self]
        while waiting:
            place = waiting.pop()
            yield place
            waiting.extend(reversed(place.children.values()))
