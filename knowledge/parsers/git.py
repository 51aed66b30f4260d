"""Running git so that it leaves no lock files behind, which would refuse every later command."""

import os
import signal
import subprocess
from contextlib import suppress

SECONDS_TO_END = 5.0
_OF_A_HOOK = {"GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_COMMON_DIR", "GIT_PREFIX"}
"""What git sets for its hooks: it would lead every command to the repository of the hook."""


def run_git(*arguments: str, seconds: float, **environment: str) -> "subprocess.CompletedProcess[bytes]":
    """Run git without password prompts.

    Raises:
        FileNotFoundError: it is not installed.
        TimeoutExpired: it took longer, and was ended.
    """
    inherited = {name: value for name, value in os.environ.items() if name not in _OF_A_HOOK}
    process = subprocess.Popen(  # noqa: S603 - git, with arguments of our own
        ["git", *arguments],  # noqa: S607 - the one in the path
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env={**inherited, "GIT_TERMINAL_PROMPT": "0", "LC_ALL": "C", **environment},
        start_new_session=True,
    )
    try:
        output, errors = process.communicate(timeout=seconds)
    except BaseException:
        _end(process)
        raise
    return subprocess.CompletedProcess(process.args, process.returncode, output, errors)


def _end(process: "subprocess.Popen[bytes]") -> None:
    """Let git remove its lock files; then kill it, with the helpers that it started, which would go on without it."""
    for number in (signal.SIGTERM, signal.SIGKILL):
        with suppress(ProcessLookupError):
            os.killpg(process.pid, number)
        with suppress(subprocess.TimeoutExpired):
            process.communicate(timeout=SECONDS_TO_END)
