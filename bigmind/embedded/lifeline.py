"""Ties a child process to its parent, so that no process outlives a kill -9 of the one that started it."""

import ctypes
import os
import signal
import sys
from collections.abc import Callable

_PR_SET_PDEATHSIG = 1
# Loaded here because after the fork of a threaded process only async-signal-safe work is allowed.
_LIBC = ctypes.CDLL(None) if sys.platform == "linux" else None


def die_with_parent(last_words: signal.Signals) -> Callable[[], None]:
    """Return a `preexec_fn` that makes Linux send `last_words` to the child when its parent dies.

    The kernel watches the *thread* that started the child, so start children from the main thread. Elsewhere than
    on Linux it does nothing; there the next start ends what was left behind.
    """
    parent = os.getpid()

    def tie() -> None:
        if _LIBC is None:
            return
        _LIBC.prctl(_PR_SET_PDEATHSIG, int(last_words))
        # The parent may have died before the kernel knew of the wish.
        if os.getppid() != parent:
            os.kill(os.getpid(), signal.SIGKILL)

    return tie
