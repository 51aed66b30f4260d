"""Any markdown: the document becomes a summary, each section a fact with its text, tagged by what it mentions."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import zip_longest
from pathlib import PurePosixPath

from markdown_it.tree import SyntaxTreeNode

from bigmind.core.limits import CONTENT_BYTES, TAG_CHARS
from bigmind.text.hygiene import one_line
from knowledge.parsers.empty_phrases import leave_out, row_says_nothing, says_nothing
from knowledge.parsers.entries import Keys, SourceEntry, first_words, make_entry, slug
from knowledge.parsers.outline import (
    Outline,
    OutlineSection,
    first_line,
    inline_tokens,
    read_outline,
    rows_of,
    text_of,
    words_of,
)

INFERRED = 8
READ_CHARS = 20_000
PACKAGE = re.compile(r"@[\w.-]+/(?P<scoped>[\w.-]+)|(?P<kebab>[a-z][a-z0-9]*(?:-[a-z0-9]+)+)")
WORD = re.compile(r"[a-z0-9#+]+")

NAMES = """
    ansible aws axios azure babel bash bun cache caching celery cors css csrf cypress datadog django docker
    elasticsearch eslint fastapi flask gcp git github gitlab grafana graphql grpc html http jest jwt kafka kotlin
    lambda linux mcp mypy mysql nginx node numpy oauth openapi openai pandas pgvector playwright pnpm postgres prisma
    prometheus pydantic pytest python rabbitmq react redis redux ruff rust s3 sentry sqlite sql storybook tailwind
    terraform turborepo typescript unicode vercel vite vitest vue webpack websocket yaml zod zustand
"""
TECHNOLOGIES: dict[str, str] = {name: name for name in NAMES.split()} | {
    "auth": "auth",
    "authentication": "auth",
    "authorization": "auth",
    "flaky": "flaky-test",
    "k8s": "kubernetes",
    "kubernetes": "kubernetes",
    "lint": "lint",
    "linter": "lint",
    "migration": "migration",
    "migrations": "migration",
    "nodejs": "node",
    "postgresql": "postgres",
    "route": "routing",
    "routes": "routing",
    "routing": "routing",
    "timezone": "timezone",
    "timezones": "timezone",
    "websockets": "websocket",
}
"""The tag of each word; what has several spellings has one tag."""
PHRASES = {"foreign key": "foreign-key", "next.js": "nextjs", "github actions": "ci", "rate limit": "rate-limit"}

NUMBERED = re.compile(r"^\s{0,9}(?:step\s)?(?:\d{1,3}[.):]?\s|[IVX]{1,5}[.)]\s)", re.IGNORECASE)
TOPIC_WORDS = 3
_NO_TOPICS = """
summary overview introduction intro background context description details general notes note misc miscellaneous other
others more steps step prerequisites requirements usage use when how to why what it this the a an of and in for is are
examples example references reference see also links appendix conclusion contents table toc about purpose scope goal
goals faq todo tbd contacts contact history changelog version kudos thanks part section chapter basics utc
"""
DOCUMENTS = {"runbook", "playbook", "postmortem", "retrospective", "incident", "rfc", "howto", "onboarding"}
IS_NO_TOPIC = frozenset(_NO_TOPICS.split())

LISTS = {"bullet_list", "ordered_list"}
EXAMPLES = {"fence", "code_block", "blockquote"}
LABEL_WORDS = 6

ROOM_FOR_TITLE = 1_024

OF_STORIES = re.compile(r"post-?mortems?|incidents?|outages?|failures?|accidents?|war-stories", re.IGNORECASE)
"""What the title of a list of stories speaks of."""
STORIES, STORY_WORDS = 3, 10
"""From how many on it is a list, and how many words tell one."""
PLACES_AND_PEOPLE = {
    *("table-of-contents", "contents", "toc", "contributors", "authors", "maintainers"),
    *("kudos", "thanks", "acknowledgements", "acknowledgments"),
}
"""Headings below which stands nothing that anyone could know."""


def infer_tags(text: str) -> list[str]:
    """Return up to eight tags for what a text mentions, in the order in which it does."""
    lowered = text[:READ_CHARS].casefold()
    phrases = [tag for phrase, tag in PHRASES.items() if phrase in lowered]
    words = [TECHNOLOGIES[word] for word in WORD.findall(lowered) if word in TECHNOLOGIES]
    return list(dict.fromkeys([*_packages(text), *phrases, *words]))[:INFERRED]


def tags_of_heading(title: str) -> list[str]:
    """Return the tag that a heading is, where it names a topic: not “Overview”, not a sentence, not its number."""
    tag = slug(NUMBERED.sub("", title), TAG_CHARS)
    words = tag.split("-")
    is_topic = tag and len(words) <= TOPIC_WORDS and not set(words) <= IS_NO_TOPIC and any(map(str.isalpha, words))
    return [tag] if is_topic else []


def tags_of_document(title: str) -> list[str]:
    """Return what sort of document its title says that it is: a runbook, a post-mortem."""
    name = slug(title).replace("post-mortem", "postmortem").replace("retro-", "retrospective-")
    return [word for word in dict.fromkeys(name.split("-")) if word in DOCUMENTS]


def _packages(text: str) -> list[str]:
    spans = [token.content.strip() for token in inline_tokens(text) if token.type == "code_inline"]
    found = [match for span in spans if (match := PACKAGE.fullmatch(span))]
    return [tag for match in found if (tag := slug(match["scoped"] or match["kebab"]))]


@dataclass(frozen=True, slots=True)
class Statement:
    """One thing a section says."""

    text: str
    line: int
    context: str = ""
    """The sentence that introduced the list it stands in."""


def statements(blocks: list[SyntaxTreeNode]) -> list[Statement]:
    """Return what some blocks say: a statement per bullet, table row and paragraph.

    A code block belongs to the statement before it, a nested list to its bullet; a bullet that is only a bold label
    passes its name on to each bullet below it. What says “none” says nothing.
    """
    found: list[Statement] = []
    context = ""
    for block, following in zip_longest(blocks, blocks[1:]):
        if block.type in EXAMPLES and found:
            found[-1] = replace(found[-1], text=f"{found[-1].text}\n\n{text_of(block)}")
        elif _introduces(block, following):
            context = text_of(block).rstrip(":").strip()
        else:
            found += (replace(one, context=context) for one in _of_block(block))
            context = ""
    return [one for one in found if not _is_left_out(one.text)]


def _introduces(block: SyntaxTreeNode, following: SyntaxTreeNode | None) -> bool:
    is_followed = following is not None and following.type in LISTS | {"table"}
    return block.type == "paragraph" and is_followed and words_of(text_of(block)).endswith(":")


def _of_block(block: SyntaxTreeNode) -> Iterator[Statement]:
    if block.type in LISTS:
        for item in block.children:
            yield from _of_item(item)
    elif block.type == "table":
        yield from _of_rows(block)
    else:
        yield Statement(text_of(block), first_line(block))


def _of_item(item: SyntaxTreeNode) -> Iterator[Statement]:
    own = item.children[0] if item.children else None
    nested = [child for child in item.children[1:] if child.type in LISTS]
    if own is not None and nested and len(nested) == len(item.children) - 1 and (label := label_of(text_of(own))):
        for child in (child for each in nested for child in each.children):
            yield Statement(f"{label}: {_without_box(text_of(child))}", first_line(child))
    else:
        yield Statement(_without_box(text_of(item)), first_line(item))


def _of_rows(table: SyntaxTreeNode) -> Iterator[Statement]:
    (headings, *rows), (first, *_) = rows_of(table), (first_line(table),)
    # The rows begin two lines below the headings: between them is a rule, which is no row of the tree.
    for number, row in enumerate(rows, first + 2):
        cells = zip(headings, row, strict=False)
        text = "; ".join(f"{heading}: {cell}" if heading else cell for heading, cell in cells if not _is_dash(cell))
        if row_says_nothing(headings, row):
            leave_out("; ".join(row))
        else:
            yield Statement(text, number)


def label_of(text: str) -> str:
    """Return the words of a text that is nothing but one short bold phrase, such as `**Uploads:**`."""
    tokens = [token for token in inline_tokens(text) if token.type != "text" or token.content.strip(" :")]
    is_bold = len(tokens) > 2 and tokens[0].type == "strong_open" and tokens[-1].type == "strong_close"
    is_one = sum(token.type == "strong_open" for token in tokens) == 1
    label = words_of(text).rstrip(": ")
    return label if is_bold and is_one and len(label.split()) <= LABEL_WORDS else ""


def _without_box(text: str) -> str:
    """Leave out the box of a task list: `[x] Run the migration twice.`"""
    return text[4:] if text[:4].lower() in {"[ ] ", "[x] "} else text


def _begins_with_a_name(text: str) -> bool:
    """Whether a text begins with a link or with bold words."""
    first = next((token for token in inline_tokens(text) if token.type != "text" or token.content.strip()), None)
    return first is not None and first.type in {"link_open", "strong_open"}


def _is_dash(cell: str) -> bool:
    return not any(char.isalnum() for char in cell)


def _is_left_out(text: str) -> bool:
    """Whether a statement says nothing; it is counted then."""
    if is_left_out := says_nothing(text):
        leave_out(text)
    return is_left_out


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
        if len(part.sections) == 1 and part.head.blocks and not statements(part.head.blocks):
            return
        if part.head.level and slug(part.head.title) in PLACES_AND_PEOPLE:
            leave_out(text)
            return
        key = self.keys.claim(*(slug(title) for title in part.head.path or (self.name,)))
        if stories := self._stories(part):
            yield from self._tell_each(part, stories, key, parent)
        elif len(text.encode()) <= CONTENT_BYTES:
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

    def _stories(self, part: DocumentPart) -> list[Statement]:
        """Return what a section of a list of stories tells, one by one; nothing where it is anything else.

        Such a list has a paragraph or bullet for each, which begins with whom it happened to: a link or bold words.
        """
        if len(part.sections) > 1 or not OF_STORIES.search(self.name):
            return []
        found = statements(part.head.blocks)
        stories = [one for one in found if _begins_with_a_name(one.text) and len(one.text.split()) > STORY_WORDS]
        return found if len(stories) >= STORIES and len(stories) * 2 > len(found) else []

    def _tell_each(self, part: DocumentPart, stories: list[Statement], key: str, parent: str) -> Iterator[SourceEntry]:
        names = "; ".join(dict.fromkeys(words_of(one.text).partition(".")[0][:80] for one in stories))
        path = part.head.path
        yield self.entry(part.head.line, f"{path[-1]}: {names}"[: CONTENT_BYTES // 8], key, ("summary", parent, path))
        for one in stories:
            yield self.entry(
                one.line, one.text, self.keys.claim(key, first_words(words_of(one.text))), ("fact", key, path)
            )

    def entry(self, line: int, text: str, key: str, place: tuple[str, str, tuple[str, ...]]) -> SourceEntry:
        """Return an entry; its place is its type, its parent, and the headings above it."""
        entry_type, parent, path = place
        named = [tag for title in path[-1:] for tag in tags_of_heading(title)]
        fields = {
            "key": key,
            "content": text,
            "entry_type": entry_type,
            "tags": list(dict.fromkeys([*named, *tags_of_document(self.name), *infer_tags(text)])),
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
