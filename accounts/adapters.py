"""What BigMind decides for django-allauth: how second factors are kept and named."""

import base64
from functools import lru_cache
from urllib.parse import urlsplit

from allauth.mfa.adapter import DefaultMFAAdapter
from cryptography.fernet import Fernet
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF
from django.conf import settings

from accounts.models import User

PURPOSE = b"bigmind: secrets of second factors"


class SecondFactorAdapter(DefaultMFAAdapter):  # type: ignore[misc]
    """Keeps the secrets of second factors encrypted: whoever reads the database alone can make no codes."""

    def encrypt(self, text: str) -> str:
        """Encrypt a secret with a key that is derived from the secret key of this instance."""
        return _cipher(settings.SECRET_KEY).encrypt(text.encode()).decode()

    def decrypt(self, encrypted_text: str) -> str:
        """Return the secret.

        Raises:
            cryptography.fernet.InvalidToken: it was encrypted with another secret key.
        """
        return _cipher(settings.SECRET_KEY).decrypt(encrypted_text.encode()).decode()

    def get_totp_issuer(self) -> str:
        """Name this instance: people have codes of many places in one app."""
        return f"BigMind {urlsplit(settings.PUBLIC_URL).hostname}"

    def get_totp_label(self, user: User) -> str:
        """Name the person as they sign in."""
        return f"{self.get_totp_issuer()}:{user.username}"


@lru_cache(maxsize=2)
def _cipher(secret_key: str) -> Fernet:
    key = HKDF(algorithm=SHA256(), length=32, salt=None, info=PURPOSE).derive(secret_key.encode())
    return Fernet(base64.urlsafe_b64encode(key))
