"""The lines of a context, in parts, and the choice of those that fit its budget, so that no part starves."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Any, Literal

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
        shown: As much of the text as is shown.
        markdown: The line as the agent reads it.
        tokens: What the line costs, with its end; and one more, because joining texts can add a token.
    """

    kind: str
    id: str
    before: str
    text: str
    after: str = ""
    why: str | Callable[[], str] = ""
    is_elsewhere: bool = False
    is_first: bool = False
    is_spare: bool = False
    shown: str = ""
    markdown: str = field(default="", init=False)
    tokens: int = field(default=0, init=False)

    def fit(self) -> int:
        """Show the text whole, or the beginning of a very long one; return what the line costs."""
        if self._show(self.shown or self.text) > WHOLE_TOKENS < count_tokens(self.shown):
            self._show(cut_to_tokens(self.text, CUT_TOKENS))
        return self.tokens

    def cut(self, room: int) -> int:
        """Show as much of the text as fits a line of `room` tokens; return what the line costs."""
        return self._show(cut_to_tokens(self.text, max(2, room - self._show(""))))

    def _show(self, text: str) -> int:
        self.shown = text
        if self.before.startswith("|"):
            self.markdown = f"{self.before}{text}{self.after}"
        else:
            # The label comes first: words before it could pass for a part of it. Text cannot break out of a table cell.
            self.markdown = f"{self.before}{self.after.lstrip()}{' ' * bool(self.after)}{text}"
        self.tokens = count_tokens(f"{self.markdown}\n") + 1
        return self.tokens


@dataclass(eq=False)
class ContextPart:
    """One part of a context: its candidate lines, the most useful first, and those that were chosen.

    Attributes:
        rows: The lines; or what `make` makes a line of when it is looked at, as most of hundreds never are.
        floor: The tokens it may use before any other part exceeds its own floor.
        ceiling: The tokens it may use while another part has further lines.
        most: The tokens it never exceeds.
        in_order: Whether its lines are chosen without gaps, as prose needs it.
    """

    tier: str
    rows: Sequence[Any]
    floor: int
    ceiling: int
    most: int = 100_000
    in_order: bool = False
    make: Callable[[Any], ContextLine] | None = None
    kept: list[ContextLine] = field(default_factory=list)
    spent: int = 0
    _lines: list[ContextLine] = field(default_factory=list, init=False)
    _order: Sequence[int] = field(default=(), init=False)

    def __post_init__(self) -> None:
        self._order = range(len(self.rows))
        if self.make is None:
            self._lines = [*self.rows]
            self._order = sorted(self._order, key=[not line.is_first for line in self._lines].__getitem__)

    @property
    def chosen(self) -> list[ContextLine]:
        """The lines that were chosen, the most useful first."""
        kept = set(self.kept)
        return [line for line in self._lines if line in kept]

    @property
    def left(self) -> int:
        """How many of its lines were not chosen."""
        return len(self.rows) - len(self.kept)

    def keep(self, line: ContextLine) -> int:
        """Choose this line; return what it costs."""
        self.kept.append(line)
        self.spent += line.tokens
        return line.tokens

    def waiting(self, *, spare: bool) -> Iterator[ContextLine]:
        """Yield the lines that were not chosen yet, those first that come before the others."""
        kept, lines = set(self.kept), self._lines
        for at in self._order:
            if at == len(lines):
                lines.append(self.make(self.rows[at]))  # type: ignore[misc]
            if lines[at].is_spare <= spare and lines[at] not in kept:
                yield lines[at]


def choose(parts: Iterable[ContextPart], budget: int) -> int:
    """Choose lines up to the floors, then up to the ceilings, then with what is left; return the unused tokens.

    In each pass the next line comes from the part that has used the smallest share of its ceiling. A part whose first
    lines all exceed its floor gets its first line shortened rather than nothing. Spare lines come after all others.
    """
    parts = [part for part in parts if part.rows]
    budget = _spend(parts, budget, "floor")
    for part in parts:
        if not part.kept and (first := next(part.waiting(spare=False), None)):
            first.cut(part.floor)
            budget -= part.keep(first)
    budget = _spend(parts, budget, "ceiling")
    return spend_rest(parts, budget)


def spend_rest(parts: Iterable[ContextPart], budget: int) -> int:
    """Choose lines beyond the ceilings, then spare ones, then lengthen shortened ones; return the unused tokens."""
    parts = list(parts)
    budget = _spend(parts, budget, "most")
    return _lengthen(parts, _spend(parts, budget, "most", spare=True))


def _spend(
    parts: Iterable[ContextPart], budget: int, limit: Literal["floor", "ceiling", "most"], *, spare: bool = False
) -> int:
    turns = {part: part.waiting(spare=spare) for part in parts}
    while turns:
        # By tokens and not by lines: those of company entries are four times as long as those of facts.
        part = min([(part.spent / part.ceiling, at, part) for at, part in enumerate(turns)])[2]
        room = min(budget, getattr(part, limit) - part.spent)
        for line in islice(turns[part], 1 if part.in_order else PASSED_OVER) if room >= LEAST_TOKENS else ():
            if (line.tokens or line.fit()) <= room:
                budget -= part.keep(line)
                break
        else:
            del turns[part]
    return budget


def _lengthen(parts: Iterable[ContextPart], budget: int) -> int:
    for part in parts:
        for line in part.kept:
            room = min(budget, part.most - part.spent)
            if line.shown != line.text and room >= LEAST_TOKENS:
                before = line.tokens
                more = line.cut(before + room) - before
                part.spent += more
                budget -= more
    return budget
