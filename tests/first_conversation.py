"""docs/first-conversation.md as data: its commands, and the lines that must stand in their answers."""

import re
import shlex
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from bigmind.operations import CATALOGUE

PAGE = Path(__file__).parent.parent / "docs" / "first-conversation.md"


@dataclass(frozen=True)
class Turn:
    """One command of the page, and the lines that must stand in its answer."""

    operation: str
    arguments: tuple[str, ...]
    answers: tuple[str, ...]

    @property
    def as_json(self) -> dict[str, object]:
        """The arguments as an agent sends them: numbers as numbers, lists as lists."""
        pairs = (argument.split("=", 1) for argument in self.arguments)
        properties = CATALOGUE[self.operation].input_schema["properties"]
        kinds = {"integer": int, "number": float, "array": lambda text: text.split(",")}
        return {name: kinds.get(_type_of(properties[name]), str)(value) for name, value in pairs}

    def missing_from(self, text: str) -> list[str]:
        """Return the lines of the answer that a text does not have."""
        return missing_from(text, self.answers)


def missing_from(text: str, lines: Iterable[str]) -> list[str]:
    """Return the lines of the page that a text does not have, in their order; `…` on the page matches anything."""
    missing, place = [], 0
    for line in lines:
        pattern = ".*?".join(re.escape(part) for part in line.split("…"))
        found = re.compile(pattern).search(text, place)
        if found:
            place = found.end()
        else:
            missing.append(line)
    return missing


def known_before_any_call() -> list[list[str]]:
    """Return what hooks bring on the second day: the lines at the start, and those for the prompt."""
    blocks = re.findall(r"```markdown\n(.*?)```", PAGE.read_text(), re.DOTALL)
    return [block.splitlines() for block in blocks]


def first_conversation() -> list[Turn]:
    """Return the commands of the page."""
    turns = []
    for block in re.findall(r"```console\n(.*?)```", PAGE.read_text(), re.DOTALL):
        for said in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
            command, _, answer = said.partition("\n")
            program, subcommand, operation, *arguments = shlex.split(command)
            assert (program, subcommand) == ("bigmind", "op")
            turns.append(Turn(operation, tuple(arguments), tuple(line for line in answer.splitlines() if line)))
    return turns


def days() -> list[list[Turn]]:
    """Return the commands of each day: one begins where a session starts."""
    days: list[list[Turn]] = []
    for turn in first_conversation():
        if turn.operation == "memory_start_session":
            days.append([])
        days[-1].append(turn)
    return days


def _type_of(schema: dict[str, object]) -> object:
    """Return the type of a property, that of the first choice where there are several."""
    choices = schema.get("anyOf")
    return choices[0].get("type") if isinstance(choices, list) else schema.get("type")
