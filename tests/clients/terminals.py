"""A terminal for clients that only work in one: what is typed, and the answers that a real one gives to questions."""

import fcntl
import os
import pty
import re
import select
import struct
import subprocess
import termios
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Self

ESCAPES = re.compile(rb"\x1b\[[0-9;?]*[a-zA-Z]|\s")
# Where the cursor is, what the terminal can do, which colours it has, how it reads keys.
QUESTIONS = {
    b"\x1b[6n": b"\x1b[1;1R",
    b"\x1b[c": b"\x1b[?62;c",
    b"\x1b]10;?": b"\x1b]10;rgb:ffff/ffff/ffff\x1b\\",
    b"\x1b]11;?": b"\x1b]11;rgb:0000/0000/0000\x1b\\",
    b"\x1b[?u": b"\x1b[?0u",
}
ROWS, COLUMNS = 40, 120
BETWEEN_KEYS = 0.03
WAITS = 60


class Terminal:
    """One program in a terminal of its own, until the block ends."""

    def __init__(self, command: Sequence[str], folder: Path, environment: Mapping[str, str]) -> None:
        self.shown = b""
        self._keys, inner = pty.openpty()
        fcntl.ioctl(inner, termios.TIOCSWINSZ, struct.pack("HHHH", ROWS, COLUMNS, 0, 0))
        self._process = subprocess.Popen(
            command,
            cwd=folder,
            env={**environment, "TERM": "xterm-256color"},
            stdin=inner,
            stdout=inner,
            stderr=inner,
            start_new_session=True,
        )
        os.close(inner)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._process.kill()
        self._process.wait()
        os.close(self._keys)

    def type(self, line: str) -> None:
        """Type a line as a person does, and send it: what comes at once would count as pasted."""
        for char in line:
            os.write(self._keys, char.encode())
            self.watch(BETWEEN_KEYS)
        self.watch(0.5)
        os.write(self._keys, b"\r")

    def wait_for(self, words: str) -> None:
        """Wait until the screen has shown these words, however it draws the space between them."""
        wanted = words.replace(" ", "").encode()
        assert self.watch(WAITS, lambda: wanted in ESCAPES.sub(b"", self.shown)), self.shown[-2_000:]

    def watch(self, seconds: float, until: Callable[[], bool] = lambda: False) -> bool:
        """Read what the program shows and answer its questions; return whether it came to what was waited for."""
        ends = time.monotonic() + seconds
        while time.monotonic() < ends and not until():
            if not select.select([self._keys], [], [], min(0.1, seconds))[0]:
                continue
            try:
                more = os.read(self._keys, 65_536)
            except OSError:  # the program has ended
                break
            self.shown += more
            for question, answer in QUESTIONS.items():
                if question in more:
                    os.write(self._keys, answer)
        return until()
