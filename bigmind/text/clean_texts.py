"""Texts in which a check found nothing: a page that is read ahead, opened and decided on would check them each time."""

from collections.abc import Callable
from hashlib import blake2b
from typing import Any

MOST_REMEMBERED = 10_000
"""About a megabyte."""


class CleanTexts:
    """Remembers, by digests, for which texts a check returned an empty list: no text that someone erases stays here."""

    def __init__(self) -> None:
        self._known: set[bytes] = set()

    def unless_known(self, check: Callable[..., list[Any]], *texts: str) -> list[Any]:
        """Return what the check finds in these texts, without running it if it found nothing in them before."""
        digest = blake2b("\0".join(texts).encode(errors="surrogatepass"), digest_size=16).digest()
        if digest in self._known:
            return []
        if not (found := check(*texts)):
            if len(self._known) >= MOST_REMEMBERED:
                self._known.clear()
            self._known.add(digest)
        return found
