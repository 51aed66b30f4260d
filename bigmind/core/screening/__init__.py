"""Screening: which secrets a text gives away, and the text without them.

The hook program carries a copy of these modules, so that no secret leaves a client's machine: they import little, and
nothing but the standard library and each other.
"""

from .redaction import find_secrets, redact
from .values import Secret

__all__ = ["Secret", "find_secrets", "redact"]
