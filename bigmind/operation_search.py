"""Finding an operation by what someone wants to do, in plain words: by names, titles and descriptions."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import log
from typing import Annotated, Any, Self

from pydantic import Field

from bigmind.core.load_once import load_once
from bigmind.core.operations import Operation
from bigmind.text.words import WORD

_SAME = (
    "delete erase remove forget destroy discard wipe",
    "list show browse display view see",
    "search find lookup query look",
    "add create store save write make new set keep",
    "update edit change modify correct fix revise",
    "hypothesis hypotheses belief assumption guess",
    "global company organization organisation everybody everyone team",
    "kb entry entries shared",
    "reference references documentation docs doc manual",
    "directory people person who colleague expert coworker",
    "vacuum prune clean cleanup",
    "export download backup dump",
    "profile role preferences pinned pin",
    "app apps table schema workflow",
    "api endpoint route rest",
    "command cli shell terminal option",
    "lesson error exception traceback crash",
    "instance server installation",
    "stats statistics numbers count",
    "restore undo unarchive",
    "aside archive hide",
    "resolve confirm refute",
    "note notes",
    "chunk chunks exchange message quote",
)
"""Words that mean the same here: anyone who looks for an operation does not know what it calls things."""
_MEANING = {word: group.split()[0] for group in _SAME for word in group.split()}
_PLAIN = frozenset(
    """a an and any are as at be by can do for from has have how i in into is it its me my of on one or please that the
    this to tool want was what which with you your""".split()  # noqa: SIM905 (a list of quotes reads worse)
)
_WEIGHTS = {"name": 3.0, "title": 2.0, "toolset": 1.5, "description": 1.0, "arguments": 0.5}


@dataclass(frozen=True)
class FoundOperation:
    """A matching operation, with its arguments."""

    name: str
    effect: Annotated[str, Field(description="read, write or destroy.")]
    about: str
    arguments: Annotated[list[str], Field(description="A line each: name, whether it is optional, and what it is.")]

    @classmethod
    def of(cls, operation: Operation) -> Self:
        """Return an operation as an agent reads it."""
        schema = operation.input_schema
        required = set(schema.get("required", []))
        described = [_describe(name, part, name in required) for name, part in schema.get("properties", {}).items()]
        described.sort(key=lambda line: " (" in line.partition(":")[0])
        return cls(operation.name, str(operation.effect), operation.description.partition("\n\n")[0], described)


@dataclass(frozen=True)
class FoundOperations:
    """Matching operations, best first."""

    items: list[FoundOperation]


def rank_operations(query: str, operations: Sequence[Operation]) -> list[Operation]:
    """Return the operations that share words with what is wanted, those that share the most, and the rarest, first."""
    meanings = _meanings(query)
    scored = [
        (_score(meanings, operation, len(operations), _counts(tuple(operations))), operation)
        for operation in operations
    ]
    found = [row for row in scored if row[0] > 0]
    found.sort(key=lambda row: -row[0])
    return [operation for _, operation in found]


def _score(meanings: set[str], operation: Operation, number: int, counts: dict[str, int]) -> float:
    texts = _texts(operation)
    best = {
        word: max((_WEIGHTS[part] for part, words in texts.items() if word in words), default=0.0) for word in meanings
    }
    return sum(weight * log(1 + number / counts[word]) for word, weight in best.items() if weight)


@load_once
def _texts(operation: Operation) -> dict[str, frozenset[str]]:
    return {
        "name": frozenset(_meanings(operation.name.removeprefix("memory_"))),
        "title": frozenset(_meanings(operation.title)),
        "toolset": frozenset(_meanings(operation.toolset)),
        "description": frozenset(_meanings(operation.description)),
        "arguments": frozenset(_meanings(" ".join(operation.arguments.model_fields))),
    }


@load_once
def _counts(operations: tuple[Operation, ...]) -> dict[str, int]:
    counts: dict[str, int] = {}
    for operation in operations:
        for word in frozenset().union(*_texts(operation).values()):
            counts[word] = counts.get(word, 0) + 1
    return counts


def _meanings(text: str) -> set[str]:
    return {_meaning(word) for word in WORD.findall(text.lower().replace("_", " ")) if word not in _PLAIN}


def _meaning(word: str) -> str:
    """Return what a word means here: without its ending, and the first of the words that mean the same."""
    for stem in (word, word.removesuffix("s"), word.removesuffix("ing"), f"{word.removesuffix('ing')}e"):
        if stem in _MEANING:
            return _MEANING[stem]
    return word.removesuffix("s") if len(word) > 3 else word


def _describe(name: str, schema: dict[str, Any], is_required: bool) -> str:
    kind = ", ".join(map(str, schema["enum"])) if "enum" in schema else schema.get("type", "")
    about = " ".join(part for part in (f"{kind}." if kind else "", schema.get("description", "")) if part)
    return f"{name}{'' if is_required else ' (optional)'}: {about}"
