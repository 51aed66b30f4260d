"""Finds the secrets of a text by all finders, and takes them out."""

from itertools import chain

from .labelled_secrets import find_addresses, find_named
from .logins import find_logins
from .secret_formats import find_private_keys, find_tokens
from .values import Secret, merge_overlaps

SHORTEST = 8
"""Characters of the shortest text that can give a secret away: a name of two, a sign, and a password of five."""


def find_secrets(text: str) -> list[Secret]:
    """Return the secrets that a text gives away, in its order: keys, tokens, passwords. Placeholders are none.

    The time grows with the length of the text, whatever is in it. An import screens tens of thousands of short ones.
    """
    if len(text) < SHORTEST:
        return []
    finders = (find_private_keys, find_tokens, find_addresses, find_named, find_logins)
    return merge_overlaps(chain.from_iterable(find(text) for find in finders))


def redact(text: str) -> str:
    """Return the text with `[secret removed: AWS access key]` in place of each secret."""
    parts, done = [], 0
    for secret in find_secrets(text):
        parts += [text[done : secret.start], f"[secret removed: {secret.kind}]"]
        done = secret.end
    return "".join([*parts, text[done:]])
