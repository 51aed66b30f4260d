"""`bigmind disconnect`: undo what `bigmind connect` did."""

from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.db import InterfaceError, OperationalError

from accounts.connecting.changes import FileChange, carry_out, plan_disconnection
from accounts.connecting.edited_files import ClientFile, by_hand, has_hooks, parts_of, with_hooks
from accounts.connecting.file_backups import ChangeRecords
from accounts.connecting.hooks import HookConnection, hooks_of
from accounts.connecting.machines import Machine
from accounts.connecting.offered_clients import make_server_config
from accounts.connecting.supported_clients import AgentProgram
from accounts.keys import revoke_key
from accounts.models import ApiKey
from bigmind.management.connections import (
    ConnectionCommand,
    describe_change,
    hook_folder,
    machine_and_records,
    place_of,
    program_meant,
    project_meant,
)


class Command(ConnectionCommand):
    """Restores the files of one program, and revokes the key created for it."""

    help = (
        "Undo `bigmind connect`: each file is restored byte for byte; if it was changed since, only "
        "BigMind's part is removed. Hooks are removed too, with anything waiting to be sent, and the key created for "
        "the program is revoked."
    )
    examples = ("bigmind disconnect cursor", "bigmind disconnect claude-code --project --dry-run")

    def add_arguments(self, parser: ArgumentParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("--keep-key", action="store_true", help="Do not revoke the key created for the program.")

    def handle(self, *args: Any, **options: Any) -> None:
        """Show the changes, then write them."""
        program, project, is_dry = program_meant(options), project_meant(options), options["dry_run"]
        machine, records = machine_and_records()
        changes = plan_disconnection(program.slug, _parts(program, machine, project), records)
        digests = [] if options["keep_key"] else _keys_made_for(changes, records)
        ended: list[ApiKey] = []
        if not is_dry:
            carry_out(changes, records)
            hook_folder().forget(program.slug, place_of(project))
            ended = self._end(digests)
        if options["json"]:
            files = [describe_change(change) for change in changes]
            ended_keys = [key.prefix for key in ended]
            self.print_json({"client": program.slug, "files": files, "keys_revoked": ended_keys})
            return
        self.tell(changes, is_rehearsal=is_dry)
        for key in ended:
            self.remark(f"The key {key} opens nothing any more.")
        for step in by_hand(program, make_server_config(), project):
            self.remark(f"By hand, in {program.name}, {step.place}: take BigMind out, if you put it there.")

    def _end(self, digests: list[str]) -> list[ApiKey]:
        try:
            return [revoke_key(key) for key in ApiKey.objects.usable().filter(digest__in=digests)] if digests else []
        except (OperationalError, InterfaceError):
            self.remark("BigMind does not run, so the key still works: `bigmind key_revoke` ends it.")
            return []


def _parts(program: AgentProgram, machine: Machine, project: Path | None) -> list[ClientFile]:
    parts, client = parts_of(program, make_server_config(), machine, project), hooks_of(program.slug)
    if client is None or not has_hooks(client, machine, project):
        return parts
    none = HookConnection(hook_folder().program(client.slug, machine), ())
    return with_hooks(parts, client, none, machine, project)


def _keys_made_for(changes: list[FileChange], records: ChangeRecords) -> list[str]:
    """Return the fingerprints of the keys created for the files that lose them."""
    known = [records.of(change.found) for change in changes if change.record is None]
    return [record.key for record in known if record and record.key]
