"""The lines of a context, in parts, and the choice of those that fit its budget, so that no part starves."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from operator import attrgetter
from typing import Any, Literal

from bigmind.text.token_counts import count_each, count_tokens, cut_to_tokens
from knowledge.context.budget import CUT_TOKENS, LEAST_TOKENS, WHOLE_TOKENS

PASSED_OVER = 20
"""Lines that are skipped in the search for a shorter one that fits. Without a limit, a full part would count the tokens
of everything that is stored."""
_PLACE, _SHARE = attrgetter("place"), attrgetter("share")


@dataclass(eq=False)
class ContextLine:
    """One candidate line: a text, shortened if it is very long, and what surrounds it.

    Attributes:
        before: What precedes the text, such as a bullet, a label, handle and date; it is never shortened.
        after: What closes the line, such as the end of a table's row; it is never shortened either.
        why: Why it was chosen, for the receipt.
        is_spare: Whether it is chosen only when no part has any other line that fits.
        shown: As much of the text as is shown.
        place: Where it stands among the lines of its part, unless in the order in which they are chosen.
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
    is_spare: bool = False
    shown: str = ""
    place: int | None = None
    is_kept: bool = field(default=False, init=False)
    markdown: str = field(default="", init=False)
    tokens: int = field(default=0, init=False)

    def cut(self, room: int) -> int:
        """Show as much of the text as fits a line of `room` tokens; return what the line costs."""
        return self.show(cut_to_tokens(self.text, max(2, room - self.show(""))))

    def show(self, text: str) -> int:
        """Show this much of the text; return what the line costs."""
        self.shown, self.markdown = text, f"{self.before}{text}{self.after}"
        self.tokens = count_tokens(f"{self.markdown}\n") + 1
        return self.tokens


def _put_in_words(lines: Sequence[ContextLine]) -> None:
    """Show each text whole, or the beginning of a very long one, and count what the lines cost."""
    written = [f"{line.before}{line.shown or line.text}{line.after}" for line in lines]
    for line, markdown, cost in zip(lines, written, count_each([f"{one}\n" for one in written]), strict=True):
        line.shown, line.markdown, line.tokens = line.shown or line.text, markdown, cost + 1
        if cost >= WHOLE_TOKENS < count_tokens(line.shown):
            line.show(cut_to_tokens(line.text, CUT_TOKENS))


@dataclass(eq=False)
class ContextPart:
    """One part of a context: its candidate lines, the most useful first, and those that were chosen.

    Attributes:
        rows: The lines; or what `make` makes lines of when they are looked at, as most of hundreds never are.
        floor: The tokens it may use before any other part exceeds its own floor.
        ceiling: The tokens it may use while another part has further lines.
        most: The tokens it never exceeds.
        in_order: Whether its lines are chosen without gaps, as prose needs it.
        share: How much of its ceiling it has used.
        at: Which line is looked at next.
    """

    tier: str
    rows: Sequence[Any]
    floor: int
    ceiling: int
    most: int = 100_000
    in_order: bool = False
    make: Callable[[Sequence[Any]], list[ContextLine]] | None = None
    kept: list[ContextLine] = field(default_factory=list)
    spent: int = 0
    share: float = 0.0
    at: int = 0
    _lines: list[ContextLine] = field(default_factory=list, init=False)

    @property
    def chosen(self) -> list[ContextLine]:
        """The lines that were chosen, the most useful first."""
        return sorted(self.kept, key=_PLACE)

    @property
    def left(self) -> int:
        """How many of its lines were not chosen."""
        return len(self.rows) - len(self.kept)

    def take(self, room: int, *, spare: bool = False) -> int:
        """Choose the next line that was not chosen yet and fits, and return what it costs; 0 if none is found soon."""
        tries = 1 if self.in_order else PASSED_OVER
        while tries and self.at < len(self.rows):
            if self.at == len(self._lines):
                self._look_further()
            line = self._lines[self.at]
            self.at += 1
            if line.is_kept or line.is_spare > spare:
                continue
            if line.tokens <= room:
                line.is_kept = True
                self.kept.append(line)
                self.spent += line.tokens
                self.share = self.spent / self.ceiling
                return line.tokens
            tries -= 1
        return 0

    def take_beginning(self) -> int:
        """Choose the first line, shortened to the floor; return what it costs."""
        if not self._lines:
            self._look_further()
        self.at = next((at for at, line in enumerate(self._lines) if not line.is_spare), len(self.rows))
        return self.take(self._lines[self.at].cut(self.floor)) if self.at < len(self.rows) else 0

    def _look_further(self) -> None:
        known = len(self._lines)
        rows = self.rows[known : known + PASSED_OVER]
        lines = self.make(rows) if self.make else rows
        _put_in_words(lines)
        for place, line in enumerate(lines, start=known):
            line.place = place if line.place is None else line.place
        self._lines += lines


def choose(parts: Iterable[ContextPart], budget: int) -> int:
    """Choose lines up to the floors, then up to the ceilings, then with what is left; return the unused tokens.

    In each pass the next line comes from the part that has used the smallest share of its ceiling. A part whose first
    lines all exceed its floor gets its first line shortened rather than nothing. Spare lines come after all others.
    """
    parts = [part for part in parts if part.rows]
    budget = _spend(parts, budget, "floor")
    for part in parts:
        if not part.kept:
            budget -= part.take_beginning()
    budget = _spend(parts, budget, "ceiling")
    return spend_rest(parts, budget)


def spend_rest(parts: Iterable[ContextPart], budget: int) -> int:
    """Choose lines beyond the ceilings, then spare ones, then lengthen shortened ones; return the unused tokens."""
    parts = [part for part in parts if part.rows]
    budget = _spend(parts, budget, "most")
    return _lengthen(parts, _spend(parts, budget, "most", spare=True))


def _spend(
    parts: Iterable[ContextPart], budget: int, limit: Literal["floor", "ceiling", "most"], *, spare: bool = False
) -> int:
    turns = [*parts]
    for part in turns:
        part.at = 0
    while turns:
        # By tokens and not by lines: those of company entries are four times as long as those of facts.
        part = min(turns, key=_SHARE)
        room = min(budget, getattr(part, limit) - part.spent)
        cost = part.take(room, spare=spare) if room >= LEAST_TOKENS else 0
        budget -= cost
        if not cost:
            turns.remove(part)
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
