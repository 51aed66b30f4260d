"""Histories of public packages, downloaded: the wheels of their versions, one commit each."""

import os
import re
import subprocess
import sys
import zipfile
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from pathlib import Path

from knowledge.anchors.history import Repository

PACKAGES = ("fastapi", "rich", "textual")
VERSIONS = 168
"""Of each package, the newest: 501 commits in all."""
AT_ONCE = 4
LARGEST = 2_000_000
_RELEASE = re.compile(r"[0-9]+(?:\.[0-9]+)*")


def history_of(package: str, folder: Path) -> Path:
    """Return a repository with a commit for each of the last versions of a package, the oldest first."""
    repository, wheels = folder / "histories" / package, folder / "wheels" / package
    if (repository / ".git").exists():
        return repository
    wheels.mkdir(parents=True, exist_ok=True)
    versions = _versions(package)
    with ThreadPoolExecutor(AT_ONCE) as pool:
        list(pool.map(lambda version: _download(package, version, wheels), versions))
    repository.mkdir(parents=True)
    _git(repository, "init", "-q", "-b", "main")
    for version in versions:
        for wheel in wheels.glob(f"*-{version}-*.whl"):
            _commit(repository, wheel, version)
    return repository


def commits_of(repository: Path) -> list[str]:
    """Return the commits of a history, the oldest first."""
    return _git(repository, "rev-list", "--reverse", "HEAD").split()


def files_at(repository: Path, commit: str) -> dict[str, str]:
    """Return the Python files of a commit, each with the id of its content."""
    rows = _git(repository, "ls-tree", "-r", commit).splitlines()
    named = {row.partition("\t")[2]: row.split()[2] for row in rows}
    return {path: id for path, id in named.items() if path.endswith(".py")}


def content_of(repository: Path, object_id: str) -> str:
    """Return the content of a file by its id."""
    return (_reader(repository).read(object_id, LARGEST) or b"").decode("utf-8", "replace")


@cache
def _reader(repository: Path) -> Repository:
    return Repository(repository)


def _versions(package: str) -> list[str]:
    """Return the versions to take, the oldest first."""
    told = _pip("index", "versions", package)
    line = next(line for line in told.splitlines() if line.startswith("Available versions:"))
    versions = [version.strip() for version in line.partition(":")[2].split(",")]
    return [version for version in versions if _RELEASE.fullmatch(version)][:VERSIONS][::-1]


def _download(package: str, version: str, wheels: Path) -> None:
    if not list(wheels.glob(f"*-{version}-*.whl")):
        wanted = ("--no-deps", "--only-binary", ":all:", "--ignore-requires-python")
        _pip("download", "--quiet", *wanted, "--dest", str(wheels), f"{package}=={version}", may_fail=True)


def _commit(repository: Path, wheel: Path, version: str) -> None:
    _git(repository, "rm", "-r", "-q", "--ignore-unmatch", ".")
    with zipfile.ZipFile(wheel) as packed:
        for name in packed.namelist():
            if name.endswith(".py") and ".." not in name:
                packed.extract(name, repository)
    _git(repository, "add", "-A")
    _git(repository, *("-c", "user.name=b", "-c", "user.email=b@b.b"), "commit", "-q", "--allow-empty", "-m", version)


def _pip(*arguments: str, may_fail: bool = False) -> str:
    done = subprocess.run([sys.executable, "-m", "pip", *arguments], capture_output=True, text=True, check=not may_fail)
    return done.stdout


def _git(folder: Path, *arguments: str) -> str:
    environment = {**os.environ, "GIT_CONFIG_GLOBAL": os.devnull, "LC_ALL": "C"}
    done = subprocess.run(["git", "-C", str(folder), *arguments], capture_output=True, check=True, env=environment)
    return done.stdout.decode("utf-8", "replace")
