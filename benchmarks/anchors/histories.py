"""Histories of public packages, downloaded: their versions, one commit each."""

import json
import os
import re
import subprocess
import sys
import tarfile
import zipfile
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from pathlib import Path

from knowledge.anchors.history import Repository

PACKAGES = ("fastapi", "rich", "fastify")
IN_JAVASCRIPT = {"fastify"}
VERSIONS = 168
"""Of each package, the newest, and the one before: 504 commits."""
SOURCES = (".py", ".js")
AT_ONCE = 4
LARGEST = 2_000_000
_RELEASE = re.compile(r"[0-9]+(?:\.[0-9]+)*")


def history_of(package: str, folder: Path) -> Path:
    """Return a repository with a commit for each of the last versions of a package, the oldest first."""
    repository, packed = folder / "histories" / package, folder / "packed" / package
    if (repository / ".git").exists():
        return repository
    packed.mkdir(parents=True, exist_ok=True)
    versions = _versions_of_npm(package) if package in IN_JAVASCRIPT else _versions(package)
    if package in IN_JAVASCRIPT:
        _pack(package, versions, packed)
    else:
        with ThreadPoolExecutor(AT_ONCE) as pool:
            list(pool.map(lambda version: _download(package, version, packed), versions))
    repository.mkdir(parents=True)
    _git(repository, "init", "-q", "-b", "main")
    for version in versions:
        for file in (*packed.glob(f"*-{version}-*.whl"), *packed.glob(f"*-{version}.tgz")):
            _commit(repository, file, version)
    return repository


@cache
def acorn_in(folder: Path) -> Path:
    """Return the folder in which the parser of JavaScript is installed, as npm brings it."""
    parser = folder / "parser"
    if not (parser / "node_modules").exists():
        parser.mkdir(parents=True, exist_ok=True)
        _npm("install", "--prefix", str(parser), "--no-audit", "--no-fund", "acorn@8")
    return parser


def commits_of(repository: Path) -> list[str]:
    """Return the commits of a history, the oldest first."""
    return _git(repository, "rev-list", "--reverse", "HEAD").split()


def files_at(repository: Path, commit: str) -> dict[str, str]:
    """Return the source files of a commit, each with the id of its content."""
    rows = _git(repository, "ls-tree", "-r", commit).splitlines()
    named = {row.partition("\t")[2]: row.split()[2] for row in rows}
    return {path: id for path, id in named.items() if path.endswith(SOURCES)}


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
    return [version for version in versions if _RELEASE.fullmatch(version)][: VERSIONS + 1][::-1]


def _versions_of_npm(package: str) -> list[str]:
    told = [
        version for version in json.loads(_npm("view", package, "versions", "--json")) if _RELEASE.fullmatch(version)
    ]
    return sorted(told, key=lambda version: tuple(map(int, version.split("."))))[-VERSIONS - 1 :]


def _pack(package: str, versions: list[str], packed: Path) -> None:
    wanted = [f"{package}@{version}" for version in versions if not (packed / f"{package}-{version}.tgz").exists()]
    for begin in range(0, len(wanted), 40):
        _npm("pack", "--silent", "--pack-destination", str(packed), *wanted[begin : begin + 40])


def _download(package: str, version: str, wheels: Path) -> None:
    if not list(wheels.glob(f"*-{version}-*.whl")):
        wanted = ("--no-deps", "--only-binary", ":all:", "--ignore-requires-python")
        _pip("download", "--quiet", *wanted, "--dest", str(wheels), f"{package}=={version}", may_fail=True)


def _commit(repository: Path, file: Path, version: str) -> None:
    _git(repository, "rm", "-r", "-q", "--ignore-unmatch", ".")
    if file.suffix == ".tgz":
        with tarfile.open(file) as packed:
            # What is published besides, such as tests, is no code that knowledge rests on.
            sources = [one for one in packed if one.name.endswith(".js") and "/test" not in one.name]
            packed.extractall(repository, sources, filter="data")
    else:
        with zipfile.ZipFile(file) as wheel:
            for name in wheel.namelist():
                if name.endswith(".py") and ".." not in name:
                    wheel.extract(name, repository)
    _git(repository, "add", "-A")
    _git(repository, *("-c", "user.name=b", "-c", "user.email=b@b.b"), "commit", "-q", "--allow-empty", "-m", version)


def _pip(*arguments: str, may_fail: bool = False) -> str:
    done = subprocess.run([sys.executable, "-m", "pip", *arguments], capture_output=True, text=True, check=not may_fail)
    return done.stdout


def _npm(*arguments: str) -> str:
    return subprocess.run(["npm", *arguments], capture_output=True, text=True, check=True).stdout


def _git(folder: Path, *arguments: str) -> str:
    environment = {**os.environ, "GIT_CONFIG_GLOBAL": os.devnull, "LC_ALL": "C"}
    done = subprocess.run(["git", "-C", str(folder), *arguments], capture_output=True, check=True, env=environment)
    return done.stdout.decode("utf-8", "replace")
