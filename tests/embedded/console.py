"""One process of BigMind that runs commands and scripts, each in a fork of its own: a start takes a second."""

import json
import subprocess
import sys
from contextlib import AbstractContextManager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from tests.embedded.instance import ROOT, environment

COMMAND = "from bigmind.cli import main; main()"
ADD_PERSON = """
import io
from django.core.management import call_command
call_command("user_add", sys.argv[1], stdout=io.StringIO())
call_command("key_create", sys.argv[1], quiet=True)
"""
_FORKING = """
import json, os, sys, traceback
import django
django.setup()
from bigmind.environment import environment
for line in sys.stdin:
    code, files, sys.argv, variables = json.loads(line)
    if child := os.fork():
        print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
        continue
    for number, file in enumerate(files):
        os.dup2(os.open(file, os.O_CREAT | os.O_RDWR, 0o600), number)
    sys.stdin, status = open(0), 0
    os.environ.update(variables)
    environment.cache_clear()
    try:
        exec(code, {"__name__": "__main__", "sys": sys})
    except SystemExit as ended:
        status = ended.code or 0
    except BaseException:
        traceback.print_exc()
        status = 1
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(status)
"""


class Console(AbstractContextManager["Console"]):
    """A process with the settings of a home, which forks for whatever it is to run."""

    def __init__(self, home: Path, **variables: str) -> None:
        self._folder, self._count = TemporaryDirectory(prefix="bm-"), 0
        self._process = subprocess.Popen(
            [sys.executable, "-c", _FORKING],
            cwd=ROOT,
            env=environment(home, **variables, DJANGO_SETTINGS_MODULE="bigmind.settings"),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def run(
        self, *arguments: str, code: str = COMMAND, said: str = "", **variables: str
    ) -> "subprocess.CompletedProcess[str]":
        """Run a `bigmind` command, or a script, to its end, with some variables more.

        The settings stay those that the process began with.
        """
        self._count += 1
        files = [Path(self._folder.name) / f"{self._count}.{name}" for name in ("stdin", "stdout", "stderr")]
        files[0].write_text(said)
        asked = json.dumps([code, [*map(str, files)], ["bigmind", *arguments], variables])
        print(asked, file=self._process.stdin, flush=True)
        status = int(self._process.stdout.readline())
        return subprocess.CompletedProcess(arguments, status, files[1].read_text(), files[2].read_text())

    def command(self, *arguments: str, said: str = "") -> str:
        """Run a command that succeeds; return what it prints."""
        done = self.run(*arguments, said=said)
        assert done.returncode == 0, done.stderr
        return done.stdout

    def add_person(self, name: str) -> str:
        """Add somebody; return their key."""
        done = self.run(name, code=ADD_PERSON)
        assert done.returncode == 0, done.stderr
        return done.stdout.strip()

    def doctor(self, **variables: str) -> dict[str, dict[str, Any]]:
        """Return what the doctor finds, by the name of the check."""
        return {
            check["name"]: check for check in json.loads(self.run("doctor", "--json", **variables).stdout)["checks"]
        }

    def __exit__(self, *_: object) -> None:
        """End the process."""
        self._process.communicate()
        self._folder.cleanup()
