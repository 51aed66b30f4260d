"""Any markdown: the document becomes a summary, each of its main sections a fact with everything below its heading."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import PurePosixPath

from bigmind.core.text import one_line
from bigmind.core.vocabulary import CONTENT_BYTES, TAG_CHARS
from knowledge.parsers.entries import Keys, SourceEntry, make_entry, slug
from knowledge.parsers.outline import Outline, OutlineSection, first_line, read_outline
from knowledge.parsers.tags import infer_tags

ROOM_FOR_TITLE = 1_024


@dataclass(frozen=True, slots=True)
class DocumentPart:
    """A stretch of the document under one heading."""

    sections: tuple[OutlineSection, ...]
    end: int
    """The line after its last."""

    @property
    def head(self) -> OutlineSection:
        """The section it begins with."""
        return self.sections[0]


def parse_markdown(text: str, source_file: str) -> list[SourceEntry]:
    """Return the entries of a markdown document: a summary of what it is, and a fact for each main section.

    A section stays whole, with its subheadings, up to 64 KiB; a longer one is split at its subheadings, and where it
    has none, between paragraphs.

    Raises:
        Invalid: the document has more pieces than anyone writes, or a single line of more than 64 KiB.
    """
    outline = read_outline(text, source_file)
    document = DocumentPart(tuple(outline.sections), len(outline.lines) + 1)
    return list(_Splitter(outline, source_file).entries(document))


class _Splitter:
    """Cuts one document into entries."""

    def __init__(self, outline: Outline, source_file: str) -> None:
        self.outline = outline
        self.source_file = source_file
        self.name = outline.title or PurePosixPath(source_file).stem
        self.keys = Keys()

    def entries(self, document: DocumentPart) -> Iterator[SourceEntry]:
        """Return the summary of the document, and its sections below it."""
        main = [section for section in document.sections if section.level]
        if len(main) < 2:
            yield from self.whole(document, "")
            return
        titled = self._is_alone(main)
        begin = document.sections.index(main[1] if titled else main[0])
        intro, rest = self._cut(document, begin)
        key = self.keys.claim(slug(self.name) or "document")
        yield self.entry(intro.head.line, self._overview(intro, main), key, ("summary", "", intro.head.path))
        for part in self._siblings(rest):
            yield from self.whole(part, key)

    def whole(self, part: DocumentPart, parent: str) -> Iterator[SourceEntry]:
        """Return a part as one entry where it fits into one, and in pieces where it does not."""
        text = self.text(part)
        own = text.removeprefix("#" * part.head.level).strip() if part.head.level else text
        if not own or (len(part.sections) == 1 and one_line(own) == part.head.title):
            return
        key = self.keys.claim(*(slug(title) for title in part.head.path or (self.name,)))
        if len(text.encode()) <= CONTENT_BYTES:
            yield self.entry(part.head.line, text, key, ("fact", parent, part.head.path))
        elif len(part.sections) > 1:
            intro, rest = self._cut(part, 1)
            yield self.entry(
                part.head.line, self._overview(intro, [*part.sections]), key, ("summary", parent, part.head.path)
            )
            for below in self._siblings(rest):
                yield from self.whole(below, key)
        else:
            yield from self._split_section(part, key, parent)

    def entry(self, line: int, text: str, key: str, place: tuple[str, str, tuple[str, ...]]) -> SourceEntry:
        """Return an entry; its place is its type, its parent, and the headings above it."""
        entry_type, parent, path = place
        named = [tag for title in path[-1:] if (tag := slug(title, TAG_CHARS))]
        fields = {
            "key": key,
            "content": text,
            "entry_type": entry_type,
            "tags": list(dict.fromkeys([*named, *infer_tags(text)])),
            "source_file": self.source_file,
            "parent": parent,
            "metadata": {"headings": list(path)},
        }
        return make_entry(line, fields)

    def text(self, part: DocumentPart) -> str:
        """Return the lines of a part as they were written."""
        return self.outline.source(part.head.line, part.end)

    def _overview(self, intro: DocumentPart, sections: list[OutlineSection]) -> str:
        """Return the introduction, or where there is none, what the sections are called."""
        text = self.text(intro)
        if len(text.encode()) > CONTENT_BYTES:
            text = text.encode()[: CONTENT_BYTES - ROOM_FOR_TITLE].decode(errors="ignore")
        if any(section.blocks for section in intro.sections):
            return text
        titles = "; ".join(section.title for section in sections if section.title != self.name)
        return f"{self.name}: {titles}"[: CONTENT_BYTES // 8]

    def _cut(self, part: DocumentPart, begin: int) -> tuple[DocumentPart, DocumentPart]:
        rest = part.sections[begin:]
        return DocumentPart(part.sections[:begin] or rest[:1], rest[0].line), DocumentPart(rest, part.end)

    def _siblings(self, part: DocumentPart) -> Iterator[DocumentPart]:
        """Return the parts of the highest level in a part, each with what stands below it."""
        level = min(section.level for section in part.sections)
        # What comes before the first of that level belongs to none of them, and is a part too.
        begins = [0, *(at for at, section in enumerate(part.sections) if at and section.level == level)]
        for begin, end in zip(begins, [*begins[1:], len(part.sections)], strict=True):
            until = part.sections[end].line if end < len(part.sections) else part.end
            yield DocumentPart(part.sections[begin:end], until)

    @staticmethod
    def _is_alone(headings: list[OutlineSection]) -> bool:
        """Say whether the first heading is the title of the document: the only one of its level, and the highest."""
        return all(section.level > headings[0].level for section in headings[1:])

    def _split_section(self, part: DocumentPart, key: str, parent: str) -> Iterator[SourceEntry]:
        """Split a section without subheadings between its blocks, each piece headed by its title."""
        title = f"{'#' * part.head.level} {part.head.title}\n\n" if part.head.level else ""
        begins = [first_line(block) for block in part.head.blocks] or [part.head.line + 1]
        splits: list[tuple[int, str]] = []
        for begin, end in zip(begins, [*begins[1:], part.end], strict=True):
            text = self.outline.source(begin, end)
            if splits and len(f"{title}{splits[-1][1]}\n\n{text}".encode()) <= CONTENT_BYTES:
                splits[-1] = (splits[-1][0], f"{splits[-1][1]}\n\n{text}")
            else:
                splits.append((begin, text))
        for number, (line, text) in enumerate(splits, 1):
            numbered = key if number == 1 else self.keys.claim(key, str(number))
            yield self.entry(line, title + text, numbered, ("fact", parent, part.head.path))
