"""The clients as this BigMind offers them: what to paste into each, and which of them are on this machine."""

import os
import shlex
import shutil
import sys
from collections.abc import Collection
from pathlib import Path
from urllib.parse import urlsplit

from django.conf import settings

from accounts.connecting.machines import Machine
from accounts.connecting.server_config import KEY_PLACEHOLDER, ServerConfig
from accounts.connecting.snippets import Snippet
from accounts.connecting.supported_clients import CLIENTS, AgentProgram
from bigmind.network.addresses import LOOPBACK


def make_server_config(*, key: str = "", toolsets: Collection[str] = ()) -> ServerConfig:
    """Return the server config of this instance, for a key and the toolsets that a client lists."""
    command, environment = _local_command()
    return ServerConfig(settings.PUBLIC_URL, key or KEY_PLACEHOLDER, tuple(toolsets), command, environment)


def ways_in(config: ServerConfig) -> list[tuple[AgentProgram, list[Snippet], str]]:
    """Return every client with what to paste into it for this server, and the one command that does it all."""
    return [(client, client.snippets(config), command_for(client, config)) for client in CLIENTS]


def command_for(client: AgentProgram, config: ServerConfig) -> str:
    """Return the single command that writes all this; empty if there is no file to write."""
    if client.configuration is None:
        return ""
    # On the machine of BigMind itself the command knows the address, and makes the key.
    address = [] if config.command else [f'--url "{config.public_url}"']
    key = [] if config.command and config.key == KEY_PLACEHOLDER else [f"--key {config.key}"]
    toolsets = [f"--toolsets {','.join(config.toolsets)}"] if config.toolsets else []
    program = bigmind_here(dict(config.environment).get("BIGMIND_HOME", "")) if config.command else "bigmind"
    return " ".join([f"{program} connect {client.slug}", *address, *key, *toolsets])


def bigmind_here(home: str = "") -> str:
    """Return what starts this BigMind's own program in a terminal of this machine: its path, unless PATH leads to it.

    A home that is not the usual one is named, so that the program finds the same BigMind.
    """
    elsewhere = home and os.name == "posix" and Path(home) != Path.home() / ".bigmind"
    return f"BIGMIND_HOME={shlex.quote(home)} {_program()}" if elsewhere else _program()


def _program() -> str:
    own = Path(sys.executable).with_name("bigmind")
    found = shutil.which("bigmind")
    if found and Path(found).resolve() == own.resolve():
        return "bigmind"
    return shlex.quote(str(own)) if own.exists() else f"{shlex.quote(sys.executable)} -m bigmind"


def find_clients() -> list[AgentProgram]:
    """Return the clients on this machine; none if the browser may be on another one."""
    command, _ = _local_command()
    machine = Machine.here()
    return [client for client in CLIENTS if command and _has_files(client, machine)]


def _has_files(client: AgentProgram, machine: Machine) -> bool:
    """Whether a client has its configuration here, or a folder of its own for it."""
    if client.configuration is None:
        return False
    file = client.configuration(machine)
    return file.exists() or (file.parent != machine.home and file.parent.is_dir())


def _local_command() -> tuple[tuple[str, ...], tuple[tuple[str, str], ...]]:
    """How this machine's own clients start `bigmind mcp`: only if the browser is certainly on this machine.

    Everything is spelt out, because a client with windows sees neither the shell's PATH nor its variables. A database
    elsewhere would have to be named with its password, so then the way through the web is the better one.
    """
    environment = settings.ENVIRONMENT
    is_here = environment.mode == "personal" and urlsplit(settings.PUBLIC_URL).hostname in LOOPBACK
    if not is_here or not environment.is_embedded:
        return (), ()
    command = (sys.executable, "-m", "bigmind", "mcp")
    return command, (("BIGMIND_HOME", str(environment.home)), ("BIGMIND_PUBLIC_URL", settings.PUBLIC_URL))
