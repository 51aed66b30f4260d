"""A full disk: recognized in errors, so that a refusal says it; and survived by the code that reports it."""

import errno
import os
import sys
from typing import TextIO

from psycopg.errors import DiskFull

FULL_ERRORS = frozenset({errno.ENOSPC, errno.EDQUOT})


def is_disk_full(error: BaseException | None) -> bool:
    """Whether an error, or what caused it, says that no space is left, here or on the disk of the database."""
    for _ in range(10):
        if isinstance(error, DiskFull) or (isinstance(error, OSError) and error.errno in FULL_ERRORS):
            return True
        if error is None:
            return False
        error = error.__cause__ or error.__context__
    return False


class LineWriter:
    """Writes lines for people to a stream that may fail: on a full disk, or when its reader is gone.

    No line may end the process that keeps the others running. What could not be written is counted, and the number
    is written as soon as something can be.
    """

    def __init__(self, stream: TextIO | None = None) -> None:
        self._stream = stream
        self.lost = 0

    def write(self, text: str) -> None:
        """Write a text and a line break, or count it as lost."""
        stream = self._stream or sys.stderr
        try:
            if self.lost:
                _write(stream, f"bigmind: {self.lost} lines before this could not be written.\n")
                self.lost = 0
            _write(stream, f"{text}\n")
        except (OSError, ValueError):  # A stream that was closed is a ValueError.
            self.lost += 1


def _write(stream: TextIO, text: str) -> None:
    try:
        descriptor = stream.fileno()
    except (OSError, ValueError, AttributeError):
        stream.write(text)
        return
    # Past the buffer of the stream, which would keep what cannot be written and fail again and again.
    left = text.encode("utf-8", "replace")
    while left:
        left = left[os.write(descriptor, left) :]
