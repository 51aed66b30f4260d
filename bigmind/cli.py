"""The `bigmind` command: Django's commands, with refusals in one sentence instead of a traceback."""

import os
import sys
from pathlib import Path

from pydantic import SecretStr, ValidationError

from bigmind.embedded.home import reason_for
from bigmind.environment import PREFIX, Environment, environment
from bigmind.environment.storage import DamagedSecret


def main() -> None:
    """Run `bigmind <command>`; exits 2 when a setting is wrong, 1 when the home cannot be used, else as the command."""
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "bigmind.settings")
    # Before Django reads its settings, which need both: there a refusal would come as a traceback.
    try:
        environment().signing_key()
        if sys.argv[1:2] == ["up"]:
            _count_together(environment().home)
    except ValidationError as error:
        sys.exit(_print_errors(error))
    except OSError as error:
        print(f"bigmind: {reason_for(error, environment().home)}", file=sys.stderr)
        sys.exit(1)
    except DamagedSecret as error:
        print(f"bigmind: {error}", file=sys.stderr)
        sys.exit(1)

    from django.core.management import execute_from_command_line

    execute_from_command_line(["bigmind", *sys.argv[1:]])


def _count_together(home: Path) -> None:
    """Let the processes of this `bigmind up` count in files, so that each knows the metrics of all.

    The library looks for the folder when it is imported.
    """
    folder = home / "run" / f"metrics-{os.getpid()}"
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    os.environ["PROMETHEUS_MULTIPROC_DIR"] = str(folder)


def _print_errors(error: ValidationError) -> int:
    for problem in error.errors():
        field = ".".join(str(part) for part in problem["loc"])
        # What is wrong with several settings names them itself, and comes with the values of all.
        where = f"{PREFIX}{field.upper()}: " if field else ""
        print(f"bigmind: {where}{problem['msg']}{_value(field, problem['input'])}.", file=sys.stderr)
    return 2


def _value(field: str, value: object) -> str:
    """Return the present value of a setting in words; nothing for secrets."""
    known = Environment.model_fields.get(field)
    return f" (it is {value!r})" if known and known.annotation is not SecretStr else ""
