"""Which lines of a log are an error: an exception, a panic, what a compiler, a shell or a database refuses."""

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import IntEnum

from knowledge.lessons.normalization import COLOURS, TIME

LINE_CHARS = 2_000


class Weight(IntEnum):
    """How much a kind of line decides. Of exceptions the last one counts, of everything else the first."""

    EXCEPTION = 0
    COMPILER = 1
    TOOL = 2
    COMPLAINT = 3
    CONSEQUENCE = 4
    """That something went wrong, after it did: `exit code 1`, `make: *** Error 2`."""


@dataclass(frozen=True, slots=True)
class FoundError:
    """A line that is an error."""

    weight: Weight
    number: int
    kind: str
    message: str


@dataclass(frozen=True, slots=True)
class LogLine:
    """A line of a log without colours, time, level and the name of what wrote it."""

    text: str
    is_raised: bool
    """Whether the log calls it an error."""


EMPTY = LogLine("", is_raised=False)
LEVEL = r"(?:ERROR|ERR|FATAL|CRITICAL|SEVERE|EMERG|ALERT|PANIC|WARN(?:ING)?|INFO|DEBUG|NOTICE|TRACE)"
SPACED_TIME = TIME.replace(" ", r"\ ")
# What stands before the words of a program: a time, a level, a severity, a stream of Kubernetes, a service of Docker
# Compose, a process of syslog, a step of BuildKit, npm, pytest.
PREFIX = re.compile(
    rf"""^[ ]?(?:
        (?:\[|\()?{SPACED_TIME}(?:\]|\))?[ ]?
      | \[(?:{LEVEL}|\d+|pod/[^\]]*|main|[\w.-]+-\d+)\]:?
      | {LEVEL}(?=:?[ :\t]\s*\D):?
      | (?:level|severity)="?\w+"?
      | (?:stdout|stderr)[ ][FP]
      | [\w.-]{{1,80}}[ ]{{0,20}}\|(?=[ ]|$)
      | [\w./-]{{1,60}}\[\d+\]:
      | \#\d+[ ]\d+\.\d+
      | npm[ ](?:ERR!|error)(?=[ ]|$)
      | E[ ]{{2,8}}(?=\S)
    )[ ]?""",
    re.VERBOSE,
)
RAISED = re.compile(r"(?:^|[\s\[=\"])(?:ERROR|ERR!?|FATAL|CRITICAL|SEVERE|PANIC|error|fatal)(?=[\]:\s!\"])")

ENDINGS = (
    "Error|Exception|Fault|Failure|Interrupt|Exit|Timeout|TimedOut|Violation|NotFound|DoesNotExist|Refused|Denied|Conflict"
    "|Abort|Overflow|Mismatch|Forbidden|Unauthorized|Panic|Failed"
)
EXCEPTION = re.compile(
    rf"""^(?:Exception[ ]in[ ]thread[ ]"[^"]{{0,200}}"[ ]|(?:Uncaught|Unhandled)(?:[ ][\w-]+){{0,3}}:?[ ]
          |Caused[ ]by:[ ]|\[cause\]:[ ])*
        (?:\(in[ ]promise\)[ ])?
        (?:[A-Za-z_$][\w$]*(?:\.|::)){{0,12}}(?P<kind>[A-Z][\w$]*(?:{ENDINGS})|Error|Exception)
        (?:[ ]\[(?P<code>\w{{1,60}})\])?(?::[ ]?(?P<message>.*)|[ ]?\{{?)$""",
    re.VERBOSE,
)
WITHIN = re.compile(
    r"(?:^|[\s(\"'`])(?:[A-Za-z_$][\w$]*\.){0,12}(?P<kind>[A-Z]\w{1,60}(?:Error|Exception))(?: \[(?P<code>\w{1,60})\])?"
    r": (?P<message>\S.*)$"
)
# Below frames of Python anything with a capital is an exception: people name theirs as they like.
PYTHON = re.compile(
    r"^(?!(?:During|The above)\b)(?:[A-Za-z_]\w*\.){0,12}(?P<kind>[A-Z]\w*)(?P<code>)(?:: (?P<message>.*))?$"
)
TRACEBACK = re.compile(r"^\s*(?:\+ |\| )?Traceback \(most recent call last\)|^\s*File \"[^\"]+\", line \d+, in ")
PANIC = re.compile(
    r"^(?:panic: (?P<go>.+?)(?: \[recovered\])?|fatal error: (?P<deadlock>all goroutines .+)"
    r"|thread '[^']{0,200}'(?: \(\d+\))? panicked at '(?P<old>.*)', [^']+"
    r"|thread '[^']{0,200}'(?: \(\d+\))? panicked at [^']+:)$"
)
# rustc; tsc, csc, MSVC and their kin; gcc and clang; javac and mypy; flake8, ruff and pylint; ESLint.
COMPILERS = tuple(
    re.compile(pattern)
    for pattern in (
        r"^error\[(?P<kind>E\d{4})\]: (?P<message>.+)$",
        r"(?:^|[\s:(-])(?:fatal )?error:? (?P<kind>(?:TS|CS|C|LNK|BC|FS|MSB|NU|NETSDK|D|E)\d{3,5}): (?P<message>.+)$",
        r"^[^\s:]{1,300}(?::\d+){1,2}: (?:fatal )?(?P<kind>error): (?P<message>.+)$",
        r"^[^\s:]{1,300}:\d+: (?P<kind>error): (?P<message>.+)$",
        r"^[^\s:]{1,300}:\d+:\d+:? (?P<kind>[A-Z]{1,4}\d{3,4}) (?P<message>.+)$",
        r"^\s*\d+:\d+\s+(?P<kind>error)\s+(?P<message>.+)$",
    )
)
ERRNO = (
    "E(?:ACCES|ADDRINUSE|ADDRNOTAVAIL|AGAIN|BADF|BUSY|CONNABORTED|CONNREFUSED|CONNRESET|EXIST|HOSTUNREACH|INVAL|ISDIR|LOOP"
    "|MFILE|NETUNREACH|NOENT|NOMEM|NOSPC|NOTDIR|NOTEMPTY|NOTFOUND|AI_AGAIN|PERM|PIPE|ROFS|TIMEDOUT|XDEV|RESOLVE|INTEGRITY"
    "|LOCKVERIFY)"
)
# Kubernetes says why a pod does not run in one word; the rest of the line is which pod, and when.
POD = re.compile(
    r"\b(?P<kind>CrashLoopBackOff|ImagePullBackOff|ErrImagePull|OOMKilled|CreateContainer\w*Error|FailedScheduling|FailedMount"
    r"|RunContainerError|InvalidImageName)\b"
)
# npm; pnpm; SQLSTATE of PHP and others; Oracle; MySQL; shells; git; apt; Docker; BuildKit; refusals of an operating
# system by number, then in words; what the kernel ends.
TOOLS = tuple(
    re.compile(pattern)
    for pattern in (
        r"^(?:npm (?:ERR!|error) )?code (?P<kind>E(?!LIFECYCLE)[A-Z0-9]{3,30})(?P<message>)$",
        r"(?:^|\s)(?P<kind>ERR_PNPM_[A-Z_]+)\s+(?P<message>.+)$",
        r"(?P<kind>SQLSTATE)[\s:\[(]+(?P<message>[0-9A-Z]{5}\b.*)$",
        r"^(?P<kind>ORA-\d{5}): (?P<message>.+)$",
        r"^(?P<kind>ERROR \d{4}) (?P<message>\([0-9A-Z]{5}\).*)$",
        r"^(?:[\w./-]*/)?(?P<kind>)(?:ba|z|da|k)?sh: (?:line )?(?:\d+: )?(?P<message>.+)$",
        r"^(?P<kind>fatal): (?P<message>.+)$",
        r"^(?P<kind>E): (?P<message>(?:Unable|Package|Could|The|Failed|Sub-process) .+)$",
        r"(?P<message>Error response from daemon: .+)(?P<kind>)$",
        r"(?P<message>failed to solve: .+)(?P<kind>)$",
        rf"^(?P<message>.*?\b(?P<kind>{ERRNO})\b.*)$",
        r"^[\w./+-]{1,60}: (?P<kind>)(?P<message>.*(?:command not found|No such file or directory|Permission denied"
        r"|Is a directory|cannot .+))$",
        r"^(?P<kind>)(?P<message>Segmentation fault.*|Killed|Bus error.*|Out of memory.*)$",
    )
)
# Only these are an error wherever they stand; the rest is one in the output of a program.
COMPLAINT = re.compile(
    r"\b(?:error|fail(?:ed|ure|s)?|cannot|could not|couldn't|denied|refused|unable to|no such|not found|timed? ?out"
    r"|(?:does not|doesn't|already) exists?|invalid|unexpected|missing|violates|undefined|unreachable|aborted|rejected"
    r"|exceeded)\b|HTTP/\d(?:\.\d)? [45]\d\d|status(?: code)?[ :=]+[45]\d\d",
    re.IGNORECASE,
)
CONSEQUENCE = re.compile(
    r"^(?:make(?:\[\d+\])?: \*\*\*|.*\bELIFECYCLE\b|(?:Process|Command|The command|Script)\b.*\b(?:exit|return)"
    r"|.*\bexit(?:ed)?(?: with)?(?: code| status)\b|A complete log|Found \d+ errors?\b|.*could not compile)",
    re.IGNORECASE,
)


def lines_of(text: str) -> list[LogLine]:
    """Return the lines of a log; of lines in JSON, what they say."""
    lines: list[LogLine] = []
    for raw in re.split(r"\r\n|\r|\n", text):
        plain = COLOURS.sub("", raw[:LINE_CHARS]).rstrip()
        if not plain:
            lines.append(EMPTY)
            continue
        message = _message_in_json(plain)
        lines += [_line(part) for part in (message.split("\n") if message else [plain])]
    return lines


def find_errors(lines: Sequence[LogLine], *, in_prose: bool = False) -> Iterator[FoundError]:
    """Yield the errors among lines, in their order; in prose only what is an error wherever it stands."""
    after_frames = False
    for number, line in enumerate(lines):
        if not line.text:
            continue
        found = _exception(lines, number, after_frames) or _of_a_program(line, number)
        if found is None and not in_prose:
            found = _complaint(line, number)
        if found is not None:
            yield found
        if TRACEBACK.search(line.text):
            after_frames = True
        elif line.text and not line.text[0].isspace():
            after_frames = False


def _message_in_json(line: str) -> str:
    if not line.startswith("{"):
        return ""
    try:
        record = json.loads(line)
    except (ValueError, RecursionError):
        return ""
    inner = record.get("err") or record.get("error") or record.get("exception")
    inner = inner if isinstance(inner, dict) else {"message": inner}
    texts = [inner.get("stack"), record.get("stack"), record.get("exc_info"), inner.get("message"), record.get("msg")]
    return next((text for text in [*texts, record.get("message")] if isinstance(text, str) and text), "")


def _line(text: str) -> LogLine:
    is_raised = bool(RAISED.search(text[:200]))
    # Prefixes stand before prefixes: a container, its time, the logger, the level.
    for _ in range(6):
        shorter = PREFIX.sub("", text, count=1)
        if shorter == text:
            break
        text = shorter
    return LogLine(text, is_raised)


def _exception(lines: Sequence[LogLine], number: int, after_frames: bool) -> FoundError | None:
    text = lines[number].text
    found = EXCEPTION.match(text.lstrip()) or WITHIN.search(text) or (PYTHON.match(text) if after_frames else None)
    if found:
        kind, message = found["code"] or found["kind"].split("$")[-1], found["message"] or ""
        # `Error: Process completed with exit code 1`: what failed was said before.
        weight = Weight.CONSEQUENCE if kind == "Error" and CONSEQUENCE.match(message) else Weight.EXCEPTION
        return FoundError(weight, number, kind, message)
    if panic := PANIC.match(text):
        panic_text = panic["go"] or panic["deadlock"] or panic["old"]
        below = lines[number + 1].text if number + 1 < len(lines) else ""
        return FoundError(Weight.EXCEPTION, number, "panic", panic_text or below)
    return None


def _of_a_program(line: LogLine, number: int) -> FoundError | None:
    if pod := POD.search(line.text):
        return FoundError(Weight.TOOL, number, pod["kind"], pod["kind"])
    if CONSEQUENCE.match(line.text):
        return FoundError(Weight.CONSEQUENCE, number, "", line.text)
    for weight, patterns in ((Weight.COMPILER, COMPILERS), (Weight.TOOL, TOOLS)):
        for pattern in patterns:
            if found := pattern.search(line.text):
                kind = "" if found["kind"] in {"error", "fatal", "E"} else found["kind"]
                return FoundError(weight, number, kind, found["message"])
    return None


def _complaint(line: LogLine, number: int) -> FoundError | None:
    if not (line.is_raised or COMPLAINT.search(line.text)) or not line.text.strip():
        return None
    message = re.sub(r"^(?:error|fatal|err)\b[:!]*\s*", "", line.text.strip(), flags=re.IGNORECASE)
    return FoundError(Weight.COMPLAINT, number, "", message) if message else None
