"""Sources that generators read: a file, standard input, or what was fetched for them; or just a name."""

import sys
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from urllib.parse import urlsplit

from django.conf import settings

from bigmind.core.errors import Invalid
from knowledge.parsers.reading import decode_text, read_bytes

STDIN = "-"


@dataclass(frozen=True)
class Source:
    """One source as it was given: a path, `-` for standard input, an address, or the name of a program or module.

    Attributes:
        fetched: What an address answered; generators fetch nothing themselves.
    """

    given: str
    fetched: bytes | None = None

    @property
    def path(self) -> Path:
        """What was given, as a path."""
        return Path(self.given)

    @property
    def is_address(self) -> bool:
        """Whether an address on the web was given."""
        return self.given.startswith(("https://", "http://"))

    @property
    def name(self) -> str:
        """What references call it: the address without what may be secret in it, or the name of the file."""
        if self.is_address:
            parts = urlsplit(self.given)
            return parts._replace(netloc=parts.netloc.rpartition("@")[2], query="", fragment="").geturl()
        return "stdin" if self.given == STDIN else self.path.name

    @cached_property
    def text(self) -> str:
        """What it says.

        Raises:
            Invalid: it is no plain file, too large, an archive, binary, or not UTF-8.
        """
        limit = source_bytes()
        if self.fetched is not None:
            return decode_text(self.fetched, self.name, limit=limit)
        if self.is_address:
            raise Invalid(f"{self.name} was not fetched.", hint="Save it as a file and give the file.")
        if self.given == STDIN:
            return decode_text(sys.stdin.buffer.read(limit + 1), self.name, limit=limit)
        return decode_text(read_bytes(self.path, limit=limit), self.name, limit=limit)


def source_bytes() -> int:
    """Return how large a source may be."""
    megabytes: int = settings.SOURCE_MEGABYTES
    return megabytes * 1024 * 1024
