"""One process of BigMind that runs commands and scripts, each in a fork of its own: a start takes a second."""

import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
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
for line in sys.stdin:
    code, files, sys.argv = json.loads(line)
    if child := os.fork():
        print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
        continue
    for number, file in enumerate(files):
        os.dup2(os.open(file, os.O_CREAT | os.O_RDWR, 0o600), number)
    sys.stdin, status = open(0), 0
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


class Shell:
    """A process with the settings of an instance, which forks for whatever it is to run."""

    def __init__(self, process: "subprocess.Popen[str]", folder: Path) -> None:
        self._process, self._folder, self._count = process, folder, 0

    def run(self, code: str, *arguments: str, said: str = "") -> "subprocess.CompletedProcess[str]":
        """Run a script to its end."""
        self._count += 1
        files = [self._folder / f"{self._count}.{name}" for name in ("stdin", "stdout", "stderr")]
        files[0].write_text(said)
        print(json.dumps([code, [*map(str, files)], ["bigmind", *arguments]]), file=self._process.stdin, flush=True)
        status = int(self._process.stdout.readline())
        return subprocess.CompletedProcess(arguments, status, files[1].read_text(), files[2].read_text())

    def command(self, *arguments: str, said: str = "") -> str:
        """Run a `bigmind` command that succeeds; return what it prints."""
        done = self.run(COMMAND, *arguments, said=said)
        assert done.returncode == 0, done.stderr
        return done.stdout

    def add_person(self, name: str) -> str:
        """Add somebody; return their key."""
        done = self.run(ADD_PERSON, name)
        assert done.returncode == 0, done.stderr
        return done.stdout.strip()

    def doctor(self) -> dict[str, dict[str, Any]]:
        """Return what the doctor finds, by the name of the check."""
        return {check["name"]: check for check in json.loads(self.run(COMMAND, "doctor", "--json").stdout)["checks"]}


@contextmanager
def shell_of(home: Path, folder: Path, **variables: str) -> Iterator[Shell]:
    """Yield a shell on the home of an instance, which leaves what is printed and said in `folder`."""
    folder.mkdir()
    variables = environment(home, **variables, DJANGO_SETTINGS_MODULE="bigmind.settings")
    with subprocess.Popen(
        [sys.executable, "-c", _FORKING],
        cwd=ROOT,
        env=variables,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        yield Shell(process, folder)
        process.stdin.close()
