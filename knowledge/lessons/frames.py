"""Where an error was raised: the functions of a stack, in any of the languages that print one."""

import re
from collections.abc import Sequence
from itertools import takewhile

from knowledge.lessons.lines import LogLine
from knowledge.lessons.words import base_name

FRAMES = 3
"""How many of the innermost own frames make an error what it is: further out is who happened to call."""
LOOK_BACK = 400

PYTHON = re.compile(r"^\s*(?:\| )?File \"(?P<file>[^\"]+)\", line \d+, in (?P<function>.+)$")
# Node prints `at place (file:1:2)`, `at file:1:2`; Java `at com.acme.Orders.place(Orders.java:42)`.
JAVA = re.compile(
    r"^\s*at (?:[\w.@-]+//?)?(?P<function>[\w$.<>]+\.[\w$<>]+)"
    r"\((?P<file>[\w$]+\.\w+(?::\d+)?|Native Method|Unknown Source)\)"
)
SCRIPT = re.compile(
    r"^\s*at (?:async |new )*(?:(?P<function>[^()\s]{1,200})(?: \[as [^\]]{1,100}\])? \()?"
    r"(?P<file>[^()\s]{1,500}?)(?::\d+){1,2}\)?$"
)
GO = re.compile(
    # Folders, then a method (`main.(*Store).Get`) or a function: each part is read once and gives nothing back.
    r"^(?:created by )?(?P<function>(?:[\w.]*+[/-])*+"
    r"(?:[\w.]+?\.(?=\()\(\*?\w+\)\.[\w.]++|\w++\.[\w.]++))"
    r"(?:\(.*\))?(?P<file>)(?: in goroutine \d+)?$"
)
RUST = re.compile(
    r"^\s*\d+:\s+(?:0x[0-9a-f]+ - )?(?P<function>[\w<][\w:<>{}#$&' ]{0,300}?)(?:::h[0-9a-f]{16})?(?P<file>)$"
)
LANGUAGES = (PYTHON, JAVA, SCRIPT, RUST, GO)
BESIDE = re.compile(r"^\s*$|^\s+|^goroutine \d+|^stack backtrace:|^note: |^\[signal |^\.\.\. \d+ more|^exit status")
NOT_OURS = re.compile(
    r"site-packages|dist-packages|/lib/python\d|<frozen |node_modules|^node:|^internal/"
    r"|^(?:java|javax|jdk|sun|kotlin|scala)\.|^(?:runtime|testing|net/http|reflect)\."
    r"|^(?:std|core|alloc|test)::|^<(?:std|core|alloc)|^rust_begin_unwind|^__|^_start$"
)

NAMELESS = re.compile(
    r"\$\$?\w*Lambda\$?[\w/]*|\.func\d+(?:\.\d+)*|\blambda\$|\$\d+|\bObject\.|<anonymous>|\{\{closure\}\}"
)


def frames_before(lines: Sequence[LogLine], number: int) -> tuple[str, ...]:
    """Return the innermost own frames of a stack that is printed with the raise last, as Python's is."""
    above = [line.text for line in lines[max(0, number - LOOK_BACK) : number]]
    begins = max((place for place, text in enumerate(above) if "Traceback (most recent" in text), default=-1)
    found = [frame for text in above[begins + 1 :] if 'File "' in text and (frame := _frame(text, (PYTHON,)))]
    return _innermost(found[::-1]) if begins >= 0 or found else ()


def frames_after(lines: Sequence[LogLine], number: int) -> tuple[str, ...]:
    """Return the innermost own frames of a stack that is printed with the raise first, as most are."""
    # The second line of a Rust panic is its message.
    first = number + 2 if lines[number].text.rstrip().endswith(":") else number + 1
    below = (lines[place].text for place in range(first, min(len(lines), number + 1 + LOOK_BACK)))
    stack = takewhile(lambda text: bool(_frame(text) or BESIDE.match(text)), below)
    return _innermost([frame for text in stack if (frame := _frame(text))])


def _frame(text: str, languages: Sequence[re.Pattern[str]] = LANGUAGES) -> tuple[str, str] | None:
    for language in languages:
        if found := language.match(text):
            return found["function"] or "", found["file"] or ""
    return None


def _innermost(frames: Sequence[tuple[str, str]]) -> tuple[str, ...]:
    ours = [frame for frame in frames if not (NOT_OURS.search(frame[0]) or NOT_OURS.search(frame[1]))]
    named = [_frame_name(*frame) for frame in ours]
    # A recursion counts once.
    return tuple(dict.fromkeys(name for name in named if name))[:FRAMES]


def _frame_name(function: str, file: str) -> str:
    plain = NAMELESS.sub("", function)
    place = "" if file in {"Native Method", "Unknown Source"} else base_name(file)
    return ":".join(part for part in (place, plain.strip()) if part)
