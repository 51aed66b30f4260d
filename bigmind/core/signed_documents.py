"""Documents signed by this instance: anyone who has one can tell that it is word for word what was signed, and by whom.

The key is made from the secret key of the instance, one for each purpose, so that it needs no place of its own.
"""

import hashlib
import hmac
import json
from collections.abc import Mapping
from enum import StrEnum
from typing import Any

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from django.conf import settings


class SignatureVerdict(StrEnum):
    """The result of checking a signed document."""

    OURS = "ours"
    FOREIGN = "foreign"
    CHANGED = "changed"


def derive_key(purpose: str, secret: str | None = None) -> bytes:
    """Return 32 bytes that only this instance can make, for one purpose."""
    return hmac.new((secret or settings.SECRET_KEY).encode(), purpose.encode(), hashlib.sha256).digest()


def sign(document: Any, *, purpose: str) -> dict[str, str]:
    """Return the signature of a document of plain JSON, and the public key to check it with, both as hexadecimal."""
    key = _signing_key(purpose)
    return {
        "signature": key.sign(_canonical(document)).hex(),
        "public_key": key.public_key().public_bytes_raw().hex(),
    }


def check_signature(document: Mapping[str, Any], *, purpose: str) -> SignatureVerdict:
    """Say whether what is `signed` is word for word what `signature` covers, and whether this instance signed it."""
    try:
        key = Ed25519PublicKey.from_public_bytes(bytes.fromhex(document["public_key"]))
        key.verify(bytes.fromhex(document["signature"]), _canonical(document["signed"]))
    except (InvalidSignature, KeyError, TypeError, ValueError, RecursionError):
        # Anyone may hand in a file, so also one that is no such document at all.
        return SignatureVerdict.CHANGED
    is_ours = is_our_key(key.public_bytes_raw().hex(), purpose=purpose)
    return SignatureVerdict.OURS if is_ours else SignatureVerdict.FOREIGN


def is_our_key(public_key: str, *, purpose: str) -> bool:
    """Return whether a public key, as hexadecimal, is one that this instance signs with, or signed with before."""
    return public_key in {key.hex() for key in _our_keys(purpose)}


def _canonical(document: Any) -> bytes:
    return json.dumps(document, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode()


def _our_keys(purpose: str) -> set[bytes]:
    """The public keys of this instance: of its secret key, and of those it had before."""
    secrets = [str(settings.SECRET_KEY), *map(str, settings.SECRET_KEY_FALLBACKS)]
    return {_signing_key(purpose, secret).public_key().public_bytes_raw() for secret in secrets}


def _signing_key(purpose: str, secret: str | None = None) -> Ed25519PrivateKey:
    return Ed25519PrivateKey.from_private_bytes(derive_key(purpose, secret))
