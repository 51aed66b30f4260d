"""docker-compose.yml as processes: the very commands and variables of its services, without a Docker engine."""

import os
import re
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

from tests.copies import Copied
from tests.embedded.instance import ROOT, Instance, environment
from tests.growing.server import COMPOSE, PASSWORD

SECRETS = {
    "BIGMIND_DATABASE_PASSWORD": PASSWORD,
    "BIGMIND_DATABASE_OWNER_PASSWORD": "other-horse-battery",
    "BIGMIND_SECRET_KEY": "the same key for every web process, of fifty characters or so",
}
"""What the first lines of docker-compose.yml have people write into `.env`."""
_VARIABLE = re.compile(r"\$\{(?P<name>\w+)(?:(?P<rule>:[-?])(?P<word>[^}]*))?\}")


def interpolated(text: str, variables: Mapping[str, str]) -> str:
    """Put variables in place as Compose does, and refuse what it refuses."""

    def value(found: re.Match[str]) -> str:
        if given := variables.get(found["name"]):
            return given
        if found["rule"] == ":?":
            raise KeyError(f"{found['name']}: {found['word']}")
        return found["word"] or ""

    return _VARIABLE.sub(value, text)


def variables_of(service: str) -> dict[str, str]:
    """Return the environment of a service, with what people write into `.env` put in."""
    told = COMPOSE["services"][service]["environment"]
    return {
        name: interpolated(value, SECRETS) for name, value in told.items() if value and interpolated(value, SECRETS)
    }


class Service(Instance):
    """One container of a service, as a process: `given` replaces what names other containers."""

    def __init__(self, service: str, home: Path, **given: str) -> None:
        super().__init__(home)
        self.service = service
        self.searched = [given.pop("PYTHONPATH")] if "PYTHONPATH" in given else []
        self.environment = environment(home, **{**variables_of(service), **given, "BIGMIND_PORT": str(self.port)})

    def launch(self) -> "Service":
        """Run the command of the service. The program is the one that pyproject.toml installs."""
        program, *arguments = COMPOSE["services"][self.service]["command"]
        assert program == "bigmind"
        if not self.searched:
            self.process = Copied.printing(arguments, self.environment)
            return self
        self.process = subprocess.Popen(
            [sys.executable, "-c", "from bigmind.cli import main; main()", *arguments],
            cwd=ROOT,
            env={**self.environment, "PYTHONPATH": os.pathsep.join([os.fspath(ROOT), *self.searched])},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        return self
