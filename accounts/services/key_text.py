"""What a key looks like: `bm_`, 32 random letters and digits, and a checksum that finds typing errors offline."""

import hashlib
import secrets
import string
import zlib

PREFIX = "bm_"
RANDOM_CHARS = 32
CHECKSUM_CHARS = 6
SHOWN_CHARS = 8

_ALPHABET = string.digits + string.ascii_uppercase + string.ascii_lowercase


def new_key_text() -> str:
    """Return a new key: 190 bits of randomness, so that its plain SHA-256 is safe to store."""
    body = "".join(secrets.choice(_ALPHABET) for _ in range(RANDOM_CHARS))
    return f"{PREFIX}{body}{_checksum(body)}"


def is_well_formed(text: str) -> bool:
    """Whether this can be a key at all: the right prefix, length, letters and checksum."""
    if not text.startswith(PREFIX) or len(text) != len(PREFIX) + RANDOM_CHARS + CHECKSUM_CHARS or not text.isascii():
        return False
    body, checksum = text[len(PREFIX) : -CHECKSUM_CHARS], text[-CHECKSUM_CHARS:]
    return checksum == _checksum(body)


def digest_of(text: str) -> str:
    """Return what is stored of a key or a one-time token: its SHA-256 in hexadecimal."""
    return hashlib.sha256(text.encode()).hexdigest()


def _checksum(body: str) -> str:
    """CRC-32 in base 62, the way other recognisable tokens do it: secret scanners can verify a match."""
    number = zlib.crc32(body.encode())
    digits = ""
    while number:
        number, rest = divmod(number, len(_ALPHABET))
        digits = _ALPHABET[rest] + digits
    return digits.rjust(CHECKSUM_CHARS, "0")
