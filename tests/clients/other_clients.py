"""More clients from npm that run without an account. Their files name BigMind as their documentation asks for."""

import json
import sys

from accounts.connecting.server_config import ServerConfig
from tests.clients.installed import FOLDER, RealClient

OTHER_MODULES = FOLDER / "others" / "node_modules"


class OtherClient(RealClient):
    """A client for any model, which speaks chat completions."""

    prefers_structured_content = False

    @classmethod
    def is_installed(cls) -> bool:
        """Whether npm has installed it."""
        return OTHER_MODULES.exists()

    @property
    def program(self) -> list[str]:
        """The script that npm links."""
        return [str(OTHER_MODULES / ".bin" / self.slug)]

    def configure(self) -> None:
        """Write nothing: model and server are in the same file."""


class CopilotCli(OtherClient):
    """GitHub Copilot CLI with a model of one's own."""

    slug = name = "copilot"
    shows_instructions = False

    @property
    def environment(self) -> dict[str, str]:
        """The variables that it starts with."""
        return super().environment | {
            "COPILOT_OFFLINE": "true",
            "COPILOT_PROVIDER_TYPE": "openai",
            "COPILOT_PROVIDER_BASE_URL": f"{self.model.url}/v1",
            "COPILOT_PROVIDER_API_KEY": "none",
            "COPILOT_MODEL": "stand-in",
        }

    def connect(self, server: ServerConfig) -> None:
        """Write what its documentation asks for."""
        entry = {"type": "http", "url": server.endpoint, "headers": server.headers, "tools": ["*"]}
        self.home.write(".copilot/mcp-config.json", json.dumps({"mcpServers": {"bigmind": entry}}))

    def command(self, prompt: str, *, resume: bool = False) -> list[str]:
        """Return the command that answers one prompt and ends."""
        return [*self.program, "-p", prompt, *(["--continue"] if resume else []), "--allow-all-tools"]


class OpenCode(OtherClient):
    """opencode with a provider that is compatible with OpenAI."""

    slug = name = "opencode"

    @property
    def program(self) -> list[str]:
        """The program itself; the script that npm links would have to be replaced by it after the installation."""
        return [str(OTHER_MODULES / f"opencode-{sys.platform}-x64" / "bin" / "opencode")]

    def configure(self) -> None:
        """Name the model, and do not renew itself."""
        options = {"baseURL": f"{self.model.url}/v1", "apiKey": "none"}
        provider = {"npm": "@ai-sdk/openai-compatible", "options": options, "models": {"stand-in": {}}}
        # It writes the schema itself where it is missing, and the file would not be as it was.
        schema = "https://opencode.ai/config.json"
        settings = {"$schema": schema, "model": "own/stand-in", "provider": {"own": provider}, "autoupdate": False}
        self.home.write(".config/opencode/opencode.json", json.dumps(settings))

    def command(self, prompt: str, *, resume: bool = False) -> list[str]:
        """Return the command that answers one prompt and ends."""
        return [*self.program, "run", *(["--continue"] if resume else []), prompt]


class QwenCode(OtherClient):
    """Qwen Code."""

    slug = name = "qwen"

    @property
    def environment(self) -> dict[str, str]:
        """The variables that it starts with."""
        variables = {"OPENAI_BASE_URL": f"{self.model.url}/v1", "OPENAI_API_KEY": "none", "OPENAI_MODEL": "stand-in"}
        return super().environment | variables

    def connect(self, server: ServerConfig) -> None:
        """Write what its documentation asks for."""
        entry = {"httpUrl": server.endpoint, "headers": server.headers, "trust": True}
        settings = {
            "mcpServers": {"bigmind": entry},
            "security": {"auth": {"selectedType": "openai"}},
            "privacy": {"usageStatisticsEnabled": False},
        }
        self.home.write(".qwen/settings.json", json.dumps(settings))

    def command(self, prompt: str, *, resume: bool = False) -> list[str]:
        """Return the command that answers one prompt and ends."""
        return [*self.program, "-p", prompt, *(["--continue"] if resume else []), "--yolo"]


OTHER_CLIENTS: tuple[type[RealClient], ...] = (CopilotCli, OpenCode, QwenCode)
