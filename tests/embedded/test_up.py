"""`bigmind up` as a person knows it: it starts, says where it is, heals, stops, and refuses in one sentence."""

import os
import shutil
import signal
import socket
import tempfile
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import httpx
import psutil
import psycopg
import pytest
from django.core.management import call_command

from accounts.keys import new_key_text
from bigmind.embedded.cluster import Cluster
from bigmind.embedded.programs import programs_for, server_account
from bigmind.environment import environment
from tests.backup.conftest import database, on_database
from tests.embedded.console import Console
from tests.embedded.instance import CopiedInstance, Instance, eventually, free_port
from tests.prepared import copy_prepared_home

Refused = Callable[[Instance], str]
PARTS = ("web-1", "web-2", "worker", "postgresql")


@pytest.fixture(scope="module")
def folder_of_running() -> Iterator[Path]:
    """Yield a folder with a short path: sockets have none longer than 108 characters."""
    folder = Path(tempfile.mkdtemp(prefix="bm-"))
    yield folder
    shutil.rmtree(folder)


@pytest.fixture(scope="module")
def manager(folder_of_running: Path) -> Iterator[socket.socket]:
    """Yield the socket on which systemd listens to a service."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as listener:
        listener.bind(os.fspath(folder_of_running / "notify"))
        listener.setblocking(False)
        yield listener


@pytest.fixture(scope="module")
def running(folder_of_running: Path, manager: socket.socket) -> Iterator[Instance]:
    """Yield a BigMind that has started for the first time, as a service of systemd, and had something to migrate."""
    home = folder_of_running / "home"
    instance = Instance.prepare(home, BIGMIND_PROT="7701", NOTIFY_SOCKET=manager.getsockname())
    _undo_a_migration(Cluster(home))
    instance.start()
    yield instance
    instance.hurry()


@pytest.fixture
def instance(home: Path) -> Iterator[Instance]:
    """Yield a BigMind that has not started."""
    instance = CopiedInstance(home)
    yield instance
    instance.hurry()


@pytest.fixture
def refused_here(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Iterator[Refused]:
    """Yield what starts a BigMind within this process, which it refuses, and returns what it says."""
    handlers = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)}

    def start(instance: Instance) -> str:
        for name in set(os.environ) - set(instance.environment):
            monkeypatch.delenv(name)
        for name, value in instance.environment.items():
            monkeypatch.setenv(name, value)
        environment.cache_clear()
        with pytest.raises(SystemExit, match="1"):
            call_command("up")
        return capsys.readouterr().err

    yield start
    environment.cache_clear()
    for number, handler in handlers.items():
        signal.signal(number, handler)


def test_the_first_start_says_where_it_is_and_shows_link_key_and_snippet(running: Instance) -> None:
    assert f"BigMind is ready: {running.url}\n" in running.printed
    assert f"{running.url}/sign-in/" in running.printed
    assert f'bigmind {running.url}/mcp --header "Authorization: Bearer bm_' in running.printed
    assert "127.0.0.1" not in running.printed
    assert running.is_served()


def test_a_variable_that_means_nothing_is_named_with_the_nearest_one(running: Instance) -> None:
    assert "BIGMIND_PROT means nothing to BigMind; did you mean BIGMIND_PORT?" in running.printed


def test_the_key_it_printed_opens_the_door_and_is_in_no_file(running: Instance) -> None:
    stored = _store(running, "I prefer tabs.")

    assert stored.status_code == 201
    logs = "".join(log.read_text() for log in (running.home / "logs").glob("*.log"))
    assert running.key not in logs


def test_systemd_and_probes_are_told_that_it_is_ready_and_well(running: Instance, manager: socket.socket) -> None:
    eventually(lambda: (running.home / "run" / "alive").exists())

    told = _heard(manager)
    assert told[0] == "READY=1"
    assert "WATCHDOG=1" in told
    assert "STOPPING=1" not in told


def test_a_second_start_on_the_same_data_is_told_of_the_first(running: Instance) -> None:
    second = CopiedInstance(running.home).launch()

    assert second.finish() == 1
    assert second.printed == (
        f"bigmind: BigMind is already running on this data (process {running.process.pid}, {running.url}). "
        "Stop it first, or choose another folder with BIGMIND_HOME.\n"
    )


def test_what_was_missing_in_the_database_is_there(running: Instance) -> None:
    with psycopg.connect(Cluster(running.home).url) as database:
        assert database.execute("SELECT to_regclass('unique_primary_email') IS NULL").fetchone() == (False,)


@pytest.mark.torture
def test_a_start_on_nothing_makes_the_database_and_all_that_is_in_it(instance: Instance) -> None:
    instance.start()

    assert _store(instance, "I prefer tabs.").status_code == 201


def test_the_doctor_finds_a_running_bigmind_well(running: Instance) -> None:
    console = Console(running.home, BIGMIND_PORT=str(running.port))
    eventually(lambda: console.doctor()["worker"]["status"] == "ok")  # It records itself a moment after it started.

    keyless, found, wrong = (
        {name: check["status"] for name, check in console.doctor(**variables).items()}
        for variables in (
            {},
            {"BIGMIND_API_KEY": running.key},
            {"BIGMIND_API_KEY": "bm_wrong", "BIGMIND_WEB_PROCESSES": "1"},
        )
    )

    # Nobody asked for backups by schedule.
    assert {name: status for name, status in (keyless | found).items() if status != "ok"} == {"backups": "skipped"}
    assert {name for name, status in wrong.items() if status == "problem"} == {"sessions"}
    assert {name for name, status in wrong.items() if status == "warning"} == {"processes"}


def test_a_first_user_who_cannot_be_named_so_is_refused_in_one_sentence(home: Path) -> None:
    refused = CopiedInstance.prepare(home, BIGMIND_USER="no name!").launch()

    assert refused.finish() == 1
    assert refused.printed.startswith("bigmind: username: Enter a valid username.")
    assert refused.printed.count("\n") == 1


@pytest.mark.parametrize("part", PARTS)
def test_kill_9_of_a_part_heals(running: Instance, part: str) -> None:
    eventually(lambda: set(running.processes()) == set(PARTS))
    killed = running.processes()[part]

    killed.kill()

    running.read_until(f"bigmind: {part} ")
    eventually(lambda: running.processes().get(part, killed) != killed)
    eventually(lambda: running.is_served() and _store(running, f"Survived without {part}.").is_success)


def test_nobody_notices_kill_9_of_one_web_process(running: Instance) -> None:
    eventually(lambda: set(running.processes()) == set(PARTS) and running.is_served())
    first, second = (running.processes()[name] for name in ("web-1", "web-2"))

    first.kill()
    between = [_facts(running) for _ in range(20)]
    eventually(lambda: running.processes().get("web-1", first) != first)
    second.kill()
    afterwards = [_facts(running) for _ in range(20)]

    assert all("next_cursor" in answer or "facts" in answer for answer in between + afterwards)


def test_either_web_process_tells_what_both_have_counted(running: Instance) -> None:
    eventually(lambda: set(running.processes()) == set(PARTS) and running.is_served())
    read = 'bigmind_calls_total{operation="memory_list_facts",outcome="ok",transport="rest"}'
    before = _metric(running, read)

    for _ in range(20):
        _facts(running)

    assert {_metric(running, read) for _ in range(10)} == {before + 20}


def _metric(running: Instance, name: str) -> float:
    lines = httpx.get(f"{running.url}/metrics", timeout=10).text.splitlines()
    return next((float(line.removeprefix(name)) for line in lines if line.startswith(name)), 0.0)


def test_kill_9_of_everything_is_survived_by_the_next_start(running: Instance) -> None:
    left = psutil.Process(running.process.pid).children(recursive=True)
    eventually(lambda: _store(running, "Acknowledged before the end.").is_success)
    key = running.key

    running.process.kill()
    running.finish()
    running.start()

    assert not [process for process in left if _runs(process)]
    assert "bm_" not in running.printed.split("BigMind is ready")[-1]
    assert key == running.key
    assert "Acknowledged before the end." in _facts(running)


def test_ctrl_c_stops_everything(running: Instance, manager: socket.socket) -> None:
    everything = psutil.Process(running.process.pid).children(recursive=True)
    _heard(manager)

    code = running.stop(signal.SIGINT)

    assert code == 0
    assert _heard(manager)[-1] == "STOPPING=1"
    assert not (running.home / "run" / "alive").exists()
    assert not [process for process in everything if _runs(process)]
    assert not (running.home / "postgresql" / "postmaster.pid").exists()


def test_the_doctor_says_how_to_start_what_does_not_run(home: Path) -> None:
    examined = Console(home).run("doctor", BIGMIND_PORT=str(free_port()))

    assert examined.returncode == 1
    assert "not running" in examined.stdout
    assert "make run" in examined.stdout


def test_a_taken_port_is_said_before_anything_starts(instance: Instance, refused_here: Refused) -> None:
    with socket.create_server(("127.0.0.1", instance.port)):
        said = refused_here(instance)

    assert said == (
        f"bigmind: Port {instance.port} is in use by another program. "
        f"Stop it, or choose another port: BIGMIND_PORT={instance.port + 1}\n"
    )
    assert not (instance.home / "postgresql").exists()


def test_a_file_in_place_of_the_home_is_said_in_one_sentence(instance: Instance) -> None:
    instance.home.write_text("")

    code = instance.launch().finish()

    assert code == 1
    assert instance.printed.count("\n") == 1
    assert "BIGMIND_HOME" in instance.printed


@pytest.mark.django_db(transaction=True)
def test_a_database_without_pgvector_is_said_in_one_sentence(instance: Instance, refused_here: Refused) -> None:
    # A database has what the template has that it is made from, and our role may not install it.
    with database(f"bigmind_bare_{os.getpid()}", "TEMPLATE template0") as name, on_database(name):
        instance.environment["BIGMIND_DATABASE_URL"] = os.environ["BIGMIND_DATABASE_URL"]
        said = refused_here(instance)

    assert said == (
        "bigmind: pgvector is not installed in the database. Have its owner run there: CREATE EXTENSION vector;\n"
    )


def test_a_container_waits_for_its_database_leaves_it_alone_and_prints_no_secret_of_its_first_user(instance, folder):
    key, password, file = new_key_text(), "seven quiet lighthouses", folder / "init_key"
    file.write_text(f"{key}\n")
    copy_prepared_home(folder / "elsewhere")
    cluster = Cluster(folder / "elsewhere", durable=False)
    instance.environment |= {
        "BIGMIND_DATABASE_URL": cluster.url,
        "BIGMIND_MODE": "team",
        "BIGMIND_INIT_USER": "ada",
        "BIGMIND_INIT_PASSWORD": password,
        "BIGMIND_INIT_KEY_FILE": str(file),
    }
    instance.launch().read_until("Waiting for the database")

    cluster.start()

    instance.read_until("BigMind is ready")
    profile = httpx.get(f"{instance.url}/api/v1/profile/", headers={"Authorization": f"Bearer {key}"})
    assert instance.stop(signal.SIGTERM) == 0
    with psycopg.connect(cluster.url) as database:
        users = database.execute("SELECT username, role FROM accounts_user").fetchall()
    cluster.stop(patience=3)
    written = instance.printed + "".join(log.read_text() for log in (instance.home / "logs").glob("*.log"))
    assert profile.status_code == 200
    assert users == [("ada", "admin")]
    assert not (instance.home / "postgresql").exists()
    assert not [secret for secret in (key, password, "/sign-in/") if secret in written]


def _undo_a_migration(cluster: Cluster) -> None:
    undo = "DROP INDEX unique_primary_email;\n\nDELETE FROM django_migrations WHERE name ~ 'unique_primary_email';\n\n"
    programs_for(server_account()).run("postgres", cluster.folder, ["--single", "-j", "bigmind"], undo)


def _store(running: Instance, statement: str) -> httpx.Response:
    headers = {"Authorization": f"Bearer {running.key}"}
    fact = {"fact": statement, "category": "preference"}
    return httpx.post(f"{running.url}/api/v1/facts/", json=fact, headers=headers, timeout=10)


def _facts(running: Instance) -> str:
    headers = {"Authorization": f"Bearer {running.key}"}
    return httpx.get(f"{running.url}/api/v1/facts/", params={"limit": 100}, headers=headers, timeout=10).text


def _runs(process: psutil.Process) -> bool:
    """A process that nobody has buried yet no longer runs."""
    return process.is_running() and process.status() != psutil.STATUS_ZOMBIE


def _heard(manager: socket.socket) -> list[str]:
    """Return what the service has said since it was last listened to."""
    said = []
    with suppress(BlockingIOError):
        while True:
            said.append(manager.recv(200).decode())
    return said
