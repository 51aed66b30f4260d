"""The sections of lessons learned: what they are called, and the tags and roles of what stands in them."""

from dataclasses import dataclass

from knowledge.parsers.entries import Role, slug


@dataclass(frozen=True, slots=True)
class LessonKind:
    """A kind of lesson."""

    name: str
    tags: tuple[str, ...]
    roles: tuple[Role, ...]
    called: tuple[str, ...]
    """Words, as in a slug, that a heading or category of this kind contains."""


KINDS = (
    LessonKind("reuse", ("reuse", "pattern"), ("dev",), ("reuse", "reused", "patterns-found")),
    LessonKind("blocker", ("blocker",), ("dev",), ("blocker", "blockers", "blocked")),
    LessonKind("time-sink", ("time-sink",), ("pm", "dev"), ("time-sink", "time-sinks", "timesinks", "slowed-us-down")),
    LessonKind("verification", ("verification",), ("dev", "qa"), ("verification", "verify", "verified")),
    LessonKind("recommendation", ("recommendation",), ("dev",), ("recommendation", "recommendations", "next-time")),
    LessonKind("high-cost", ("tokens", "optimization", "high-cost"), ("dev", "qa"), ("high-cost", "token", "tokens")),
)


def kind_of_heading(heading: str) -> LessonKind | None:
    """Return the kind of lesson a heading or category announces, or None."""
    name = f"-{slug(heading)}-"
    return next((kind for kind in KINDS if any(f"-{words}-" in name for words in kind.called)), None)


def kind_of(heading: str) -> LessonKind:
    """Return the kind of lesson a heading announces; one nobody foresaw is a kind of its own."""
    name = slug(heading, 40)
    return kind_of_heading(heading) or LessonKind(name, (name,) if name else (), ("dev",), ())
