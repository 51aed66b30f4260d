"""What git knows of a repository: commits, what changed between two of them, and the files as they were."""

import os
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import IO

from bigmind.core.errors import Invalid
from bigmind.text.hygiene import echo
from knowledge.parsers.git import run_git
from knowledge.parsers.repositories import plain_repository

SECONDS = 60
EMPTY_TREE = "4b825dc642cb6eb9a060e54bf8d69288fbee4904"
"""The id of the tree without files, in every repository of SHA-1."""


@dataclass(frozen=True)
class ChangedFile:
    """A file that differs between two commits. Added: no `before`. Deleted: no `after`."""

    before: str
    after: str
    before_id: str
    after_id: str


@dataclass(frozen=True)
class CodeChanges:
    """What changed from one commit to another, by the path before and by the path after."""

    base: str
    head: str
    by_old_path: Mapping[str, ChangedFile] = field(default_factory=dict)
    all: tuple[ChangedFile, ...] = ()


class Repository:
    """A git repository on this machine. Everything is read from its objects, nothing from the files beside them."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._reader: subprocess.Popen[bytes] | None = None

    def commit(self, name: str) -> str:
        """Return the id of a commit.

        Raises:
            Invalid: there is none of that name.
        """
        found = self.find_commit(name)
        if not found:
            hint = "A shallow clone has only the last one: fetch more (actions/checkout: fetch-depth: 0)."
            raise Invalid(f"There is no commit {echo(name)} in this clone.", hint=hint)
        return found

    def find_commit(self, name: str) -> str:
        """Return the id of a commit; empty if this clone has none of that name."""
        command = ("rev-parse", "--verify", "--quiet", "--end-of-options", f"{name}^{{commit}}")
        return self._git(*command, may_fail=True).decode().strip()

    def write_tree(self) -> str:
        """Return the id of the tree that the next commit would have."""
        return self._git("write-tree").decode().strip()

    def merge_base(self, base: str, head: str) -> str:
        """Return the commit that both come from; `base` itself where there is none."""
        return self._git("merge-base", base, head, may_fail=True).decode().strip() or base

    @cached_property
    def name(self) -> str:
        """What it is called where it comes from: `github.com/acme/shop`; empty without a remote."""
        return plain_repository(self._git("config", "--get", "remote.origin.url", may_fail=True).decode())

    def changes(self, base: str, head: str) -> CodeChanges:
        """Return what changed from one commit or tree to another; renamed files are found by their content."""
        # Beyond 2,000 files that came or went, git no longer compares each with each to find renames.
        raw = self._git("diff-tree", "-r", "-z", "-M", "-l2000", "--raw", "--no-abbrev", base, head)
        # A name that is no UTF-8 is shown, but cannot be cited; files are read by their ids.
        changes = tuple(_changes_in(raw.decode("utf-8", "replace").split("\0")))
        return CodeChanges(base, head, {each.before: each for each in changes if each.before}, changes)

    def find_file(self, commit: str, path: str) -> str:
        """Return the id of a file at a commit; empty if it has none."""
        return self._ask(f"{commit}:{path}")[0]

    def read(self, object_id: str, limit: int) -> bytes | None:
        """Return a file by its id; None if it is larger than the limit."""
        return self._ask(object_id, limit)[1]

    def close(self) -> None:
        """End the process that reads files."""
        if self._reader is not None:
            self._reader.terminate()
            self._reader.wait()
            self._reader = None

    def _ask(self, name: str, limit: int = -1) -> tuple[str, bytes | None]:
        """Return the id of a file, and its content unless it is larger than the limit."""
        # It would begin a second request to `cat-file`.
        if "\n" in name:
            return "", None
        head = self._talk("info", name)
        # A missing object is reported by its own name, which may look like an answer.
        if len(head) != 3 or head[1] != "blob" or not head[2].isdecimal():
            return "", None
        if int(head[2]) > limit:
            return head[0], None
        self._talk("contents", head[0])
        content = _of(self._process.stdout).read(int(head[2]))
        # The line break behind the content.
        _of(self._process.stdout).read(1)
        return head[0], content

    def _talk(self, command: str, name: str) -> list[str]:
        try:
            _of(self._process.stdin).write(f"{command} {name}\n".encode("utf-8", "replace"))
            _of(self._process.stdin).flush()
            answer = _of(self._process.stdout).readline()
        except BrokenPipeError:
            answer = b""
        if not answer:
            # Else everything would seem to be gone, or never to have been there.
            hint = "Git 2.36 or newer is needed; `git fsck` says whether the repository is whole."
            raise Invalid("git cat-file ended without an answer.", hint=hint)
        return answer.decode("utf-8", "replace").split()

    @property
    def _process(self) -> "subprocess.Popen[bytes]":
        if self._reader is None:
            self._reader = subprocess.Popen(  # noqa: S603 - git, with arguments of our own
                ["git", *self._options, "cat-file", "--batch-command"],  # noqa: S607 - the one in the path
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                # Without optional locks, reading is in nobody's way who commits in this clone.
                env={**os.environ, "GIT_OPTIONAL_LOCKS": "0", "LC_ALL": "C"},
            )
        return self._reader

    def _git(self, *arguments: str, may_fail: bool = False) -> bytes:
        try:
            # Names that people chose come after --end-of-options, or were resolved.
            done = run_git(*self._options, *arguments, seconds=SECONDS, GIT_OPTIONAL_LOCKS="0")
        except FileNotFoundError:
            raise Invalid("git is not installed here.") from None
        except subprocess.TimeoutExpired:
            raise Invalid(f"git {arguments[0]} took more than {SECONDS} s.") from None
        if done.returncode and not may_fail:
            reason = done.stderr.decode(errors="replace").strip().partition("\n")[0]
            raise Invalid(f"git {arguments[0]} failed: {reason}", hint="Run it inside a git repository.")
        return b"" if done.returncode else done.stdout

    @property
    def _options(self) -> list[str]:
        return ["-C", str(self.folder), "--no-pager"]


def _of(stream: IO[bytes] | None) -> IO[bytes]:
    assert stream is not None, "the process was started with pipes"
    return stream


def _changes_in(fields: list[str]) -> "list[ChangedFile]":
    """Read `:mode mode id id status`, path, and for a rename the path after."""
    found, waiting = [], iter(fields)
    for head in waiting:
        if not head.startswith(":"):
            break
        _, _, before_id, after_id, status = head.split(" ")
        path = next(waiting)
        after = next(waiting) if status[0] in "RC" else path
        found.append(
            ChangedFile(
                "" if status[0] in "AC" else path,
                "" if status[0] == "D" else after,
                before_id if before_id.strip("0") else "",
                after_id if after_id.strip("0") else "",
            )
        )
    return found
