"""What every part of the walk shares: what was found so far, and the limits."""

from abc import ABC, abstractmethod
from collections.abc import Sequence

from tree_sitter import Node

from knowledge.references.readers.console.command_points import CommandPoint
from knowledge.references.readers.console.source import Declared, ParsedFile
from knowledge.references.readers.console.values import Code, Env, OneOfWays, Value
from knowledge.references.readers.drafts import ReaderProblem


class Following(ABC):
    """Follows the words of a line through code, and notes at a place what is printed, asked for and requested."""

    def __init__(self, source: ParsedFile, program: str, ends: float) -> None:
        self.source, self.program, self.ends = source, program, ends
        self.prefixes: dict[str, None] = {}
        self.troubles: dict[ReaderProblem, None] = {}
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

    def trouble(self, node: Node, says: str) -> None:
        """Note what could not be followed."""
        self.troubles.setdefault(ReaderProblem(where=self.source.place(node), says=says))
