"""Commands and scripts of an instance, run one after the other in copies of a process that has imported BigMind."""

import json
import subprocess
from pathlib import Path
from typing import Any

from tests.copies import run_copy
from tests.embedded.instance import environment


class Console:
    """A shell with the variables of a home."""

    def __init__(self, home: Path, **variables: str) -> None:
        self._environment = environment(home, **variables)

    def run(self, *arguments: str, said: str = "", **variables: str) -> "subprocess.CompletedProcess[str]":
        """Run a `bigmind` command to its end, with some variables more."""
        return run_copy(arguments, self._environment | variables, said)

    def command(self, *arguments: str, said: str = "") -> str:
        """Run a command that succeeds; return what it prints."""
        done = self.run(*arguments, said=said)
        assert done.returncode == 0, done.stderr
        return done.stdout

    def script(self, code: str) -> str:
        """Run some Python; return what it prints."""
        return self.command("shell", "--no-imports", "--command", code)

    def add_person(self, name: str) -> str:
        """Add somebody; return their key."""
        self.command("user_add", name)
        return self.command("key_create", name, "--quiet").strip()

    def doctor(self, part: str = "", **variables: str) -> dict[str, dict[str, Any]]:
        """Return what the doctor finds, by the name of the check."""
        arguments = ("doctor", "--json", *(("--part", part) if part else ()))
        return {check["name"]: check for check in json.loads(self.run(*arguments, **variables).stdout)["checks"]}
