"""A full disk: nothing that reports, or is reported about, ends what keeps BigMind running."""

import errno
import os
import subprocess
import sys
from pathlib import Path

import pytest
from psycopg.errors import DiskFull

from bigmind.core.full_disk import LineWriter, is_disk_full
from bigmind.embedded import processes
from bigmind.embedded.processes import last_lines, shorten
from bigmind.embedded.service_manager import ServiceManager
from bigmind.embedded.supervisor import Supervisor, Watch

FULL = Path("/dev/full")
pytestmark = pytest.mark.skipif(not FULL.exists(), reason="Only Linux has a disk that is always full.")


def test_a_line_that_cannot_be_written_is_counted_and_told_when_it_can() -> None:
    read, write = os.pipe()
    with FULL.open("w") as full, os.fdopen(write, "w") as pipe:
        lines = LineWriter(full)
        lines.write("The disk is full.")
        lines.write("It is still full.")
        lines._stream = pipe
        lines.write("There is space again.")
    with os.fdopen(read) as said:
        assert said.read() == "bigmind: 2 lines before this could not be written.\nThere is space again.\n"


class _Stop(BaseException):
    pass


class _Part:
    """A part that dies, and that cannot be started while the disk is full."""

    name = "part"

    def __init__(self, error: Exception) -> None:
        self.error: Exception | None = error
        self.starts = 0

    def start(self) -> None:
        self.starts += 1
        if self.error:
            raise self.error

    def is_alive(self) -> bool:
        return False

    def how_it_ended(self) -> str:
        return "ended"


@pytest.mark.parametrize(
    "error",
    [OSError(errno.ENOSPC, "No space left on device"), subprocess.SubprocessError("preexec"), ValueError("cut short")],
    ids=lambda error: type(error).__name__,
)
def test_a_part_that_cannot_be_started_on_a_full_disk_is_tried_again(error: Exception, tmp_path: Path) -> None:
    part, says = _Part(error), LineWriter(FULL.open("w"))
    supervisor = Supervisor(says.write, ServiceManager(tmp_path / "gone" / "alive"))
    supervisor._watches.append(Watch(part, delay=0.01))

    def stop_after_three_starts(text: str) -> None:
        says.write(text)
        if part.starts >= 3:
            raise _Stop

    supervisor.say = stop_after_three_starts
    with pytest.raises(_Stop):
        supervisor.watch()

    assert part.starts == 3
    assert says.lost >= 3


def test_a_probe_file_that_cannot_be_made_ends_nothing(tmp_path: Path) -> None:
    ServiceManager(tmp_path / "gone" / "alive").report(is_whole=True)


def test_the_log_of_a_part_that_cannot_be_read_is_empty(tmp_path: Path) -> None:
    assert last_lines(tmp_path) == ""


def test_a_copy_with_output_on_a_full_disk_ends_as_itself_and_not_as_a_second_supervisor(tmp_path: Path) -> None:
    program = (
        "import os, sys, time\n"
        "from bigmind.embedded.processes import Copy\n"
        "me = os.getpid()\n"
        "log = os.open('/dev/full', os.O_WRONLY)\n"
        "copy = Copy.begin('web', lambda: print('work'), log)\n"
        "while copy.poll() is None: time.sleep(0.01)\n"
        f"open({str(tmp_path / 'after')!r}, 'a').write(f'{{os.getpid() == me}} {{copy.poll()}}\\n')\n"
    )

    subprocess.run([sys.executable, "-c", program], stdout=FULL.open("w"), stderr=subprocess.DEVNULL, timeout=60)

    (line,) = (tmp_path / "after").read_text().splitlines()
    assert line.startswith("True ")


def test_a_full_disk_is_found_behind_other_errors() -> None:
    wrapped = RuntimeError("The statement failed.")
    wrapped.__cause__ = DiskFull()

    assert is_disk_full(wrapped)
    assert is_disk_full(OSError(errno.EDQUOT, "Disk quota exceeded"))
    assert not is_disk_full(OSError(errno.ECONNREFUSED, "refused"))
    assert not is_disk_full(None)


def test_a_log_that_has_grown_is_moved_aside_while_its_process_goes_on(tmp_path, monkeypatch):
    monkeypatch.setattr(processes, "LOG_BYTES", 100)
    log = tmp_path / "web.log"

    with log.open("ab", buffering=0) as written:
        for line in range(3):
            written.write(b"%d" % line * 101)
            shorten(log)
        written.write(b"The last one.")

    assert log.read_bytes() == b"The last one."
    assert log.with_name("web.log.1").read_bytes() == b"2" * 101


def test_a_log_within_its_limit_is_left_as_it_is(tmp_path):
    log = tmp_path / "web.log"
    log.write_text("Started.")

    shorten(log)
    shorten(tmp_path / "none.log")

    assert log.read_text() == "Started."
    assert [path.name for path in tmp_path.iterdir()] == ["web.log"]
