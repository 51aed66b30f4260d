"""What all transcripts of coding agents share: prompts, answers, tool calls and their results.

A transcript becomes one session, with its dates, its project, the files that were changed, each prompt with the answer
that ended its turn, and every error of a tool with what was done until the same command succeeded. Other tool output is
left out: it is long, and can be reproduced from the repository.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from itertools import chain
from pathlib import PurePosixPath
from typing import Any

from bigmind.text.hygiene import cut
from knowledge.models.lessons import FIXED_ERROR
from knowledge.parsers.archives import Bundle

from .json_rows import Element, lines_of, listing, mapping
from .memory_drafts import DraftRow, Row, SessionDraft, Unread, moment_of
from .words import headline, title_of

EXCHANGES = 100
"""How many prompts are kept of one conversation, half from its beginning and half from its end."""
FIXES = 20
STEPS = 8
FILES = 50
PROMPT_CHARS = 4_000
ERROR_CHARS = 3_000
COMMAND_CHARS = 300
OPENING_CHARS = 600
EXIT_CODE = re.compile(r"-?[0-9]{1,10}")
DRIVE = re.compile(r"^[A-Za-z]:")


@dataclass(frozen=True)
class UserPrompt:
    """What the person asked."""

    text: str
    at: datetime | None


@dataclass(frozen=True)
class AgentAnswer:
    """What the agent told the person."""

    text: str
    at: datetime | None


@dataclass(frozen=True)
class ToolCall:
    """A tool call by the agent: a command it ran, a file it changed, or something else."""

    id: str
    name: str
    at: datetime | None
    command: str = ""
    files: tuple[str, ...] = ()


@dataclass(frozen=True)
class ToolResult:
    """What a tool answered. `is_error` where its client, or the exit code, says that it failed."""

    id: str
    text: str
    is_error: bool
    at: datetime | None


Event = UserPrompt | AgentAnswer | ToolCall | ToolResult


@dataclass
class Transcript:
    """One conversation with a coding agent, as its client recorded it."""

    place: str
    program: str
    id: str
    folder: str = ""
    project: str = ""
    branch: str = ""
    title: str = ""
    summary: str = ""
    is_of_sub_agent: bool = False
    events: list[Event] = field(default_factory=list)

    def session(self) -> Iterator[Row]:
        """Yield the session that it becomes; none where the person said nothing, or where a sub-agent was at work."""
        prompts = [event for event in self.events if isinstance(event, UserPrompt)]
        moments = [event.at for event in self.events if event.at]
        if self.is_of_sub_agent or not prompts:
            return
        if not self.id or not moments:
            yield Unread(self.place, "has no id or no dates.")
            return
        calls = [event for event in self.events if isinstance(event, ToolCall)]
        fixes = list(_fixes(self.events))[:FIXES]
        yield DraftRow(
            self.place,
            SessionDraft,
            {
                "source_id": self.id,
                "one_liner": title_of(self.title, prompts[0].text),
                "project": self.project or project_of(self.folder),
                "started_at": min(moments),
                "ended_at": max(moments),
                "topics": [self.program.lower()],
                "summary": self.summary,
                "code_refs": _files_changed(calls, self.folder),
                "chunks": [*_exchanges(self.events), *fixes],
            },
        )


def project_of(folder: str) -> str:
    """Return the project that a working folder stands for: its name. A home or root folder stands for none."""
    path = PurePosixPath(DRIVE.sub("", folder.replace("\\", "/")))
    is_home = len(path.parts) <= 3 and path.parent.name in {"home", "Users"}
    return "" if is_home or path.name in {"", "root", "tmp"} else headline(path.name, otherwise="")[:100]


def text_of_blocks(content: Any, *kinds: str) -> str:
    """Return the texts among the blocks of a message; a message may also be a plain text."""
    if isinstance(content, str):
        return content
    blocks = [block for block in listing(content) if isinstance(block, Mapping)]
    texts = [block.get("text") for block in blocks if not kinds or block.get("type") in kinds]
    return "\n\n".join(text for text in texts if isinstance(text, str) and text.strip())


def objects_in(elements: Iterable[Element], name: str) -> Iterator[Mapping[str, Any] | Unread]:
    """Yield the objects of a record that has one on each line, and each line that is none as unread."""
    for element in elements:
        if isinstance(element.value, Mapping):
            yield element.value
        else:
            yield Unread(f"{name}, line {element.line}", f"{element.error or 'is no JSON object'}.")


def first_line_of(bundle: Bundle, name: str) -> Mapping[str, Any]:
    """Return the first line of a record, by which its program is known; an empty one where that is no object."""
    with bundle.open(name) as file:
        return mapping(next((element.value for element in lines_of(file, name)), None))


def at(line: Mapping[str, Any]) -> datetime | None:
    """Return when a line was written."""
    return moment_of(line.get("timestamp"))


def exit_code(text: str) -> int | None:
    """Return the exit code that a client wrote above or below the output of a command; None where there is none."""
    lines = text.splitlines()
    for line in chain(lines[:6], reversed(lines[-6:])):
        label, parted, code = line.partition(":")
        if not parted:
            label, _, code = line.rpartition(" ")
        if label.strip().casefold() in {"exit code", "process exited with code"} and EXIT_CODE.fullmatch(code.strip()):
            return int(code)
    return None


def _files_changed(calls: Iterable[ToolCall], folder: str) -> list[str]:
    paths = (path.removeprefix(folder).lstrip("/\\") if folder else path for call in calls for path in call.files)
    return [cut(path, COMMAND_CHARS) for path in dict.fromkeys(paths) if path.strip()][:FILES]


def _exchanges(events: Iterable[Event]) -> list[dict[str, Any]]:
    """Each prompt with the last answer before the next one: what was said in between is the agent's own thinking."""
    exchanges: list[list[UserPrompt | AgentAnswer]] = []
    for event in events:
        if isinstance(event, UserPrompt):
            exchanges.append([event])
        elif isinstance(event, AgentAnswer) and exchanges:
            exchanges[-1][1:] = [event]
    half = EXCHANGES // 2
    kept = exchanges if len(exchanges) <= EXCHANGES else [*exchanges[:half], *exchanges[-half:]]
    return [_message(event, len(exchanges)) for exchange in kept for event in exchange]


def _message(event: UserPrompt | AgentAnswer, exchanges: int) -> dict[str, Any]:
    return {
        "role": "user" if isinstance(event, UserPrompt) else "assistant",
        "content": cut(event.text, PROMPT_CHARS),
        "flag_reason": f"One of {exchanges} exchanges of an imported conversation.",
        "created_at": event.at,
    }


def _fixes(events: Sequence[Event]) -> Iterator[dict[str, Any]]:
    """Yield each error of a command with what was done until the same command succeeded.

    Commands are the same when they begin with the same two words: arguments change while one looks for the cause.
    """
    calls = {event.id: event for event in events if isinstance(event, ToolCall)}
    failed: dict[str, tuple[int, ToolCall, ToolResult]] = {}
    for number, event in enumerate(events):
        call = calls.get(event.id) if isinstance(event, ToolResult) else None
        if not isinstance(event, ToolResult) or call is None or not call.command:
            continue
        aim = _aim(call.command)
        if event.is_error:
            failed.setdefault(aim, (number, call, event))
        elif before := failed.pop(aim, None):
            begun, first, error = before
            yield _fix(first, error, events[begun + 1 : number], call, events[number + 1 :])


def _aim(command: str) -> str:
    # Without variables before the command and `--option=value`, which are what one changes from try to try.
    words = [word for word in command.split()[:12] if "=" not in word]
    return " ".join(words[:2])


def _fix(
    first: ToolCall, error: ToolResult, between: Sequence[Event], last: ToolCall, after: Sequence[Event]
) -> dict[str, Any]:
    steps = [step for event in between if isinstance(event, ToolCall) and (step := _step(event))]
    steps += [f"`{_on_one_line(last.command)}` succeeded."]
    answer = next((event.text for event in after if isinstance(event, AgentAnswer)), "")
    parts = [
        f"`{_on_one_line(first.command)}` failed:",
        f"````text\n{_end_of(error.text)}\n````",
        "## Fix",
        "\n".join(f"- {step}" for step in list(dict.fromkeys(steps))[-STEPS:]),
        cut(answer.strip(), OPENING_CHARS),
    ]
    return {
        "role": "assistant",
        "content": "\n\n".join(part for part in parts if part),
        "flag_reason": FIXED_ERROR,
        "created_at": error.at,
    }


def _step(call: ToolCall) -> str:
    if call.files:
        return f"Changed {', '.join(f'`{_on_one_line(path)}`' for path in call.files[:5])}."
    return f"Ran `{_on_one_line(call.command)}`." if call.command else ""


def _on_one_line(text: str) -> str:
    return cut(" ".join(text.split()), COMMAND_CHARS).replace("`", "'")


def _end_of(text: str) -> str:
    """The end of an output, where errors are reported."""
    plain = text.replace("````", "```").strip()
    return plain if len(plain) <= ERROR_CHARS else f"…{plain[-ERROR_CHARS:]}"
