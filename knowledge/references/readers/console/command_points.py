"""Points in a console: what has been typed when the code gets there, and what the code there says and does."""

from collections.abc import Iterator
from dataclasses import dataclass, field

from tree_sitter import Node

from knowledge.references.readers.drafts import Option

MOST_POINTS = 3_000


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
        """Note a request that the code makes there."""
        self.calls.setdefault(request)
        self.acts_alone = self.acts_alone or bool(self.children)

    def option(self, name: str, *, value: str = "", default: str = "", values: tuple[str, ...] = ()) -> None:
        """Note an option that the code looks at there."""
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
