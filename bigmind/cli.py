"""The `bigmind` command: Django's commands, with refusals in one sentence instead of a traceback."""

import os
import sys

from pydantic import ValidationError

from bigmind.embedded.home import reason_for
from bigmind.environment import PREFIX, environment


def main() -> None:
    """Run `bigmind <command>`; exits 2 when a setting is wrong, 1 when the home cannot be used, else as the command."""
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "bigmind.settings")
    # Before Django reads its settings, which need both: there a refusal would come as a traceback.
    try:
        environment().signing_key()
    except ValidationError as error:
        sys.exit(_refused(error))
    except OSError as error:
        print(f"bigmind: {reason_for(error, environment().home)}", file=sys.stderr)
        sys.exit(1)

    from django.core.management import execute_from_command_line

    execute_from_command_line(["bigmind", *sys.argv[1:]])


def _refused(error: ValidationError) -> int:
    for problem in error.errors():
        name = PREFIX + ".".join(str(part) for part in problem["loc"]).upper()
        print(f"bigmind: {name}: {problem['msg']} (it is {problem['input']!r}).", file=sys.stderr)
    return 2
