"""Which part of BigMind reads a setting, and which settings parts need that run on machines of their own.

The marks are beside each field, or at the class of a whole topic, in the files beside this one.
"""

from collections.abc import Collection, Iterator
from typing import TYPE_CHECKING

from pydantic import BaseModel, SecretStr
from pydantic.config import JsonDict
from pydantic.fields import FieldInfo

if TYPE_CHECKING:
    from bigmind.environment import Environment

PARTS = ("web", "worker", "scheduler")
"""What `bigmind up` runs, and may run on separate machines."""
COMMANDS = "commands"
"""`bigmind migrate`, `backup` and others, which run by themselves."""
READERS = (*PARTS, COMMANDS)


def read_by(*readers: str) -> JsonDict:
    """Mark a setting that no other part reads. One without a mark is read by all."""
    return {"readers": list(readers)}


def require_apart(why: str) -> JsonDict:
    """Mark a setting that its readers need once parts run on several machines, with what breaks without it."""
    return {"needed": why}


def readers_of(settings: type[BaseModel], name: str) -> tuple[str, ...]:
    """Return the parts that read a setting: as its own mark says, or that of its topic."""
    marks = settings.model_fields[name].json_schema_extra
    readers = marks.get("readers") if isinstance(marks, dict) else None
    topic = next(topic for topic in settings.__mro__ if name in vars(topic).get("__annotations__", ()))
    return tuple(map(str, readers)) if isinstance(readers, list) else vars(topic).get("readers", READERS)


def need_of(field: FieldInfo) -> str:
    """Return what breaks without a setting where parts run on several machines; empty where nothing does."""
    marks = field.json_schema_extra
    return str(marks.get("needed", "")) if isinstance(marks, dict) else ""


def find_misplaced(environment: "Environment", parts: Collection[str]) -> Iterator[str]:
    """Yield a sentence for each setting that these parts lack, and for each secret that is none of theirs.

    What web reads is no secret to the others. Where web and worker run together nothing is misplaced.
    """
    if {"web", "worker"} <= {*parts}:
        return
    for name, field in type(environment).model_fields.items():
        value, readers = getattr(environment, name), {*readers_of(type(environment), name)}
        is_secret = isinstance(value, SecretStr)
        is_set = bool(value.get_secret_value() if is_secret else value)
        variable = f"BIGMIND_{name.upper()}"
        if need_of(field) and not is_set and readers & {*parts}:
            yield f"{' and '.join(parts)}: {variable} is not set; without it {need_of(field)}."
        elif is_set and is_secret and not readers & {"web", *parts}:
            yield f"{' and '.join(parts)}: {variable} is for {' and '.join(sorted(readers, reverse=True))} alone."
