"""The lines of a context, in parts, and the choice of those that fit its budget, so that no part starves."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from bigmind.text.token_counts import count_tokens, cut_to_tokens
from knowledge.context.budget import CUT_TOKENS, LEAST_TOKENS, WHOLE_TOKENS

PASSED_OVER = 20
"""Lines that are skipped in the search for a shorter one that fits. Without a limit, a full part would count the tokens
of everything that is stored."""


@dataclass(eq=False)
class ContextLine:
    """One candidate line: a text, shortened if it is very long, and what surrounds it.

    Attributes:
        before: What precedes the text, such as a bullet and a label; it is never shortened.
        after: What else is said of it, such as handle and date; it is never shortened either.
        why: Why it was chosen, for the receipt.
        is_first: Whether it is chosen before the others of its part, wherever it stands.
        is_spare: Whether it is chosen only when no part has any other line that fits.
    """

    kind: str
    id: str
    before: str
    text: str
    after: str = ""
    why: str = ""
    is_elsewhere: bool = False
    is_first: bool = False
    is_spare: bool = False
    shown: str = ""
    _counted: tuple[str, int] | None = field(default=None, init=False, repr=False)

    @property
    def markdown(self) -> str:
        """The line as the agent reads it."""
        if self.before.startswith("|"):
            return f"{self.before}{self.shown}{self.after}"
        # The label comes first: words before it could pass for a part of it. Text cannot break out of a table cell.
        return f"{self.before}{self.after.lstrip()}{' ' * bool(self.after)}{self.shown}"

    @property
    def tokens(self) -> int:
        """What the line costs, with its end; and one more, because joining texts can add a token."""
        # Cached, because several passes read it, and only `shown` changes between them.
        if self._counted is None or self._counted[0] != self.shown:
            self._counted = self.shown, count_tokens(f"{self.markdown}\n") + 1
        return self._counted[1]

    @property
    def is_cut(self) -> bool:
        """Whether its text is shortened."""
        return self.shown != self.text

    def fit(self) -> int:
        """Show the text whole, or the beginning of a very long one; return what the line costs."""
        if not self.shown:
            self.shown = self.text if count_tokens(self.text) <= WHOLE_TOKENS else cut_to_tokens(self.text, CUT_TOKENS)
        return self.tokens

    def cut(self, room: int) -> int:
        """Show as much of the text as fits a line of `room` tokens; return what the line costs."""
        self.shown = ""
        self.shown = cut_to_tokens(self.text, max(2, room - self.tokens))
        return self.tokens


@dataclass(eq=False)
class ContextPart:
    """One part of a context: its candidate lines, the most useful first, and those that were chosen.

    Attributes:
        floor: The tokens it may use before any other part exceeds its own floor.
        ceiling: The tokens it may use while another part has further lines.
        most: The tokens it never exceeds.
        in_order: Whether its lines are chosen without gaps, as prose needs it.
    """

    tier: str
    items: Sequence[ContextLine]
    floor: int
    ceiling: int
    most: int = 100_000
    in_order: bool = False
    kept: list[ContextLine] = field(default_factory=list)
    spent: int = 0

    @cached_property
    def has_first(self) -> bool:
        """Whether some of its lines are chosen before the others."""
        return True in {item.is_first for item in self.items}

    @property
    def chosen(self) -> list[ContextLine]:
        """The lines that were chosen, the most useful first."""
        kept = set(map(id, self.kept))
        chosen: list[ContextLine] = []
        for item in self.items:
            if len(chosen) == len(kept):  # Most are among the first: the others need not be checked.
                break
            if id(item) in kept:
                chosen.append(item)
        return chosen

    @property
    def left(self) -> int:
        """How many of its lines were not chosen."""
        return len(self.items) - len(self.kept)

    def keep(self, item: ContextLine, cost: int) -> int:
        """Choose this line; return what it costs."""
        self.kept.append(item)
        self.spent += cost
        return cost


def choose(parts: Iterable[ContextPart], budget: int) -> int:
    """Choose lines up to the floors, then up to the ceilings, then with what is left; return the unused tokens.

    In each pass the next line comes from the part that has used the smallest share of its ceiling. A part whose first
    lines all exceed its floor gets its first line shortened rather than nothing. Spare lines come after all others.
    """
    parts = [part for part in parts if part.items]
    budget = _spend(parts, budget, lambda part: part.floor)
    for part in parts:
        first = next(_waiting(part, spare=False), None)
        if not part.kept and first:
            budget -= part.keep(first, first.cut(part.floor))
    budget = _spend(parts, budget, lambda part: part.ceiling)
    return spend_rest(parts, budget)


def spend_rest(parts: Iterable[ContextPart], budget: int) -> int:
    """Choose lines beyond the ceilings, then spare ones, then lengthen shortened ones; return the unused tokens."""
    parts = list(parts)
    budget = _spend(parts, budget, lambda part: part.most)
    return _lengthen(parts, _spend(parts, budget, lambda part: part.most, spare=True))


def _spend(
    parts: Iterable[ContextPart], budget: int, limit: Callable[[ContextPart], int], *, spare: bool = False
) -> int:
    turns = {part: _waiting(part, spare=spare) for part in parts}
    while turns:
        # By tokens and not by lines: those of company entries are four times as long as those of facts.
        shares = [(part.spent / part.ceiling, at, part) for at, part in enumerate(turns)]
        part = min(shares)[2]
        if cost := _keep_next(part, turns[part], min(budget, limit(part) - part.spent)):
            budget -= cost
        else:
            del turns[part]
    return budget


def _waiting(part: ContextPart, *, spare: bool) -> Iterator[ContextLine]:
    kept = set(map(id, part.kept))
    # Most of hundreds are never looked at, so they are put in order only where there is another order.
    waiting = (item for item in part.items if item.is_spare <= spare and id(item) not in kept)
    return iter(sorted(waiting, key=lambda item: not item.is_first)) if part.has_first else waiting


def _keep_next(part: ContextPart, waiting: Iterator[ContextLine], room: int) -> int:
    """Choose the next line that fits, and return what it costs; 0 when none does."""
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
