"""The receipt of an import, of our own documents and of other programs."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from bigmind.text.hygiene import cut, one_line

KEPT_NAMED = 100
BROUGHT_CHARS = 200


@dataclass
class MovedIn:
    """What an import added, what was there already, and what was refused, each with its place in the source."""

    format: str
    dry_run: bool
    agent: int | None = None
    """Whose number memory_forget_source takes to take the import back."""
    added: dict[str, int] = field(default_factory=dict)
    brings: list[str] = field(default_factory=list)
    """The beginnings of what is added, the first hundred."""
    changed: dict[str, int] = field(default_factory=dict)
    unchanged: dict[str, int] = field(default_factory=dict)
    kept: list[str] = field(default_factory=list)
    """What is there, but says otherwise: it stayed as it is, and someone may want to look."""
    removed: list[str] = field(default_factory=list)
    """What an earlier import of this source brought and the source no longer has. It stays until someone deletes it."""
    refused: list[str] = field(default_factory=list)
    notices: list[str] = field(default_factory=list)

    def count(self, kind: str, *, added: int = 0, changed: int = 0, unchanged: int = 0) -> None:
        self.added[kind] = self.added.get(kind, 0) + added
        if changed:
            self.changed[kind] = self.changed.get(kind, 0) + changed
        self.unchanged[kind] = self.unchanged.get(kind, 0) + unchanged

    def bring(self, kind: str, text: str) -> None:
        """Name something that is added."""
        if len(self.brings) < KEPT_NAMED:
            self.brings.append(f"{kind}: {cut(one_line(text), BROUGHT_CHARS)}")

    def keep(self, what: str) -> None:
        """Name something that is there and says otherwise."""
        if len(self.kept) < KEPT_NAMED:
            self.kept.append(what)

    def keep_different(self, what: str, columns: Sequence[str]) -> None:
        """Name something of which the source says something else in these columns; nothing where there are none."""
        if columns:
            self.keep(f"{what} ({', '.join(columns)})")
