"""`bigmind connect`: tell a program where BigMind is, and its agent to use it."""

import os
from argparse import ArgumentParser
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from django.conf import settings
from django.db import InterfaceError, OperationalError

from accounts.connecting.changes import FileChange, carry_out, plan_connection
from accounts.connecting.clients import client_called, door
from accounts.connecting.machines import Machine
from accounts.connecting.parts import ByHand, by_hand, mask_keys, parts_of, present_key
from accounts.connecting.programs import AgentProgram
from accounts.connecting.records import ChangeRecords
from accounts.connecting.server_config import KEY_PLACEHOLDER, KEY_VARIABLE, ServerConfig
from accounts.keys import create_key, digest_of, is_well_formed
from accounts.models import ApiKey
from accounts.people.users import find_user
from accounts.views.keys import default_lifetime, ends_after
from bigmind.core.errors import BigMindError
from bigmind.management.base import Refused, usage_error
from bigmind.management.connections import (
    ConnectionCommand,
    describe_change,
    machine_and_records,
    program_meant,
    project_meant,
)
from bigmind.management.people import owner_of_instance
from bigmind.transports.mcp.request_context import parse_toolsets, this_machine

BIND_TO_ALL = {"0.0.0.0", "::"}  # noqa: S104 - it is what is refused
GIVE_ONE = f"Give one with {KEY_VARIABLE} or --key: the page “Connect” of that BigMind makes it."


@dataclass(frozen=True)
class Key:
    """The key of a connection: its text, where it comes from, and its row if it was made just now."""

    text: str
    origin: str
    made: ApiKey | None = None


@dataclass(frozen=True)
class ConnectionPlan:
    """What was asked for: who is connected, where to, and what that changes."""

    program: AgentProgram
    project: Path | None
    config: ServerConfig
    key: Key
    changes: list[FileChange]
    steps: list[ByHand]
    records: ChangeRecords


class Command(ConnectionCommand):
    """Writes the configuration and the instructions of one program. Doing it twice is doing it once."""

    help = (
        "Tell a program where BigMind is and its agent to use it: writes its MCP configuration and its file of "
        "instructions, shows the difference, and keeps a backup that `bigmind disconnect` restores. Apps that take no "
        "key, such as connectors of chats on the web, are given the address that the page “Connect” shows."
    )
    examples = (
        "bigmind connect claude-code",
        "bigmind connect cursor --project --dry-run",
        "bigmind connect codex --toolsets core,notes",
        f"{KEY_VARIABLE}=bm_… bigmind connect vscode --url https://bigmind.example.com",
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Take a program, an address and a key."""
        super().add_arguments(parser)
        parser.add_argument("--url", default="", help="Address of BigMind. Default: the one of this machine.")
        parser.add_argument(
            "--key",
            default="",
            help=f"A key; {KEY_VARIABLE} is the better way, for commands are seen by others. Default: the one that is "
            "in the file already, else a new one of this machine's BigMind.",
        )
        parser.add_argument("--toolsets", default="", help="Toolsets to list, e.g. `core,notes` or `all`.")
        parser.add_argument("--user", help="Whose key to make: user name or id. Default: the owner's.")

    def handle(self, *args: Any, **options: Any) -> None:
        """Show the difference, then write."""
        connection = _plan(options)
        if not options["dry_run"]:
            _carry_out(connection)
        if options["json"]:
            self.print_json(_describe(connection))
            return
        self.tell(connection.changes, is_rehearsal=options["dry_run"])
        self._tell_more(connection)

    def _tell_more(self, connection: ConnectionPlan) -> None:
        program, records = connection.program, connection.records
        for step in connection.steps:
            self.stdout.write(f"By hand, in {program.name}, {step.place}:")
            self.stdout.write("\n".join(f"  {line}" for line in step.text.splitlines()))
        if connection.project and program.key_by:
            self.remark(f"No key is in the project's files, for they are shared. {program.key_by}")
        else:
            self.remark(f"The key: {connection.key.origin}.")
        if records.folder.is_dir():
            project = f' --project "{connection.project}"' if connection.project else ""
            self.remark(f"Backups are in {records.folder}. To undo it: bigmind disconnect {program.slug}{project}")
        self.remark(f"{_then(program)} {connection.config.public_url}/connect/ shows when it has called.")


def _plan(options: dict[str, Any]) -> ConnectionPlan:
    """Return the connection that was asked for. Nothing is written yet, but a key may have been made."""
    program, project = program_meant(options), project_meant(options)
    machine, records = machine_and_records()
    outside = _door(options)
    # A rehearsal first: a file that cannot be changed must not cost a key.
    plan_connection(program.slug, parts_of(program, outside, machine, project), records)
    key = _key(program, options, outside, machine)
    entered = replace(outside, key=key.text)
    changes = plan_connection(program.slug, parts_of(program, entered, machine, project), records)
    return ConnectionPlan(program, project, entered, key, changes, by_hand(program, entered, project), records)


def _carry_out(connection: ConnectionPlan) -> None:
    made = connection.key.made
    try:
        carry_out(_noting(connection.changes, made), connection.records)
    except BigMindError:
        if made:
            made.delete()
        raise


def _door(options: dict[str, Any]) -> ServerConfig:
    """Return the server config of this machine's BigMind, or of the one at another address."""
    names = sorted(parse_toolsets(options["toolsets"])) if options["toolsets"] else []
    here = door(toolsets=names)
    url = options["url"].strip().rstrip("/").removesuffix("/mcp")
    if not url or url == here.public_url:
        return here
    parts = urlsplit(url)
    if parts.scheme not in {"http", "https"} or not parts.hostname:
        raise usage_error("--url must be an address such as https://bigmind.example.com.")
    if parts.hostname in BIND_TO_ALL:
        raise usage_error(f"--url must be an address to type; {parts.hostname} is one to listen on. Try localhost.")
    return replace(here, public_url=url, command=(), environment=())


def _key(program: AgentProgram, options: dict[str, Any], outside: ServerConfig, machine: Machine) -> Key:
    """Return the key that was given, the one in the file, or a new one, in this order."""
    given = options["key"] or os.environ.get(KEY_VARIABLE, "")
    if given and not is_well_formed(given):
        raise usage_error("The key is not one of BigMind's: they begin with bm_ and end with a checksum.")
    if given:
        return Key(given, "the one that you gave")
    if options["project"] is not None and program.project_settings is not None:
        return Key(KEY_PLACEHOLDER, "none")
    if program.configuration is None:  # each time it would be another one, for what was pasted cannot be read
        return Key(KEY_PLACEHOLDER, f"put one of yours where {KEY_PLACEHOLDER} stands")
    present = present_key(program, outside, machine)
    if present and _may_still_work(present, outside):
        return Key(present, "the one that was there")
    return Key(KEY_PLACEHOLDER, "a new one") if options["dry_run"] else _new_key(program, options, outside)


def _may_still_work(key: str, outside: ServerConfig) -> bool:
    """Whether a key is worth keeping: only of its own keys does this machine's BigMind know that they have ended."""
    if outside.public_url != settings.PUBLIC_URL:
        return True
    try:
        return ApiKey.objects.usable().filter(digest=digest_of(key)).exists()
    except (OperationalError, InterfaceError):
        return True


def _new_key(program: AgentProgram, options: dict[str, Any], outside: ServerConfig) -> Key:
    if outside.public_url != settings.PUBLIC_URL:
        raise usage_error(f"A key of {outside.public_url} cannot be made from here. {GIVE_ONE}")
    if settings.BIGMIND_MODE != "personal" and not options["user"]:
        raise usage_error("Say whose key is to be made, with --user. " + GIVE_ONE)
    try:
        user = find_user(options["user"]) if options["user"] else owner_of_instance()
        label = f"{program.name} on {this_machine()}"
        made = create_key(user, label=label, expires_at=ends_after(default_lifetime()))
    except (OperationalError, InterfaceError) as error:
        raise Refused(f"BigMind does not run on this machine, so no key can be made. {GIVE_ONE}") from error
    return Key(made.text, f"a new one, “{label}”", made.key)


def _noting(changes: list[FileChange], made: ApiKey | None) -> list[FileChange]:
    """Note the key that was made with the file that holds it: disconnecting ends it."""
    if made is None:
        return changes
    return [
        replace(change, record=replace(change.record, key=made.digest))
        if change.record and change.part.holds_key
        else change
        for change in changes
    ]


def _then(program: AgentProgram) -> str:
    client = client_called(program.slug)
    return client.then if client else ""


def _describe(connection: ConnectionPlan) -> dict[str, Any]:
    key, project = connection.key, connection.project
    return {
        "client": connection.program.slug,
        "url": connection.config.public_url,
        "project": str(project) if project else None,
        "files": [describe_change(change) | _backup(change, connection.records) for change in connection.changes],
        "by_hand": [{"place": step.place, "text": mask_keys(step.text)} for step in connection.steps],
        "key": {"origin": key.origin, "prefix": key.made.prefix if key.made else None},
        "then": _then(connection.program),
    }


def _backup(change: FileChange, records: ChangeRecords) -> dict[str, Any]:
    has_one = change.record is not None and change.record.before is not None
    return {"backup": str(records.backup_of(change.found)) if has_one else None}
