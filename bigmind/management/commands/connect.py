"""`bigmind connect`: connect a program to BigMind, and tell its agent to use it."""

import os
import sys
from argparse import ArgumentParser
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, cast
from urllib.parse import urlsplit

from django.conf import settings
from django.db import InterfaceError, OperationalError

from accounts.actor import Actor
from accounts.connecting.changes import FileChange, carry_out, plan_connection
from accounts.connecting.edited_files import (
    ByHand,
    ClientFile,
    by_hand,
    has_hooks,
    mask_keys,
    parts_of,
    present_key,
    with_hooks,
)
from accounts.connecting.file_backups import ChangeRecords
from accounts.connecting.hook_files import HookConfig
from accounts.connecting.hooks import (
    KINDS,
    ClientHooks,
    HookConnection,
    HookKind,
    bring_context,
    describe_hooks,
    hooks_of,
    parse_kinds,
)
from accounts.connecting.machines import Machine
from accounts.connecting.offered_clients import make_server_config
from accounts.connecting.server_config import KEY_PLACEHOLDER, KEY_VARIABLE, ServerConfig
from accounts.connecting.supported_clients import AgentProgram
from accounts.keys import create_key, digest_of, is_well_formed
from accounts.models import ApiKey, User
from accounts.people.users import find_user
from accounts.views.keys import default_lifetime, ends_after
from bigmind import __version__
from bigmind.core.agent_rules import WRITING
from bigmind.core.errors import BigMindError
from bigmind.database.rls import rls_scope
from bigmind.management.base import Refused, usage_error
from bigmind.management.connections import (
    ConnectionCommand,
    describe_change,
    hook_folder,
    machine_and_records,
    place_of,
    program_meant,
    project_meant,
)
from bigmind.management.people import owner_of_instance
from bigmind.toolsets import parse_toolsets
from bigmind.transports.mcp.request_context import this_machine
from knowledge.capture.policies import ModeName, set_policy
from knowledge.models import CaptureMode, CapturePolicy

BIND_TO_ALL = {"0.0.0.0", "::"}  # noqa: S104 - it is refused
WRITING_IN_WORDS = {
    CaptureMode.AUTOMATIC: "agents store without waiting to be asked; with hooks, what was said is kept for 30 days.",
    CaptureMode.ASK: "agents ask you before they store.",
    CaptureMode.MANUAL: "agents store only what you tell them to.",
    CaptureMode.READ_ONLY: "agents read and search; nothing is stored.",
}
GIVE_ONE = f"Give one with {KEY_VARIABLE} or --key: the page “Connect” of that BigMind makes it."


@dataclass(frozen=True)
class Key:
    """The key of a connection: its text, where it comes from, and its row if it was just created."""

    text: str
    origin: str
    made: ApiKey | None = None


@dataclass(frozen=True)
class HookPlan:
    """The hooks of a connection: what the user consented to, and what the hook program receives.

    Attributes:
        is_wanted: Whether to install hooks; otherwise existing ones are removed.
        are_there: Whether there are some already.
    """

    client: ClientHooks
    connection: HookConnection
    config: HookConfig
    is_wanted: bool
    are_there: bool

    @property
    def changes_files(self) -> bool:
        """Whether the client's file of hooks is written."""
        return self.is_wanted or self.are_there


@dataclass(frozen=True)
class ConnectionPlan:
    """What the command was asked to do: which program to connect, where to, and what that changes."""

    program: AgentProgram
    project: Path | None
    config: ServerConfig
    key: Key
    changes: list[FileChange]
    steps: list[ByHand]
    records: ChangeRecords
    hooks: HookPlan | None = None


class Command(ConnectionCommand):
    """Writes the configuration and the instructions of one program. Running it again changes nothing."""

    help = (
        "Connect a program to BigMind and tell its agent to use it: writes its MCP configuration and its file of "
        "instructions, shows the difference, and keeps a backup that `bigmind disconnect` restores. Where the program "
        "has hooks, it lists what each of them reads and sends, and installs them if you agree. Apps that take no "
        "key, such as connectors of chats on the web, need only the address shown on the page “Connect”."
    )
    examples = (
        "bigmind connect claude-code",
        "bigmind connect cursor --project --dry-run",
        "bigmind connect codex --toolsets core,notes --hooks",
        "bigmind connect claude-code --hooks --writing ask",
        "bigmind connect gemini-cli --hooks --events start,end --never ~/private",
        f"{KEY_VARIABLE}=bm_… bigmind connect vscode --url https://bigmind.example.com",
    )

    has_listed = False
    """Whether the hooks have already been listed, to ask for consent."""

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Add the arguments for the program, the address and the key."""
        super().add_arguments(parser)
        parser.add_argument("--url", default="", help="Address of BigMind. Default: the one of this machine.")
        parser.add_argument(
            "--key",
            default="",
            help=f"A key; {KEY_VARIABLE} is the better way, for commands are seen by others. Default: the one that is "
            "in the file already, else a new one of this machine's BigMind.",
        )
        parser.add_argument("--toolsets", default="", help="Toolsets to list, e.g. `core,notes` or `all`.")
        parser.add_argument("--user", help="The user to create a key for: user name or id. Default: the owner.")
        asked = parser.add_mutually_exclusive_group()
        asked.add_argument("--hooks", action="store_true", default=None, help="Install the hooks without asking.")
        asked.add_argument(
            "--no-hooks",
            action="store_false",
            dest="hooks",
            help="Install no hooks, and remove existing ones.",
        )
        parser.add_argument(
            "--writing",
            choices=list(WRITING),
            help="How memory is written: by itself (the default), after asking, by hand, or not at all.",
        )
        parser.add_argument("--events", default="", help=f"Hooks to install, of {','.join(KINDS)}. Default: all.")
        parser.add_argument(
            "--never",
            action="append",
            default=[],
            metavar="FOLDER",
            help="Send nothing from this folder; may be repeated.",
        )

    def handle(self, *args: Any, **options: Any) -> None:
        """Show the changes, then write them."""
        options["hooks"] = self._wants_hooks(options)
        connection = _plan(options)
        if not options["dry_run"]:
            _carry_out(connection)
            self._choose_writing(connection, options)
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
        self._tell_hooks(connection)
        if records.folder.is_dir():
            project = f' --project "{connection.project}"' if connection.project else ""
            self.remark(f"Backups are in {records.folder}. To undo it: bigmind disconnect {program.slug}{project}")
        self.remark(f"{program.then} {connection.config.public_url}/connect/ shows when it has called.")

    def _wants_hooks(self, options: dict[str, Any]) -> bool | None:
        """Return whether to install hooks: what the options say, else what is installed, else what the user answers."""
        program, project = program_meant(options), project_meant(options)
        client, wanted = hooks_of(program.slug), options["hooks"]
        if client is None and (wanted or options["events"] or options["never"]):
            raise usage_error(f"{program.name} has no hooks that BigMind knows.")
        if client is None or wanted is not None:
            return bool(wanted) if client else None
        if has_hooks(client, machine_and_records()[0], project):
            return True
        is_asked = not (options["dry_run"] or options["json"]) and sys.stdin.isatty() and self.stdout.isatty()
        if not is_asked:
            return None
        connection = HookConnection(hook_folder().program(client.slug, Machine.here()), _kinds(options))
        self._list_hooks(program, client, connection)
        return input("Install them? [y/N] ").strip().lower() in {"y", "yes"}

    def _choose_writing(self, connection: ConnectionPlan, options: dict[str, Any]) -> None:
        """Keep how memory is written: what the options say, else what the user answers who has not chosen yet."""
        page, user = f"{connection.config.public_url}/captured/settings/", _user_of(connection)
        if user is None:
            if options["writing"]:
                self.remark(f"How memory is written is chosen where it is kept: {page}")
            return
        with rls_scope(user.pk):
            is_asked = not options["json"] and sys.stdin.isatty() and self.stdout.isatty()
            if not options["writing"] and (not is_asked or CapturePolicy.objects.filter(user=user).exists()):
                return
            mode = options["writing"] or self._ask_how_to_write()
            set_policy(Actor.of(user, typed=True), mode=mode)
        self.remark(f"Memory is written: {CaptureMode(mode).label.lower()}. To change it: {page}")

    def _ask_how_to_write(self) -> ModeName:
        self.stdout.write("How is memory written?")
        for mode in CaptureMode:
            self.stdout.write(f"  {mode.label}: {WRITING_IN_WORDS[mode]}")
        answers = {name: mode for mode in CaptureMode for name in (str(mode), mode.label.lower())}
        answer = input("By itself, after asking, by hand, read-only? [by itself] ").strip().lower()
        return cast("ModeName", str(answers.get(answer, CaptureMode.AUTOMATIC)))

    def _list_hooks(self, program: AgentProgram, client: ClientHooks, connection: HookConnection) -> None:
        self.has_listed = True
        self.stdout.write(f"Hooks of {program.name}, by which your agent has its memory without asking for it:")
        for hook in describe_hooks(client, connection):
            self.stdout.write(f"  {hook['event']}: when {hook['when']}.")
            self.stdout.write(f"    Reads and sends: {hook['reads_and_sends']}. Brings: {hook['brings']}.")
        self.stdout.write(
            "  What stands between <private> and </private> is never sent, secrets are removed before sending, and "
            "everything goes to your BigMind alone."
        )

    def _tell_hooks(self, connection: ConnectionPlan) -> None:
        hooks = connection.hooks
        if hooks is None:
            return
        if not hooks.is_wanted:
            if not hooks.are_there:
                self.remark(f"No hooks were installed: bigmind connect {connection.program.slug} --hooks does.")
            return
        if not self.has_listed:
            self._list_hooks(connection.program, hooks.client, hooks.connection)
        if not hooks.config.key:
            self.remark(f"The hooks read the key from the variable {KEY_VARIABLE}.")
        if hooks.client.then:
            self.remark(hooks.client.then)


def _user_of(connection: ConnectionPlan) -> User | None:
    """Return whose memory the program writes to; None where it is kept elsewhere."""
    if connection.config.public_url != settings.PUBLIC_URL:
        return None
    try:
        key = ApiKey.objects.filter(digest=digest_of(connection.key.text)).select_related("user").first()
        if key:
            return key.user
        return owner_of_instance() if settings.BIGMIND_MODE == "personal" else None
    except (OperationalError, InterfaceError, Refused):
        return None


def _plan(options: dict[str, Any]) -> ConnectionPlan:
    """Return the requested connection. Nothing is written yet, but a key may have been created."""
    program, project = program_meant(options), project_meant(options)
    machine, records = machine_and_records()
    outside = _door(options)
    # A dry run first: a file that cannot be changed must not cost a key.
    plan_connection(
        program.slug, _parts(program, outside, machine, project, _hooks(options, outside, machine)), records
    )
    key = _key(program, options, outside, machine)
    entered = replace(outside, key=key.text)
    hooks = _hooks(options, entered, machine)
    changes = plan_connection(program.slug, _parts(program, entered, machine, project, hooks), records)
    return ConnectionPlan(program, project, entered, key, changes, by_hand(program, entered, project), records, hooks)


def _parts(
    program: AgentProgram, config: ServerConfig, machine: Machine, project: Path | None, hooks: HookPlan | None
) -> list[ClientFile]:
    has_hooks = hooks is not None and hooks.is_wanted and bring_context(hooks.connection.kinds)
    parts = parts_of(program, config, machine, project, has_hooks=has_hooks)
    if hooks is None or not hooks.changes_files:
        return parts
    return with_hooks(parts, hooks.client, hooks.connection, machine, project)


def _hooks(options: dict[str, Any], config: ServerConfig, machine: Machine) -> HookPlan | None:
    """Return the plan for a client's hooks; None for one that has none."""
    client, project = hooks_of(options["client"]), project_meant(options)
    if client is None:
        return None
    folder, place = hook_folder(), place_of(project)
    known, program = folder.config_of(client.slug), folder.program(client.slug, machine)
    is_wanted = bool(options["hooks"])
    kinds = _kinds(options, known.events if known else KINDS) if is_wanted else ()
    never = sorted(
        {*(known.never if known else ()), *(str(Path(one).expanduser().resolve()) for one in options["never"])}
    )
    key = config.key if config.key != KEY_PLACEHOLDER else known.key if known else ""
    told = HookConfig(
        client.slug,
        config.public_url,
        key,
        list(kinds),
        never,
        sorted({*(known.places if known else ()), place}),
        program.python,
        __version__,
    )
    # The client itself cannot exclude folders, and a project's file holds no key.
    direct_key = "" if project or never else key
    connection = HookConnection(program, kinds, config.public_url, direct_key)
    return HookPlan(client, connection, told, is_wanted, has_hooks(client, machine, project))


def _kinds(options: dict[str, Any], default: Sequence[str] = KINDS) -> tuple[HookKind, ...]:
    try:
        return parse_kinds(options["events"] or ",".join(default))
    except ValueError as error:
        raise usage_error(f"--events: {error}") from error


def _carry_out(connection: ConnectionPlan) -> None:
    made, hooks, folder = connection.key.made, connection.hooks, hook_folder()
    place = place_of(connection.project)
    known = folder.config_of(connection.program.slug)
    if hooks and hooks.is_wanted:
        # Before the client's own file: once that names the hooks, the client may run them.
        folder.write(hooks.config)
    try:
        carry_out(_noting(connection.changes, made), connection.records)
    except BigMindError:
        if made:
            made.delete()
        if known:
            folder.write(known)
        elif hooks and hooks.is_wanted:
            folder.forget(connection.program.slug, place)
        raise
    if hooks and hooks.are_there and not hooks.is_wanted:
        folder.forget(connection.program.slug, place)


def _door(options: dict[str, Any]) -> ServerConfig:
    """Return the server config of this machine's BigMind, or of the one at another address."""
    names = sorted(parse_toolsets(options["toolsets"])) if options["toolsets"] else []
    here = make_server_config(toolsets=names)
    url = options["url"].strip().rstrip("/").removesuffix("/mcp")
    if not url or url == here.public_url:
        return here
    parts = urlsplit(url)
    if parts.scheme not in {"http", "https"} or not parts.hostname:
        raise usage_error("--url must be an address such as https://bigmind.example.com.")
    if parts.hostname in BIND_TO_ALL:
        raise usage_error(
            f"--url must be an address that clients can open; {parts.hostname} is one to listen on. Try localhost."
        )
    return replace(here, public_url=url, command=(), environment=())


def _key(program: AgentProgram, options: dict[str, Any], outside: ServerConfig, machine: Machine) -> Key:
    """Return the key given on the command line, the one in the file, or a new one, in this order."""
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
    """Whether a key is worth keeping: BigMind on this machine knows only of its own keys whether they have ended."""
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
    """Record the new key with the file that holds it: disconnecting revokes it."""
    if made is None:
        return changes
    return [
        replace(change, record=replace(change.record, key=made.digest))
        if change.record and change.part.holds_key
        else change
        for change in changes
    ]


def _describe(connection: ConnectionPlan) -> dict[str, Any]:
    key, project = connection.key, connection.project
    return {
        "client": connection.program.slug,
        "url": connection.config.public_url,
        "project": str(project) if project else None,
        "files": [describe_change(change) | _backup(change, connection.records) for change in connection.changes],
        "by_hand": [{"place": step.place, "text": mask_keys(step.text)} for step in connection.steps],
        "key": {"origin": key.origin, "prefix": key.made.prefix if key.made else None},
        "hooks": _describe_hooks(connection.hooks),
        "then": connection.program.then,
    }


def _describe_hooks(hooks: HookPlan | None) -> dict[str, Any] | None:
    if hooks is None:
        return None
    offered = hooks.connection if hooks.is_wanted else replace(hooks.connection, kinds=KINDS)
    described = describe_hooks(hooks.client, offered)
    return {"installed": hooks.is_wanted, "events": described, "never": hooks.config.never, "then": hooks.client.then}


def _backup(change: FileChange, records: ChangeRecords) -> dict[str, Any]:
    has_one = change.record is not None and change.record.before is not None
    return {"backup": str(records.backup_of(change.found)) if has_one else None}
