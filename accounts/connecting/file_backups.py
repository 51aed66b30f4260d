"""Records the previous content of each changed file: the backup that `disconnect` restores."""

import hashlib
import json
from dataclasses import asdict, dataclass, field
from pathlib import Path

from .files import PRIVATE, FoundFile, find_file, fingerprint_of, remove_folders, replace_file


@dataclass(frozen=True)
class ChangeRecord:
    """The record of one changed file.

    Attributes:
        file: The file, behind links.
        programs: The programs connected through it: several share an `AGENTS.md`.
        before: What was in it, and None when there was no such file.
        mode: Who could read it.
        after: The fingerprint of what we wrote.
        folders: The folders that were made for it, the innermost first.
        key: The fingerprint of the key that was made for it, so that it can be ended with the connection.
    """

    file: str
    programs: list[str]
    before: bytes | None
    mode: int | None
    after: str
    folders: list[str] = field(default_factory=list)
    key: str = ""


class ChangeRecords:
    """The records in a folder, two files each: the metadata, and the original content."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def of(self, found: FoundFile) -> ChangeRecord | None:
        described = find_file(self._about(found))
        if described.content is None:
            return None
        try:
            return ChangeRecord(**{**json.loads(described.text), "before": find_file(self.backup_of(found)).content})
        except (ValueError, TypeError):  # a malformed record counts as missing
            return None

    def backup_of(self, found: FoundFile) -> Path:
        return self.folder / f"{self._name(found)}.before"

    def keep(self, found: FoundFile, record: ChangeRecord) -> None:
        """Write the record of a file before the file is changed."""
        # The content first: a description without it says that there was no file, and disconnecting would remove it.
        backup = find_file(self.backup_of(found))
        if backup.content != record.before:
            replace_file(backup, record.before, mode=PRIVATE)
        described = {key: value for key, value in asdict(record).items() if key != "before"}
        replace_file(find_file(self._about(found)), json.dumps(described, indent=1).encode(), mode=PRIVATE)

    def forget(self, found: FoundFile) -> None:
        """Delete the record of a file."""
        for path in (self.backup_of(found), self._about(found)):
            path.unlink(missing_ok=True)
        remove_folders([self.folder])

    def _about(self, found: FoundFile) -> Path:
        return self.folder / f"{self._name(found)}.json"

    def _name(self, found: FoundFile) -> str:
        place = hashlib.sha256(str(found.real).encode()).hexdigest()[:12]
        return f"{found.real.name.lstrip('.')}.{place}"


def is_as_written(found: FoundFile, record: ChangeRecord) -> bool:
    """Whether nobody has changed a file since we did."""
    return fingerprint_of(found.content) == record.after
