"""Where everything is kept: database, task queue, the key that signs, and backups."""

import os
import secrets
from pathlib import Path

from pydantic import BaseModel, Field, SecretStr

from bigmind.environment.instance import InstanceSettings

LEAST_SECRET = 32
"""Characters; what is made has 67."""


class DamagedSecret(Exception):
    """The file with the secret key does not hold what was written there. The message says what to do."""

    def __init__(self, path: Path) -> None:
        super().__init__(
            f"{path} is damaged: it does not hold a secret key. Put that of a backup back, or set BIGMIND_SECRET_KEY. "
            "Without either remove the file: a new key is made, all sign in again, and second factors are set up anew."
        )


class Storage(InstanceSettings):
    """Where everything is kept."""

    database_url: SecretStr = Field(
        default=SecretStr(""),
        description="PostgreSQL 16 or later with pgvector, e.g. `postgres://user:password@host/name`. "
        "Default: the embedded server in BIGMIND_HOME.",
    )
    database_owner_url: SecretStr = Field(
        default=SecretStr(""),
        description="The same database as another role, that owns the tables: it migrates and makes indexes, and the "
        "role of BIGMIND_DATABASE_URL is let read and write rows and nothing else. Only processes that migrate or "
        "work need it. Default: one role does all; the embedded server has two by itself.",
    )
    read_only: bool = Field(
        default=False,
        description="Read and search only, such as on a replica or during maintenance: writes are refused with a word "
        "on when to try again, nothing is noted, and worker and scheduler pause.",
    )
    redis_url: SecretStr = Field(
        default=SecretStr(""),
        description="Redis for the task queue and shared counters. Default: files in BIGMIND_HOME.",
    )
    secret_key: SecretStr = Field(
        default=SecretStr(""), description="Signs sessions and links. Default: generated once, kept in BIGMIND_HOME."
    )
    secret_key_fallbacks: SecretStr = Field(
        default=SecretStr(""),
        description="Secret keys that this BigMind had before, with spaces between: what they signed and sealed still "
        "holds. What they encrypted does not: second factors are set up anew.",
    )

    keep_told_days: int = Field(
        default=90,
        ge=0,
        le=3650,
        description="Days that start contexts and recalls are kept word for word, for their owners to look at. What is "
        "erased goes from them at once. 0 keeps none.",
    )

    @property
    def is_embedded(self) -> bool:
        """Whether BigMind runs its own PostgreSQL."""
        return not self.database_url.get_secret_value()

    def signing_key(self) -> str:
        """Return the secret key: the configured one, else the one made on the first call and kept in the home.

        Raises:
            DamagedSecret: the file holds something else.
        """
        return self.secret_key.get_secret_value() or _read_or_create_secret(self.home / "secret_key")


class BackupSettings(BaseModel):
    """When backups are made, where, and how long they stay."""

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


def _read_or_create_secret(path: Path) -> str:
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
    try:
        secret = path.read_text().strip()
    except UnicodeDecodeError:
        secret = ""
    if len(secret) < LEAST_SECRET or not secret.isprintable():
        raise DamagedSecret(path)
    return secret
