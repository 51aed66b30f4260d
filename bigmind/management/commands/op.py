"""Perform any operation in the catalogue: the third transport, beside MCP and REST."""

import json
import os
import socket
import sys
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management.base import CommandParser
from django.utils import timezone

from accounts.actor import Actor
from accounts.authentication import BadKey, authenticate_key
from accounts.models import User
from accounts.people.users import find_user
from accounts.services.agents import note_agent
from bigmind import __version__
from bigmind.core.operations import Operation
from bigmind.gate import Outcome, perform
from bigmind.management.base import OperatorCommand, Refused, argument, usage_error
from bigmind.management.people import owner_of_instance
from bigmind.operations import CATALOGUE, nearest_names
from bigmind.transports.rest.problems import MalformedBody
from bigmind.transports.rest.reference_pages import arguments_in_words
from bigmind.transports.rest.request_reading import read_json

CLIENT = "bigmind-op"


class Command(OperatorCommand):
    """Perform any operation: what an agent does over MCP and a program over REST, from the command line."""

    speaks_json = False
    examples = (
        "bigmind op --list",
        "bigmind op memory_store_fact --list",
        'bigmind op memory_store_fact category=preference fact="Prefers pytest."',
        "bigmind op memory_list_facts limit=5 --format json --user eric",
        "bigmind op memory_export output_path=memory.json",
        'bigmind op memory_import --json-file - < "document.json"',
    )
    arguments = (
        argument("operation", nargs="?", help="The operation's name, as in --list."),
        argument(
            "arguments",
            nargs="*",
            metavar="name=value",
            help="An argument. Text is taken as it is, anything else as JSON.",
        ),
        argument("--json", dest="document", help="The arguments as a JSON object."),
        argument("--json-file", help="A file with the arguments; - is standard input."),
        argument("--user", help="Whose memory to use. Default: the owner of BIGMIND_API_KEY, else of this instance."),
        argument("--idempotency-key", help="Makes a retried write take effect only once."),
        argument("--format", choices=("markdown", "json"), default="markdown", help="Default: markdown."),
        argument("--list", action="store_true", help="List the operations, or the arguments of one."),
    )

    def create_parser(self, prog_name: str, subcommand: str, **kwargs: Any) -> CommandParser:
        """Take options between the name and its arguments, too."""
        parser: Any = super().create_parser(prog_name, subcommand, **kwargs)
        parser.parse_args = parser.parse_intermixed_args
        return parser  # type: ignore[no-any-return]

    def handle(self, *args: Any, **options: Any) -> None:
        operation = _operation(options["operation"])
        if options["list"]:
            self._list(operation)
            return
        if operation is None:
            raise usage_error("Which operation? `bigmind op --list` shows them.")
        arguments = _arguments(operation, options)
        actor = _actor(options["user"])
        outcome = perform(
            operation,
            actor,
            arguments,
            transport="command",
            idempotency_key=options["idempotency_key"],
        )
        for notice in outcome.notices:
            self.remark(notice)
        if operation.name == "memory_export" and (path := arguments.get("output_path")):
            _write_file(Path(path).expanduser(), outcome)
            self.stdout.write(f"Written to {path}.")
        elif options["format"] == "json":
            self.print_json(outcome.to_data())
        else:
            with timezone.override(actor.user.zone):
                self.stdout.write(outcome.markdown(), ending="")

    def _list(self, operation: Operation | None) -> None:
        if operation is None:
            rows = ((each.name, each.toolset, each.effect, each.title) for each in CATALOGUE.values())
            self.print_table(("operation", "toolset", "effect", "what it does"), rows)
            return
        self.stdout.write(f"{operation.description}\n")
        arguments = arguments_in_words(operation)
        self.print_table(("argument", "presence", "value"), ((a.name, a.presence, a.kind) for a in arguments))


def _operation(name: str | None) -> Operation | None:
    if name is None or name in CATALOGUE:
        return CATALOGUE[name] if name else None
    nearest = nearest_names(name, CATALOGUE)
    hint = f"Do you mean {', '.join(nearest)}?" if nearest else "`bigmind op --list` shows them all."
    raise usage_error(f"There is no operation {name}. {hint}")


def _actor(reference: str | None) -> Actor:
    """Return the actor: the named user, else the owner of the key in the environment; in personal mode, the owner."""
    token = os.environ.get("BIGMIND_API_KEY", "")
    if reference is None and token:
        try:
            return authenticate_key(token, client_name=CLIENT, client_version=__version__, host=socket.gethostname())
        except BadKey as error:
            raise Refused(f"BIGMIND_API_KEY: {error}") from error
    if reference is None and settings.BIGMIND_MODE != "personal":
        raise usage_error("Whose memory? Name the user with --user, or set BIGMIND_API_KEY.")
    return _actor_at_the_keyboard(owner_of_instance() if reference is None else find_user(reference))


def _actor_at_the_keyboard(user: User) -> Actor:
    agent = note_agent(user, client_name=CLIENT, client_version=__version__, host=socket.gethostname())
    return Actor.of(user, agent=agent, typed=True)


def _arguments(operation: Operation, options: Mapping[str, Any]) -> dict[str, Any]:
    document = options["document"]
    if options["json_file"]:
        document = _read(options["json_file"])
    arguments = _object(document) if document is not None else {}
    return {**arguments, **_pairs(operation, options["arguments"])}


def _read(file: str) -> str:
    try:
        return sys.stdin.read() if file == "-" else Path(file).read_text()
    except (OSError, UnicodeDecodeError) as error:
        raise usage_error(f"{file} cannot be read: {error}.") from error


def _write_file(path: Path, outcome: Outcome) -> None:
    """Write an export where its owner asked for it, for them alone to read. What is there stays."""
    try:
        with open(path, "x", opener=partial(os.open, mode=0o600)) as file:
            json.dump(outcome.to_data(), file, ensure_ascii=False, indent=2)
    except OSError as error:
        raise Refused(f"{path}: {error.strerror}. Name a file that does not exist yet.") from error


def _object(document: str) -> dict[str, Any]:
    try:
        found = read_json(document.encode("utf-8", "surrogateescape"))
    except MalformedBody as error:
        raise usage_error(str(error.detail)) from error
    if not isinstance(found, dict):
        raise usage_error("The arguments must be a JSON object, such as {}.")
    return found


def _pairs(operation: Operation, pairs: Sequence[str]) -> dict[str, Any]:
    texts = {
        name for name, part in operation.input_schema.get("properties", {}).items() if part.get("type") == "string"
    }
    arguments: dict[str, Any] = {}
    for pair in pairs:
        name, equals, value = pair.partition("=")
        if not equals:
            raise usage_error(f"“{pair}” is not an argument: write name=value.")
        if name in arguments:
            raise usage_error(f"{name} is given more than once.")
        # A text argument is never parsed as JSON: in fact=123 and fact=true the value is the text itself.
        arguments[name] = value if name in texts else _json_or_text(value)
    return arguments


def _json_or_text(value: str) -> Any:
    try:
        return read_json(value.encode("utf-8", "surrogateescape"))
    except MalformedBody:
        return value
