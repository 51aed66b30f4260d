"""One instance: where it is, how much it serves at once, what holds for everybody here, and how it is watched."""

import os
from ipaddress import IPv4Network, IPv6Network
from pathlib import Path
from typing import ClassVar, Literal
from urllib.parse import urlsplit

from pydantic import BaseModel, Field, SecretStr, field_validator

from bigmind.environment.addresses import WebAddress, networks_in
from bigmind.environment.parts import COMMANDS, read_by, require_apart


class InstanceSettings(BaseModel):
    """Where a BigMind is, and the addresses that follow from it."""

    home: Path = Field(
        default_factory=lambda: Path.home() / ".bigmind",
        description="Folder of everything BigMind keeps on this machine: embedded database, secret key, logs.",
    )
    port: int = Field(
        default=7700,
        ge=1,
        le=65535,
        json_schema_extra=read_by("web"),
        description="Port the web server listens on.",
    )
    bind: str = Field(
        default="127.0.0.1",
        json_schema_extra=read_by("web"),
        description="Address the web server listens on. `0.0.0.0` accepts other machines; set BIGMIND_PUBLIC_URL too.",
    )
    public_url: str = Field(
        default="",
        json_schema_extra=read_by("web", "worker", COMMANDS)
        | require_apart("other machines are refused and links in mail lead nowhere"),
        description="The address people and agents type, e.g. `https://bigmind.example.com`. Hosts and origins that "
        "differ from it are refused. Default: `http://localhost:<BIGMIND_PORT>`.",
    )
    hsts: Literal["off", "host", "subdomains", "preload"] = Field(
        default="host",
        json_schema_extra=read_by("web"),
        description="With https in BIGMIND_PUBLIC_URL: for which names browsers are told to use https alone for a "
        "year. `host` is this host, `subdomains` adds its subdomains, `preload` also asks for the list built into "
        "browsers, which takes months to leave. `off` where the proxy sends the header.",
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


class Capacity(BaseModel):
    """How much is served at once, and how long a connection is waited for."""

    readers: ClassVar = ("web",)

    web_processes: int = Field(
        default=0,
        ge=0,
        le=64,
        description="Processes of the web server that `bigmind up` runs. Each serves everything, and one can carry on "
        "while another restarts. 0: two, or one on a machine with less than 1 GB of memory.",
    )
    web_threads: int = Field(
        default=8, ge=1, le=128, description="Pages and REST requests a web process serves at once."
    )
    mcp_threads: int = Field(default=4, ge=1, le=128, description="Tool calls a web process serves at once.")
    waiting_per_person: int = Field(
        default=64,
        ge=1,
        le=10_000,
        description="How many requests of one person may wait for a thread in a web process, counted separately for "
        "quick and slow requests, and for tool calls and others. Beyond it the answer is 429.",
    )
    header_seconds: float = Field(
        default=10, ge=0.1, le=600, description="Seconds within which the headers of a request must have arrived."
    )
    body_seconds: float = Field(
        default=60, ge=0.1, le=3600, description="Seconds within which the body of a request must have arrived."
    )
    connections: int = Field(
        default=1000,
        ge=10,
        le=100_000,
        description="Connections that a web process holds at once; at most three quarters of the files it may open. "
        "Beyond that, the connection that has waited longest for its client is closed.",
    )
    connections_per_address: int = Field(
        default=250,
        ge=4,
        le=100_000,
        description="Connections that one address (in IPv6, one /64) holds at once in a web process.",
    )
    proxies: str = Field(
        default="127.0.0.1,::1",
        description="Addresses and networks of proxies, such as `127.0.0.1,10.1.0.0/16`. They speak for many clients, "
        "so BIGMIND_CONNECTIONS_PER_ADDRESS does not apply to them. It does not change which address a client is seen "
        "to have.",
    )

    @field_validator("proxies")
    @classmethod
    def refuse_unknown_networks(cls, proxies: str) -> str:
        """Refuse what is no address and no network."""
        networks_in(proxies)
        return proxies

    @property
    def proxy_networks(self) -> tuple[IPv4Network | IPv6Network, ...]:
        """The networks that proxies ask from."""
        return networks_in(self.proxies)


class Rules(BaseModel):
    """What holds for everybody here."""

    autoopen: bool = Field(
        default=False,
        json_schema_extra=read_by("web"),
        description="Open the sign-in link in the browser when BigMind has started.",
    )
    rate_limit: int = Field(
        default=600,
        ge=0,
        description="Operations a key may perform per minute, unless it has a limit of its own. 0: no limit.",
    )
    secrets: Literal["warn", "redact", "block"] = Field(
        default="warn",
        description="What happens to a password, key or token in a personal memory: `warn` stores it and tells the "
        "caller, `redact` stores the text without it, `block` refuses the text. Shared knowledge always refuses it.",
    )
    review_days: int = Field(
        default=3,
        ge=1,
        le=365,
        description="Days after which what waits for a curator is shown as overdue.",
    )
    verify_days: int = Field(
        default=180,
        ge=1,
        le=3650,
        description="Days after which an approved architecture, standard or pattern has to be verified again. A "
        "change applies to what is approved or verified from then on.",
    )
    verify_decisions_days: int = Field(
        default=365,
        ge=1,
        le=3650,
        description="The same for decisions and for the glossary.",
    )


class ObservabilitySettings(BaseModel):
    """How a running BigMind is watched."""

    debug: bool = Field(
        default=False, description="Django's detailed error pages. Never on a machine that others can reach."
    )
    log_level: Literal["DEBUG", "INFO", "WARNING", "ERROR"] = Field(default="INFO", description="How much is logged.")
    log_format: Literal["text", "json"] = Field(default="text", description="`json`: one object a line, for machines.")
    log_audit: bool = Field(
        default=False,
        description="Log the seal of each new line of the audit log (`head=…`), where logs are collected on another "
        "machine: `bigmind audit_verify --head` compares one (docs/people.md).",
    )
    slow_ms: int = Field(
        default=1000,
        ge=1,
        description="Milliseconds from which on a call, a page or a task is logged as slow.",
    )
    metrics_token: SecretStr = Field(
        default=SecretStr(""),
        json_schema_extra=read_by("web"),
        description="Whoever sends it as `Authorization: Bearer …` may read `/metrics`. Default: only programs on "
        "this machine may, and only if BIGMIND_PUBLIC_URL is this machine, so that no proxy can ask on behalf of "
        "others.",
    )
    otlp_endpoint: WebAddress = Field(
        default="",
        description="Collector that traces are sent to (OpenTelemetry over HTTP), e.g. `http://localhost:4318`. "
        "Default: what the standard variable `OTEL_EXPORTER_OTLP_ENDPOINT` says; without either, no traces are made.",
    )

    @property
    def sends_traces(self) -> bool:
        """Whether a collector is configured, here or by the variables that OpenTelemetry reads itself."""
        standard = ("OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT")
        return bool(self.otlp_endpoint or any(os.environ.get(name) for name in standard))
