"""Blast radius: what a decision would change, tried on the real questions and session starts of the last weeks.

The decision is tried in the index and taken back; golden questions are asked there by the search itself, all others are
replayed (`replay`). What others asked is theirs: it counts here once three people other than the curator are among
those whose answers change, figure by figure, and their words are shown where three of them used the same. A curator's
own questions always count.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, field, replace
from datetime import timedelta
from functools import cached_property
from itertools import islice
from typing import Annotated, Any, Literal, TypeVar, get_args
from uuid import UUID

from django.db import IntegrityError, connection, transaction
from django.utils import timezone
from pgvector import HalfVector
from pydantic import Field
from pydantic_core import from_json

from accounts.actor import Actor
from bigmind.core.errors import Invalid
from bigmind.core.live_settings import live
from bigmind.core.read_only import is_read_only
from bigmind.core.rls import rls_bypass
from bigmind.core.text import digest
from bigmind.core.tokens import count_tokens
from curation.decisions.entries import readable_entry
from curation.models import GoldenQuestion
from curation.services.golden_questions import find_concerned, place_of
from curation.vocabulary import CompanyEntryId
from knowledge.embeddings.providers import EmbedderError, provider
from knowledge.embeddings.retry import embed_batch
from knowledge.models import CachedVector, CompanyEntry, EmbeddingSpace, Kind, Passage, PassageVector, Status
from knowledge.models.passages import FORM
from knowledge.search.passages import add_heads
from knowledge.search.splits import split_text
from knowledge.services.company import ENTRIES_SHOWN, READ_PER_GROUP, relevance_to, select_approved_entries
from knowledge.services.context import company_line
from knowledge.services.exposures import find_demoted
from knowledge.services.gaps import PEOPLE_ASKING

from .replay.answers import ChangedAnswer, replay
from .replay.passages import CompanyPassage, read_company_passages
from .replay.questions import Asked

MOST = 10_000
"""Questions that are replayed, the newest; and as many starts."""
SHOWN = 10
LINE_TOKENS = 60
"""What an entry costs in an answer at most, about: its excerpt is cut."""

Action = Literal["approve", "edit", "deprecate", "merge", "supersede", "restore"]
ACTIONS = get_args(Action)
_VERBS: dict[str, str] = {
    "approve": "Approve",
    "edit": "Edit",
    "deprecate": "Deprecate",
    "merge": "Merge",
    "supersede": "Replace",
    "restore": "Restore",
}
ActionName = Annotated[Action, Field(description="The decision. Default: what fits the entry's status.")]

Answer = TypeVar("Answer")

_QUESTIONS = """
SELECT user_id, how, project, text, times, vector, tokens, outline FROM knowledge_askedquestion
WHERE how <> 'start' AND space_id = %s AND asked_at > %s ORDER BY asked_at DESC, id DESC LIMIT %s
"""
_STARTS = """
SELECT user_id, project, times, outline FROM knowledge_askedquestion
WHERE how = 'start' AND asked_at > %s ORDER BY asked_at DESC, id DESC LIMIT %s
"""


@dataclass(frozen=True)
class EntryEffect:
    """A company entry, and in how many answers and starts it would appear or disappear."""

    entry: CompanyEntry
    answers: int
    starts: int


@dataclass(frozen=True)
class ChangedQuestion:
    """A question that may be shown, with the entries that its answer would gain and lose."""

    text: str
    enters: list[str]
    leaves: list[str]


@dataclass(frozen=True)
class ProjectEffect:
    """A project and how many answers and starts of it change."""

    project: str
    times: int


@dataclass(frozen=True)
class BlastRadius:
    """What a decision would change.

    Of `questions` and `starts` of the last `days` that were replayed, `answers_changed` and `starts_changed` would name
    other company entries or the same ones in another order (`moved`). `tokens` is what all of them together would cost
    more or less. `kept` says whether questions are kept here at all; `fallback` why meaning could not be compared.
    """

    action: str
    days: int
    questions: int = 0
    people: int = 0
    answers_changed: int = 0
    moved: int = 0
    starts: int = 0
    starts_changed: int = 0
    entering: list[EntryEffect] = field(default_factory=list)
    leaving: list[EntryEffect] = field(default_factory=list)
    projects: list[ProjectEffect] = field(default_factory=list)
    asked: list[ChangedQuestion] = field(default_factory=list)
    golden_lost: list[GoldenQuestion] = field(default_factory=list)
    golden_won: list[GoldenQuestion] = field(default_factory=list)
    tokens: int = 0
    kept: bool = True
    fallback: str = ""

    @property
    def verb(self) -> str:
        """The decision, as a page says it."""
        return _VERBS[self.action]

    @property
    def fewer_tokens(self) -> int:
        """The tokens saved, if it costs less than before."""
        return -self.tokens


@dataclass(frozen=True)
class Start:
    """The start of a session: its project and topics, and the tokens that company knowledge had."""

    user_id: UUID
    project: str
    topics: tuple[str, ...]
    room: int
    times: int


@dataclass(frozen=True)
class ChangedStart:
    """A start that would have other entries, or the same ones in another order."""

    start: Start
    before: tuple[int, ...]
    after: tuple[int, ...]


@dataclass(frozen=True)
class Trial:
    """Everything replayed for one decision, and what changes, for everyone: so nobody may see all of it."""

    questions: Sequence[Asked] = ()
    starts: Sequence[Start] = ()
    answers: Sequence[ChangedAnswer] = ()
    changed_starts: Sequence[ChangedStart] = ()
    golden_lost: list[GoldenQuestion] = field(default_factory=list)
    golden_won: list[GoldenQuestion] = field(default_factory=list)
    fallback: str = ""


@dataclass(frozen=True)
class EntryChange:
    """One entry before and after the decision; None where it is not approved."""

    before: CompanyEntry | None
    after: CompanyEntry | None

    @property
    def entry(self) -> CompanyEntry:
        entry = self.after or self.before
        assert entry is not None
        return entry


def blast_radius(
    actor: Actor,
    *,
    entry_ids: Sequence[CompanyEntryId],
    action: ActionName | None = None,
    edits: Mapping[str, Any] | None = None,
    into: int | None = None,
) -> BlastRadius:
    """Say what a decision would change, as a curator: answers, session starts, golden questions, tokens, for whom.

    Args:
        edits: The new title, content, category or importance, of the entry or for `merge` of the one it is merged into.
        into: For `merge`, the approved entry that it is merged into.

    Raises:
        Forbidden: the actor is no curator.
        NotFound: there is no such entry.
    """
    actor.require("curate")
    entries = [readable_entry(actor, entry_id) for entry_id in dict.fromkeys(entry_ids)]
    chosen = action or _usual_action(entries)
    target = readable_entry(actor, into) if into is not None else None
    trial = try_decision(entries, chosen, edits=edits or {}, target=target)
    radius = BlastRadius(chosen, live.KEEP_ASKED_DAYS, kept=bool(live.KEEP_ASKED_DAYS), fallback=trial.fallback)
    summary = _Summary(actor.user.pk, trial).fill_in(radius)
    return replace(summary, golden_lost=trial.golden_lost, golden_won=trial.golden_won)


def try_decision(
    entries: Sequence[CompanyEntry],
    action: Action,
    *,
    edits: Mapping[str, Any] | None = None,
    target: CompanyEntry | None = None,
) -> Trial:
    """Replay everyone's questions and starts as if a decision had been made. Nobody may see all of the result.

    Args:
        target: For `merge`, the approved entry that the edits are made to.
    """
    changes = [one for entry in entries for one in _changes_of(entry, action, edits or {}, target)]
    if not changes:
        return Trial()
    if is_read_only():
        return Trial(fallback="BigMind is read-only now, and trying a decision writes what it takes back.")
    since = timezone.now() - timedelta(days=live.KEEP_ASKED_DAYS)
    space, reason = _active_space()
    with rls_bypass():
        questions = _read_questions(space, since) if space else []
        starts = _read_starts(since)
    passages, lost, won = _try_out(changes, space)
    answers = replay(questions, passages, dimensions=space.dimensions) if space else []
    return Trial(questions, starts, answers, _replay_starts(starts, changes), lost, won, reason)


def _usual_action(entries: Sequence[CompanyEntry]) -> Action:
    if entries and entries[0].is_approved:
        return "deprecate"
    return "approve" if entries and entries[0].is_undecided else "restore"


def _changes_of(
    entry: CompanyEntry, action: Action, edits: Mapping[str, Any], target: CompanyEntry | None
) -> list[EntryChange]:
    before = entry if entry.is_approved else None
    if action in {"deprecate", "supersede"}:
        return [EntryChange(entry, None)] if before else []
    if action == "merge":
        if target is None:
            raise Invalid.of("into", "is required: the number of the approved entry that takes its place")
        return [EntryChange(target, _as_approved(target, edits))] if target.is_approved and edits else []
    return [EntryChange(before, _as_approved(entry, edits))]


def _as_approved(entry: CompanyEntry, edits: Mapping[str, Any]) -> CompanyEntry:
    """Return a copy of an entry as the decision would leave it: ranking reads these fields."""
    after, now = copy(entry), timezone.now()
    for name, value in edits.items():
        setattr(after, name, value)
    if not entry.is_approved:
        after.decided_at = now
    after.status, after.verified_at = Status.APPROVED, now
    after.review_after = after.review_date_after(now)
    return after


def _active_space() -> tuple[EmbeddingSpace | None, str]:
    try:
        space = EmbeddingSpace.objects.filter(name=provider().space).exclude(active_since=None).first()
    except EmbedderError as error:
        return None, error.reason
    return space, "" if space else "The vectors of this model are still being made."


def _read_questions(space: EmbeddingSpace, since: Any) -> list[Asked]:
    with connection.cursor() as cursor:
        cursor.execute(_QUESTIONS, [space.pk, since, MOST])
        return [
            Asked(user, how, project, text, times, bytes(vector), tokens and bytes(tokens), _read_json(outline))
            for user, how, project, text, times, vector, tokens, outline in cursor.fetchall()
        ]


def _read_starts(since: Any) -> list[Start]:
    with connection.cursor() as cursor:
        cursor.execute(_STARTS, [since, MOST])
        rows = [(user, project, times, _read_json(outline)) for user, project, times, outline in cursor.fetchall()]
    return [Start(user, project, tuple(one["topics"]), one["room"], times) for user, project, times, one in rows]


def _read_json(value: Any) -> Any:
    return from_json(value) if isinstance(value, str) else value


def _try_out(
    changes: Sequence[EntryChange], space: EmbeddingSpace | None
) -> tuple[list[CompanyPassage], list[GoldenQuestion], list[GoldenQuestion]]:
    """Read what the index has before the changes and after them, and ask golden questions as if they had been made."""
    ids = {change.entry.pk for change in changes}
    known = read_company_passages(space) if space else []
    texts = [one.text for change in changes for one in (change.before, change.after) if one]
    concerned = find_concerned(ids, texts, lost=True)

    def ask() -> tuple[list[CompanyPassage], dict[int, int | None]]:
        added = read_company_passages(space, ids) if space else []
        return added, {golden.pk: place_of(golden) for golden in concerned}

    added, places = ask_afterwards(changes, ask, space)
    gone = [replace(one, after=False) if one.entry_id in ids else one for one in known]
    passages = [*gone, *(replace(one, before=False) for one in added)]
    lost = [one for one in concerned if not one.is_lost and not one.is_met_at(places[one.pk])]
    won = [one for one in concerned if one.is_lost and one.is_met_at(places[one.pk])]
    return passages, lost, won


def ask_afterwards(
    changes: Sequence[EntryChange], ask: Callable[[], Answer], space: EmbeddingSpace | None = None
) -> Answer:
    """Make changes in the index, return what `ask` finds there then, and take everything back."""
    space = space or _active_space()[0]
    made = _embed(changes, space)
    try:
        return _ask_within(changes, ask, space, made)
    except IntegrityError:
        # The decision itself was made meanwhile, and wrote the same passages. Now they are seen, and taken away first.
        return _ask_within(changes, ask, space, made)


def _ask_within(
    changes: Sequence[EntryChange],
    ask: Callable[[], Answer],
    space: EmbeddingSpace | None,
    made: Mapping[str, tuple[Any, bytes | None]],
) -> Answer:
    with transaction.atomic():
        for change in changes:
            _rewrite(change, space, made)
        answer = ask()
        transaction.set_rollback(True)
    return answer


def _embed(changes: Sequence[EntryChange], space: EmbeddingSpace | None) -> dict[str, tuple[Any, Any]]:
    """Return vector and tokens of each text that the changes would add, by its digest; known ones are not remade."""
    texts = {digest(one.text): one.text for change in changes if change.after for one in _pieces(change.after)}
    if space is None or not texts:
        return {}
    cached = CachedVector.objects.filter(space=space, digest__in=texts)
    made: dict[str, tuple[Any, Any]] = {
        key: (vector, tokens) for key, vector, tokens in cached.values_list("digest", "vector", "tokens")
    }
    missing = {key: text for key, text in texts.items() if key not in made}
    for start in range(0, len(missing), 100):
        part = dict(islice(missing.items(), start, start + 100))
        try:
            embedded = embed_batch(provider(), list(part.values()), sleep=lambda _: None)
        except EmbedderError:
            continue
        signs: list[Any] = [one.signs.tobytes() for one in embedded.tokens] or [None] * len(part)
        made |= {
            key: (HalfVector(vector.tolist()), tokens)
            for key, vector, tokens in zip(part, embedded.vectors, signs, strict=True)
        }
    return made


def _pieces(entry: CompanyEntry) -> list[Any]:
    return list(add_heads([*split_text(entry.text)]))


def _rewrite(change: EntryChange, space: EmbeddingSpace | None, made: Mapping[str, tuple[Any, bytes | None]]) -> None:
    """Write the passages of an entry as the decision would; not by `index_passages`, which would learn their words."""
    Passage.objects.filter(kind=Kind.COMPANY, source_id=str(change.entry.pk)).delete()
    if change.after is None:
        return
    passages = Passage.objects.bulk_create(
        Passage(
            kind=Kind.COMPANY,
            source_id=str(change.entry.pk),
            project=change.after.project,
            ordinal=ordinal,
            text=one.text,
            head=one.head,
            language=one.language,
            form=FORM,
            digest=digest(one.text),
        )
        for ordinal, one in enumerate(_pieces(change.after))
    )
    known = [(one, *made[one.digest]) for one in passages if one.digest in made]
    PassageVector.objects.bulk_create(
        PassageVector(passage=one, space=space, kind=Kind.COMPANY, vector=vector) for one, vector, _ in known
    )
    CachedVector.objects.bulk_create(
        [CachedVector(space=space, digest=one.digest, vector=vector, tokens=tokens) for one, vector, tokens in known],
        ignore_conflicts=True,
    )


def _replay_starts(starts: Sequence[Start], changes: Sequence[EntryChange]) -> list[ChangedStart]:
    """Return the starts that would have other entries."""
    if not starts:
        return []
    ids = {change.entry.pk for change in changes}
    before = list(select_approved_entries())
    after = [one for one in before if one.pk not in ids] + [one.after for one in changes if one.after]
    behind = find_demoted({one.pk for one in [*before, *after]})
    old, new = _StartRanking(before, behind), _StartRanking(after, behind)
    told = [ChangedStart(start, old.choose(start), new.choose(start)) for start in starts]
    return [one for one in told if one.before != one.after]


class _StartRanking:
    """Which entries a start has in one world, as `most_relevant` and the context choose them."""

    def __init__(self, entries: Sequence[CompanyEntry], behind: set[int]) -> None:
        newest = sorted(entries, key=lambda one: (one.decided_at is not None, one.decided_at, one.pk), reverse=True)
        self.entries = sorted(newest, key=lambda one: -one.importance)
        self.behind = behind
        self.costs: dict[int, int] = {}
        self.known: dict[tuple[str, tuple[str, ...]], list[CompanyEntry]] = {}

    def choose(self, start: Start) -> tuple[int, ...]:
        """Return the entries of the first five that fit."""
        key = start.project, start.topics
        if key not in self.known:
            self.known[key] = self._first(*key)
        told, left = list[int](), start.room
        for entry in self.known[key]:
            cost = self._cost(entry)
            if cost <= left:
                told.append(entry.pk)
                left -= cost
        return tuple(told)

    def _first(self, project: str, topics: tuple[str, ...]) -> list[CompanyEntry]:
        groups: list[Callable[[CompanyEntry], bool]] = [lambda one: True]
        groups += [lambda one: one.project == project] if project else []
        groups += [lambda one: not set(topics).isdisjoint(one.topics)] if topics else []
        candidates = {one.pk: one for group in groups for one in islice(filter(group, self.entries), READ_PER_GROUP)}
        ranked = sorted(candidates.values(), key=relevance_to(project, topics))
        return sorted(ranked, key=lambda one: one.pk in self.behind)[:ENTRIES_SHOWN]

    def _cost(self, entry: CompanyEntry) -> int:
        if entry.pk not in self.costs:
            self.costs[entry.pk] = company_line(entry).tokens + 1
        return self.costs[entry.pk]


class _UserCounts(Counter[UUID]):
    """How often something occurs, by person."""

    def count_for(self, viewer: UUID) -> int:
        """Return the viewer's own count, plus that of others if at least three of them took part."""
        others = sum(number for user, number in self.items() if user != viewer)
        return self[viewer] + (others if len(self.keys() - {viewer}) >= PEOPLE_ASKING else 0)


@dataclass
class _Summary:
    """What changes, put together for one curator."""

    viewer: UUID
    trial: Trial

    def fill_in(self, radius: BlastRadius) -> BlastRadius:
        """Return the figures that the curator may see."""
        moved = (one for one in self.trial.answers if set(one.before) == set(one.after))
        asking = {one.user_id for one in self.trial.questions}
        others = len(asking - {self.viewer})
        return replace(
            radius,
            questions=self._count(one.user_id for one in self.trial.questions),
            people=(self.viewer in asking) + (others if others >= PEOPLE_ASKING else 0),
            answers_changed=self._count(one.asked.user_id for one in self.trial.answers),
            moved=self._count(one.asked.user_id for one in moved),
            starts=self._count_starts(self.trial.starts),
            starts_changed=self._count_starts(one.start for one in self.trial.changed_starts),
            entering=self._effects(lambda before, after: [one for one in after if one not in before]),
            leaving=self._effects(lambda before, after: [one for one in before if one not in after]),
            projects=self._projects(),
            asked=self._wordings(),
            tokens=self._tokens(),
        )

    def _count(self, users: Iterable[UUID]) -> int:
        return _UserCounts(users).count_for(self.viewer)

    def _count_starts(self, starts: Iterable[Start]) -> int:
        return self._count(one.user_id for one in starts for _ in range(one.times))

    def _effects(self, choose: Callable[[tuple[int, ...], tuple[int, ...]], list[int]]) -> list[EntryEffect]:
        """Return how often each entry is chosen, the most often chosen first."""
        answers, starts = dict[int, _UserCounts](), dict[int, _UserCounts]()
        for one in self.trial.answers:
            for entry in choose(one.before, one.after):
                answers.setdefault(entry, _UserCounts())[one.asked.user_id] += 1
        for start in self.trial.changed_starts:
            for entry in choose(start.before, start.after):
                starts.setdefault(entry, _UserCounts())[start.start.user_id] += start.start.times
        numbers = {
            entry: tuple(counted.get(entry, _UserCounts()).count_for(self.viewer) for counted in (answers, starts))
            for entry in {**answers, **starts}
        }
        shown = sorted((entry for entry in numbers if any(numbers[entry])), key=lambda one: (-sum(numbers[one]), one))
        rows = CompanyEntry.objects.in_bulk(shown[:SHOWN])
        return [EntryEffect(rows[entry], *numbers[entry]) for entry in shown[:SHOWN] if entry in rows]

    def _projects(self) -> list[ProjectEffect]:
        counts_of: dict[str, _UserCounts] = {}
        for user, project in [
            *((one.asked.user_id, one.asked.project) for one in self.trial.answers),
            *(
                (one.start.user_id, one.start.project)
                for one in self.trial.changed_starts
                for _ in range(one.start.times)
            ),
        ]:
            counts_of.setdefault(project, _UserCounts())[user] += 1
        shown = {project: counted.count_for(self.viewer) for project, counted in counts_of.items() if project}
        ranked = sorted((one for one in shown if shown[one]), key=lambda one: (-shown[one], one))
        return [ProjectEffect(project, shown[project]) for project in ranked[:SHOWN]]

    def _wordings(self) -> list[ChangedQuestion]:
        """Return the changed questions that are the curator's own, or that three others asked in the same words."""
        asked: dict[str, list[ChangedAnswer]] = {}
        for one in self.trial.answers:
            asked.setdefault(one.asked.text.casefold(), []).append(one)
        counted = [(self._count(one.asked.user_id for one in rows), text) for text, rows in asked.items()]
        # By what is counted here: else the place of a question of one's own would tell that somebody else asked it.
        shown = sorted((-number, text) for number, text in counted if number)
        return [self._wording(asked[text]) for _, text in shown[:SHOWN]]

    def _wording(self, rows: Sequence[ChangedAnswer]) -> ChangedQuestion:
        def list_handles(choose: Callable[[ChangedAnswer], list[int]]) -> list[str]:
            counts_of: dict[int, _UserCounts] = {}
            for one in rows:
                for entry in choose(one):
                    counts_of.setdefault(entry, _UserCounts())[one.asked.user_id] += 1
            return [f"C{entry}" for entry, counted in counts_of.items() if counted.count_for(self.viewer)]

        own = [one for one in rows if one.asked.user_id == self.viewer]
        text = (own or rows)[0].asked.text
        return ChangedQuestion(text, list_handles(lambda one: one.entering), list_handles(lambda one: one.leaving))

    def _tokens(self) -> int:
        """Return about how many tokens more all changed answers and starts cost."""
        spent = _UserCounts()
        for one in self.trial.answers:
            more = sum(map(self._cost, one.entering)) - sum(map(self._cost, one.leaving))
            spent[one.asked.user_id] += more * one.asked.times
        for start in self.trial.changed_starts:
            more = sum(map(self._line_cost, start.after)) - sum(map(self._line_cost, start.before))
            spent[start.start.user_id] += more * start.start.times
        return spent.count_for(self.viewer)

    @cached_property
    def _entries(self) -> dict[int, CompanyEntry]:
        both = [(one.before, one.after) for one in self.trial.answers]
        both += [(one.before, one.after) for one in self.trial.changed_starts]
        named = {entry for before, after in both for entry in (*before, *after)}
        return CompanyEntry.objects.in_bulk(named)

    def _cost(self, entry: int) -> int:
        return min(LINE_TOKENS, count_tokens(self._entries[entry].content)) + 20 if entry in self._entries else 0

    def _line_cost(self, entry: int) -> int:
        return company_line(self._entries[entry]).tokens if entry in self._entries else 0
