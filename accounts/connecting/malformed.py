"""The error for a file that cannot be changed safely."""


class MalformedFile(Exception):
    """The file is not what its client reads, so nothing in it can be changed safely.

    Attributes:
        line: Where it went wrong, counted from 1.
        reason: What is wrong there.
    """

    def __init__(self, line: int, reason: str) -> None:
        super().__init__(f"line {line}: {reason}")
        self.line = line
        self.reason = reason


def line_of(text: str, offset: int) -> int:
    """Return the line of a place in a text, counted from 1."""
    return text.count("\n", 0, offset) + 1
