"""Screening: which secrets and private passages a text holds, and the text without them.

The hook program carries a copy of these modules, so that no secret leaves a client's machine: they import little, and
nothing but the standard library and each other.
"""

from .private_marks import drop_private, drop_private_in
from .redaction import find_secrets, redact
from .values import Secret

__all__ = ["Secret", "drop_private", "drop_private_in", "find_secrets", "redact"]
