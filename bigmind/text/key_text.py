"""What a key of BigMind looks like: `bm_`, 32 random letters and digits, and a checksum that finds typing errors."""

import string
import zlib

PREFIX = "bm_"
RANDOM_CHARS = 32
CHECKSUM_CHARS = 6
KEY_CHARS = len(PREFIX) + RANDOM_CHARS + CHECKSUM_CHARS
ALPHABET = string.digits + string.ascii_uppercase + string.ascii_lowercase


def is_well_formed(text: str) -> bool:
    """Whether this can be a key at all: the right prefix, length, letters and checksum."""
    if not text.startswith(PREFIX) or len(text) != KEY_CHARS or not text.isascii():
        return False
    body, ending = text[len(PREFIX) : -CHECKSUM_CHARS], text[-CHECKSUM_CHARS:]
    return ending == checksum(body)


def checksum(body: str) -> str:
    """CRC-32 in base 62, the way other recognisable tokens do it: secret scanners can verify a match."""
    number = zlib.crc32(body.encode())
    digits = ""
    while number:
        number, rest = divmod(number, len(ALPHABET))
        digits = ALPHABET[rest] + digits
    return digits.rjust(CHECKSUM_CHARS, "0")
