"""`bigmind mcp`: MCP over standard input and output."""

import os
from argparse import ArgumentParser
from typing import Any

import psycopg
from django.conf import settings
from django.core.management.base import BaseCommand, CommandError
from django.db import DatabaseError, connection

from accounts.actor import Actor
from accounts.authentication import BadKey, authenticate_key
from accounts.models import Role, User
from accounts.services.agents import note_agent
from accounts.services.setting_overrides import follow_in_background, load_overrides
from bigmind.core.errors import Invalid
from bigmind.core.rls import deny_by_default
from bigmind.core.roles import forget_owner
from bigmind.embedded.home import start_command
from bigmind.toolsets import parse_toolsets
from bigmind.transports.mcp.request_context import ClientName, Identify, parse_structured, this_machine
from bigmind.transports.mcp.stdio import serve_stdio

NOT_RUNNING = f"BigMind is not running: start it with `{start_command()}`."
NO_KEY = "Set BIGMIND_API_KEY to your key. Only in personal mode does the owner need none."
ANSWER_WITHIN_SECONDS = 3


class Command(BaseCommand):
    """Serve MCP to the client that started this command.

    The key in BIGMIND_API_KEY decides whose memory it serves; without one, in personal mode, the owner's.
    """

    help = __doc__ or ""
    requires_system_checks = ()

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Add the arguments for the toolsets to list and the form of replies."""
        parser.add_argument(
            "--toolsets", default="", help="Toolsets to list, e.g. `core,notes` or `all`. Default: core."
        )

        parser.add_argument(
            "--structured",
            default="",
            help="`full`: replies carry structured content as well as text, for programs. Default: text only.",
        )

    def handle(self, *_args: Any, toolsets: str, structured: str, **_options: Any) -> None:
        """Serve until the client disconnects."""
        try:
            listed, has_structure = parse_toolsets(toolsets), parse_structured(structured)
            _require_database()
            identify = _identification(os.environ.get("BIGMIND_API_KEY", ""))
        except (Invalid, BadKey) as refusal:
            raise CommandError(str(refusal)) from refusal
        except DatabaseError as error:
            raise CommandError(NOT_RUNNING) from error
        load_overrides()
        connection.close()
        forget_owner()
        follow_in_background()
        with deny_by_default():
            serve_stdio(identify, toolsets=listed, structured=has_structure)


def _require_database() -> None:
    """Ask the database directly: the pool would keep retrying for much longer than a client waits."""
    try:
        psycopg.connect(**connection.get_connection_params(), connect_timeout=ANSWER_WITHIN_SECONDS).close()
    except psycopg.OperationalError as error:
        raise CommandError(NOT_RUNNING) from error


def _identification(key: str) -> Identify:
    """Return a function that finds the actor of each request: by the key, which may have been revoked, or the owner."""
    if key:
        authenticate_key(key)
        return lambda client: authenticate_key(
            key, client_name=client.name, client_version=client.version, host=this_machine()
        )
    if settings.BIGMIND_MODE != "personal":
        raise CommandError(NO_KEY)
    return _as_owner


def _as_owner(client: ClientName) -> Actor:
    owner = User.objects.filter(role=Role.ADMIN, is_active=True).order_by("created_at").first()
    if owner is None:
        raise BadKey(f"BigMind has no user yet: start it once with `{start_command()}`.")
    agent = note_agent(owner, client_name=client.name, client_version=client.version, host=this_machine())
    return Actor.of(owner, agent=agent)
