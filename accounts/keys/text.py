"""Keys as texts: how a new one is made, what is shown of it and what is stored of it."""

import hashlib
import secrets

from bigmind.core.key_text import ALPHABET, PREFIX, RANDOM_CHARS, checksum, is_well_formed

__all__ = ["PREFIX", "SHOWN_CHARS", "digest_of", "is_well_formed", "new_key_text"]

SHOWN_CHARS = 8


def new_key_text(prefix: str = PREFIX) -> str:
    """Return a new key or token: 190 bits of randomness, so that its plain SHA-256 is safe to store."""
    body = "".join(secrets.choice(ALPHABET) for _ in range(RANDOM_CHARS))
    return f"{prefix}{body}{checksum(body)}"


def digest_of(text: str) -> str:
    """Return what is stored of a key or a one-time token: its SHA-256 in hexadecimal."""
    return hashlib.sha256(text.encode()).hexdigest()
