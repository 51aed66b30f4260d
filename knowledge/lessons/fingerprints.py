"""The fingerprint of an error: its words without their values, and the functions that it was raised in."""

import hashlib
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice, takewhile

from knowledge.lessons.log_lines import ERRNO, FoundError, LogLine, Weight, find_errors, lines_of
from knowledge.lessons.normalization import PLACEHOLDER, base_name, what_stays, words_of

FRAMES = 3
"""How many of the innermost own frames make an error what it is: further out is who happened to call."""
LOOK_BACK = 400

# `  File "shop/orders.py", line 12, in place`; with a bar before it in an exception group.
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
    r"^(?:created by )?(?P<function>(?>(?:[\w.]*+[/-])*)"
    r"(?:[\w.]+?\.(?=\()\(\*?\w+\)\.[\w.]++|\w++\.[\w.]++))"
    r"(?:\(.*\))?(?P<file>)(?: in goroutine \d+)?$"
)
# `   3: shop::cart::add::h0123456789abcdef`, as RUST_BACKTRACE prints it.
RUST = re.compile(
    r"^\s*\d+:\s+(?:0x[0-9a-f]+ - )?(?P<function>[\w<][\w:<>{}#$&' ]{0,300}?)(?:::h[0-9a-f]{16})?(?P<file>)$"
)
LANGUAGES = (PYTHON, JAVA, SCRIPT, RUST, GO)
BESIDE = re.compile(r"^\s*$|^\s+|^goroutine \d+|^stack backtrace:|^note: |^\[signal |^\.\.\. \d+ more|^exit status")
# Frames of libraries and run-times: an update moves them, and the error is still the same.
NOT_OURS = re.compile(
    r"site-packages|dist-packages|/lib/python\d|<frozen |node_modules|^node:|^internal/"
    r"|^(?:java|javax|jdk|sun|kotlin|scala)\.|^(?:runtime|testing|net/http|reflect)\."
    r"|^(?:std|core|alloc|test)::|^<(?:std|core|alloc)|^rust_begin_unwind|^__|^_start$"
)

# What compilers number: one more lambda in a file would make another error of this.
NAMELESS = re.compile(
    r"\$\$?\w*Lambda\$?[\w/]*|\.func\d+(?:\.\d+)*|\blambda\$|\$\d+|\bObject\.|<anonymous>|\{\{closure\}\}"
)

VERSION = "1"
"""Part of every fingerprint: a change of the rules must not take an old one for the same error."""
CHARS = 32
ERRORS = 20
LOOKED_AT = 500
"""Lines of one text that are errors and whose stacks are read: of a longer log the rest only repeats itself."""
SAYS_NOTHING = {"", "error", "exception", "panic", "runtimeerror", "assertionerror"}
NUMBERED = re.compile(rf"\b({ERRNO})\b:?\s*", re.IGNORECASE)
QUOTES = re.compile(r"['\"`“”‘’]")
FENCE = re.compile(r" {0,12}(`{3,}+|~{3,}+)")
SPAN = re.compile(r"(?<!`)`([^`\n]{4,300})`(?!`)")


def frames_before(lines: Sequence[LogLine], number: int) -> tuple[str, ...]:
    """Return the innermost own frames of a stack that is printed with the raise last, as Python's is."""
    above = [line.text for line in lines[max(0, number - LOOK_BACK) : number]]
    begins = max((place for place, text in enumerate(above) if "Traceback (most recent" in text), default=-1)
    found = [frame for text in above[begins + 1 :] if 'File "' in text and (frame := _frame(text, (PYTHON,)))]
    # Python prints the innermost frame last.
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


@dataclass(frozen=True, slots=True)
class SeenError:
    """An error, without what varies each time it happens."""

    kind: str
    """The type of an exception, or a code: `TypeError`, `TS2345`, `ECONNREFUSED`."""
    essence: str
    """What stays of its message."""
    frames: tuple[str, ...] = ()
    """Where it was raised, the innermost first."""

    @property
    def headline(self) -> str:
        """Kind and message in one line."""
        parts = [self.kind, "" if self.essence == self.kind.casefold() else self.essence]
        return ": ".join(part for part in parts if part)

    @property
    def is_telling(self) -> bool:
        """Whether the headline alone says which error it is; `RuntimeError: <value>` does not."""
        words = len(words_of(self.essence))
        is_numbered = any(char.isdigit() for char in self.kind)
        return words >= 2 or (self.kind.casefold() not in SAYS_NOTHING and (is_numbered or words == 1))

    @property
    def fingerprint(self) -> str:
        """The fingerprint of the error where it happened; empty for one that says nothing."""
        return self._of(*self.frames) if self.frames else self.by_headline

    @property
    def by_headline(self) -> str:
        """The fingerprint of the error wherever it happens; empty where its headline does not say which it is."""
        return self._of() if self.is_telling else ""

    @property
    def question(self) -> str:
        """What to ask a search for: the words, without the places of values."""
        places = " ".join(frame.replace(":", " ") for frame in self.frames)
        return " ".join(PLACEHOLDER.sub(" ", f"{self.kind} {self.essence} {places}").replace("#", "").split())

    def _of(self, *frames: str) -> str:
        content = "\n".join([VERSION, self.kind.casefold(), self.essence, *frames])
        return hashlib.sha256(content.encode("utf-8", "replace")).hexdigest()[:CHARS]


def error_in(text: str) -> SeenError | None:
    """Return the error that decides in a log or traceback: the last exception, else the first error."""
    lines = lines_of(text)
    found = list(find_errors(lines))
    if not found:
        return None
    weight = min(one.weight for one in found)
    alike = [one for one in found if one.weight == weight]
    return _error_of(lines, alike[-1] if weight == Weight.EXCEPTION else alike[0])


def errors_in(content: str) -> list[SeenError]:
    """Return the errors that a lesson quotes: in blocks of code, in code within a line, in bare lines."""
    seen: dict[str, SeenError] = {}
    for error in _find_quoted(content):
        if error.fingerprint:
            seen.setdefault(error.fingerprint, error)
    return list(seen.values())[:ERRORS]


def _find_quoted(content: str) -> Iterator[SeenError]:
    blocks, prose = _blocks_and_prose(content)
    for block in blocks:
        if error := error_in(block):
            yield error
        yield from _all(block)
    for span in SPAN.finditer(prose):
        yield from _all(span[1])
    yield from _all(SPAN.sub(" ", prose))


def _blocks_and_prose(content: str) -> tuple[list[str], str]:
    """Divide a lesson, line by line, into its blocks of code and what stands around them."""
    blocks: list[list[str]] = []
    prose: list[str] = []
    mark = ""
    for line in content.split("\n"):
        fence = FENCE.match(line)
        if mark and fence and fence[1].startswith(mark):
            mark = ""
        elif mark:
            blocks[-1].append(line)
        elif fence:
            mark = fence[1]
            blocks.append([])
            prose.append("")
        else:
            prose.append(line)
    return ["\n".join(block) for block in blocks], "\n".join(prose)


def _all(text: str) -> Iterator[SeenError]:
    lines = lines_of(text)
    for found in islice(find_errors(lines, in_prose=True), LOOKED_AT):
        if found.weight < Weight.COMPLAINT:
            yield _error_of(lines, found)


def _error_of(lines: Sequence[LogLine], found: FoundError) -> SeenError:
    message = found.message
    if found.weight == Weight.TOOL and not message:
        message = _next_saying(lines, found.number)
    frames: tuple[str, ...] = ()
    if found.weight == Weight.EXCEPTION:
        frames = frames_after(lines, found.number) or frames_before(lines, found.number)
    kind, message = _by_number(found.kind, message)
    error = SeenError(kind, what_stays(message), frames)
    # `KeyError: 'PORT'`: here the value is all that is said.
    bare = SeenError(kind, what_stays(QUOTES.sub("", message)), frames)
    return error if error.frames or error.is_telling else bare


def _by_number(kind: str, message: str) -> tuple[str, str]:
    """Name the refusal of an operating system by its number, however a program wraps it."""
    number = NUMBERED.search(message)
    if number is None or not (kind.casefold() in SAYS_NOTHING or kind == number[1].upper()):
        return kind, message
    return number[1].upper(), NUMBERED.sub("", message)


def _next_saying(lines: Sequence[LogLine], number: int) -> str:
    """What npm says below its code, past the lines that only repeat it."""
    below = (line.text.strip() for line in lines[number + 1 : number + 8])
    return next((text for text in below if text and not re.match(r"(?:errno|syscall|path|code)\b", text)), "")
