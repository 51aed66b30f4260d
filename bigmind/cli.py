"""The `bigmind` command: BigMind's own commands and Django's, with refusals in one sentence instead of a traceback."""

import gc
import os
import sys
from typing import TYPE_CHECKING

from bigmind import __version__
from bigmind.command_list import command_names, help_text, nearest_command

if TYPE_CHECKING:
    from pydantic import ValidationError

MISUSED = 2


def main() -> None:
    """Run `bigmind <command>`; exits 2 if it or a setting is wrong, 1 if the home cannot be used, else as the command.

    What needs no settings starts nothing: help and version answer at once.
    """
    match sys.argv[1:]:
        case [] | ["help"] | ["-h"] | ["--help"]:
            print(help_text())
        case ["version"] | ["--version"]:
            print(f"bigmind {__version__}")
        case ["completion", *shells]:
            _print_completion(shells)
        case ["help", "--django"]:
            _run(["help"])
        case arguments:
            _run(arguments)


def _run(arguments: list[str]) -> None:
    if arguments[:1] == ["up"]:
        gc.disable()  # All that is imported stays. It is enabled when that is done (bigmind/embedded/preloading.py).
    _prepare(arguments)
    import django
    from django.core.management import execute_from_command_line, get_commands

    name = arguments[1] if arguments[0] == "help" and len(arguments) > 1 else arguments[0]
    if name not in {*command_names(), "help"}:
        django.setup()
        if name not in get_commands():
            meant = nearest_command(name)
            hint = f" Did you mean `bigmind {meant}`?" if meant else " `bigmind help` lists them."
            sys.exit(_refuse(f"there is no command {name!r}.{hint}", MISUSED))
    execute_from_command_line(["bigmind", *arguments])


def _prepare(arguments: list[str]) -> None:
    """Refuse wrong settings before Django reads them, which needs them: there a refusal would come as a traceback."""
    from pydantic import ValidationError

    from bigmind.embedded.home import reason_for, share_folder
    from bigmind.environment import environment
    from bigmind.environment.signing_key import DamagedSecret

    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "bigmind.settings")
    try:
        environment().signing_key()
        if arguments[:1] == ["up"]:
            share_folder(environment().home)
    except ValidationError as error:
        sys.exit(_print_errors(error))
    except OSError as error:
        sys.exit(_refuse(reason_for(error, environment().home), 1))
    except DamagedSecret as error:
        sys.exit(_refuse(str(error), 1))


def _print_completion(shells: list[str]) -> None:
    _prepare([])
    import django

    django.setup()
    from bigmind.completion import SHELLS, completion_script

    if len(shells) != 1 or shells[0] not in SHELLS:
        sys.exit(_refuse(f"completion: name one shell: {', '.join(SHELLS)}.", MISUSED))
    print(completion_script(shells[0]), end="")


def _refuse(sentence: str, code: int) -> int:
    print(f"bigmind: {sentence}", file=sys.stderr)
    return code


def _print_errors(error: "ValidationError") -> int:
    from bigmind.environment import PREFIX

    for problem in error.errors():
        field = ".".join(str(part) for part in problem["loc"])
        # What is wrong with several settings names them itself, and comes with the values of all.
        where = f"{PREFIX}{field.upper()}: " if field else ""
        print(f"bigmind: {where}{problem['msg']}{_value(field, problem['input'])}.", file=sys.stderr)
    return MISUSED


def _value(field: str, value: object) -> str:
    """Return the present value of a setting in words; nothing for secrets."""
    from pydantic import SecretStr

    from bigmind.environment import Environment

    known = Environment.model_fields.get(field)
    return f" (it is {value!r})" if known and known.annotation is not SecretStr else ""
