"""BigMind's entry in each client's configuration, in the exact form that the client reads.

Each function takes a server config and returns the settings for the client's file, below one of its top-level names.
What is said here about a client was read in its documentation or its issues in November 2026.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any
from urllib.parse import urlsplit

from bigmind.network.addresses import LOOPBACK

from .server_config import KEY_VARIABLE, ServerConfig

NAME = "bigmind"
ASKED_KEY = "bigmind-key"
"""How VS Code names the key that it asks for."""

TRANSPORT = frozenset(
    {
        "type",
        "transport",
        "url",
        "httpUrl",
        "serverUrl",
        "headers",
        "requestInit",
        "http_headers",
        "env_http_headers",
        "bearer_token_env_var",
        "command",
        "args",
        "env",
        "cwd",
    }
)
"""The keys of an entry that say how to reach the server. Everything else, such as `disabled`, is the user's."""


@dataclass(frozen=True)
class Setting:
    """One thing that a configuration must say: `value` below the top-level name `within`, called `name`.

    Attributes:
        is_listed: Whether it is an item of a list, recognised by its `id`, instead of a member of an object.
    """

    within: str
    name: str
    value: dict[str, Any]
    is_listed: bool = False

    def over(self, found: object) -> dict[str, Any]:
        """Return the value with what people added to the entry that is there already."""
        theirs = {key: value for key, value in found.items() if key not in TRANSPORT} if isinstance(found, dict) else {}
        return {**theirs, **self.value}


Settings = Callable[[ServerConfig], list[Setting]]


def _remote(within: str, url: str = "url", headers: str = "headers", *, first: Any = (), last: Any = ()) -> Settings:
    """Return what writes the entry of a client that calls a server by its address: under which names, and what else."""

    def settings(config: ServerConfig) -> list[Setting]:
        entry = {**dict(first), url: config.endpoint, headers: config.headers, **dict(last)}
        return [Setting(within, NAME, entry)]

    return settings


# A remote server needs its type. `${NAME}` is replaced from the environment.
claude_code = _remote("mcpServers", first={"type": "http"})
# `${env:NAME}` is replaced from the environment.
cursor = _remote("mcpServers")
vscode = _remote("servers", first={"type": "http"})
windsurf = _remote("mcpServers", "serverUrl")
# A `bearer_token` in the file is refused by Codex, a header is not.
codex = _remote("mcp_servers", headers="http_headers")
# `url` means the older transport. `${NAME}` is replaced.
gemini = _remote("mcpServers", "httpUrl")
copilot = _remote("mcpServers", first={"type": "http"}, last={"tools": ["*"]})
# Without `oauth: false` it would register as an app at a refusal.
opencode = _remote("mcp", first={"type": "remote"}, last={"oauth": False})


def claude_desktop(config: ServerConfig) -> list[Setting]:
    """`mcpServers`, with programs that it starts itself: `bigmind mcp` where that is possible, else a bridge."""
    return [Setting("mcpServers", NAME, _local_command(config) or _bridge_command(config))]


def vscode_asking(config: ServerConfig) -> list[Setting]:
    """`servers`, with a key that VS Code asks for once and keeps among its secrets.

    `${env:NAME}` is documented, yet in headers some versions send it unreplaced; `${input:…}` works in all of them.
    """
    asked = {"type": "promptString", "id": ASKED_KEY, "description": "BigMind key", "password": True}
    return [
        *vscode(replace(config, key=f"${{input:{ASKED_KEY}}}")),
        Setting("inputs", ASKED_KEY, asked, is_listed=True),
    ]


def jetbrains(config: ServerConfig) -> list[Setting]:
    """`servers`; the Copilot plugin of JetBrains hands `requestInit` to its HTTP client."""
    return [Setting("servers", NAME, {"url": config.endpoint, "requestInit": {"headers": config.headers}})]


def codex_by_variable(config: ServerConfig) -> list[Setting]:
    """`mcp_servers`, with the name of the variable that holds the key."""
    return [Setting("mcp_servers", NAME, {"url": config.endpoint, "bearer_token_env_var": KEY_VARIABLE})]


def with_variable(settings: Settings, reference: str) -> Settings:
    """Return the settings with the client's own reference to the variable instead of a key."""
    return lambda config: settings(replace(config, key=reference))


def _local_command(config: ServerConfig) -> dict[str, Any] | None:
    if not config.command:
        return None
    program, *arguments = config.command
    if config.toolsets:
        arguments += ["--toolsets", ",".join(config.toolsets)]
    return {"command": program, "args": arguments, "env": {KEY_VARIABLE: config.key, **dict(config.environment)}}


def _bridge_command(config: ServerConfig) -> dict[str, Any]:
    parts = urlsplit(config.public_url)
    arguments = ["-y", "mcp-remote", config.endpoint, "--header", "Authorization:${BIGMIND_AUTHORIZATION}"]
    if parts.scheme == "http" and parts.hostname not in LOOPBACK:
        arguments.append("--allow-http")
    # Some versions split an argument at its spaces, so the header's value comes from the environment.
    return {"command": "npx", "args": arguments, "env": {"BIGMIND_AUTHORIZATION": config.authorization}}
