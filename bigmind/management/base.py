"""What the commands share: one line instead of a traceback, exit codes, JSON for scripts, and progress."""

import json
import sys
from argparse import RawDescriptionHelpFormatter
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser, DjangoHelpFormatter, OutputWrapper
from django.db import InterfaceError, InternalError, OperationalError, ProgrammingError
from psycopg.errors import UndefinedTable

from bigmind import __version__
from bigmind.cli import MISUSED
from bigmind.core.errors import BigMindError, ReadOnly
from bigmind.core.full_disk import is_disk_full
from bigmind.database.change_notifications import ANY, Change, tell_of_change
from bigmind.database.read_only import is_refused_write

REFUSED = 1

WIDTH = 24
NAMED = 20
"""How many things of a kind are printed for people."""


Argument = Callable[[CommandParser], Any]
"""Adds one argument to a parser."""


def argument(*names: str, **options: Any) -> Argument:
    """Return an argument of a command, in the words of `argparse`."""
    return lambda parser: parser.add_argument(*names, **options)


USER = argument("user", help="User name or id.")
KEY = argument("key", help="The key's id, its SHA-256, or its first 8 characters.")
DRY_RUN = argument("--dry-run", action="store_true", help="Show what would happen; change nothing.")
YES = argument("--yes", action="store_true", help="Do not ask.")
REPLACE = argument(
    "--replace",
    action="store_true",
    help="Change or remove even most of what is there. Without it this is asked, and refused without a terminal.",
)


class Refused(CommandError):
    """The command cannot do what was asked. It is printed as one line; the exit code is 1."""


class _HelpFormatter(RawDescriptionHelpFormatter, DjangoHelpFormatter):
    """Keeps the line breaks of the examples."""


class OperatorCommand(BaseCommand):
    """A command for operators. Results for scripts go to standard output, messages for people to standard error.

    Its docstring is its help. Exit codes: 0 done, 1 refused, 2 misused.
    """

    requires_system_checks: tuple[str, ...] = ()
    arguments: Sequence[Argument] = ()
    examples: Sequence[str] = ()
    speaks_json = True
    changes_memory = False
    """Whether to notify listening agents afterwards that what they know may have changed."""
    prints_json = False
    """Whether this run prints JSON."""

    def __init_subclass__(cls) -> None:
        """Take the help from the docstring, unless the class sets its own."""
        super().__init_subclass__()
        if "help" not in vars(cls):
            cls.help = " ".join((cls.__doc__ or "").split())

    def add_arguments(self, parser: CommandParser) -> None:
        for add in self.arguments:
            add(parser)

    def create_parser(self, prog_name: str, subcommand: str, **kwargs: Any) -> CommandParser:
        """Show the examples below the options."""
        kwargs.setdefault("epilog", "\n".join(["examples:", *(f"  {line}" for line in self.examples)]))
        parser = super().create_parser(prog_name, subcommand, formatter_class=_HelpFormatter, **kwargs)
        if self.speaks_json:
            parser.add_argument("--json", action="store_true", help="Print JSON.")
        return parser

    def get_version(self) -> str:
        """Return BigMind's version, not Django's."""
        return __version__

    def execute(self, *args: Any, **options: Any) -> str | None:
        """Run, and report a refusal in one sentence."""
        self.prints_json = bool(self.speaks_json and options.get("json"))
        try:
            result = super().execute(*args, **options)
            if self.changes_memory:
                tell_of_change(Change(domain=ANY))
            return result
        except BigMindError as error:
            raise Refused(str(error)) from error
        except (OperationalError, InterfaceError) as error:
            if is_disk_full(error):
                raise Refused(
                    "BigMind's disk is full, so nothing can be stored. Free some space and try again."
                ) from error
            hint = "Start BigMind (`bigmind up`), or set BIGMIND_DATABASE_URL; `bigmind doctor` says more."
            raise Refused(f"The database does not answer. {hint}") from error
        except InternalError as error:
            if not is_refused_write(error):
                raise
            raise Refused(str(ReadOnly())) from error
        except ProgrammingError as error:
            if not isinstance(error.__cause__, UndefinedTable):
                raise
            raise Refused("The database has no tables yet: run `bigmind migrate`, or `bigmind up`.") from error

    def reply(self, document: Any, text: str, *, remark: str = "") -> None:
        """Print a document with `--json`, else a text, with a remark for people on standard error."""
        if self.prints_json:
            self.print_json(document)
            return
        if text:
            self.stdout.write(text)
        if remark:
            self.remark(remark)

    def ask(self, question: str, wanted: str, *, otherwise: str) -> None:
        """Go on only when the user types the word to confirm.

        Raises:
            Refused: they typed something else, or there is no terminal to ask on.
        """
        if not sys.stdin.isatty():
            raise Refused("There is no terminal to ask on. Say --yes to go on without confirmation.")
        if input(question).strip() != wanted:
            raise Refused(otherwise)

    def agrees(self, question: str) -> bool:
        """Whether someone at a terminal types yes."""
        return sys.stdin.isatty() and input(f"{question} Type yes to go on: ").strip() == "yes"

    def print_json(self, document: Any) -> None:
        """Print a document to standard output."""
        self.stdout.write(json.dumps(document, indent=2, ensure_ascii=False, default=str))

    def remark(self, text: str) -> None:
        """Print a message for people, which scripts do not read."""
        self.stderr.write(text, lambda plain: plain)

    def print_some(
        self, lines: Sequence[str], say: Callable[[str], object], *, most: int = NAMED, named_by: str = "--json"
    ) -> None:
        """Print the first of what may be thousands of lines, and how many more there are.

        Args:
            say: Prints a line.
            named_by: What names them all.
        """
        for line in lines[:most]:
            say(line)
        if len(lines) > most:
            say(f"and {len(lines) - most:,} more; {named_by} names them.")

    def print_table(self, headings: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
        """Print rows below headings, in columns."""
        lines = [list(headings), *([str(cell) for cell in row] for row in rows)]
        widths = [max(len(line[column]) for line in lines) for column in range(len(headings))]
        for line in lines:
            cells = (cell.ljust(width) for cell, width in zip(line, widths, strict=True))
            self.stdout.write("  ".join(cells).rstrip())


def usage_error(message: str) -> CommandError:
    """Return the error for wrong usage of a command; the exit code is 2."""
    return Refused(message, returncode=MISUSED)


class ProgressBar:
    """A bar with a label, such as `lessons.yaml [######------] 120 of 254`."""

    def __init__(self, terminal: OutputWrapper, label: str, total: int) -> None:
        self._terminal, self._label, self._total = terminal, label, total
        self._done = 0
        self._is_shown = total > 0 and terminal.isatty()

    def advance(self, by: int = 1) -> None:
        """Show that so many more are done."""
        self._done += by
        filled = WIDTH * min(self._done, self._total) // max(self._total, 1)
        bar = "#" * filled + "-" * (WIDTH - filled)
        self._show(f"\r{self._label} [{bar}] {self._done:,} of {self._total:,}")

    def clear(self) -> None:
        """Clear the line for the next message."""
        self._show("\r\x1b[2K")

    def _show(self, text: str) -> None:
        if self._is_shown:
            self._terminal.write(text, lambda plain: plain, ending="")
            self._terminal.flush()
