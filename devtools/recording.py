"""A recording of the first conversation: an animated picture of a terminal, made from the page that tests execute.

It has no script. Where less motion is wanted it stands still on its first screen.
"""

import re
from dataclasses import dataclass
from html import escape
from pathlib import Path
from textwrap import wrap

PAGE = Path(__file__).parents[1] / "docs" / "first-conversation.md"
COLUMNS, ROWS = 96, 18
MOST_ROWS_OF_AN_ANSWER = 6
LINE_PX, COLUMN_PX, MARGIN_PX = 20, 8, 20
SECONDS_A_TURN = 3
SHOWN = (
    "memory_start_session",
    "memory_store_fact",
    "memory_append_chunk",
    "memory_end_session",
    "memory_search_chunks",
)
"""The operations that are shown: a memory that begins empty, is filled, and answers on the second day."""

# Few fonts for terminals have them.
_SYMBOLS = re.compile("[\U0001f000-\U0001ffff]\ufe0f? ")
_COLOURS = {"command": "#7fccbf", "answer": "#d9d3c6", "comment": "#a79d8c"}


@dataclass(frozen=True)
class ScreenLine:
    """One line on the screen, and what it is: a command, an answer or a comment."""

    kind: str
    text: str


def recording() -> str:
    """Return the recording as SVG."""
    screens = _screens()
    turns = [(number, turn) for number, screen in enumerate(screens) for turn in screen]
    last = {number: place for place, (number, _) in enumerate(turns)}
    share = 100 / len(turns)
    drawn, frames, rows = [], [], dict.fromkeys(last, 0)
    for place, (number, turn) in enumerate(turns):
        drawn.append(_draw(turn, rows[number], f"t{place}" + (" first" if number == 0 else "")))
        rows[number] += len(turn)
        frames.append(_frames(place, begins=place * share, ends=(last[number] + 1) * share))
    width, height = COLUMNS * COLUMN_PX + 2 * MARGIN_PX, ROWS * LINE_PX + 2 * MARGIN_PX
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}" '
        'role="img" aria-labelledby="title">\n'
        '<title id="title">A terminal: an agent begins with an empty memory, stores what it learns, and finds it again '
        "on the second day.</title>\n"
        "<style>text{font:13px 'DejaVu Sans Mono',ui-monospace,monospace;white-space:pre}"
        f"g{{opacity:0;animation:{SECONDS_A_TURN * len(turns)}s infinite step-end}}\n" + "\n".join(frames) + "\n"
        "@media (prefers-reduced-motion:reduce){g{animation:none!important}.first{opacity:1}}</style>\n"
        f'<rect width="{width}" height="{height}" rx="8" fill="#191713"/>\n' + "\n".join(drawn) + "\n</svg>\n"
    )


def _frames(place: int, *, begins: float, ends: float) -> str:
    """Return the rules that show a turn from its time to the end of its screen."""
    before = "0%{opacity:0}" if begins else ""
    after = f"{ends:.2f}%{{opacity:0}}" if ends < 99.9 else ""
    return f".t{place}{{animation-name:k{place}}}@keyframes k{place}{{{before}{begins:.2f}%{{opacity:1}}{after}}}"


def _screens() -> list[list[list[ScreenLine]]]:
    """Return the screens with their turns: the first of each begins with a comment that names the day."""
    screens: list[list[list[ScreenLine]]] = []
    for day, text in _days():
        begins = True
        for command, answer in _turns(text):
            turn = [*_fold("command", f"$ {command}"), *_fold("answer", answer), ScreenLine("comment", "")]
            if begins or sum(map(len, screens[-1])) + len(turn) > ROWS:
                turn = [ScreenLine("comment", f"# {day}"), ScreenLine("comment", ""), *turn]
                screens.append([])
            screens[-1].append(turn)
            begins = False
    return screens


def _days() -> list[tuple[str, str]]:
    page = PAGE.read_text(encoding="utf-8")
    first, _, second = page.partition("## The second day, by hand")
    return [("The first day", first), ("The second day", second)]


def _turns(text: str) -> list[tuple[str, str]]:
    """Return the first turn of each operation that is shown."""
    turns: dict[str, tuple[str, str]] = {}
    for after in text.split("```console\n")[1:]:
        block, _, _ = after.partition("```")
        for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
            command, _, answer = part.partition("\n")
            name = command.removeprefix("bigmind op ").split(" ", 1)[0]
            if name in SHOWN and answer.strip():
                turns.setdefault(name, (command, answer.strip()))
    return list(turns.values())


def _fold(kind: str, text: str) -> list[ScreenLine]:
    """Return a text as lines of the screen; of a long answer the beginning."""
    text = _SYMBOLS.sub("", text)
    lines = [folded for line in text.splitlines() for folded in (wrap(line, COLUMNS) or [""]) if folded]
    most = MOST_ROWS_OF_AN_ANSWER
    if len(lines) > most:
        lines = [*lines[: most - 1], "…"]
    return [ScreenLine(kind, line) for line in lines]


def _draw(turn: list[ScreenLine], row: int, kind: str) -> str:
    lines = "".join(
        f'<text x="{MARGIN_PX}" y="{MARGIN_PX + (number + 0.75) * LINE_PX:.0f}" fill="{_COLOURS[line.kind]}">'
        f"{escape(line.text)}</text>"
        for number, line in enumerate(turn, row)
        if line.text
    )
    return f'<g class="{kind}">{lines}</g>'
