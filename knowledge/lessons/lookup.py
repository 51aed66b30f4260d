"""Lessons: what is known here about an error, the moment it happens again."""

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import islice
from typing import Annotated
from uuid import UUID

from django.db.models import Case, F, Func, Q, Value, When
from django.utils import timezone
from pydantic import BeforeValidator, Field

from accounts.actor import Actor
from accounts.services.usage import COLLEAGUES, may_be_shown
from bigmind.core.argument_types import Content
from bigmind.database.read_only import is_read_only
from knowledge.lessons.fingerprints import SAYS_NOTHING, SeenError, error_in
from knowledge.lessons.fixes import fix_in
from knowledge.lessons.normalization import COLOURS, words_of
from knowledge.lessons.seen_errors import entries_quoting, fingerprints_in
from knowledge.models import Chunk, Entry, Kind, LessonAsked
from knowledge.models.lessons import FIXED_ERROR
from knowledge.models.person_digests import digest_of_person
from knowledge.search.filters import Filters
from knowledge.search.findings import Finding, Findings
from knowledge.search.hybrid import search

QUESTION_CHARS = 500
EXCERPT_CHARS = 600
CANDIDATES = 4
"""How many findings are weighed for each lesson asked for."""
OWN_CANDIDATES, OWN_FIXES = 8, 2
TRUSTED = 0.5
"""What `kb_search` asks for too: less certain entries are shown last, and as weak."""
NEAR, STRONG = 0.34, 0.7
"""The share of the words of an error that an entry has to be shown, and to be more than weak.

Of the 66 errors in `benchmarks/retrieval/shapes/errors.txt` 65 are shown their lesson, 61 of them not as weak; 20 wrong
ones are shown, all as weak. With NEAR at 0.25 it is all 66, with 93 wrong ones. With STRONG at 0.5 wrong ones
are more than weak, with 0.8 only 55 right ones are.
"""
NEAR_BY_MEANING, STRONG_BY_MEANING = 0.45, 0.65
"""The same for the similarity in meaning. At 0.4 it is all 66 as well, with 35 wrong ones; at 0.55 a wrong one is more
than weak, and at 0.7 one right one less."""
SAME_ERROR, SAME_MESSAGE, WORDS, MEANING = "same error", "same message", "words", "meaning"


def _without_colours(text: object) -> object:
    return COLOURS.sub("", text) if isinstance(text, str) else text


ErrorText = Annotated[
    Content,
    BeforeValidator(_without_colours),
    Field(description="The error as it was printed: message, traceback or the end of the log, up to 64 KiB."),
]


@dataclass(frozen=True)
class Lesson:
    """An entry about an error, and why it was chosen."""

    entry: Entry
    why: str
    is_weak: bool
    score: float
    lesson: str
    matched: list[str]

    @property
    def entry_id(self) -> UUID:
        return self.entry.pk

    @property
    def fix(self) -> str:
        """What the entry says to do; all of it, where no part is called so."""
        return fix_in(self.entry.content) or self.entry.content

    @property
    def author(self) -> str:
        return str(self.entry.created_by or "")


@dataclass(frozen=True)
class OwnFix:
    """How the asker's own agents got rid of an error in an earlier conversation. No one else learns of it."""

    chunk: Chunk

    @property
    def session_id(self) -> UUID:
        """The conversation it comes from."""
        return self.chunk.session_id

    @property
    def fix(self) -> str:
        """What was done to fix the error."""
        return fix_in(self.chunk.content) or self.chunk.content


@dataclass(frozen=True)
class Lessons:
    """What is known about an error, the best first."""

    error: Annotated[str, Field(description="The error as understood, without its variable parts.")]
    fingerprint: str
    items: list[Lesson]
    own: Annotated[list[OwnFix], Field(description="From your own conversations; nobody else is shown them.")]
    asked_before: Annotated[
        int, Field(description="How often this error was asked about before; 0 until three others asked.")
    ]
    fallback: Annotated[bool, Field(description="True: by words alone, because the embedder is down.")]
    next_step: str
    notice: Annotated[str, Field(description="What could not be searched by meaning, and why; empty: all was.")] = ""


def lesson_for(
    actor: Actor,
    *,
    error: ErrorText,
    limit: Annotated[int, Field(ge=1, le=10)] = 3,
) -> Lessons:
    """Ask whether an error was seen here before: send the message, traceback or log as is.

    Call this as soon as a command, test or request fails, before you look for the cause. Returns the lessons from the
    knowledge base with fix and source, the same error first; weak ones are marked, and nothing is invented. Also
    returns how your own agents fixed the same error, from captured or imported conversations.
    """
    seen = error_in(error)
    found = _ask(actor, seen, error, limit)
    known = _lessons_quoting(seen)
    lessons = [*known, *_near(seen, found, {lesson.entry_id for lesson in known}, error)]
    # A stable sort: within the strong and the weak the order stays as it was found.
    lessons.sort(key=lambda lesson: lesson.is_weak)
    items = lessons[:limit]
    headline, fingerprint = (seen.headline, seen.fingerprint) if seen else ("", "")
    before = _count(actor, fingerprint, next((item for item in items if item.why == SAME_ERROR), None))
    own = _own_fixes(actor, seen) if seen else []
    return Lessons(headline, fingerprint, items, own, before, found.fallback, _next_step(items, own), found.notice)


def _ask(actor: Actor, seen: SeenError | None, text: str, limit: int) -> Findings:
    question = (seen.question if seen else "") or " ".join(text.split())
    filters = Filters([Kind.ENTRY])
    return search(question[:QUESTION_CHARS], owner=actor.user, filters=filters, limit=limit * CANDIDATES)


def _lessons_quoting(seen: SeenError | None) -> list[Lesson]:
    """The entries that quote this error, the very one before its like, the more certain first."""
    quoted = entries_quoting(seen) if seen else []
    entries = _entries(one.entry_id for one in quoted)
    lessons = [
        Lesson(
            entry=entry,
            why=SAME_ERROR if one.is_same else SAME_MESSAGE,
            is_weak=entry.confidence < TRUSTED,
            score=1.0 if one.is_same else 0.9,
            lesson=entry.content[:EXCERPT_CHARS],
            matched=[],
        )
        for one in quoted
        if (entry := entries.get(one.entry_id))
    ]
    lessons.sort(key=lambda lesson: (lesson.score, lesson.entry.confidence, lesson.entry.updated_at), reverse=True)
    return lessons


def _own_fixes(actor: Actor, seen: SeenError) -> list[OwnFix]:
    """The actor's own conversations in which this very error was fixed, the newest first."""
    # No fingerprint of a private text is stored: the search finds candidates, whose errors are read when someone asks.
    fixes = Chunk.objects.filter(user=actor.user, set_aside_at=None, flag_reason=FIXED_ERROR)
    filters = Filters([Kind.CHUNK], eligible={Kind.CHUNK: fixes.values("pk")})
    found = search(seen.question[:QUESTION_CHARS], owner=actor.user, filters=filters, limit=OWN_CANDIDATES)
    chunks = fixes.filter(pk__in=[finding.source_id for finding in found.items]).order_by("-created_at", "-pk")
    fingerprints = {seen.fingerprint, seen.by_headline} - {""}
    same = (chunk for chunk in chunks if fingerprints & fingerprints_in(chunk.content).keys())
    return [OwnFix(chunk) for chunk in islice(same, OWN_FIXES)]


def _near(seen: SeenError | None, found: Findings, known: set[UUID], text: str) -> list[Lesson]:
    entries = _entries(UUID(finding.source_id) for finding in found.items)
    words = _words(seen.headline if seen else text[:QUESTION_CHARS])
    near = (
        _weigh(finding, entries[UUID(finding.source_id)], seen, words)
        for finding in found.items
        if UUID(finding.source_id) in entries.keys() - known
    )
    return [lesson for lesson in near if lesson]


def _weigh(finding: Finding, entry: Entry, seen: SeenError | None, words: set[str]) -> Lesson | None:
    """Say how near a finding is. Its rank does not tell: among what has nothing to do with it, one is first too."""
    shared = words & _words(entry.content)
    share = len(shared) / len(words) if words else 0.0
    meaning = finding.vector or 0.0
    kind = seen.kind.casefold() if seen else ""
    names_it = kind not in SAYS_NOTHING and kind in entry.content.casefold()
    if not names_it and share < NEAR and meaning < NEAR_BY_MEANING:
        return None
    is_strong = share >= STRONG or meaning >= STRONG_BY_MEANING or (names_it and share >= STRONG / 2)
    return Lesson(
        entry=entry,
        why=WORDS if names_it or share >= NEAR else MEANING,
        is_weak=not is_strong or entry.confidence < TRUSTED,
        score=round(max(share, meaning), 4),
        lesson=finding.text,
        matched=sorted(shared),
    )


def _words(text: str) -> set[str]:
    return {word.casefold().removesuffix("s") for word in words_of(text) if len(word) > 2}


def _entries(ids: Iterable[UUID]) -> dict[UUID, Entry]:
    return Entry.objects.select_related("created_by").in_bulk(list(ids))


def _count(actor: Actor, fingerprint: str, answer: Lesson | None) -> int:
    """Count that an error came up again, and return how often a lesson had answered it before.

    Without a lesson nothing is sent: that someone else met an error and shared nothing about it is theirs. Nor is it
    where fewer than three others asked: it would tell that one of them met it.
    """
    if not fingerprint:
        return 0
    me = digest_of_person(actor.user.pk, fingerprint)
    if is_read_only():
        counter = LessonAsked.objects.filter(fingerprint=fingerprint).first() or LessonAsked(fingerprint=fingerprint)
    else:
        counter, _ = LessonAsked.objects.get_or_create(fingerprint=fingerprint)
        # Once the number may be shown to everyone, further digests would only be traces of people.
        is_enough = Q(people__contains=[me]) | Q(people__len__gt=COLLEAGUES)
        # In the database, because others may ask about the same error at the same moment.
        column = LessonAsked._meta.get_field("people")
        with_me = Func(F("people"), Value(me), function="array_append", output_field=column)
        people = Case(When(is_enough, then=F("people")), default=with_me)
        LessonAsked.objects.filter(pk=counter.pk).update(
            times=F("times") + 1, last_asked=timezone.now(), entry=answer.entry if answer else None, people=people
        )
    return counter.times if answer and may_be_shown(len({*counter.people} - {me})) else 0


def _next_step(items: list[Lesson], own: list[OwnFix]) -> str:
    if any(not item.is_weak for item in items):
        return "Try the fix. If it holds no longer, say so with kb_update."
    if own:
        return "Try what helped before. If it helps again, kb_add it as a lesson, so that others know it too."
    found = "Nothing here is surely about this error." if items else "Nobody has shared a lesson about this error."
    return f"{found} Once it is solved, kb_add it with the error text in a code block and what helped below “Fix”."
