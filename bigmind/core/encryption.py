"""Secrets that are kept encrypted: reading the database alone is not enough to use them."""

import base64

from cryptography.fernet import Fernet, MultiFernet
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF
from django.conf import settings


def encrypt(text: str, *, purpose: str) -> str:
    """Encrypt a text with a key that is derived from the secret key of this instance, for one purpose."""
    return _cipher(purpose).encrypt(text.encode()).decode()


def decrypt(encrypted: str, *, purpose: str) -> str:
    """Return the text. What was encrypted with an earlier secret key is read while that is a fallback.

    Raises:
        cryptography.fernet.InvalidToken: it was encrypted with another secret key, or for another purpose.
    """
    return _cipher(purpose).decrypt(encrypted.encode()).decode()


def _cipher(purpose: str) -> MultiFernet:
    return MultiFernet([_fernet(secret, purpose) for secret in (settings.SECRET_KEY, *settings.SECRET_KEY_FALLBACKS)])


def _fernet(secret_key: str, purpose: str) -> Fernet:
    derived = HKDF(algorithm=SHA256(), length=32, salt=None, info=purpose.encode()).derive(secret_key.encode())
    return Fernet(base64.urlsafe_b64encode(derived))
