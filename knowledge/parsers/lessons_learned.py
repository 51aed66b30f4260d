"""LESSONS-LEARNED.md: a summary per story, and a fact per lesson below it."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import date, datetime

from markdown_it.tree import SyntaxTreeNode

from knowledge.parsers.entries import Keys, Role, SourceEntry, make_entry, slug
from knowledge.parsers.markdown import Statement, infer_tags, label_of, statements
from knowledge.parsers.outline import Outline, OutlineSection, read_outline, text_of, words_of

STORY = re.compile(r"(?:story\s+)?[\[(]?(?P<id>[A-Z][A-Z0-9]*(?:-[A-Z0-9]+)*-\d+[a-z]?)\b[\])]?\s*(?P<rest>.*)", re.I)
DATE = re.compile(
    r"\d{4}[-/.]\d{1,2}[-/.]\d{1,2}|\d{1,2}\.? [A-Z][a-z]{2,8}\.?,? \d{4}|[A-Z][a-z]{2,8}\.? \d{1,2},? \d{4}"
)
DATE_FORMATS = ("%Y-%m-%d", "%d %B %Y", "%d %b %Y", "%B %d %Y", "%b %d %Y")
DATE_LABELS = {"date", "completed", "finished", "closed", "done", "updated", "shipped", "merged"}
SUMMARY_ROLES: list[Role] = ["pm", "dev", "qa"]
KEY_WORDS = 8
DIGEST_CHARS = 1_200


@dataclass(frozen=True, slots=True)
class LessonKind:
    """A kind of lesson."""

    name: str
    tags: tuple[str, ...]
    roles: tuple[Role, ...]
    called: tuple[str, ...]
    """Words, as in a slug, that a heading or category of this kind contains."""


KINDS = (
    LessonKind("reuse", ("reuse", "pattern"), ("dev",), ("reuse", "reused", "patterns-found")),
    LessonKind("blocker", ("blocker",), ("dev",), ("blocker", "blockers", "blocked")),
    LessonKind("time-sink", ("time-sink",), ("pm", "dev"), ("time-sink", "time-sinks", "timesinks", "slowed-us-down")),
    LessonKind("verification", ("verification",), ("dev", "qa"), ("verification", "verify", "verified")),
    LessonKind("recommendation", ("recommendation",), ("dev",), ("recommendation", "recommendations", "next-time")),
    LessonKind("high-cost", ("tokens", "optimization", "high-cost"), ("dev", "qa"), ("high-cost", "token", "tokens")),
)


def kind_of_heading(heading: str) -> LessonKind | None:
    """Return the kind of lesson a heading or category announces, or None."""
    name = f"-{slug(heading)}-"
    return next((kind for kind in KINDS if any(f"-{words}-" in name for words in kind.called)), None)


def kind_of(heading: str) -> LessonKind:
    """Return the kind of lesson a heading announces; one nobody foresaw is a kind of its own."""
    name = slug(heading, 40)
    return kind_of_heading(heading) or LessonKind(name, (name,) if name else (), ("dev",), ())


@dataclass
class Story:
    """What the document says of one story, wherever in it."""

    id: str
    title: str
    line: int
    level: int
    finished: str = ""
    narrative: list[str] = field(default_factory=list)
    lessons: list[tuple[LessonKind, str, Statement]] = field(default_factory=list)

    @property
    def key(self) -> str:
        """Its identity in the source: the id of the story, or what the heading says."""
        return self.id or slug(self.title)


def parse_lessons(text: str, source_file: str) -> list[SourceEntry]:
    """Return the entries of a lessons-learned document.

    A story's heading becomes a summary, each bullet, row or paragraph of its sections a fact below it. Headings may
    vary: `## STORY-007: Title (2026-01-12)`, `### Story 8 — title`, sections as bold lines, in parts, or missing.

    Raises:
        Invalid: a lesson is longer than an entry may be, or the document has more pieces than anyone writes.
    """
    keys = Keys()
    stories = _stories(read_outline(text, source_file))
    return [entry for story in stories for entry in _entries(story, source_file, keys)]


def _stories(outline: Outline) -> list[Story]:
    stories: dict[str, Story] = {}
    current: Story | None = None
    heading = ""
    for section in _below_the_title(outline):
        if started := _start_story(section, current, outline.title):
            current = stories.setdefault(started.key, started)
            current.finished = current.finished or started.finished
            heading = section.title if kind_of_heading(section.title) else ""
        elif current is None:
            continue
        elif finished := _read_date(section.title):
            # A date underlined with dashes is a heading to markdown, and to nobody else.
            current.finished = current.finished or finished
        else:
            heading = section.title
        _collect(current, heading, section.blocks)
    return [story for story in stories.values() if story.narrative or story.lessons or story.id]


def _below_the_title(outline: Outline) -> list[OutlineSection]:
    """Leave out what introduces the document: its title, and the words above its first story."""
    sections = [section for section in outline.sections if section.level]
    has_title = len(sections) > 1 and all(section.level > sections[0].level for section in sections[1:])
    return sections[1:] if has_title and not STORY.match(words_of(sections[0].title)) else sections


def _start_story(section: OutlineSection, current: Story | None, document: str) -> Story | None:
    """Return the story a heading begins: one with an id in front, or any that is no section of a story above it."""
    plain = words_of(section.title)
    if kind_of_heading(plain):
        return None if current else Story("", document, section.line, section.level - 1)
    if found := STORY.match(plain):
        title, finished = _title_and_date(found["rest"])
        return Story(found["id"].upper(), title, section.line, section.level, finished)
    is_inside = current is not None and (section.level > current.level or bool(_read_date(plain)))
    return None if is_inside else Story("", plain, section.line, section.level)


def _title_and_date(rest: str) -> tuple[str, str]:
    finished = _date_in(rest)
    title = DATE.sub("", rest) if finished else rest
    return re.sub(r"[(\[]\s*[)\]]", "", title).strip(" :–—-·|,"), finished


def _date_in(text: str) -> str:
    """Return the first date in a text as ISO 8601, or an empty text."""
    for found in DATE.findall(text):
        plain = re.sub(r"[./](?=\d)", "-", found).replace(",", "").replace(".", "")
        for form in DATE_FORMATS:
            try:
                day: date = datetime.strptime(plain, form).date()
            except ValueError:
                continue
            return day.isoformat()
    return ""


def _read_date(text: str) -> str:
    """Return the date of a line that is only a date, with or without `Date:` before it."""
    plain = words_of(text)
    label = DATE.sub("", plain).strip(" :.–—-*_()").casefold()
    return _date_in(plain) if not label or label in DATE_LABELS else ""


def _collect(story: Story, heading: str, blocks: list[SyntaxTreeNode]) -> None:
    """Sort what stands below one heading into dates, narrative and lessons."""
    waiting: list[SyntaxTreeNode] = []
    for block in blocks:
        text = text_of(block) if block.type == "paragraph" else ""
        if text and (finished := _read_date(text)):
            story.finished = story.finished or finished
        elif text and (label := label_of(text)) and kind_of_heading(label):
            _file(story, heading, waiting)
            heading, waiting = label, []
        else:
            waiting.append(block)
    _file(story, heading, waiting)


def _file(story: Story, heading: str, blocks: list[SyntaxTreeNode]) -> None:
    if heading:
        kind = kind_of(heading)
        story.lessons += ((kind, heading, one) for one in statements(blocks))
        return
    # Before the first section: prose tells the story, bullets are lessons that nobody sorted.
    bullets = [block for block in blocks if block.type.endswith("_list")]
    story.narrative += (one.text for one in statements([block for block in blocks if block not in bullets]))
    for one in statements(bullets):
        if finished := _read_date(one.text):
            story.finished = story.finished or finished
        else:
            story.lessons.append((kind_of(""), "", one))


def _entries(story: Story, source_file: str, keys: Keys) -> Iterator[SourceEntry]:
    summary = keys.claim(story.key)
    shared = {"source_file": source_file, "source_story": story.id}
    dated = {"date": story.finished} if story.finished else {}
    content = _summary(story)
    yield make_entry(
        story.line,
        {
            **shared,
            "key": summary,
            "content": content,
            "entry_type": "summary",
            "roles": SUMMARY_ROLES,
            "tags": list(dict.fromkeys([*_story_tags(story), *infer_tags(content)])),
            "metadata": {"title": story.title, **dated},
        },
    )
    for kind, heading, one in story.lessons:
        context = {"context": one.context} if one.context else {}
        yield make_entry(
            one.line,
            {
                **shared,
                "key": keys.claim(summary, kind.name, _first_words(one.text)),
                "content": one.text,
                "roles": list(kind.roles),
                "tags": list(dict.fromkeys([*kind.tags, *infer_tags(one.text)])),
                "parent": summary,
                "metadata": {"section": heading, **context, **dated},
            },
        )


def _story_tags(story: Story) -> list[str]:
    """Return the family of the story's id: `wrkf` of WRKF-1021. STORY says nothing."""
    family = story.id.rpartition("-")[0].lower()
    return [family] if family and family != "story" else []


def _first_words(text: str) -> str:
    # The beginning of a lesson outlives most corrections of it, so the key does too.
    return "-".join(slug(text[:400]).split("-")[:KEY_WORDS])


def _summary(story: Story) -> str:
    named = f"{story.id} ({story.title})" if story.id and story.title else story.id or story.title
    narrative = "\n\n".join(story.narrative) or _digest_of_lessons(story)
    return f"{named}: {narrative}" if narrative else named


def _digest_of_lessons(story: Story) -> str:
    """Tell a story that has no words of its own by the first sentence of each of its lessons, advice first."""
    ranked = sorted(story.lessons, key=lambda lesson: lesson[0].name != "recommendation")
    digest = ""
    for _, _, one in ranked:
        first = re.split(r"(?<=[.!?])\s", words_of(one.text.split("\n")[0]), maxsplit=1)[0].rstrip(".:")
        if len(digest) + len(first) > DIGEST_CHARS:
            break
        digest += f"{first}. "
    return digest.strip()
