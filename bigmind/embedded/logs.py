"""The log files in BIGMIND_HOME: each start begins a new one and keeps the previous one."""

from pathlib import Path

TAIL_BYTES = 8192


def rotate(log: Path) -> None:
    """Set the log of the previous start aside as `<name>.log.1`."""
    if log.exists():
        log.replace(log.with_name(f"{log.name}.1"))


def last_lines(log: Path, count: int) -> str:
    """Return the last lines of a log that say something, joined for one sentence."""
    if not log.exists():
        return ""
    with log.open("rb") as file:
        file.seek(max(0, log.stat().st_size - TAIL_BYTES))
        lines = file.read().decode(errors="replace").splitlines()
    return "\n".join([line.strip() for line in lines if line.strip()][-count:])
