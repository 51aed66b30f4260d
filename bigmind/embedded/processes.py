"""Recognises and ends processes that an earlier start left behind, and never one that merely has the same number."""

import contextlib
import signal
from pathlib import Path

import psutil

# How long the processes of a dead server take to notice, before they are ended.
NOTICE = 2.0


def postmaster_of(folder: Path) -> psutil.Process | None:
    """Return the PostgreSQL server that runs on this data folder."""
    try:
        process = psutil.Process(int((folder / "postmaster.pid").read_text().split("\n", 1)[0]))
        return process if _works_on(process, folder) else None
    except (OSError, ValueError, psutil.Error):
        return None


def end_servers(folder: Path, *, patience: float = 10.0) -> None:
    """End every process of PostgreSQL that works on this data folder, the server first and cleanly."""
    postmaster = postmaster_of(folder)
    for last_words, wait in ((signal.SIGINT, patience), (signal.SIGQUIT, NOTICE)):
        if postmaster is not None and postmaster.is_running():
            postmaster.send_signal(last_words)
            psutil.wait_procs([postmaster], timeout=wait)
    # Without their server the others end by themselves; one that is busy would hold on to the data.
    leftovers = [process for process in psutil.process_iter() if _works_on(process, folder)]
    _, deaf = psutil.wait_procs(leftovers, timeout=NOTICE)
    for process in deaf:
        with contextlib.suppress(psutil.NoSuchProcess):
            process.kill()
    psutil.wait_procs(deaf, timeout=NOTICE)


def end_process(pid: int, created: float) -> None:
    """Kill the process of this number if it was created then; a later one of the same number is another's."""
    with contextlib.suppress(psutil.NoSuchProcess):
        process = psutil.Process(pid)
        if abs(process.create_time() - created) < 1:
            process.kill()
            process.wait(NOTICE)


def _works_on(process: psutil.Process, folder: Path) -> bool:
    """PostgreSQL's processes work in their data folder, and under root that is the only sign of which one it is."""
    try:
        return process.name() == "postgres" and Path(process.cwd()).samefile(folder)
    except (psutil.Error, OSError):
        return False
