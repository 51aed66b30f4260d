"""The part of a lesson that says what to do."""

import re
from collections.abc import Iterable, Iterator
from itertools import takewhile
from string import whitespace

NAMES = (
    r"(?:the |our )?(?:solutions?|fix(?:es|ed by)?|resolution|resolved by|work-?arounds?|remedy|recommendations?)"
    r"|answer|how (?:to|we) fix(?:ed)?(?: it| this)?|what (?:we do|to do|helped|helps|works|worked)(?: now| instead)?"
)
HEADING = re.compile(r"^ {0,3}(#{1,6})\s(.*)$")
AROUND = f"{whitespace}#:"
NAMED = re.compile(rf"(?:{NAMES})", re.IGNORECASE)
LABEL = re.compile(
    rf"^\s*(?:[-*+]\s+)?(?:\*\*|__)?(?:{NAMES})(?:\s?[:.]\s?(?:\*\*|__)|(?:\*\*|__)\s?:?|:)\s*(?P<rest>.*)$",
    re.IGNORECASE,
)
ANY_LABEL = re.compile(r"^\s*(?:[-*+]\s+)?(?:\*\*|__)[^*_\n]{2,60}(?:\*\*|__):?")
WITHIN = re.compile(
    r"(?:^|[.;!?)`]\s+)(?:Fix|Solution|Workaround|Resolution|Remedy|Recommendation):\s+(?P<rest>\S.*)", re.DOTALL
)


def fix_in(content: str) -> str:
    """Return what a lesson recommends: its section “Solution”, “Fix”, “What we do”, …; empty where none is named."""
    lines = content.split("\n")
    for number, line in enumerate(lines):
        heading = HEADING.match(line)
        if heading and NAMED.fullmatch(heading[2].lstrip().rstrip(AROUND)):
            return "\n".join(_section(lines[number + 1 :], len(heading[1]))).strip()
        if label := LABEL.match(line):
            return "\n".join([label["rest"], *_paragraph(lines[number + 1 :], has_begun=bool(label["rest"]))]).strip()
    within = WITHIN.search(content)
    return within["rest"].partition("\n\n")[0].strip() if within else ""


def _section(lines: Iterable[str], level: int) -> Iterator[str]:
    is_code = False
    for line in lines:
        is_code ^= line.lstrip().startswith(("```", "~~~"))
        heading = HEADING.match(line)
        if heading and not is_code and len(heading[1]) <= level:
            return
        yield line


def _paragraph(lines: list[str], *, has_begun: bool) -> Iterator[str]:
    """The lines below a label: to the next label or heading, or the empty line behind a text that began beside it."""
    below = takewhile(lambda line: not (ANY_LABEL.match(line) or HEADING.match(line)), lines)
    return takewhile(lambda line: bool(line.strip()), below) if has_begun else below
