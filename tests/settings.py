"""Settings of the tests: those of BigMind, on a PostgreSQL of their own that ends with the test run.

`BIGMIND_TEST_DATABASE_URL` names another server to use; its user must be allowed to create databases.
"""

import atexit
import os
import shutil
import sys
import tempfile
from pathlib import Path

import psutil

from bigmind.embedded.cluster import Cluster
from bigmind.embedded.home import prepare_home
from bigmind.environment import environment
from tests.prepared import TEMPLATE, copy_prepared_home

FOLDER = "bigmind-tests-"
# Databases are many files, also each sequence of each user: most of what they cost is the journal of a disk.
MEMORY = Path("/dev/shm")
# Containers often have 64 MiB there.
ROOM = 6 * 1024**3


def _prepare() -> None:
    """Set up what the settings read, with nothing of the developer's own BigMind in it."""
    # Containers often forbid compiled code beside the sources, and the tests start hundreds of processes from it.
    sys.dont_write_bytecode = False
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    database_url = os.environ.get("BIGMIND_TEST_DATABASE_URL", "")
    for name in [name for name in os.environ if name.startswith("BIGMIND_")]:
        del os.environ[name]
    _remove_what_killed_runs_left()
    home = _make_folder()
    prepare_home(home)
    os.environ["BIGMIND_HOME"] = str(home)
    os.environ["BIGMIND_DATABASE_URL"] = database_url or _start_server(home)
    os.environ["PREPARED_TEMPLATE"] = "" if database_url else TEMPLATE
    environment.cache_clear()  # The command line may have read it already.


def _make_folder() -> Path:
    """Make a folder for the home, and in memory, if there is room, for all that the tests write; both end with them."""
    in_memory = "TMPDIR" not in os.environ and MEMORY.is_dir() and _has_room_for_programs(MEMORY)
    folder = Path(tempfile.mkdtemp(prefix=f"{FOLDER}{os.getpid()}-", dir=MEMORY if in_memory else None))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    if not in_memory:
        return folder
    os.environ["TMPDIR"], tempfile.tempdir = str(folder), None
    # As through /tmp, the user who runs PostgreSQL must get to its own folders.
    folder.chmod(0o711)
    return Path(tempfile.mkdtemp())


def _has_room_for_programs(folder: Path) -> bool:
    return shutil.disk_usage(folder).free > ROOM and not os.statvfs(folder).f_flag & os.ST_NOEXEC


def _remove_what_killed_runs_left() -> None:
    for folder in (*MEMORY.glob(f"{FOLDER}*"), *Path(tempfile.gettempdir()).glob(f"{FOLDER}*")):
        pid = folder.name.removeprefix(FOLDER).split("-")[0]
        if pid.isdigit() and not psutil.pid_exists(int(pid)):
            shutil.rmtree(folder, ignore_errors=True)


def _start_server(home: Path) -> str:
    copy_prepared_home(home)
    cluster = Cluster(home, durable=False)
    cluster.start()
    # What is registered last is called first: the server stops before its folder is removed.
    atexit.register(cluster.stop, patience=2)
    return cluster.url


# The settings module is read before any conftest. The processes of pytest-xdist inherit what the first one prepared.
if "PYTEST_XDIST_WORKER" not in os.environ:
    _prepare()

from bigmind.settings import *  # noqa: E402, F403
from bigmind.settings import CACHES, DATABASES, INSTALLED_APPS  # noqa: E402

INSTALLED_APPS.append("devtools")  # The command `docs`, which writes the generated documents.
if template := os.environ.get("PREPARED_TEMPLATE"):
    # A copy of the migrated database has nothing left to migrate.
    DATABASES["default"]["TEST"] = {"TEMPLATE": template, "MIGRATE": False}
# Each process of a test run counts for itself.
CACHES["default"]["LOCATION"] += f".{os.getpid()}"
PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]
# Each test has its own log, and there is but one file.
AUDIT_HEAD_FILE = None
# Deterministic, and no model to load. The built-in model has tests of its own.
EMBEDDING_PROVIDER = "hashing"
