"""BIGMIND_HOME: each way in which it cannot be used gives one sentence, and one BigMind at a time uses it."""

import os
import stat
from pathlib import Path

import pytest

from bigmind.embedded.home import (
    IN_MEMORY,
    METRICS_FOLDER,
    CannotStart,
    clear_leftovers,
    lock_home,
    prepare_home,
    running_on,
    share_folder,
    start_command,
)
from tests.embedded.conftest import NOBODY, as_root_only
from tests.embedded.console import Console


def test_a_home_is_made_and_closed_to_others(home: Path) -> None:
    prepare_home(home)

    assert stat.S_IMODE(home.stat().st_mode) == 0o700
    assert (home / "queue" / "in").is_dir()


def test_whoever_has_no_clone_is_not_told_to_make_anything(tmp_path: Path) -> None:
    installed = start_command(tmp_path)
    (tmp_path / "Makefile").touch()

    assert (installed, start_command(tmp_path), start_command()) == ("bigmind up", "make run", "make run")


def test_a_home_that_was_open_is_closed(home: Path) -> None:
    home.mkdir(mode=0o755)

    prepare_home(home)

    assert stat.S_IMODE(home.stat().st_mode) == 0o700


def test_a_file_in_its_place_is_named(home: Path) -> None:
    home.write_text("")

    with pytest.raises(CannotStart, match=rf"^{home} is a file where BigMind needs a folder\. .* BIGMIND_HOME\.$"):
        prepare_home(home)


@pytest.mark.parametrize("damaged", [b"", b"\n", b"short", b"\xff\xfe\x00" * 30, b"a\x00" * 40])
def test_a_damaged_secret_key_is_said_in_one_sentence(home: Path, damaged: bytes) -> None:
    prepare_home(home)
    (home / "secret_key").write_bytes(damaged)

    ended = Console(home).run("doctor")

    assert ended.returncode == 1
    assert ended.stderr.startswith(f"bigmind: {home}/secret_key is damaged: it does not hold a secret key. Put that")
    assert "Traceback" not in ended.stderr


def test_a_folder_one_may_not_write_to_is_named(as_nobody: None) -> None:
    with pytest.raises(CannotStart) as refusal:
        prepare_home(Path("/bigmind-home"))

    assert str(refusal.value) == (
        "You may not write to /bigmind-home. Change its owner or its permissions, "
        "or choose another folder with BIGMIND_HOME."
    )


@as_root_only
def test_a_folder_of_another_user_is_left_alone(home: Path) -> None:
    home.mkdir()
    os.chown(home, NOBODY.pw_uid, NOBODY.pw_gid)

    with pytest.raises(CannotStart, match="belongs to another user"):
        prepare_home(home)


def test_a_second_bigmind_on_the_same_data_is_told_of_the_first(home: Path) -> None:
    prepare_home(home)

    with lock_home(home, "http://localhost:7700"), pytest.raises(CannotStart) as refusal, lock_home(home, "http://x"):
        pass

    assert str(refusal.value) == (
        f"BigMind is already running on this data (process {os.getpid()}, http://localhost:7700). "
        "Stop it first, or choose another folder with BIGMIND_HOME."
    )


def test_a_home_knows_whether_bigmind_runs_on_it(home: Path) -> None:
    assert running_on(home) is None
    prepare_home(home)
    with lock_home(home, "http://localhost:7700"):
        during = running_on(home)

    assert during.url == "http://localhost:7700"
    assert running_on(home) is None


def test_what_processes_map_lies_where_no_full_disk_can_end_them_and_goes_with_the_next_start(home, monkeypatch):
    """A start in a container has the number of the one before; another one has another."""
    monkeypatch.setattr("bigmind.embedded.home.atexit.register", lambda *_: None)
    monkeypatch.setenv(METRICS_FOLDER, "")
    prepare_home(home)
    share_folder(home)
    first = Path(os.environ[METRICS_FOLDER]).resolve()
    (first / "counter_1.db").write_bytes(b"1")
    share_folder(home)
    second = Path(os.environ[METRICS_FOLDER]).resolve()

    monkeypatch.setattr("bigmind.embedded.home.os.getpid", lambda: 0)
    clear_leftovers(home)

    if IN_MEMORY.is_dir():
        assert first.parent == second.parent == IN_MEMORY
    assert not (first / "counter_1.db").exists()
    assert not second.exists()
    assert not list((home / "run").glob("metrics-*"))
