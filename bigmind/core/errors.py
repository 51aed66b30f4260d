"""The errors that an operation raises when it refuses, in words the reader can act on."""

from typing import Any

from bigmind.text.hygiene import mention


class BigMindError(Exception):
    """A refusal. Each transport translates it once; services never mention HTTP or MCP.

    Args:
        message: What is wrong, in one sentence.
        hint: What to do next, in one sentence.
        details: Facts that a program can use, such as the id of the thing that is in the way. `send` has the arguments
            with which the same call is accepted.
    """

    code = "error"

    def __init__(self, message: str, *, hint: str = "", **details: Any) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint
        self.details = details

    def __str__(self) -> str:
        return f"{self.message} {self.hint}".strip()


class Invalid(BigMindError):
    """The arguments are not acceptable. `problems` lists what is wrong, field by field."""

    code = "invalid"

    def __init__(self, message: str, *, hint: str = "", problems: "list[dict[str, Any]] | None" = None) -> None:
        super().__init__(message, hint=hint)
        self.problems = problems or []

    @classmethod
    def of(cls, field: str, message: str, *, hint: str = "") -> "Invalid":
        """Return an error about one argument: `Invalid.of("into", "must be another entry")`."""
        return cls.of_all([{"field": field, "message": message}], hint=hint)

    @classmethod
    def of_all(cls, problems: "list[dict[str, Any]]", *, hint: str = "") -> "Invalid":
        """Return an error about several; the name of a field may come from outside."""
        return cls(
            " ".join(f"{mention(one['field'])} {one['message']}." for one in problems), hint=hint, problems=problems
        )


class Forbidden(BigMindError):
    """The actor may not do this: the key lacks a scope or a toolset, or the user a role."""

    code = "forbidden"


class NotFound(BigMindError):
    """There is no such thing, or it belongs to someone else. Both get the same answer, so that ids reveal nothing."""

    code = "not_found"


class Conflict(BigMindError):
    """The thing is not in a state that allows this, or someone else was faster."""

    code = "conflict"


class TooMany(BigMindError):
    """The actor has done this too often. `retry_after` is the number of seconds to wait."""

    code = "too_many"

    def __init__(self, message: str, *, retry_after: int, hint: str = "") -> None:
        super().__init__(message, hint=hint or f"Try again in {retry_after} s.", retry_after=retry_after)
        self.retry_after = retry_after


class ReadOnly(BigMindError):
    """The instance is read-only at the moment, for all users. `retry_after` is in seconds."""

    code = "read_only"
    retry_after = 60

    def __init__(self) -> None:
        super().__init__(
            "BigMind is read-only just now, so nothing can be stored or changed.",
            hint=f"Reading and searching go on. Try again in {self.retry_after} s, or ask an admin how long it takes.",
            retry_after=self.retry_after,
        )
