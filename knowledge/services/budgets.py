"""Budgets: which lines of several parts are told within a number of tokens, so that no part starves another."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from bigmind.core.tokens import count_tokens, cut_to_tokens

WHOLE_TOKENS = 80
"""A text of up to so many tokens is told whole or not at all."""
CUT_TOKENS = 60
LEAST_TOKENS = 8
"""No line costs less."""
PASSED_OVER = 20
"""How many lines that do not fit are passed over in the search for a shorter one."""


@dataclass(eq=False)
class ContextLine:
    """One line that may be told: a text, which is shortened if it is very long, and what stands around it.

    Attributes:
        before: What stands before the text, headings and handles; it is never shortened.
        after: What stands behind it, such as handle and date.
        why: Why it is told, for the receipt.
    """

    kind: str
    id: str
    before: str
    text: str
    after: str = ""
    why: str = ""
    is_elsewhere: bool = False
    shown: str = ""

    @property
    def markdown(self) -> str:
        """The line as the agent reads it."""
        return f"{self.before}{self.shown}{self.after}"

    @property
    def tokens(self) -> int:
        """What it costs, with the end of the line; one more for what joining may cost."""
        return count_tokens(f"{self.markdown}\n") + 1

    @property
    def is_cut(self) -> bool:
        """Whether a part of its text is missing."""
        return self.shown != self.text

    def fit(self) -> int:
        """Show the text whole, or the beginning of one that is very long; return what the line costs."""
        if not self.shown:
            self.shown = self.text if count_tokens(self.text) <= WHOLE_TOKENS else cut_to_tokens(self.text, CUT_TOKENS)
        return self.tokens

    def cut(self, room: int) -> int:
        """Show as much of the text as a line of so many tokens has room for; return what the line costs."""
        self.shown = ""
        self.shown = cut_to_tokens(self.text, max(2, room - self.tokens))
        return self.tokens


@dataclass(eq=False)
class ContextPart:
    """What one part of a context may tell, the most useful first, and what of it is told.

    Attributes:
        floor: The tokens it has before any other part has more than its own floor.
        ceiling: The tokens it has while another part has something to tell.
        most: The tokens it never exceeds.
        in_order: Whether its lines are told without gaps, as prose is.
    """

    tier: str
    items: Sequence[ContextLine]
    floor: int
    ceiling: int
    most: int = 100_000
    in_order: bool = False
    kept: list[ContextLine] = field(default_factory=list)
    spent: int = 0

    @property
    def told(self) -> list[ContextLine]:
        """What is told, in the order of its usefulness."""
        kept = set(map(id, self.kept))
        return [item for item in self.items if id(item) in kept]

    @property
    def left(self) -> int:
        """How many of its lines are not told."""
        return len(self.items) - len(self.kept)

    def keep(self, item: ContextLine, cost: int) -> int:
        """Tell this line; return what it costs."""
        self.kept.append(item)
        self.spent += cost
        return cost


def choose(parts: Iterable[ContextPart], budget: int) -> int:
    """Choose what is told: floors first, then up to the ceilings, then what is left; return what nobody could use.

    In each of these passes the next line is of the part that has the least of its ceiling. A part whose first lines
    exceed its floor tells one of them shortened rather than nothing.
    """
    parts = [part for part in parts if part.items]
    budget = _spend(parts, budget, lambda part: part.floor)
    for part in parts:
        if not part.kept:
            budget -= part.keep(part.items[0], part.items[0].cut(part.floor))
    budget = _spend(parts, budget, lambda part: part.ceiling)
    return spend_rest(parts, budget)


def spend_rest(parts: Iterable[ContextPart], budget: int) -> int:
    """Tell more, whatever the ceilings say, then more of what was shortened; return what nobody could use."""
    parts = list(parts)
    return _lengthen(parts, _spend(parts, budget, lambda part: part.most))


def _spend(parts: Iterable[ContextPart], budget: int, limit: Callable[[ContextPart], int]) -> int:
    turns = {part: _waiting(part) for part in parts}
    while turns:
        part = min(turns, key=lambda part: part.spent / part.ceiling)
        if cost := _keep_next(part, turns[part], min(budget, limit(part) - part.spent)):
            budget -= cost
        else:
            del turns[part]
    return budget


def _waiting(part: ContextPart) -> Iterator[ContextLine]:
    kept = set(map(id, part.kept))
    return (item for item in part.items if id(item) not in kept)


def _keep_next(part: ContextPart, waiting: Iterator[ContextLine], room: int) -> int:
    """Keep the next line that fits, and return what it costs; nothing when none does."""
    for _ in range(1 if part.in_order else PASSED_OVER):
        item = next(waiting, None) if room >= LEAST_TOKENS else None
        if item is None:
            return 0
        if (cost := item.fit()) <= room:
            return part.keep(item, cost)
    return 0


def _lengthen(parts: Iterable[ContextPart], budget: int) -> int:
    for part in parts:
        for item in part.kept:
            room = min(budget, part.most - part.spent)
            if item.is_cut and room >= LEAST_TOKENS:
                before = item.tokens
                more = item.cut(before + room) - before
                part.spent += more
                budget -= more
    return budget
