"""Real clients, installed from npm, as a person runs them: each in a home of its own, its model a stand-in."""

import json
import os
import re
import subprocess
import sys
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import ClassVar

from accounts.connecting.server_config import ServerConfig
from tests.clients.dialects import SEARCHES, Step
from tests.clients.model import ModelStandIn
from tests.clients.terminals import WAITS, Terminal
from tests.connecting.homes import Home
from tests.copies import run_copy

FOLDER = Path(__file__).parent
MODULES = FOLDER / "node_modules"
FINISHES_WITHIN = 120
# Nothing is asked of its model for so long: it has answered.
QUIET = 4
# What a client may inherit: nothing of the developer's own clients, keys or proxies.
INHERITED = ("PATH", "LANG", "LC_ALL", "TZ", "TMPDIR")


@dataclass(frozen=True)
class Run:
    """One run of a client, to its end."""

    code: int
    printed: str
    remarked: str


@dataclass
class RealClient(ABC):
    """A client in a home of its own, at work in a folder of its own.

    Attributes:
        slug: What `bigmind connect` calls it.
        name: What a test calls it.
        shows_instructions: Whether its model reads the instructions of a server whole, and not their first line alone.
        prefers_structured_content: Whether its model reads structured content in place of the text, where there is any.
        lists_tools: Whether its model reads a tool's description, at the latest after it searched for the tool.
        greetings: What it shows in a terminal before it takes a prompt; Enter goes on.
        variables: What its environment has besides what it needs itself.
    """

    home: Home
    folder: Path
    model: ModelStandIn
    variables: dict[str, str] = field(default_factory=dict)
    slug = ""
    name = ""
    shows_instructions = True
    prefers_structured_content = True
    lists_tools = True
    greetings: ClassVar[tuple[str, ...]] = ()

    @classmethod
    def is_installed(cls) -> bool:
        """Whether npm has installed it."""
        return MODULES.exists()

    @property
    @abstractmethod
    def program(self) -> list[str]:
        """The command that starts it."""

    @property
    def interactive(self) -> list[str]:
        """The command that starts it in a terminal."""
        return self.program

    @property
    def environment(self) -> dict[str, str]:
        """The variables that it starts with."""
        inherited = {name: os.environ[name] for name in INHERITED if name in os.environ}
        return inherited | {"HOME": str(self.home.folder), "NO_COLOR": "1"} | self.variables

    @abstractmethod
    def configure(self) -> None:
        """Write what tells it about the model, as its user would have before BigMind came."""

    @abstractmethod
    def command(self, prompt: str, *, resume: bool = False) -> list[str]:
        """Return the command that answers one prompt and ends; `resume` goes on with the last conversation."""

    def fetch_triggers(self) -> None:
        """Run the hook program as the one for acts does in the background, where the triggers may be old."""
        program = self.bigmind_home / "hooks" / "bigmind_hook.py"
        command = [sys.executable, str(program), self.slug, "Triggers"]
        subprocess.run(command, input=b"{}", cwd=self.folder, stdout=subprocess.DEVNULL, check=True)

    def runs(self, line: str) -> Step:
        """Return the step in which its model lets it run a line of a shell."""
        return Step("run_shell_command", {"command": line, "description": "Run it"})

    @property
    def replies(self) -> list[str]:
        """What BigMind's tools answered in the last conversation, as the model read it."""
        read = self.model.last
        calls = [name for name in read.calls if name]
        assert len(calls) == len(read.results), read
        return [result for name, result in zip(calls, read.results, strict=True) if name not in SEARCHES]

    def connect(self, server: ServerConfig) -> None:
        """Do what `bigmind connect` does."""
        self.home.connect(self.slug, door=server)

    def connect_with_hooks(self, url: str, key: str, toolsets: str = "core") -> None:
        """Run `bigmind connect`, hooks included."""
        self._bigmind("connect", self.slug, "--hooks", "--url", url, "--toolsets", toolsets, BIGMIND_API_KEY=key)

    def disconnect(self) -> None:
        """Run `bigmind disconnect`."""
        self._bigmind("disconnect", self.slug)

    def _bigmind(self, *command: str, **variables: str) -> None:
        named = {name: os.environ[name] for name in INHERITED if name in os.environ}
        places = {"HOME": str(self.home.folder), "BIGMIND_HOME": str(self.bigmind_home)}
        done = run_copy(command, named | places | variables)
        assert done.returncode == 0, done.stderr

    def replace_in_files(self, old: str, new: str) -> None:
        """Change a text in the files that connecting wrote: those of its home, and what the hook program is told."""
        places = [self.home.folder / name for name in self.home.files()]
        for path in [*places, self.bigmind_home / "hooks" / f"{self.slug}.json"]:
            if old.encode() in (content := path.read_bytes()):
                path.write_bytes(content.replace(old.encode(), new.encode()))

    @property
    def bigmind_home(self) -> Path:
        """Where the hook program, its configuration and its spool are."""
        return self.home.folder.parent / "bigmind"

    def ask(self, prompt: str = "Remember things.", *, resume: bool = False) -> Run:
        """Let it answer one prompt, to its end."""
        return self.run(self.command(prompt, resume=resume))

    def run(self, command: Sequence[str]) -> Run:
        """Run one of its commands, to its end."""
        done = subprocess.run(
            command,
            cwd=self.folder,
            env=self.environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
            timeout=FINISHES_WITHIN,
        )
        return Run(done.returncode, done.stdout, done.stderr)

    def converse(self, prompts: Sequence[str]) -> None:
        """Answer prompts one after the other in one process, in a terminal: `/clear` forgets."""
        with Terminal(self.interactive, self.folder, self.environment) as terminal:
            for words in self.greetings:
                terminal.wait_for(words)
                terminal.type("")
            for prompt in prompts:
                asked = len(self.model.requests)
                terminal.type(prompt)
                assert prompt.startswith("/") or terminal.watch(WAITS, self._is_asked_after(asked)), terminal.shown
                while terminal.watch(QUIET, self._is_asked_after(asked)):
                    asked = len(self.model.requests)

    def _is_asked_after(self, asked: int) -> Callable[[], bool]:
        return lambda: len(self.model.requests) > asked

    def unwrap(self, result: str) -> str:
        """Return a tool's result without what this client puts around it."""
        return result


class ClaudeCode(RealClient):
    """Claude Code."""

    slug = name = "claude-code"

    @property
    def program(self) -> list[str]:
        """The program itself; the script that npm links would have to be replaced by it after the installation."""
        return [str(next(MODULES.glob("@anthropic-ai/claude-code-*/claude")))]

    @property
    def environment(self) -> dict[str, str]:
        """The variables that it starts with."""
        return super().environment | {
            "ANTHROPIC_BASE_URL": self.model.url,
            "ANTHROPIC_API_KEY": "none",
            "DISABLE_TELEMETRY": "1",
            "DISABLE_AUTOUPDATER": "1",
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
        }

    def configure(self) -> None:
        """Write nothing: its model is in the environment."""

    def command(self, prompt: str, *, resume: bool = False) -> list[str]:
        """Return the command that answers one prompt and ends."""
        allowed = ["--allowedTools", "mcp__bigmind", "ToolSearch", "Bash"]
        return [*self.program, "-p", prompt, *(["--continue"] if resume else []), *allowed]

    def command_of_fork(self, prompt: str, parent: str) -> list[str]:
        """Return the command that goes on with a conversation under a new id."""
        return [*self.command(prompt), "--resume", parent, "--fork-session"]

    def runs(self, line: str) -> Step:
        """Return the step in which its model lets it run a line of a shell."""
        return Step("Bash", {"command": line, "description": "Run it"})

    def converse(self, prompts: Sequence[str]) -> None:
        """Let one process answer prompts one after the other, as an interactive one does: `/clear` forgets."""
        speaking = ["--input-format", "stream-json", "--output-format", "stream-json", "--verbose"]
        process = subprocess.Popen(
            [*self.command("")[:2], *speaking, *self.command("")[3:]],
            cwd=self.folder,
            env=self.environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        assert process.stdin is not None
        assert process.stdout is not None
        with process:
            for prompt in prompts:
                message = {"type": "user", "message": {"role": "user", "content": prompt}}
                print(json.dumps(message), file=process.stdin, flush=True)
                next(line for line in process.stdout if json.loads(line)["type"] == "result")
            process.stdin.close()


class Codex(RealClient):
    """Codex with a model that it does not know, as with a provider of one's own: it lists all tools, and cuts early."""

    slug = name = "codex"
    model_name = "stand-in"
    before_result = "Output:\n"
    greetings = ("Trust this folder?", "YOLO mode")
    trusting = ("--skip-git-repo-check", "--dangerously-bypass-hook-trust")

    @property
    def program(self) -> list[str]:
        """The script that npm links."""
        return [str(MODULES / ".bin" / "codex")]

    @property
    def interactive(self) -> list[str]:
        """The command that starts it in a terminal."""
        return [*self.program, "--dangerously-bypass-hook-trust"]

    @property
    def environment(self) -> dict[str, str]:
        """The variables that it starts with."""
        return super().environment | {"STAND_IN_KEY": "none"}

    def configure(self) -> None:
        """Name the model, and trust what it does here."""
        self.home.write(
            ".codex/config.toml",
            f'model = "{self.model_name}"\nmodel_provider = "stand-in"\napproval_policy = "never"\n'
            'sandbox_mode = "danger-full-access"\n\n[model_providers.stand-in]\nname = "stand-in"\n'
            f'base_url = "{self.model.url}/v1"\nwire_api = "responses"\nenv_key = "STAND_IN_KEY"\n',
        )

    def command(self, prompt: str, *, resume: bool = False) -> list[str]:
        """Return the command that answers one prompt and ends."""
        return [*self.program, "exec", *self.trusting, *(["resume", "--last"] if resume else []), prompt]

    def command_of_fork(self, prompt: str, parent: str) -> list[str]:
        """Return the command that goes on with a conversation under a new id."""
        return [*self.program, "exec", "fork", *self.trusting, parent, prompt]

    def runs(self, line: str) -> Step:
        """Return the step in which its model lets it run a line of a shell."""
        return Step("exec_command", {"cmd": line})

    def unwrap(self, result: str) -> str:
        """Leave out the lines that say how long it took."""
        return result.partition(self.before_result)[2]


class SearchingCodex(Codex):
    """Codex with a model to which it names the servers alone: the model searches for their tools."""

    name = "codex-gpt-5.5"
    model_name = "gpt-5.5"
    shows_instructions = False


class CodingCodex(Codex):
    """Codex with the model it prefers today, which calls tools by writing programs."""

    name = "codex-gpt-6.1-sol"
    model_name = "gpt-6.1-sol"
    shows_instructions = False
    prefers_structured_content = False
    lists_tools = False
    before_result = "Output:\n\n"


class GeminiCli(RealClient):
    """Gemini CLI."""

    slug = name = "gemini-cli"
    prefers_structured_content = False
    greetings = ("Type your message",)

    @property
    def program(self) -> list[str]:
        """The script that npm links."""
        return [str(MODULES / ".bin" / "gemini")]

    @property
    def environment(self) -> dict[str, str]:
        """The variables that it starts with."""
        return super().environment | {"GEMINI_API_KEY": "none", "GOOGLE_GEMINI_BASE_URL": self.model.url}

    def configure(self) -> None:
        """Choose a key for the model, and send no statistics."""
        settings = {
            "security": {"auth": {"selectedType": "gemini-api-key"}},
            "privacy": {"usageStatisticsEnabled": False},
        }
        self.home.write(".gemini/settings.json", json.dumps(settings, indent=2))

    @property
    def interactive(self) -> list[str]:
        """The command that starts it in a terminal."""
        return [*self.program, "--yolo", "-m", "gemini-2.5-flash", "--skip-trust"]

    def command(self, prompt: str, *, resume: bool = False) -> list[str]:
        """Return the command that answers one prompt and ends."""
        return [*self.interactive, "-p", prompt, *(["--resume", "latest"] if resume else [])]

    def unwrap(self, result: str) -> str:
        """Leave out the fence that Gemini CLI puts around what comes from servers.

        Of a refusal it shows the whole protocol, as JSON in JSON.
        """
        if refused := re.search(
            r"with response: (\[.*\])", json.loads(result).get("error", "") if result.startswith('{"error') else ""
        ):
            (part,) = json.loads(refused[1])[0]["functionResponse"]["response"]["content"]
            return str(part["text"])
        return result.removeprefix("<untrusted_context>\n").removesuffix("\n</untrusted_context>")


CLIENTS: tuple[type[RealClient], ...] = (ClaudeCode, Codex, SearchingCodex, CodingCodex, GeminiCli)
APART = tuple(kind for kind in CLIENTS if kind is not SearchingCodex)
"""Those that differ in how they call tools and read replies; the other one differs in how it finds the tools."""
