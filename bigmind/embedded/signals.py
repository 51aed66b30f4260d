"""Turns Ctrl-C, SIGTERM and a closed terminal into one exception; what comes after it means: hurry."""

import signal
from types import FrameType


class StopRequested(BaseException):
    """Somebody asked BigMind to stop. Not an `Exception`, so nothing on the way takes it for a failure."""


class StopSignals:
    """Counts the requests to stop; the first interrupts whatever is going on."""

    def __init__(self) -> None:
        self.count = 0

    def listen(self) -> None:
        """Answer the signals from now on."""
        signal.signal(signal.SIGINT, self._note)
        signal.signal(signal.SIGTERM, self._note)
        # `nohup` ignores the closed terminal on purpose.
        if signal.getsignal(signal.SIGHUP) is not signal.SIG_IGN:
            signal.signal(signal.SIGHUP, self._note)

    def is_hurried(self) -> bool:
        """Whether the request was repeated."""
        return self.count > 1

    def _note(self, _number: int, _frame: FrameType | None) -> None:
        self.count += 1
        if self.count == 1:
            raise StopRequested
