"""Where everything is kept: database, task queue, the key that signs, and backups."""

from pathlib import Path

from pydantic import BaseModel, Field, SecretStr, field_validator

from bigmind.environment.instance import InstanceSettings
from bigmind.environment.parts import COMMANDS, read_by, require_apart
from bigmind.environment.signing_key import read_or_create_key


class Storage(InstanceSettings):
    """Where everything is kept."""

    database_url: SecretStr = Field(
        default=SecretStr(""),
        json_schema_extra=require_apart("each machine starts a database of its own"),
        description="PostgreSQL 16 or later with pgvector, e.g. `postgres://user:password@host/name`. "
        "Default: the embedded server in BIGMIND_HOME.",
    )
    database_owner_url: SecretStr = Field(
        default=SecretStr(""),
        json_schema_extra=read_by("worker", COMMANDS),
        description="The same database, as the role that owns the tables: it migrates and builds indexes, while the "
        "role of BIGMIND_DATABASE_URL can only read and write rows. Only migrations and workers need it. Default: one "
        "role does everything; the embedded server has two of its own.",
    )
    database_direct_url: SecretStr = Field(
        default=SecretStr(""),
        json_schema_extra=read_by("web"),
        description="The server of BIGMIND_DATABASE_URL past a pool in the mode `transaction`, e.g. "
        "`postgres://db.example.com:5432`: web processes listen for changes there. Role, password and database are "
        "those of BIGMIND_DATABASE_URL unless it names others. Default: the host and port of "
        "BIGMIND_DATABASE_OWNER_URL, else those of BIGMIND_DATABASE_URL.",
    )
    database_replica_url: SecretStr = Field(
        default=SecretStr(""),
        json_schema_extra=read_by("web"),
        description="A streaming replica of the same database, for the role of BIGMIND_DATABASE_URL. It answers "
        "operations and pages that only read, for each person once it has their latest writes. While it is down or "
        "more than ten seconds behind, the primary answers. Default: the primary answers everything.",
    )
    read_only: bool = Field(
        default=False,
        description="Read and search only, for a replica or during maintenance: writes are refused with a hint when "
        "to try again, usage is not recorded, and worker and scheduler pause.",
    )
    redis_url: SecretStr = Field(
        default=SecretStr(""),
        json_schema_extra=require_apart("other machines are not woken and limits are counted for each alone"),
        description="Redis for the task queue and shared counters. Default: files in BIGMIND_HOME.",
    )
    secret_key: SecretStr = Field(
        default=SecretStr(""),
        json_schema_extra=require_apart("the others do not recognize what this part signs"),
        description="Signs sessions and links. Default: generated once, kept in BIGMIND_HOME.",
    )
    secret_key_fallbacks: SecretStr = Field(
        default=SecretStr(""),
        description="Earlier secret keys of this BigMind, separated by spaces: what they signed or sealed stays "
        "valid, and what they encrypted, such as second factors, can be read. Without the key it was set up with a "
        "second factor has to be set up again.",
    )

    keep_told_days: int = Field(
        default=90,
        ge=0,
        le=3650,
        description="Days that start contexts and recalls are kept word for word, for their owners to look at. What "
        "is erased disappears from them at once. 0 keeps none.",
    )
    keep_calls_days: int = Field(
        default=90,
        ge=30,
        le=3650,
        description="Days that the usage log is kept: who performed which operation, never its content.",
    )
    keep_questions_days: int = Field(
        default=180,
        ge=1,
        le=3650,
        description="Days that an unanswered question is kept after it was last asked.",
    )
    keep_asked_days: int = Field(
        default=28,
        ge=0,
        le=365,
        description="Days that the questions of agents are kept after they were last asked, so that a curator can try "
        "a decision on them before making it. A question belongs to the person whose agent asked it: curators only "
        "see counts, once three others have asked. 0 keeps none.",
    )
    keep_deliveries_days: int = Field(
        default=30,
        ge=1,
        le=365,
        description="Days that a webhook message or an e-mail is kept after it was delivered or given up.",
    )
    keep_records_days: int = Field(
        default=365,
        ge=30,
        le=3650,
        description="Days that other records of use are kept: notices, alerts, links and invitations that have "
        "expired, finished runs of app maps, what healed in them, triggers that fired, errors that were asked about, "
        "what vectors cost per day. Neither the audit log nor anything that was stored as knowledge.",
    )
    keep_unused_vectors: int = Field(
        default=10_000,
        ge=0,
        le=1_000_000,
        description="Vectors of texts that nothing stored has any more, the newest of which are kept, so that a text "
        "that is restored need not be embedded again.",
    )

    @field_validator("database_direct_url")
    @classmethod
    def refuse_other_addresses(cls, url: SecretStr) -> SecretStr:
        """Refuse what libpq cannot read, and what names no server."""
        from psycopg import ProgrammingError
        from psycopg.conninfo import conninfo_to_dict

        try:
            is_server = not (text := url.get_secret_value()) or "host" in conninfo_to_dict(text)
        except ProgrammingError:
            is_server = False
        if not is_server:
            raise ValueError("must look like postgres://db.example.com:5432, the server past the pool")
        return url

    @property
    def is_embedded(self) -> bool:
        """Whether BigMind runs its own PostgreSQL."""
        return not self.database_url.get_secret_value()

    def signing_key(self) -> str:
        """Return the secret key: the configured one, else the one made on the first call and kept in the home.

        Raises:
            DamagedSecret: the file holds something else.
        """
        return self.secret_key.get_secret_value() or read_or_create_key(self.home / "secret_key")


class BackupSettings(BaseModel):
    """When backups are made, where, and how long they stay."""

    backup_dir: str = Field(
        default="",
        json_schema_extra=read_by("worker", COMMANDS),
        description="Folder in which workers make backups, as a whole path; only workers need it, each the same. "
        "Default: only `bigmind backup` makes any.",
    )
    backup_every: int = Field(
        default=24,
        ge=1,
        le=8760,
        description="Hours from one backup in BIGMIND_BACKUP_DIR to the next.",
    )
    backup_keep: int = Field(
        default=7,
        ge=0,
        le=10_000,
        description="How many of the newest backups are kept. If this and the next three are 0, all are kept.",
    )
    backup_keep_daily: int = Field(
        default=0,
        ge=0,
        le=10_000,
        description="For how many days the last backup of each day is kept as well.",
    )
    backup_keep_weekly: int = Field(
        default=0,
        ge=0,
        le=10_000,
        description="For how many weeks the last backup of each week is kept as well.",
    )
    backup_keep_monthly: int = Field(
        default=0,
        ge=0,
        le=10_000,
        description="For how many months the last backup of each month is kept as well.",
    )

    @field_validator("backup_dir")
    @classmethod
    def refuse_relative(cls, text: str) -> str:
        """Take whole paths alone: each process has a working directory of its own, and they would not mean the same."""
        path = Path(text).expanduser()
        if text and not path.is_absolute():
            raise ValueError("write the whole path, such as /var/backups/bigmind")
        return str(path) if text else ""
