"""Every setting BigMind reads from the environment, each with its default and what it means."""

import os
import secrets
from difflib import get_close_matches
from functools import lru_cache
from pathlib import Path
from typing import Literal
from urllib.parse import urlsplit

from pydantic import Field, SecretStr, field_validator
from pydantic_settings import BaseSettings, SettingsConfigDict

PREFIX = "BIGMIND_"


class Environment(BaseSettings):
    """The settings of one BigMind instance, read from variables that begin with `BIGMIND_`."""

    model_config = SettingsConfigDict(env_prefix=PREFIX, extra="ignore", frozen=True, env_ignore_empty=True)

    home: Path = Field(
        default_factory=lambda: Path.home() / ".bigmind",
        description="Folder of everything BigMind keeps on this machine: embedded database, secret key, logs.",
    )
    port: int = Field(default=7700, ge=1, le=65535, description="Port the web server listens on.")
    bind: str = Field(
        default="127.0.0.1",
        description="Address the web server listens on. `0.0.0.0` accepts other machines; set BIGMIND_PUBLIC_URL too.",
    )
    public_url: str = Field(
        default="",
        description="The address people and agents type, e.g. `https://bigmind.example.com`. Hosts and origins that "
        "differ from it are refused. Default: `http://localhost:<BIGMIND_PORT>`.",
    )
    mode: Literal["personal", "team", "enterprise"] = Field(
        default="personal",
        description="`personal`: one user, signed in from the link that start-up prints. `team`, `enterprise`: many.",
    )
    user: str = Field(default="", description="User name of the first user. Default: the name of the system's user.")
    database_url: SecretStr = Field(
        default=SecretStr(""),
        description="PostgreSQL 16 or later with pgvector, e.g. `postgres://user:password@host/name`. "
        "Default: the embedded server in BIGMIND_HOME.",
    )
    redis_url: SecretStr = Field(
        default=SecretStr(""),
        description="Redis for the task queue and shared counters. Default: files in BIGMIND_HOME and memory.",
    )
    secret_key: SecretStr = Field(
        default=SecretStr(""), description="Signs sessions and links. Default: generated once, kept in BIGMIND_HOME."
    )
    debug: bool = Field(default=False, description="Developer's error pages. Never on a machine others can reach.")
    log_level: Literal["DEBUG", "INFO", "WARNING", "ERROR"] = Field(default="INFO", description="How much is logged.")
    log_format: Literal["text", "json"] = Field(default="text", description="`json`: one object a line, for machines.")
    autoopen: bool = Field(default=False, description="Open the sign-in link in the browser when BigMind has started.")
    rate_limit: int = Field(
        default=600, ge=0, description="Operations a key may perform in a minute. 0 switches the limit off."
    )
    web_threads: int = Field(default=8, ge=1, le=128, description="Pages and REST requests served at once.")
    mcp_threads: int = Field(default=4, ge=1, le=128, description="Tool calls served at once.")
    embedding_provider: Literal["", "builtin", "openai", "hashing"] = Field(
        default="",
        description="What turns texts into vectors: `builtin` (MiniLM on this machine), `openai` (any "
        "OpenAI-compatible endpoint), `hashing` (for tests). Default: `openai` when BIGMIND_EMBEDDING_URL is set, "
        "else `builtin`.",
    )
    embedding_url: str = Field(
        default="",
        description="OpenAI-compatible endpoint that texts are sent to, e.g. `http://localhost:11434/v1` "
        "(Ollama, vLLM, TEI, LM Studio, Azure). Default with the provider `openai`: OpenAI itself.",
    )
    embedding_model: str = Field(default="", description="The endpoint's model. Default: `text-embedding-3-small`.")
    embedding_api_key: SecretStr = Field(
        default=SecretStr(""),
        description="The endpoint's key. With a key, BIGMIND_EMBEDDING_DAILY_TOKENS holds.",
    )
    embedding_dimensions: int = Field(
        default=0, ge=0, le=4000, description="Length of the vectors. Needed only for models BigMind does not know."
    )
    embedding_daily_tokens: int = Field(
        default=1_000_000,
        ge=0,
        description="Tokens that an endpoint with a key may be sent in a day (UTC). 0 switches the limit off.",
    )
    time_zone: str = Field(default="UTC", description="Time zone of the pages and of dates shown to agents.")

    @field_validator("home")
    @classmethod
    def absolute(cls, home: Path) -> Path:
        """Expand `~` and make the path independent of the working directory."""
        return home.expanduser().absolute()

    @field_validator("public_url")
    @classmethod
    def origin_only(cls, url: str) -> str:
        """Refuse what is not `scheme://host[:port]`, because hosts and origins are checked against it."""
        parts = urlsplit(url)
        if url and (parts.scheme not in {"http", "https"} or not parts.hostname or parts.path not in {"", "/"}):
            raise ValueError("must look like https://bigmind.example.com, without a path")
        return url.rstrip("/")

    @property
    def url(self) -> str:
        """The public URL, never a bind address, without a trailing slash."""
        return self.public_url or f"http://localhost:{self.port}"

    @property
    def allowed_hosts(self) -> list[str]:
        """The hosts that requests may name: the public one, and this machine itself."""
        return list(dict.fromkeys([urlsplit(self.url).hostname or "localhost", "localhost", "127.0.0.1", "[::1]"]))

    @property
    def allowed_origins(self) -> list[str]:
        """The origins that browsers may send from: the public one, and this machine on the same port."""
        return list(dict.fromkeys([self.url, f"http://localhost:{self.port}", f"http://127.0.0.1:{self.port}"]))

    @property
    def is_embedded(self) -> bool:
        """Whether BigMind runs its own PostgreSQL."""
        return not self.database_url.get_secret_value()

    def signing_key(self) -> str:
        """Return the secret key: the configured one, else the one made on the first call and kept in the home."""
        return self.secret_key.get_secret_value() or _kept_secret(self.home / "secret_key")


def _kept_secret(path: Path) -> str:
    """Read a secret from a file only its owner can read, making it first when it is missing.

    The file appears whole or not at all (written aside, then linked into place), so that two processes starting
    at once agree on one secret.
    """
    if not path.exists():
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        aside = path.with_name(f"{path.name}.{os.getpid()}")
        aside.touch(mode=0o600)
        aside.write_text(secrets.token_urlsafe(50))
        try:
            os.link(aside, path)
        except FileExistsError:
            pass
        finally:
            aside.unlink()
    return path.read_text().strip()


def unknown_variables() -> dict[str, str]:
    """Return the `BIGMIND_*` variables that mean nothing here, each with the nearest real name (or an empty text)."""
    known = [PREFIX + name.upper() for name in Environment.model_fields] + ["BIGMIND_API_KEY"]
    unknown = [name for name in os.environ if name.startswith(PREFIX) and name not in known]
    return {name: next(iter(get_close_matches(name, known, n=1)), "") for name in unknown}


@lru_cache
def environment() -> Environment:
    """Return the settings of this process, read once.

    Raises:
        pydantic.ValidationError: a variable has a value that BigMind cannot use.
    """
    return Environment()
