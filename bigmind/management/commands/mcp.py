"""`bigmind mcp`: MCP over standard input and output."""

import os
import sys
from argparse import ArgumentParser
from functools import cache
from typing import Any

import psycopg
from django.conf import settings
from django.core.management.base import BaseCommand, CommandError
from django.db import connection
from mcp import types

from accounts.actor import Actor
from accounts.authentication import BadKey, authenticate_key
from accounts.models import Role, User
from accounts.services.agents import note_agent
from bigmind.core.errors import Invalid
from bigmind.database.rls import deny_by_default
from bigmind.database.roles import forget_owner
from bigmind.embedded.home import start_command
from bigmind.toolsets import parse_toolsets
from bigmind.transports.fair_pool import finish_work
from bigmind.transports.mcp.protocol_errors import ProtocolError
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
            key = os.environ.get("BIGMIND_API_KEY", "")
            if not key and settings.BIGMIND_MODE != "personal":
                raise CommandError(NO_KEY)
            identify = _identification(key) if _answers() else _wait_for_database(key)
        except (Invalid, BadKey) as refusal:
            raise CommandError(str(refusal)) from refusal
        connection.close()
        forget_owner()
        try:
            with deny_by_default():
                serve_stdio(identify, toolsets=listed, structured=has_structure)
        finally:
            finish_work()


def _answers() -> bool:
    """Ask the database directly: the pool would keep retrying for much longer than a client waits."""
    try:
        psycopg.connect(**connection.get_connection_params(), connect_timeout=ANSWER_WITHIN_SECONDS).close()
    except psycopg.OperationalError:
        return False
    return True


def _wait_for_database(key: str) -> Identify:
    """Return the same for a conversation that began while BigMind did not run: it says so until BigMind does.

    A client shows its model nothing of a server that ends at once, and so neither why its memory is missing.
    """
    sys.stderr.write(f"{NOT_RUNNING}\n")

    @cache
    def begin() -> Identify:
        return _identification(key)

    def identify(client: ClientName) -> Actor:
        if not begin.cache_info().currsize and not _answers():
            raise ProtocolError(types.INTERNAL_ERROR, NOT_RUNNING)
        return begin()(client)

    return identify


def _identification(key: str) -> Identify:
    """Return a function that finds the actor of each request: by the key, which may have been revoked, or the owner."""
    if key:
        authenticate_key(key)
        return lambda client: authenticate_key(
            key, client_name=client.name, client_version=client.version, host=this_machine()
        )
    return _as_owner


def _as_owner(client: ClientName) -> Actor:
    owner = User.objects.filter(role=Role.ADMIN, is_active=True).order_by("created_at").first()
    if owner is None:
        raise BadKey(f"BigMind has no user yet: start it once with `{start_command()}`.")
    agent = note_agent(owner, client_name=client.name, client_version=client.version, host=this_machine())
    return Actor.of(owner, agent=agent)
