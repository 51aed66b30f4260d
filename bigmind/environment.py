"""Every setting BigMind reads from the environment, each with its default and what it means."""

import base64
import os
import secrets
from difflib import get_close_matches
from functools import lru_cache
from pathlib import Path
from typing import Literal
from urllib.parse import SplitResult, urlsplit

from pydantic import Field, SecretStr, field_validator, model_validator
from pydantic_settings import BaseSettings, SettingsConfigDict

from bigmind.core.key_text import is_well_formed
from bigmind.core.sections import Section

PREFIX = "BIGMIND_"


class Environment(BaseSettings):
    """The settings of one BigMind instance, read from variables that begin with `BIGMIND_`."""

    model_config = SettingsConfigDict(
        env_prefix=PREFIX, extra="ignore", frozen=True, env_ignore_empty=True, hide_input_in_errors=True
    )

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
    oidc_issuer: str = Field(
        default="",
        description="Address of the company's own sign-in (OpenID Connect), e.g. `https://login.example.com/realms/main`."
        " Register `<BIGMIND_PUBLIC_URL>/sign-in/sso/callback/` there as the redirect address.",
    )
    oidc_client_id: str = Field(default="", description="Name of this BigMind at the provider.")
    oidc_client_secret: SecretStr = Field(
        default=SecretStr(""), description="Secret of this BigMind at the provider; none for a public client."
    )
    oidc_client_secret_file: str = Field(
        default="", description="File that holds BIGMIND_OIDC_CLIENT_SECRET, such as a secret."
    )
    oidc_name: str = Field(
        default="single sign-on", max_length=60, description="What the button on the sign-in page calls the provider."
    )
    oidc_allowed_domains: str = Field(
        default="",
        description="Domains whose verified addresses may come in, with commas between. Default: all of the provider.",
    )
    oidc_join: Literal["invited", "anybody"] = Field(
        default="invited",
        description="Who may come in for the first time: `invited` people and those who are here, or `anybody` of "
        "BIGMIND_OIDC_ALLOWED_DOMAINS, as a member.",
    )
    oidc_role_claim: str = Field(
        default="",
        description="Claim that lists somebody's groups, e.g. `groups`. Then the groups give the role at each sign-in.",
    )
    oidc_roles: str = Field(
        default="",
        description="Which group is which role, e.g. `brains=curator,chiefs=admin`. Whoever is in none is a member.",
    )
    passwords_only_for: str = Field(
        default="",
        description="User name of the one admin who still signs in with a password when the provider is away; nobody "
        "else can then. Default: everybody may have a password.",
    )
    require_mfa: Literal["nobody", "deciders", "everybody"] = Field(
        default="nobody",
        description="Who must have a second factor: `deciders` are curators and admins. Whoever has none is led to "
        "set it up after signing in, and can do nothing else in the browser. Keys are not concerned.",
    )
    user: str = Field(default="", description="User name of the first user. Default: the name of the system's user.")
    init_user: str = Field(
        default="",
        description="For containers: user name of the first user, instead of BIGMIND_USER. All of BIGMIND_INIT_* count "
        "at the first start, when there is no user yet, and never again.",
    )
    init_password: SecretStr = Field(
        default=SecretStr(""),
        description="Password of the first user: 12 characters or more. Then no sign-in link is printed in the modes "
        "`team` and `enterprise`.",
    )
    init_password_file: str = Field(default="", description="File that holds BIGMIND_INIT_PASSWORD, such as a secret.")
    init_key: SecretStr = Field(
        default=SecretStr(""),
        description="API key of the first user, made with `bigmind key_text`. Then no key is printed.",
    )
    init_key_file: str = Field(default="", description="File that holds BIGMIND_INIT_KEY, such as a secret.")
    database_url: SecretStr = Field(
        default=SecretStr(""),
        description="PostgreSQL 16 or later with pgvector, e.g. `postgres://user:password@host/name`. "
        "Default: the embedded server in BIGMIND_HOME.",
    )
    database_owner_url: SecretStr = Field(
        default=SecretStr(""),
        description="The same database as another role, that owns the tables: it migrates and makes indexes, and the "
        "role of BIGMIND_DATABASE_URL is let read and write rows and nothing else. Only processes that migrate or "
        "work need it. Default: one role does all.",
    )
    read_only: bool = Field(
        default=False,
        description="Read and search only, such as on a replica or during maintenance: writes are refused with a word "
        "on when to try again, nothing is noted, and worker and scheduler pause.",
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
    slow_ms: int = Field(
        default=1000, ge=1, description="Milliseconds from which on a call, a page or a task is logged as slow."
    )
    metrics_token: SecretStr = Field(
        default=SecretStr(""),
        description="Whoever sends it as `Authorization: Bearer …` may read `/metrics`. Default: only programs on this "
        "machine may, and only where BIGMIND_PUBLIC_URL is this machine, so that no proxy can ask for others.",
    )
    otlp_endpoint: str = Field(
        default="",
        description="Collector that traces are sent to (OpenTelemetry over HTTP), e.g. `http://localhost:4318`. "
        "Default: what the standard variable `OTEL_EXPORTER_OTLP_ENDPOINT` says; without it no trace is made.",
    )
    autoopen: bool = Field(default=False, description="Open the sign-in link in the browser when BigMind has started.")
    rate_limit: int = Field(
        default=600,
        ge=0,
        description="Operations a key may perform in a minute, unless it has a limit of its own. 0: no limit.",
    )
    secrets: Literal["warn", "redact", "block"] = Field(
        default="warn",
        description="What becomes of a password, key or token in a personal memory: `warn` stores it and tells the "
        "caller, `redact` stores the text without it, `block` refuses the text. Shared knowledge always refuses it.",
    )
    review_days: int = Field(
        default=3, ge=1, le=365, description="Days after which what waits for a curator is shown as overdue."
    )
    webhook_url: str = Field(
        default="",
        description="Address that is told of every decision about company knowledge, signed as the Standard Webhooks "
        "specification has it. Addresses in private networks are refused.",
    )
    webhook_secret: SecretStr = Field(
        default=SecretStr(""),
        description="Signs what is sent to BIGMIND_WEBHOOK_URL: `whsec_` and base64, or any text.",
    )
    webhook_private: bool = Field(default=False, description="Let BIGMIND_WEBHOOK_URL be in a private network.")
    email_url: SecretStr = Field(
        default=SecretStr(""),
        description="Mail server, e.g. `smtp://user:password@mail.example.com:587` (STARTTLS) or `smtps://…:465`. "
        "Default: no e-mail is sent.",
    )
    email_from: str = Field(default="", description="Sender of e-mail. Default: `bigmind@` and the public host.")
    backup_dir: str = Field(
        default="",
        description="Folder that the scheduler makes backups in. Default: only `bigmind backup` makes any.",
    )
    backup_every: int = Field(
        default=24, ge=1, le=8760, description="Hours from one backup in BIGMIND_BACKUP_DIR to the next."
    )
    backup_keep: int = Field(
        default=7, ge=0, le=10_000, description="How many backups stay in BIGMIND_BACKUP_DIR. 0 keeps all."
    )
    company_url: str = Field(
        default="",
        description="The company's BigMind, e.g. `https://bigmind.example.com`: this one registers there, sends it "
        "proposals and reads what the company knows (docs/instances.md). In the mode `personal` only, because the key "
        "is one person's. Default: none, and nothing leaves this machine.",
    )
    company_key: SecretStr = Field(
        default=SecretStr(""), description="Your key at BIGMIND_COMPANY_URL, with the scopes `read` and `write`."
    )
    company_plain_http: bool = Field(
        default=False,
        description="Let BIGMIND_COMPANY_URL be http in a private network, where others could read the key on its way. "
        "On this machine http is always permitted, and to public addresses never.",
    )
    instance_name: str = Field(
        default="", max_length=100, description="What this BigMind is called at the company. Default: the host's name."
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
    budibase_url: str = Field(
        default="",
        description="Budibase server whose apps are mapped by itself, such as `https://budibase.example.com`.",
    )
    budibase_api_key: SecretStr = Field(
        default=SecretStr(""), description="Key for Budibase’s public API. It is read, never written."
    )
    search_fusion: Literal["blend", "rrf"] = Field(
        default="blend",
        description="How a search joins what it found by words and by meaning: `blend` adds their scores, `rrf` their "
        "reciprocal ranks. docs/benchmarks.md compares them.",
    )
    profile_sections: str = Field(
        default="",
        description="Sections of a profile that everybody here sees until its owner chooses, such as `who,badges`, or "
        "`none`; there are `who`, `role`, `agents`, `statistics`, `badges`, `topics`, `activity`, `contributions`, "
        "`headlines`. Default: `who,role,badges,contributions` in the mode `team`, none in `enterprise`.",
    )
    gaps: bool = Field(
        default=True,
        description="Keep the questions of agents that found nothing, to show what is not known here. A person's "
        "question is shown to others only when two people asked it. `off` keeps none.",
    )
    oauth: bool | None = Field(
        default=None,
        description="Let apps in that know no key and ask their user to sign in here (OAuth), at `/mcp/oauth`. It "
        "needs https, or a BIGMIND_PUBLIC_URL of this machine. Default: `on` in the modes `personal` and `team`, `off` "
        "in `enterprise`, where it is for an admin to decide which clouds may ask.",
    )
    source_megabytes: int = Field(
        default=64,
        ge=1,
        le=1024,
        description="Largest file that references are made from, such as an OpenAPI document. Reading one takes about "
        "ten times its size in memory.",
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

    @field_validator("webhook_url", "otlp_endpoint")
    @classmethod
    def web_address(cls, url: str) -> str:
        """Refuse what is no address of the web."""
        parts = urlsplit(url)
        if url and (parts.scheme not in {"http", "https"} or not parts.hostname):
            raise ValueError("must look like https://hooks.example.com/bigmind")
        try:
            is_usable = parts.port != 0
        except ValueError:
            is_usable = False
        if not is_usable:
            raise ValueError("must have a port from 1 to 65535 after the host, or none")
        return url

    @field_validator("company_url")
    @classmethod
    def company_origin(cls, url: str) -> str:
        """Refuse what is not `scheme://host[:port]`: a name and password in it would be shown wherever it is."""
        parts = urlsplit(url)
        is_origin = parts.scheme in {"http", "https"} and bool(parts.hostname) and parts.path in {"", "/"}
        if url and (not is_origin or "@" in parts.netloc or parts.query or parts.fragment):
            raise ValueError("must look like https://bigmind.example.com, without a path, a name or a password")
        try:
            is_usable = parts.port != 0
        except ValueError:
            is_usable = False
        if not is_usable:
            raise ValueError("must have a port from 1 to 65535 after the host, or none")
        return url.rstrip("/")

    @field_validator("company_key")
    @classmethod
    def sendable(cls, key: SecretStr) -> SecretStr:
        """Refuse what cannot be a key: it is sent in a header."""
        text = key.get_secret_value()
        if text and not is_well_formed(text):
            raise ValueError("is no key of a BigMind: it begins with bm_ and is shown once, when it is made")
        return key

    @field_validator("budibase_url")
    @classmethod
    def address_without_name(cls, url: str) -> str:
        """Refuse what is no address of the web, or has a key in it, which logs would show."""
        parts = urlsplit(url)
        if url and (parts.scheme not in {"http", "https"} or not parts.hostname or parts.username or parts.query):
            raise ValueError("must look like https://budibase.example.com, without name, password or query")
        return url.rstrip("/")

    @field_validator("webhook_secret")
    @classmethod
    def signing_secret(cls, secret: SecretStr) -> SecretStr:
        """Refuse a secret that says it is base64 and is not: nothing could be signed with it."""
        text = secret.get_secret_value()
        encoded = text.removeprefix("whsec_")
        if encoded != text:
            try:
                key = base64.b64decode(encoded, validate=True)
            except ValueError:
                key = b""
            if not key:
                raise ValueError("must have base64 after `whsec_`; leave out `whsec_` to sign with the text itself")
        return secret

    @field_validator("profile_sections")
    @classmethod
    def known_sections(cls, names: str) -> str:
        """Refuse a section that no profile has: somebody would believe it hidden."""
        said = [name.strip() for name in names.split(",") if name.strip()]
        unknown = sorted({*said} - {*Section, "none"})
        if unknown or ("none" in said and len(said) > 1):
            known = ", ".join(Section)
            raise ValueError(f"must be `none` or some of {known}, with commas between them")
        return ",".join(said)

    @model_validator(mode="after")
    def signed(self) -> "Environment":
        """Refuse a webhook whose messages nobody could trust."""
        if self.webhook_url and not self.webhook_secret.get_secret_value():
            raise ValueError("BIGMIND_WEBHOOK_URL needs BIGMIND_WEBHOOK_SECRET, which signs what is sent")
        return self

    @field_validator("oidc_issuer")
    @classmethod
    def safe_issuer(cls, url: str) -> str:
        """Refuse a provider whose answers others could change on the way."""
        parts = urlsplit(url)
        is_local = parts.scheme == "http" and parts.hostname in {"localhost", "127.0.0.1", "::1"}
        if url and (not parts.hostname or not (parts.scheme == "https" or is_local)):
            raise ValueError("must look like https://login.example.com; without https only on this machine")
        if len(url) > 200:
            raise ValueError(f"must have at most 200 characters; this has {len(url)}")
        return url.rstrip("/")

    @field_validator("oidc_roles")
    @classmethod
    def known_roles(cls, pairs: str) -> str:
        """Refuse a role that nobody has."""
        for pair in filter(None, (part.strip() for part in pairs.split(","))):
            group, _, role = pair.rpartition("=")
            if not group or role not in {"member", "curator", "admin"}:
                raise ValueError("must be pairs like chiefs=admin; the roles are member, curator, admin")
        return pairs

    @model_validator(mode="after")
    def complete_sign_in(self) -> "Environment":
        """Refuse a sign-in by which nobody, or everybody in the world, could come in."""
        if self.oidc_issuer and not self.oidc_client_id:
            raise ValueError("BIGMIND_OIDC_ISSUER needs BIGMIND_OIDC_CLIENT_ID")
        if self.oidc_join == "anybody" and not self.oidc_domains:
            raise ValueError("BIGMIND_OIDC_JOIN=anybody needs BIGMIND_OIDC_ALLOWED_DOMAINS")
        if self.passwords_only_for and not self.oidc_issuer:
            raise ValueError("BIGMIND_PASSWORDS_ONLY_FOR needs BIGMIND_OIDC_ISSUER: nobody else could sign in")
        try:
            if not self.oidc_client_secret.get_secret_value():
                _ = self.oidc_secret
        except (OSError, UnicodeDecodeError) as error:
            raise ValueError(f"BIGMIND_OIDC_CLIENT_SECRET_FILE cannot be read: {error}") from error
        return self

    @model_validator(mode="after")
    def company_of_one_person(self) -> "Environment":
        """Refuse a company server that could not be asked, or whose knowledge would be shown to others than its key's.

        Whether a plain address leads where it may is looked at again when it is called.
        """
        if not self.company_url:
            return self
        if not self.company_key.get_secret_value():
            raise ValueError("BIGMIND_COMPANY_URL needs BIGMIND_COMPANY_KEY, a key of yours at that server")
        if self.mode != "personal":
            raise ValueError("BIGMIND_COMPANY_URL belongs to a BigMind of one person: BIGMIND_MODE must be personal")
        if self.company_url == self.url:
            raise ValueError("BIGMIND_COMPANY_URL is the address of this BigMind itself")
        host = urlsplit(self.company_url).hostname or ""
        is_here = host == "localhost" or host == "::1" or host.startswith("127.")
        if self.company_url.startswith("http://") and not (is_here or self.company_plain_http):
            raise ValueError(
                "BIGMIND_COMPANY_URL must be https: others could read the key on its way. In a private network, "
                "BIGMIND_COMPANY_PLAIN_HTTP=true permits http"
            )
        return self

    @model_validator(mode="after")
    def said_once(self) -> "Environment":
        """Refuse a secret that is given twice: nobody could tell which one counts."""
        for name in ("init_password", "init_key", "oidc_client_secret"):
            if getattr(self, name).get_secret_value() and getattr(self, f"{name}_file"):
                variable = PREFIX + name.upper()
                raise ValueError(f"{variable} and {variable}_FILE exclude each other")
        return self

    @property
    def sections(self) -> tuple[str, ...] | None:
        """The sections of a profile that are shared until its owner chooses; None leaves it to the mode."""
        return (
            tuple(name for name in self.profile_sections.split(",") if name != "none")
            if self.profile_sections
            else None
        )

    @property
    def oidc_secret(self) -> str:
        """The secret at the provider, from the variable or from its file."""
        if not self.oidc_client_secret_file:
            return self.oidc_client_secret.get_secret_value()
        return Path(self.oidc_client_secret_file).read_text().strip()

    @property
    def oidc_domains(self) -> tuple[str, ...]:
        """The domains whose people may come in by the provider; none means all."""
        return tuple(name.strip().lower() for name in self.oidc_allowed_domains.split(",") if name.strip())

    @property
    def oidc_role_of_groups(self) -> dict[str, str]:
        """Which group of the provider is which role here."""
        pairs = [part.strip().rpartition("=") for part in self.oidc_roles.split(",") if part.strip()]
        return {group: role for group, _, role in pairs}

    @property
    def sends_traces(self) -> bool:
        """Whether a collector is configured, here or by the variables that OpenTelemetry reads itself."""
        standard = ("OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT")
        return bool(self.otlp_endpoint or any(os.environ.get(name) for name in standard))

    @property
    def mail_server(self) -> SplitResult:
        """The parts of the mail server's address; without a host no mail is sent."""
        return urlsplit(self.email_url.get_secret_value())

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
    def serves_oauth(self) -> bool:
        """Whether apps may ask people to let them in. Codes and tokens travel encrypted, or not at all."""
        wanted = self.mode != "enterprise" if self.oauth is None else self.oauth
        parts = urlsplit(self.url)
        return wanted and (parts.scheme == "https" or parts.hostname in {"localhost", "127.0.0.1", "::1"})

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
