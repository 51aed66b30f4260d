"""Where a BigMind is: its folder, its address, and whom it serves."""

from pathlib import Path
from typing import Literal
from urllib.parse import urlsplit

from pydantic import BaseModel, Field, field_validator


class InstanceSettings(BaseModel):
    """Where a BigMind is, and the addresses that follow from it."""

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
    hsts: Literal["off", "host", "subdomains", "preload"] = Field(
        default="host",
        description="With https in BIGMIND_PUBLIC_URL, what browsers are told to ask by https alone for a year: this "
        "`host`, its `subdomains` too, or both for the list that browsers come with (`preload`), which takes months to "
        "leave. `off` where the proxy says it.",
    )
    mode: Literal["personal", "team", "enterprise"] = Field(
        default="personal",
        description="`personal`: one user, signed in from the link that start-up prints. `team`, `enterprise`: many.",
    )

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
