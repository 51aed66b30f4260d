"""Folders of files that become notes, follow their files, and go back to their program byte for byte.

A note knows the file that it came from (`provenance`): the source, the place in it, and a digest of what the file said
when it was last the same here and there. By that an edit here is distinguished from an edit there.
"""

import re
import unicodedata
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import PurePosixPath
from typing import Any

from django.utils import timezone
from pydantic import ValidationError
from rapidfuzz import fuzz

from accounts.models import User
from bigmind.core.argument_checks import refusal
from bigmind.core.limits import TITLE_CHARS
from bigmind.text.hygiene import one_line
from knowledge.kb.import_consent import require_consent
from knowledge.kb.source_identity import FEW, HALF, MOST, earlier_names, remember_place
from knowledge.memory.notes import index_note
from knowledge.models import Kind, Note
from knowledge.parsers.repositories import SourcePlace, read_place
from knowledge.search.passages import erase_passages
from knowledge.transfer.readers.memory_drafts import NoteDraft, PageDraft, PageSource
from knowledge.transfer.readers.obsidian import MARK
from knowledge.transfer.readers.provenance import fingerprint
from knowledge.transfer.readers.words import headline, parts_of

from .import_receipts import MovedIn

COMPARED_CHARS = 2_000
REWORDED = 75
"""How alike, of 100, two texts at one place are if one is the other reworded."""
PATH_CHARS = 1_000
NAME_BYTES = 255
"""How long file systems take the name of a file or folder. They count bytes, of which a character takes up to four."""
ENDING_BYTES = 20
"""How long what stands behind the last point may be, to stay where a name is cut."""
NOT_IN_NAMES = re.compile(r'[<>:"|?*\\/#^\[\]%\x00-\x1f]')
ENDINGS = (".md", ".markdown", ".canvas", ".base")
"""The only files that are written: nothing that a program runs or reads as its settings."""


@dataclass
class _File:
    """One file as it is kept: the notes that hold it, more than one where it is long."""

    place: str
    notes: list[Note]

    @property
    def text(self) -> str:
        """What the notes say, joined."""
        return "".join(note.content for note in self.notes)

    @property
    def mark(self) -> str:
        """The digest of what the file said when it was last the same here and there."""
        return str(self.notes[0].provenance.get("text", ""))


class NoteImport:
    """Files on their way into the notes of one user."""

    def __init__(self, user: User, source: SourcePlace | str, origin: PageSource, report: MovedIn) -> None:
        self.user, self.source, self.report = user, str(source), report
        self._place = None if isinstance(source, str) else source
        self._is_bare = origin.is_bare
        self._known: dict[str, _File] = {}
        self._domain = headline(origin.name, otherwise="notes")

    def bring_in(self, pages: Sequence[PageDraft], *, removes: bool = False, replaces: bool = False) -> None:
        """Store what is new, follow what changed there and not here, and name what changed on both sides or is gone.

        Args:
            removes: Whether what is gone is set aside here, from where it can be restored.
            replaces: Whether to change even most of what is here.

        Raises:
            WouldReplace: most of what the source brought would change or go.
        """
        files, is_guessed = self._find_known(pages)
        self._known = {file.place: file for file in files}
        there = {page.place for page in pages}
        gone = {place: file for place, file in self._known.items() if place not in there}
        moved = {file.mark: file for file in gone.values()}
        both = [(file, page) for page in pages if (file := self._known.get(page.place))]
        texts = {fingerprint(page.content) for page in pages}
        rewritten = [(file, page) for file, page in both if self._is_rewritten(file, page)]
        require_consent(
            self.source,
            changed=len(rewritten),
            removed=len(moved.keys() - texts) if removes else 0,
            there=len(self._known),
            foreign=sum(not _is_alike(file, page) for file, page in rewritten) if is_guessed else 0,
            replaces=replaces,
        )
        self._adopt(files)
        for page in pages:
            file = self._known.get(page.place)
            if file is None and (file := moved.pop(fingerprint(page.content), None)):
                gone.pop(file.place)
                self._move(file, page)
            if file is not None:
                self._follow(file, page)
            else:
                self._add(page)
        # A file that could not be read is missing here as well, and not gone.
        if not self.report.refused:
            for place in sorted(gone):
                self._remove(gone[place], removes=removes)

    def _find_known(self, pages: Sequence[PageDraft]) -> tuple[list[_File], bool]:
        """Return the files that are here of this source, and whether only its name or their likeness says that.

        What came in under another name of it counts where half of it is the same, else each file that is. Decision 80.
        """
        sent = {(page.place, fingerprint(page.content)) for page in pages}
        files = list(_files_of(self.user, self.source))
        if files or not self._place:
            if self._is_bare and not files and (files := self._find_folder(sent)):
                self.source = str(files[0].notes[0].provenance["source"])
            return files, self._is_bare and not _is_shared(files, sent, HALF)
        for name in [*earlier_names(self._place), self._place.bare_name]:
            there = list(_files_of(self.user, name))
            is_same = _is_shared(there, sent, HALF)
            files += there if is_same else [file for file in there if (file.place, file.mark) in sent]
        return files or self._find_moved(sent), not files

    def _find_folder(self, sent: Collection[tuple[str, str]]) -> list[_File]:
        """Return the files of the folder that an archive was made of: it has its name, and half of it is the same."""
        name = PurePosixPath(self.source.partition(":")[2]).name
        named = (files for source, files in self._folders().items() if PurePosixPath(source).name == name)
        return next((files for files in named if _is_shared(files, sent, HALF)), [])

    def _find_moved(self, sent: Collection[tuple[str, str]]) -> list[_File]:
        """Return the files of another folder that has most of the same: it was moved, or copied."""
        folders = self._folders().values()
        return next((files for files in folders if len(files) >= FEW and _is_shared(files, sent, MOST)), [])

    def _folders(self) -> dict[str, list[_File]]:
        """Return the files of all folders of the same program, by their sources."""
        program, found = self.source.partition(":")[0], dict[str, list[_File]]()
        for file in _files_of(self.user):
            source = str(file.notes[0].provenance.get("source", ""))
            if source.startswith(f"{program}:") and read_place(source):
                found.setdefault(source, []).append(file)
        return found

    def _adopt(self, files: Sequence[_File]) -> None:
        if self._place:
            remember_place(self._place)
        moved = [note for file in files for note in file.notes if note.provenance.get("source") != self.source]
        for note in moved:
            note.provenance = {**note.provenance, "source": self.source}
        Note.objects.bulk_update(moved, ["provenance"])

    def _remove(self, file: _File, *, removes: bool) -> None:
        in_view = [note for note in file.notes if note.is_in_view]
        if in_view:
            self.report.removed.append(f"note {file.notes[0]}")
        for note in in_view if removes else []:
            note.set_aside_at = timezone.now()
            note.save(update_fields=["set_aside_at"])
            index_note(note)

    def _is_rewritten(self, file: _File, page: PageDraft) -> bool:
        """Whether a page changed there and not here: here it says what the file did."""
        here, text = fingerprint(file.text), fingerprint(page.content)
        return text not in (here, file.mark) and here == file.mark

    def _follow(self, file: _File, page: PageDraft) -> None:
        here, text = fingerprint(file.text), fingerprint(page.content)
        if text == here:
            self._mark(file.notes, page)
            self.report.count("notes", unchanged=1)
        elif text == file.mark:  # Edited here alone.
            self.report.count("notes", unchanged=1)
        elif self._is_rewritten(file, page):
            self._rewrite(file, page)
            self.report.count("notes", changed=1)
        else:
            # Edited on both sides: what is here stays. The mark is that of the file now, so it is reported once.
            self._mark(file.notes, page)
            self.report.keep(f"note {file.notes[0]}")
            self.report.count("notes", unchanged=1)

    def _add(self, page: PageDraft) -> None:
        domain, key = self._address(page)
        parts = list(parts_of(page.content))
        there = Note.objects.of(self.user).filter(domain=domain, key=key).first()
        # A note that was written here and taken out into the folder comes back as itself.
        if there and not there.provenance and len(parts) == 1 and there.content == page.content:
            self._known[page.place] = _File(page.place, [there])
            self._mark([there], page)
            self.report.count("notes", unchanged=1)
            return
        if notes := self._make(page, parts, domain, key):
            self._known[page.place] = _File(page.place, notes)
            self.report.count("notes", added=1)
            self.report.bring("note", f"{notes[0]}: {page.content}")

    def _make(self, page: PageDraft, parts: Sequence[str], domain: str, key: str) -> list[Note]:
        notes = []
        # Files and their properties may say any date; one that lies ahead would stay the newest.
        made = min(page.created_at or page.updated_at or timezone.now(), timezone.now())
        for number, part in enumerate(parts, start=1):
            try:
                draft = NoteDraft(domain=domain, key=self._free(domain, _number_key(key, number)), content=part or " ")
            except ValidationError as error:
                self.report.refused.append(f"{page.place}: {refusal(error, NoteDraft).message}")
                return []
            updated = min(page.updated_at or made, timezone.now())
            note = Note.objects.create(
                user=self.user,
                domain=draft.domain,
                key=draft.key,
                content=part,
                created_at=made,
                updated_at=updated,
                provenance=self._provenance(page, number),
            )
            index_note(note, made=True)
            notes.append(note)
        return notes

    def _rewrite(self, file: _File, page: PageDraft) -> None:
        parts, now = list(parts_of(page.content)), timezone.now()
        for note, part in zip(file.notes, parts, strict=False):
            note.content, note.updated_at = part, min(page.updated_at or now, now)
            note.save(update_fields=["content", "updated_at"])
            index_note(note, made=True)
        if len(parts) < len(file.notes):
            left = [note.pk for note in file.notes[len(parts) :]]
            # Passages name their source by kind and id alone, so no deletion of a row takes them along.
            erase_passages(Kind.NOTE, left)
            Note.objects.filter(pk__in=left).delete()
            del file.notes[len(parts) :]
        first = file.notes[0]
        for number in range(len(file.notes) + 1, len(parts) + 1):
            key = self._free(first.domain, _number_key(first.key, number))
            note = Note.objects.create(user=self.user, domain=first.domain, key=key, content=parts[number - 1])
            index_note(note, made=True)
            file.notes.append(note)
        self._mark(file.notes, page)

    def _move(self, file: _File, page: PageDraft) -> None:
        """Let the notes of a file follow it to another folder or name, unless their address was changed here."""
        here, (domain, key) = (file.notes[0].domain, file.notes[0].key), self._address(page)
        # Two names of a file may read the same, and then the note would be in its own way.
        if here == self._address_of(file.place) and here != (domain, key):
            for number, note in enumerate(file.notes, start=1):
                note.domain, note.key = domain, self._free(domain, _number_key(key, number))
                note.save(update_fields=["domain", "key"])
                index_note(note)
        file.place = page.place

    def _mark(self, notes: Sequence[Note], page: PageDraft) -> None:
        for number, note in enumerate(notes, start=1):
            provenance = self._provenance(page, number)
            if note.provenance != provenance:
                note.provenance = provenance
                note.save(update_fields=["provenance"])

    def _provenance(self, page: PageDraft, number: int) -> dict[str, Any]:
        fields = {
            "source": self.source,
            "place": page.place,
            "text": fingerprint(page.content),
            "part": number if number > 1 else 0,
            "newline": page.newline,
        }
        return {name: value for name, value in fields.items() if value}

    def _address(self, page: PageDraft) -> tuple[str, str]:
        return headline(page.folder, otherwise=self._domain), page.title

    def _address_of(self, place: str) -> tuple[str, str]:
        path = PurePosixPath(place)
        folder = path.parent.as_posix() if path.parent.parts else ""
        stem = path.stem if place.lower().endswith(".md") else path.name
        return headline(folder, otherwise=self._domain), headline(stem, otherwise="note")

    def _free(self, domain: str, key: str) -> str:
        """Return the key, or one like it where a note has this one already: of another vault, or written here."""
        taken = Note.objects.of(self.user).filter(domain=domain)
        tried, number = key, 1
        while taken.filter(key=tried).exists():
            ending = f" ({self._domain}{f' {number}' if number > 1 else ''})"
            tried, number = f"{key[: TITLE_CHARS - len(ending)]}{ending}", number + 1
        return tried


def _number_key(key: str, number: int) -> str:
    ending = f" ({number})" if number > 1 else ""
    return f"{key[: TITLE_CHARS - len(ending)]}{ending}"


def _files_of(user: User, source: str = "") -> Iterator[_File]:
    """Yield the files that notes of a user came from, of one source or of all, also of notes that were set aside."""
    notes = Note.objects.of(user).exclude(provenance={})
    if source:
        notes = notes.filter(provenance__source=source)
    rows = sorted(notes, key=lambda note: (_origin(note), _part(note)))
    for (_, place), parts in groupby(rows, key=_origin):
        yield _File(place, list(parts))


def _is_shared(files: Sequence[_File], sent: Collection[tuple[str, str]], share: float) -> bool:
    return sum((file.place, file.mark) in sent for file in files) >= share * len(files)


def _is_alike(file: _File, page: PageDraft) -> bool:
    return fuzz.ratio(file.text[:COMPARED_CHARS], page.content[:COMPARED_CHARS]) >= REWORDED


def _part(note: Note) -> int:
    part = note.provenance.get("part")
    return part if isinstance(part, int) else 0


def _origin(note: Note) -> tuple[str, str]:
    return str(note.provenance.get("source", "")), str(note.provenance.get("place", ""))


def take_out_files(user: User, taken: dict[str, int], *, program: str) -> Iterator[tuple[str, bytes]]:
    """Yield the files of a program that notes came from, by their paths, with what the notes say now."""
    for file in _files_of(user):
        origin = file.notes[0].provenance
        source = str(origin.get("source", ""))
        if not source.startswith(f"{program}:") or not all(note.is_in_view for note in file.notes):
            continue
        # A byte order mark, where the file had one, and then what ended its lines: so it goes back byte for byte.
        newline = str(origin.get("newline", ""))
        text, end = file.text, newline.removeprefix(MARK)
        written = newline[: len(newline) - len(end)] + (text.replace("\n", end) if end in ("\r\n", "\r") else text)
        yield free_path(_safe_path(file.place), source, taken), written.encode(errors="replace")


def _safe(name: str) -> str:
    """Return a name as file systems take it; what they do not is written as in addresses (%3A)."""
    plain = NOT_IN_NAMES.sub(lambda found: f"%{ord(found[0]):02X}", one_line(name))
    if plain.startswith("."):
        plain = f"%2E{plain[1:]}"
    return plain[:180].rstrip(". ") or "note"


def _safe_path(place: str) -> str:
    """Return the path of a file that came in: as it was, unless it leads out of the folder or into a hidden folder."""
    path = PurePosixPath(unicodedata.normalize("NFC", place[:PATH_CHARS]))
    is_inside = not path.is_absolute() and not any(part.startswith(".") or "\\" in part for part in path.parts)
    is_plain = is_inside and path.suffix.lower() in ENDINGS and ":" not in place and "\0" not in place
    return path.as_posix() if is_plain else f"{'/'.join(_safe(part) for part in path.parts if part != '/')}.md"


def _cut_name(name: str, *, number: str = "") -> str:
    """Return the name of a file or folder, cut before its ending where it is longer than file systems take it."""
    ending = PurePosixPath(name).suffix
    ending = ending if len(ending.encode()) <= ENDING_BYTES else ""
    stem, room = name.removesuffix(ending).encode(), NAME_BYTES - len(f"{number}{ending}".encode())
    # A character of which only some bytes have room is left out.
    cut = stem.decode() if len(stem) <= room else stem[:room].decode(errors="ignore").rstrip(". ")
    return f"{cut}{number}{ending}"


def free_path(path: str, source: str, taken: dict[str, int]) -> str:
    """Return the path, or one like it where another note has this one, whatever the case of its letters.

    Names that no file system takes are cut.

    Args:
        taken: The paths that are in use, each with the last number that was tried behind it: thousands of one name
            would otherwise each try all of them.
    """
    path = "/".join(map(_cut_name, path.split("/")))
    pure, tried, wanted = PurePosixPath(path), path, path.casefold()
    vault = _safe(PurePosixPath(source.partition(":")[2]).name) if source else ""
    if wanted in taken and vault:
        tried = f"{_cut_name(vault)}/{path}"
    while tried.casefold() in taken:
        taken[wanted] += 1
        tried = pure.with_name(_cut_name(pure.name, number=f" ({taken[wanted]})")).as_posix()
    taken[tried.casefold()] = 1
    return tried
