"""What `connect` and `disconnect` share: finding the program and the project, and showing the changes."""

from argparse import ArgumentParser
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from django.conf import settings

from accounts.connecting.changes import FileChange
from accounts.connecting.file_backups import ChangeRecords
from accounts.connecting.hook_files import HookFolder
from accounts.connecting.machines import Machine, project_at
from accounts.connecting.supported_clients import PROGRAMS, AgentProgram, program_called
from bigmind.management.base import OperatorCommand, usage_error

WORDS = {"created": "made", "changed": "changed", "removed": "removed", "unchanged": "as it was"}


class ConnectionCommand(OperatorCommand):
    """A command that changes the files of other programs."""

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Add the arguments for the client and the project."""
        parser.add_argument("client", choices=[program.slug for program in PROGRAMS], help="The program.")
        parser.add_argument(
            "--project",
            nargs="?",
            const=".",
            metavar="FOLDER",
            help="Use this project's files instead of your own. Without a folder: the current project.",
        )
        parser.add_argument("--dry-run", action="store_true", help="Show the changes; write nothing.")

    def tell(self, changes: Sequence[FileChange], *, is_rehearsal: bool) -> None:
        """Tell people what was done to each file, or would be."""
        for change in changes:
            words = f"would be {change.state}" if is_rehearsal and change.state != "unchanged" else WORDS[change.state]
            self.stdout.write(f"{change.found.path}: {words}")
            if change.diff:
                self.stdout.write("\n".join(f"  {line}" for line in change.diff.splitlines()))
            for note in change.notes:
                self.remark(f"  {note}")


def program_meant(options: dict[str, Any]) -> AgentProgram:
    program = program_called(options["client"])
    if program is None:  # a caller from Python bypasses the parser's choices
        raise usage_error(f"There is no client {options['client']}.")
    return program


def project_meant(options: dict[str, Any]) -> Path | None:
    if options["project"] is None:
        return None
    folder = Path(options["project"])
    if not folder.is_dir():
        raise usage_error(f"--project must be a folder; {folder} is none.")
    return project_at(folder)


def machine_and_records() -> tuple[Machine, ChangeRecords]:
    """Return this machine, and the records of the files changed on it."""
    return Machine.here(), ChangeRecords(Path(settings.ENVIRONMENT.home) / "connections")


def hook_folder() -> HookFolder:
    """Return where the hook program lives on this machine."""
    return HookFolder(Path(settings.ENVIRONMENT.home) / "hooks")


def place_of(project: Path | None) -> str:
    """Return the name under which the hook program knows the hooks of a person, or of a project."""
    return str(project) if project else "user"


def describe_change(change: FileChange) -> dict[str, Any]:
    """Return a change as JSON-able data."""
    return {
        "file": str(change.found.path),
        "kind": change.part.kind,
        "state": change.state,
        "difference": change.diff,
        "notes": list(change.notes),
    }
