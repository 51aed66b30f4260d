"""The `bigmind` command: Django's commands, with refusals in one sentence instead of a traceback."""

import os
import sys

from pydantic import ValidationError


def main() -> None:
    """Run `bigmind <command>`; exits 2 when a setting is wrong, otherwise as the command says."""
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "bigmind.settings")
    from django.core.management import execute_from_command_line

    try:
        execute_from_command_line(["bigmind", *sys.argv[1:]])
    except ValidationError as error:
        for problem in error.errors():
            name = "BIGMIND_" + ".".join(str(part) for part in problem["loc"]).upper()
            print(f"{name}: {problem['msg']} (it is {problem['input']!r}).", file=sys.stderr)
        sys.exit(2)
