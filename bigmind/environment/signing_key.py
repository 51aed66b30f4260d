"""The key that signs, where nobody configured one: made once, and kept in the home."""

import os
import secrets
from pathlib import Path

LEAST_SECRET = 32
"""Characters; what is made has 67."""


class DamagedSecret(Exception):
    """The file with the secret key does not hold what was written there. The message says what to do."""

    def __init__(self, path: Path) -> None:
        super().__init__(
            f"{path} is damaged: it does not hold a secret key. Put that of a backup back, or set BIGMIND_SECRET_KEY. "
            "Without either remove the file: a new key is made, all sign in again, and second factors are set up anew."
        )


def read_or_create_key(path: Path) -> str:
    """Read a secret from a file only its owner can read, making it first when it is missing.

    The file appears whole or not at all (written aside, then linked into place), so that two processes starting
    at once agree on one secret.

    Raises:
        DamagedSecret: the file holds something else.
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
