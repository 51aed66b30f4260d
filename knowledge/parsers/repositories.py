"""Places: the repository of a file or folder and its path there, so that two of one name are not taken for one."""

import re
import subprocess
from dataclasses import dataclass, replace
from pathlib import Path

from bigmind.text.hygiene import digest
from knowledge.parsers.git import run_git

MARK = "//"
"""What stands between a repository and a path in it: `github.com/acme/shop//docs/setup.md`."""
SECONDS = 10.0
ID_CHARS = 12
# An owner other than the one who runs this is usual in a container, and no program of a repository is run to read it.
_OPTIONS = ("-c", "safe.directory=*", "-c", "core.fsmonitor=false", "-c", "core.hooksPath=/dev/null", "-C")
_LOCAL = re.compile(r"file:|[/\\.~]|[A-Za-z]:[\\/]|[^:]*\Z", re.IGNORECASE)
"""How a remote begins that is a folder of this machine: where it lies says nothing about what it is."""


@dataclass(frozen=True, slots=True)
class SourcePlace:
    """Where a source is; as a text `repository//path`, which is the same for every clone, work tree and folder.

    Attributes:
        repository: The address of its remote, else its first commit, else its folder: `shop~3f2a9c81d0b7`.
        path: Its path in the repository, with forward slashes.
        first_commit: Shared by all clones, whatever their remotes are called; empty outside git and in shallow clones.
        root: The folder that paths are counted from, on this machine.
        without_git: What the place was called before its folder became a repository.
        bare_name: What the source was called before it was a place, where that is no part of its path.
    """

    repository: str
    path: str
    first_commit: str = ""
    root: Path | None = None
    without_git: str = ""
    bare_name: str = ""

    def __str__(self) -> str:
        return f"{self.repository}{MARK}{self.path}"

    def beside(self, path: str, *, of: str = "") -> "SourcePlace":
        """Return the place of another path in the same repository, or in the one of that name."""
        without_git = str(_place_without_git(self.root / path)) if self.without_git and self.root else ""
        return SourcePlace(of or self.repository, path, self.first_commit, self.root, without_git)

    def read_by(self, program: str, name: str) -> "SourcePlace":
        """Return the place as the source of what a program keeps there, which was called by this name alone."""
        return replace(
            self,
            repository=f"{program}:{self.repository}",
            without_git=self.without_git and f"{program}:{self.without_git}",
            bare_name=f"{program}:{name}",
        )


def place_of(path: Path) -> SourcePlace:
    """Return where a file or folder is, whether it exists or not."""
    path = path.resolve()
    outside = _place_without_git(path)
    top = _git(path if path.is_dir() else path.parent, "rev-parse", "--show-toplevel")
    if not top or not path.is_relative_to(root := Path(top).resolve()):
        return outside
    first = _first_commit(root)
    repository = _remote(root) or (first and f"commit-{first[:ID_CHARS]}")
    if not repository:  # Without a remote and without a commit, a repository is a folder like any other.
        return outside
    inside = path.relative_to(root).as_posix()
    return SourcePlace(repository, "" if inside == "." else inside, first, root, str(outside))


def _place_without_git(path: Path) -> SourcePlace:
    folder = path.parent
    return SourcePlace(f"{folder.name or 'root'}~{digest(str(folder))[:ID_CHARS]}", path.name, root=folder)


def read_place(name: str) -> SourcePlace | None:
    """Return the place that a text writes; None if it is a bare name or an address."""
    repository, mark, path = name.partition(MARK)
    return SourcePlace(repository, path) if mark and repository and not repository.endswith(":") else None


def plain_repository(name: str) -> str:
    """Return `github.com/acme/shop` for any address of a repository: https, ssh or `git@github.com:acme/shop.git`."""
    name = name.strip().casefold()
    scheme, is_address, rest = name.partition("://")
    name = (rest if is_address else scheme).rpartition("@")[2].strip("/").removesuffix(".git")
    host, colon, path = name.partition(":")
    # After a host, a number is a port.
    path = path.partition("/")[2] if colon and path.partition("/")[0].isdecimal() else path
    return f"{host}/{path}".strip("/") if colon else host


def _remote(root: Path) -> str:
    """Return the address of `origin`, else of the first remote by name; empty if it is a folder of this machine."""
    listed = _git(root, "config", "--get-regexp", r"^remote\..*\.url$").splitlines()
    urls = dict(line.partition(" ")[::2] for line in sorted(listed, reverse=True))
    url = urls.get("remote.origin.url") or next(reversed(urls.values()), "")
    return "" if not url or _LOCAL.match(url) else plain_repository(url)


def _first_commit(root: Path) -> str:
    """Return the id of the oldest commit without a parent."""
    if _git(root, "rev-parse", "--is-shallow-repository") != "false":
        return ""
    return _git(root, "rev-list", "--max-parents=0", "HEAD").rpartition("\n")[2]


def _git(folder: Path, *arguments: str) -> str:
    """Return what git says; nothing if it fails, is not installed or takes too long."""
    try:
        done = run_git(*_OPTIONS, str(folder), *arguments, seconds=SECONDS)
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stdout.decode("utf-8", "replace").strip() if done.returncode == 0 else ""
