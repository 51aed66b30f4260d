"""What makes an agent use its memory: our instructions, and the marked block in which a file holds them."""

import re

from bigmind.core.agent_rules import AgentRules, introduce

from .malformed import MalformedFile, line_of

BEGIN, END = "<!-- bigmind:begin -->", "<!-- bigmind:end -->"
MARK = re.compile(r"^<!-- bigmind:(begin|end) -->(?=[ \t]*\r?$)", re.MULTILINE)


def rules_in_file(*, has_hooks: bool = False) -> str:
    """Return the rules as a file has them: without the way of writing, which its user may change any day."""
    return f"{introduce(AgentRules(has_hooks))}\n"


def with_rules(text: str, *, heading: str = "", has_hooks: bool = False) -> str:
    """Return the text with the rules in their block: at the place of the one there is, else at its end.

    Args:
        has_hooks: Whether hooks open the session, so that nobody is asked to.
        heading: How a file that holds nothing else begins, such as the lines that say when it applies.

    Raises:
        Malformed: a block begins and does not end, or the other way round.
    """
    newline = "\r\n" if "\r\n" in text else "\n"
    block = f"{BEGIN}\n{rules_in_file(has_hooks=has_hooks)}{END}".replace("\n", newline)
    place = _place_of_block(text)
    if place:
        return text[: place[0]] + block + text[place[1] :]
    if not text.strip():
        return f"{heading}{block}\n"
    gap = "" if text.endswith(f"{newline}{newline}") else newline if text.endswith("\n") else 2 * newline
    return f"{text}{gap}{block}{newline}"


def without_rules(text: str, *, heading: str = "") -> str:
    """Return the text without the block, and nothing at all where only the heading would be left.

    Raises:
        Malformed: a block begins and does not end, or the other way round.
    """
    place = _place_of_block(text)
    if place is None:
        return text
    before, after = text[: place[0]], text[place[1] :]
    left = before + after
    if left.strip() == heading.strip():
        return ""
    # With the block goes the empty line that parted it from what stands above.
    return before.rstrip("\r\n") + (after if before.strip() else after.lstrip("\r\n"))


def _place_of_block(text: str) -> tuple[int, int] | None:
    marks = list(MARK.finditer(text))
    if not marks:
        return None
    if [mark[1] for mark in marks] != ["begin", "end"]:
        lonely = next((mark for mark in marks if mark[1] == "end"), marks[0]) if marks[0][1] == "end" else marks[-1]
        raise MalformedFile(line_of(text, lonely.start()), f"one pair of {BEGIN} and {END} is expected")
    return marks[0].start(), marks[1].end()
