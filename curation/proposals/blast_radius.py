"""Blast radius: what a decision would change, tried on the real questions and session starts of the last weeks.

The decision is tried in the index and taken back; golden questions are asked there by the search itself, all others are
replayed (`replay`). What others asked is theirs: it counts here once three people other than the curator are among
those whose answers change, figure by figure, and their words are shown where three of them used the same. A curator's
own questions always count.
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Annotated, Any, TypeVar
from uuid import UUID

from django.conf import settings
from pydantic import Field

from accounts.actor import Actor
from bigmind.text.token_counts import count_tokens
from curation.argument_types import CompanyEntryId
from curation.decisions.entry_details import readable_entry
from curation.models import GoldenQuestion
from knowledge.context.company import company_line
from knowledge.exposures.gaps import PEOPLE_ASKING
from knowledge.models import CompanyEntry

from .decision_trials import Action, Trial, try_decision, usual_action
from .replay.answers import ChangedAnswer
from .replay.starts import Start

SHOWN = 10
LINE_TOKENS = 60
"""What an entry costs in an answer at most, about: its excerpt is cut."""
_VERBS: dict[str, str] = {
    "approve": "Approve",
    "edit": "Edit",
    "deprecate": "Deprecate",
    "merge": "Merge",
    "supersede": "Replace",
    "restore": "Restore",
}
Counted = TypeVar("Counted")
ActionName = Annotated[Action, Field(description="The decision. Default: what fits the entry's status.")]


@dataclass(frozen=True)
class EntryEffect:
    """A company entry, and how often it would appear or disappear."""

    entry: CompanyEntry
    answers: int
    starts: int


@dataclass(frozen=True)
class ChangedQuestion:
    """A question whose answer changes: the curator's own, or one that three others asked in the same words."""

    text: str
    enters: Annotated[list[str], Field(description="Handles of the entries that the answer gains.")]
    leaves: Annotated[list[str], Field(description="Handles of those that it loses.")]


@dataclass(frozen=True)
class ProjectEffect:
    """A project, with how many answers and starts change."""

    project: str
    times: int


@dataclass(frozen=True)
class BlastRadius:
    """What a decision would change in the questions and session starts of the last days."""

    action: Annotated[str, Field(description="The decision that was tried.")]
    days: int
    questions: Annotated[
        int, Field(description="Replayed questions. Those of others count once three people asked.")
    ] = 0
    people: int = 0
    answers_changed: int = 0
    moved: Annotated[int, Field(description="Of these, answers that only change their order.")] = 0
    starts: int = 0
    starts_changed: int = 0
    entering: list[EntryEffect] = field(default_factory=list)
    leaving: list[EntryEffect] = field(default_factory=list)
    projects: list[ProjectEffect] = field(default_factory=list)
    asked: list[ChangedQuestion] = field(default_factory=list)
    golden_lost: list[GoldenQuestion] = field(default_factory=list)
    golden_won: list[GoldenQuestion] = field(default_factory=list)
    tokens: Annotated[int, Field(description="About how many tokens more all changed answers and starts cost.")] = 0
    kept: Annotated[bool, Field(description="Whether questions are stored here, so that they can be replayed.")] = True
    fallback: Annotated[
        str, Field(description="Why only session starts and golden questions were replayed; empty: all were.")
    ] = ""

    @property
    def verb(self) -> str:
        """The decision, as a page says it."""
        return _VERBS[self.action]

    @property
    def fewer_tokens(self) -> int:
        """The tokens saved, if it costs less than before."""
        return -self.tokens


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
    chosen = action or usual_action(entries)
    target = readable_entry(actor, into) if into is not None else None
    trial = try_decision(entries, chosen, edits=edits or {}, target=target)
    radius = BlastRadius(chosen, settings.KEEP_ASKED_DAYS, kept=bool(settings.KEEP_ASKED_DAYS), fallback=trial.fallback)
    summary = _Summary(actor.user.pk, trial).fill_in(radius)
    return replace(summary, golden_lost=trial.golden_lost, golden_won=trial.golden_won)


class _UserCounts(Counter[UUID]):
    """How often something occurs, by person."""

    def count_for(self, viewer: UUID) -> int:
        """Return the viewer's own count, plus that of others if at least three of them took part."""
        others = sum(number for user, number in self.items() if user != viewer)
        return self[viewer] + (others if len(self.keys() - {viewer}) >= PEOPLE_ASKING else 0)


_CountsOf = defaultdict[Counted, _UserCounts]


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
        answers, starts = _CountsOf[int](_UserCounts), _CountsOf[int](_UserCounts)
        for one in self.trial.answers:
            for entry in choose(one.before, one.after):
                answers[entry][one.asked.user_id] += 1
        for start in self.trial.changed_starts:
            for entry in choose(start.before, start.after):
                starts[entry][start.start.user_id] += start.start.times
        numbers = {
            entry: (answers[entry].count_for(self.viewer), starts[entry].count_for(self.viewer))
            for entry in {**answers, **starts}
        }
        shown = sorted((entry for entry in numbers if any(numbers[entry])), key=lambda one: (-sum(numbers[one]), one))
        rows = CompanyEntry.objects.in_bulk(shown[:SHOWN])
        return [EntryEffect(rows[entry], *numbers[entry]) for entry in shown[:SHOWN] if entry in rows]

    def _projects(self) -> list[ProjectEffect]:
        counts_of = _CountsOf[str](_UserCounts)
        for one in self.trial.answers:
            counts_of[one.asked.project][one.asked.user_id] += 1
        for changed in self.trial.changed_starts:
            counts_of[changed.start.project][changed.start.user_id] += changed.start.times
        shown = {project: counted.count_for(self.viewer) for project, counted in counts_of.items() if project}
        ranked = sorted((one for one in shown if shown[one]), key=lambda one: (-shown[one], one))
        return [ProjectEffect(project, shown[project]) for project in ranked[:SHOWN]]

    def _wordings(self) -> list[ChangedQuestion]:
        """Return the changed questions that are the curator's own, or that three others asked in the same words."""
        wordings: defaultdict[str, list[ChangedAnswer]] = defaultdict(list)
        for one in self.trial.answers:
            wordings[one.asked.text.casefold()].append(one)
        counted = [(self._count(one.asked.user_id for one in rows), text) for text, rows in wordings.items()]
        # By what is counted here: else the place of a question of one's own would tell that someone else asked it.
        shown = sorted((-number, text) for number, text in counted if number)
        return [self._wording(wordings[text]) for _, text in shown[:SHOWN]]

    def _wording(self, rows: Sequence[ChangedAnswer]) -> ChangedQuestion:
        def list_handles(choose: Callable[[ChangedAnswer], list[int]]) -> list[str]:
            counts_of = _CountsOf[int](_UserCounts)
            for one in rows:
                for entry in choose(one):
                    counts_of[entry][one.asked.user_id] += 1
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
