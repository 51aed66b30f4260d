"""Changes: what connecting or disconnecting does to each file, shown first, then done to all files or none."""

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from difflib import unified_diff
from pathlib import Path

from bigmind.core.errors import BigMindError, Invalid

from .edited_files import ClientFile, mask_keys
from .file_backups import ChangeRecord, ChangeRecords, is_as_written
from .files import FoundFile, find_file, fingerprint_of, remove_folders, replace_file, require_writable
from .machines import project_at
from .malformed import MalformedFile

LONGEST_LINE = 160
OTHERS_MODE = 0o077


@dataclass(frozen=True)
class FileChange:
    """What happens to one file.

    Attributes:
        content: Its new content; None if it is removed.
        mode: Its new permissions.
        record: Its record afterwards; None if there is nothing left to record.
        notes: Notes for its owner.
    """

    part: ClientFile
    found: FoundFile
    content: bytes | None
    mode: int
    record: ChangeRecord | None
    notes: tuple[str, ...] = ()

    @property
    def state(self) -> str:
        """`created`, `changed`, `removed`, or `unchanged`."""
        if self.content == self.found.content and self.mode == (self.found.mode or self.mode):
            return "unchanged"
        if self.found.content is None:
            return "created"
        return "removed" if self.content is None else "changed"

    @property
    def diff(self) -> str:
        """The difference, changed lines only, because the others may hold secrets."""
        old, new = self.found.text, (self.content or b"").decode()
        lines = unified_diff(old.splitlines(), new.splitlines(), "before", "after", n=0, lineterm="")
        return "\n".join(_cut(mask_keys(line)) for line in list(lines)[2:])


def plan_connection(program: str, parts: Sequence[ClientFile], records: ChangeRecords) -> list[FileChange]:
    """Return what connecting a program would change. Nothing is written.

    Raises:
        Invalid: a file is not what its program reads. The refusal names the line.
        Forbidden: a file may not be read or written.
    """
    return [_plan_connect(program, part, records) for part in parts]


def plan_disconnection(program: str, parts: Sequence[ClientFile], records: ChangeRecords) -> list[FileChange]:
    """Return what disconnecting a program would change. Nothing is written.

    Raises:
        Invalid: a file is not what its program reads. The refusal names the line.
        Forbidden: a file may not be read or written.
    """
    # The last first, so that a folder that was made for the first file is empty when its turn comes.
    return [_plan_disconnect(program, part, records) for part in reversed(parts)]


def carry_out(changes: Sequence[FileChange], records: ChangeRecords) -> None:
    """Write all changes, or none of them.

    Raises:
        Conflict: a file was changed meanwhile.
        Forbidden: a file may not be written.
    """
    done: list[tuple[FileChange, ChangeRecord | None, list[Path]]] = []
    for change in changes:
        known = records.of(change.found)
        try:
            done.append((change, known, _write(change, known, records)))
        except BigMindError:
            for earlier, record, made in reversed(done):
                _take_back(earlier, record, made, records)
            # `_write` keeps the record before it changes the file: it may be there without the change.
            _remember(change.found, known, records)
            raise


def _plan_connect(program: str, part: ClientFile, records: ChangeRecords) -> FileChange:
    found = find_file(part.path)
    known = records.of(found)
    text = _or_refusal(found, lambda: part.write(found.text))
    content = found.content if text == found.text and found.content is not None else text.encode()
    mode = _mode_for(part, found)
    if content == found.content and known is None:
        record = None
    else:
        base = known or ChangeRecord("", [], None, None, "")
        before = _before(part, found, known)
        record = replace(
            base,
            file=str(found.real),
            programs=sorted({*base.programs, program}),
            before=before,
            mode=base.mode if known else found.mode,
            after=fingerprint_of(content),
        )
    change = FileChange(part, found, content, mode, record, _notes(part, found, mode))
    if change.state != "unchanged":
        require_writable(found)
    return change


def _plan_disconnect(program: str, part: ClientFile, records: ChangeRecords) -> FileChange:
    found = find_file(part.path)
    known = records.of(found)
    others = [name for name in known.programs if name != program] if known else []
    mode = found.mode or 0
    if known and others:
        kept = replace(known, programs=others)
        return FileChange(part, found, found.content, mode, kept, (f"It stays: it serves {', '.join(others)} too.",))
    if known and is_as_written(found, known):
        change = FileChange(part, found, known.before, known.mode or mode, None, _link_note(found))
    else:
        change = FileChange(part, found, _without_ours(part, found, known), mode, None, _link_note(found))
    if change.state != "unchanged":
        require_writable(found)
    return change


def _before(part: ClientFile, found: FoundFile, known: ChangeRecord | None) -> bytes | None:
    """Return what disconnecting would restore: the owner's file without our part."""
    if known is None:
        return found.content
    return known.before if is_as_written(found, known) else _without_ours(part, found, known)


def _without_ours(part: ClientFile, found: FoundFile, known: ChangeRecord | None) -> bytes | None:
    if found.content is None:
        return None
    before = ((known.before if known else None) or b"").decode()
    left = _or_refusal(found, lambda: part.remove(found.text, before))
    was_ours_alone = not left.strip() and found.text.strip()
    made_by_us = known is not None and known.before is None and left.strip() in {"", "{}"}
    return None if was_ours_alone or made_by_us else left.encode()


def _write(change: FileChange, known: ChangeRecord | None, records: ChangeRecords) -> list[Path]:
    """Write one change. What is known is kept first: whatever happens then, the backup is there."""
    if change.record is not None and change.record != known:
        records.keep(change.found, change.record)
    made: list[Path] = []
    if change.state != "unchanged":
        made = replace_file(change.found, change.content, mode=change.mode)
    if change.record is not None and made:
        folders = [*map(str, made), *change.record.folders]
        records.keep(change.found, replace(change.record, folders=folders))
    if change.record is None and known is not None:
        records.forget(change.found)
        if change.content is None:
            remove_folders([Path(folder) for folder in known.folders])
    return made


def _take_back(change: FileChange, known: ChangeRecord | None, made: list[Path], records: ChangeRecords) -> None:
    if change.state != "unchanged":
        mode = change.found.mode if change.found.mode is not None else change.mode
        replace_file(find_file(change.part.path), change.found.content, mode=mode)
        remove_folders(made)
    _remember(change.found, known, records)


def _remember(found: FoundFile, known: ChangeRecord | None, records: ChangeRecords) -> None:
    if known is None:
        records.forget(found)
    else:
        records.keep(found, known)


def _mode_for(part: ClientFile, found: FoundFile) -> int:
    if os.name == "nt":  # there the folder says who may read, and the home is its owner's alone
        return found.mode if found.mode is not None else 0o666
    if part.holds_key:
        return (found.mode if found.mode is not None else 0o600) & ~OTHERS_MODE
    if found.mode is not None:
        return found.mode
    # The umask can only be read by setting it.
    umask = os.umask(OTHERS_MODE)
    os.umask(umask)
    return 0o666 & ~umask


def _notes(part: ClientFile, found: FoundFile, mode: int) -> tuple[str, ...]:
    notes = list(_link_note(found))
    if found.mode is not None and mode != found.mode:
        notes.append("Others on this machine could read it; with a key in it, only you can.")
    repository = project_at(found.real.parent)
    if part.holds_key and (repository / ".git").exists():
        notes.append(f"It has a key in it and lies in the git repository {repository}: do not commit it.")
    return tuple(notes)


def _link_note(found: FoundFile) -> tuple[str, ...]:
    return (f"It is a link: what is written is {found.real}.",) if found.is_linked else ()


def _or_refusal(found: FoundFile, work: Callable[[], str]) -> str:
    try:
        return work()
    except MalformedFile as error:
        hint = "Nothing was changed: mend the file, then try again."
        raise Invalid(f"{found.path}, line {error.line}: {error.reason}.", hint=hint) from error


def _cut(line: str) -> str:
    return line if len(line) <= LONGEST_LINE else f"{line[: LONGEST_LINE - 1]}…"
