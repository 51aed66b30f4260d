"""LESSONS-LEARNED.md: a summary per story, and a fact per lesson below it."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import date, datetime

from markdown_it.tree import SyntaxTreeNode

from bigmind.privacy.screening import find_secrets
from knowledge.parsers.empty_phrases import leave_out
from knowledge.parsers.entries import Keys, Role, SourceEntry, first_words, make_entry, slug
from knowledge.parsers.markdown import Statement, infer_tags, label_of, statements, tags_of_document, tags_of_heading
from knowledge.parsers.outline import Outline, OutlineSection, read_outline, text_of, words_of

STORY = re.compile(r"(?:story\s+)?[\[(]?(?P<id>[A-Z][A-Z0-9]*(?:-[A-Z0-9]+)*-\d+[a-z]?)\b[\])]?\s*(?P<rest>.*)", re.I)
DATE = re.compile(
    r"\d{4}[-/.]\d{1,2}[-/.]\d{1,2}|\d{1,2}\.? [A-Z][a-z]{2,8}\.?,? \d{4}|[A-Z][a-z]{2,8}\.? \d{1,2},? \d{4}"
)
DATE_FORMATS = ("%Y-%m-%d", "%d %B %Y", "%d %b %Y", "%B %d %Y", "%b %d %Y")
DATE_LABELS = {"date", "completed", "finished", "closed", "done", "updated", "shipped", "merged"}
SUMMARY_ROLES: list[Role] = ["pm", "dev", "qa"]
TELLS_THE_STORY = {"summary", "overview", "tl-dr", "executive-summary", "background", "context", "what-happened"}
"""Headings below which stands what happened, in words; below any other stand lessons."""
FIRST_IN_A_SUMMARY = ("recommendation", "lesson", "root-cause", "went-wrong", "blocker")
TEACHES_NOTHING = {"kudos", "thanks", "shout-outs", "participants", "attendees", "agenda", "parking-lot", "contacts"}
LAST_IN_A_SUMMARY = ("verification", "went-well", "action", "high-cost")
DIGEST_CHARS, NARRATIVE_CHARS = 1_200, 300


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
    LessonKind(
        "recommendation",
        ("recommendation",),
        ("dev",),
        ("recommendation", "recommendations", "next-time", "advice", "do-differently"),
    ),
    LessonKind("lesson", ("lesson",), ("dev",), ("lesson", "lessons", "learning", "learnings", "learned", "takeaways")),
    LessonKind(
        "root-cause",
        ("root-cause",),
        ("dev",),
        ("root-cause", "root-causes", "contributing-factors", "why-it-happened", "why-did-it-happen"),
    ),
    LessonKind(
        "went-wrong",
        ("problem",),
        ("pm", "dev"),
        (
            *("went-wrong", "went-badly", "went-poorly", "go-well", "go-so-well", "not-so-good", "pain-points"),
            *("could-be-better", "could-have-been-better", "to-improve", "didn-t-work", "did-not-work", "frustrating"),
        ),
    ),
    LessonKind(
        "went-well", ("went-well",), ("pm", "dev"), ("went-well", "worked-well", "what-worked", "got-lucky", "go-right")
    ),
    LessonKind("fix", ("fix",), ("dev",), ("resolution", "mitigation", "how-we-fixed", "how-it-was-fixed")),
    LessonKind("action", ("action-item",), ("pm", "dev"), ("action-items", "action-item", "actions", "follow-ups")),
    LessonKind("high-cost", ("tokens", "optimization", "high-cost"), ("dev", "qa"), ("high-cost", "token", "tokens")),
)


ALONE = {
    "recommendation": {"try", "start", "stop", "improve", "improvements", "delta", "longed-for"},
    "went-well": {"keep", "continue", "liked", "glad", "good", "plus"},
    "went-wrong": {"problem", "problems", "mad", "sad", "lacked", "bad", "minus", "challenges"},
}
"""Headings of retrospectives that announce a kind where they stand alone, and anything else in a longer one."""
SAYS_WHAT_TO_DO = {"start", "stop", "continue", "keep", "try"}
TITLES = ("lessons-learned", "lessons-learnt", "learnings", "what-we-learned", "retrospective", "postmortem")


def kind_of_heading(heading: str) -> LessonKind | None:
    """Return the kind of lesson a heading or category announces, or None."""
    name = slug(heading)
    alone = next((kind for kind, names in ALONE.items() if name in names), "")
    called = f"-{name}-"
    return next(
        (kind for kind in KINDS if kind.name == alone or any(f"-{words}-" in called for words in kind.called)), None
    )


def is_of_lessons(headings: Sequence[str]) -> bool:
    """Whether the headings of a document, its title first, are those of lessons learned."""
    kinds = {kind.name for heading in headings if (kind := kind_of_heading(heading))}
    # Instructions have actions, and any guide may have a problem and its resolution.
    title = f"-{slug(headings[0] if headings else '')}-".replace("post-mortem", "postmortem")
    is_called_so = any(f"-{words}-" in title for words in TITLES)
    return is_called_so or len(kinds - {"action", "fix"}) >= 2


def kind_of(heading: str) -> LessonKind:
    """Return the kind of lesson a heading announces; one nobody foresaw is a kind of its own."""
    name = slug(heading, 40)
    return kind_of_heading(heading) or LessonKind(name, tuple(tags_of_heading(heading)), ("dev",), ())


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
    below = _below_the_title(outline)
    if _is_one_story(below):
        finished = _date_in(outline.title)
        current = stories["."] = Story("", outline.title, below[0].line, below[0].level - 1, finished)
        _collect(current, "", _introduction(outline))
    for section in below:
        if started := _start_story(section, current, outline.title):
            current = stories.setdefault(started.key, started)
            current.finished = current.finished or started.finished
            heading = section.title if kind_of_heading(section.title) else ""
        elif current is None:
            continue
        elif finished := _read_date(section.title):
            # A date underlined with dashes is a heading to markdown, and to no one else.
            current.finished = current.finished or finished
        else:
            heading = section.title
        _collect(current, heading, section.blocks)
    complete = [story for story in stories.values() if story.narrative or story.lessons]
    for story in stories.values():
        if story not in complete:
            leave_out(story.id or story.title)
    return complete


def _below_the_title(outline: Outline) -> list[OutlineSection]:
    """Leave out what introduces the document: its title, and the words above its first story."""
    sections = [section for section in outline.sections if section.level]
    has_title = len(sections) > 1 and all(section.level > sections[0].level for section in sections[1:])
    return sections[1:] if has_title and not STORY.match(words_of(sections[0].title)) else sections


def _is_one_story(below: list[OutlineSection]) -> bool:
    """Whether a document is about one thing, as a retrospective is: below its title stand sections of lessons."""
    level = min((section.level for section in below), default=0)
    top = [words_of(section.title) for section in below if section.level == level]
    has_title = level > 1
    return (
        has_title
        and len({kind.name for title in top if (kind := kind_of_heading(title))}) > 1
        and not any(STORY.match(title) for title in top)
    )


def _introduction(outline: Outline) -> list[SyntaxTreeNode]:
    """Return what stands below the title of a document, above its first section."""
    return next((section.blocks for section in outline.sections if section.level), [])


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
    if heading and slug(heading) not in TELLS_THE_STORY:
        kind = kind_of(heading)
        found = statements(blocks)
        if kind.name in TEACHES_NOTHING:
            for one in found:
                leave_out(one.text)
        elif kind.name.startswith("timeline") and found:
            # What happened when is read as a whole.
            whole = "\n".join(text_of(block) for block in blocks)
            story.lessons.append((kind, heading, Statement(whole, found[0].line)))
        elif slug(heading) in SAYS_WHAT_TO_DO:
            # “Merging on Fridays” alone would be advice to do so.
            label = words_of(heading).rstrip(":")
            story.lessons += ((kind, heading, replace(one, text=f"{label}: {one.text}")) for one in found)
        else:
            story.lessons += ((kind, heading, one) for one in found)
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
                "key": keys.claim(summary, kind.name, first_words(one.text)),
                "content": one.text,
                "roles": list(kind.roles),
                "tags": list(dict.fromkeys([*kind.tags, *infer_tags(one.text)])),
                "parent": summary,
                "metadata": {"section": heading, **context, **dated},
            },
        )


def _story_tags(story: Story) -> list[str]:
    """Return the family of the story's id, `wrkf` of WRKF-1021, and what sort of document it is. STORY says nothing."""
    family = story.id.rpartition("-")[0].lower()
    return [*([family] if family and family != "story" else []), *tags_of_document(story.title)]


def _summary(story: Story) -> str:
    named = f"{story.id} ({story.title})" if story.id and story.title else story.id or story.title
    story_text = "\n\n".join(story.narrative)
    # A story told in a line or two says more with what was learned from it.
    digest = _digest_of_lessons(story) if len(story_text) < NARRATIVE_CHARS else ""
    narrative = "\n\n".join(part for part in (story_text, digest) if part)
    return f"{named}: {narrative}" if narrative else named


def _lesson_in_row(text: str) -> str:
    """Return the cell of a row that is the lesson, as its heading says; else the whole."""
    cells = [part.partition(": ") for part in text.split("; ")]
    if len(cells) < 2:
        return text
    return next((cell for label, _, cell in cells if cell and kind_of_heading(label)), text)


def _place_in_summary(kind: str) -> int:
    """Where in a summary a kind of lesson stands: what to do first, then why, what only went well at the end."""
    if kind in FIRST_IN_A_SUMMARY:
        return FIRST_IN_A_SUMMARY.index(kind)
    return len(FIRST_IN_A_SUMMARY) + (kind in LAST_IN_A_SUMMARY)


def _digest_of_lessons(story: Story) -> str:
    """Tell a story that has no words of its own by the first sentence of each of its lessons, advice first."""
    ranked = sorted(story.lessons, key=lambda lesson: _place_in_summary(lesson[0].name))
    digest = ""
    for _, _, one in ranked:
        first = re.split(r"(?<=[.!?])\s", words_of(_lesson_in_row(one.text.split("\n")[0])), maxsplit=1)[0].rstrip(".:")
        if find_secrets(one.text):
            continue  # That lesson is refused; the summary need not be.
        if len(digest) + len(first) > DIGEST_CHARS:
            break
        digest += f"{first}. "
    return digest.strip()
