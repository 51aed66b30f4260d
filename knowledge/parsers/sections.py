"""The sections of lessons learned: what they are called, and the tags and roles of what stands in them."""

from dataclasses import dataclass

from knowledge.parsers.entries import Role, slug


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of lesson."""

    name: str
    tags: tuple[str, ...]
    roles: tuple[Role, ...]
    called: tuple[str, ...]
    """Words, as in a slug, that a heading or category of this kind contains."""


KINDS = (
    Kind("reuse", ("reuse", "pattern"), ("dev",), ("reuse", "reused", "patterns-found")),
    Kind("blocker", ("blocker",), ("dev",), ("blocker", "blockers", "blocked")),
    Kind("time-sink", ("time-sink",), ("pm", "dev"), ("time-sink", "time-sinks", "timesinks", "slowed-us-down")),
    Kind("verification", ("verification",), ("dev", "qa"), ("verification", "verify", "verified")),
    Kind("recommendation", ("recommendation",), ("dev",), ("recommendation", "recommendations", "next-time")),
    Kind("high-cost", ("tokens", "optimization", "high-cost"), ("dev", "qa"), ("high-cost", "token", "tokens")),
)


def known_kind(heading: str) -> Kind | None:
    """Return the kind of lesson a heading or category announces, or None."""
    name = f"-{slug(heading)}-"
    return next((kind for kind in KINDS if any(f"-{words}-" in name for words in kind.called)), None)


def kind_of(heading: str) -> Kind:
    """Return the kind of lesson a heading announces; one nobody foresaw is a kind of its own."""
    name = slug(heading, 40)
    return known_kind(heading) or Kind(name, (name,) if name else (), ("dev",), ())
