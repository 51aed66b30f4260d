"""The story of a company entry, step by step: its source, its discussion and decisions, and its use."""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from django.conf import settings
from django.contrib.postgres.aggregates import ArrayAgg
from django.db.models import Count, Max, Min, Q
from django.urls import reverse
from django.utils import timezone
from django.utils.formats import date_format

from accounts.actor import Actor
from accounts.services.usage import COLLEAGUES, may_be_shown
from bigmind.core.translation import _, gettext_lazy, ngettext, write_number
from bigmind.database.rls import rls_bypass
from bigmind.web.words import word_of
from curation.decisions.entry_details import CompanyEntryDetail
from curation.decisions.who_may_decide import may_decide
from curation.models import Action, Review
from curation.templatetags.curation import past
from knowledge.exposures.exposures import count_verdicts
from knowledge.kinds import KINDS
from knowledge.memory.who_sees_firings import count_firings_by_level
from knowledge.models import CompanyEntry, Feedback, Kind, Serving, TriggerLevel
from knowledge.models.feedback import COMPLAINTS

SHOWN = {
    "title": gettext_lazy("Title"),
    "content": gettext_lazy("Text"),
    "category": gettext_lazy("Category"),
    "importance": gettext_lazy("Importance"),
    "project": gettext_lazy("Project"),
    "topics": gettext_lazy("Topics"),
    "evidence": gettext_lazy("Evidence"),
    "anchors": gettext_lazy("Code"),
    "status": gettext_lazy("Status"),
    "review_after": gettext_lazy("To be verified on"),
}
"""The fields whose changes are shown. The step of the history itself shows who decided, and when."""


@dataclass(frozen=True)
class FieldChange:
    """One field that changed."""

    label: str
    before: str
    after: str


@dataclass(frozen=True)
class StoryStep:
    """One step: when, what, who. `key` names it on the page; `link` leads to its evidence, where that is another page.

    `prose` is markdown, `notes` a line or two.
    """

    key: str
    moment: datetime
    title: str
    who: str = ""
    agent: str = ""
    notes: str = ""
    prose: str = ""
    changes: Sequence[FieldChange] = field(default_factory=list)
    address: str = ""
    link: str = ""


def tell_decisions(history: Sequence[Review]) -> list[StoryStep]:
    """Return the steps of the history, the latest first."""
    return [_tell_decision(review) for review in reversed(history)]


def tell_story(actor: Actor, detail: CompanyEntryDetail) -> list[StoryStep]:
    """Return all that the actor may know of an entry's life, the latest first."""
    steps = [_tell_decision(review) for review in detail.history]
    steps += [
        StoryStep(f"comment-{one.pk}", one.created_at, _("Commented on"), one.by_name, prose=one.text)
        for one in detail.comments
    ]
    for tell in _TELLING:
        steps += tell(actor, detail.entry)
    steps += [*_tell_merged(actor, detail), *_tell_edits(actor, detail.entry), *_tell_last_check(detail)]
    # Steps of the same moment keep their reading order: the source before the proposal.
    order = sorted(enumerate(steps), key=lambda step: (step[1].moment, step[0]))
    return [step for _at, step in reversed(order)]


def _tell_decision(review: Review) -> StoryStep:
    into = review.after.get("superseded_by_id")
    is_new = isinstance(into, int) and (review.before or {}).get("superseded_by_id") != into
    place, link = _EVIDENCE.get(review.action, ("", ""))
    return StoryStep(
        f"review-{review.number}",
        review.created_at,
        past(review.action),
        review.by_name,
        review.agent_name,
        review.notes,
        changes=changes_in(review),
        address=reverse("company-entry", args=[into]) if is_new else _place(review.entry_id, place),
        link=_("replaced by C%(into)s") % {"into": into} if is_new else link,
    )


def _place(entry_id: int, name: str) -> str:
    """Return the address of a section of an entry's page."""
    return f"{reverse('company-entry', args=[entry_id])}#{name}" if name else ""


def _tell_source(actor: Actor, entry: CompanyEntry) -> Iterator[StoryStep]:
    """Where it was learnt. Private sources are shown to their owner; others see only that there is one."""
    kind, id = entry.source_kind, entry.source_id
    if not kind and entry.source_session_id:
        kind, id = Kind.SUMMARY, str(entry.source_session_id)
    if kind not in KINDS:
        return
    row = KINDS[kind]
    thing: Any = row.readable(actor.user).filter(pk=row.key_in(id)).first()
    if thing is not None:
        moment = min(getattr(thing, row.began), entry.created_at)
        yield StoryStep(
            "source",
            moment,
            _("Learnt"),
            address=reverse(row.route, args=[thing.pk]),
            link=f"{word_of(row.word)}: {row.title(thing)}",
        )
    elif not row.is_shared:
        yield StoryStep(
            "source",
            entry.created_at,
            _("Learnt"),
            entry.proposer or "",
            notes=_("From a %(word)s that only they can read.") % {"word": word_of(row.word)},
        )


def _tell_use(actor: Actor, entry: CompanyEntry) -> Iterator[StoryStep]:
    """What sessions received it and what they said of it: one's own, and everyone's where enough others took part."""
    mine = Q(user=actor.user)
    # Others' sessions are only counted; nothing else of them is read.
    with rls_bypass():
        totals = Serving.objects.filter(kind=Kind.COMPANY, source_id=str(entry.pk)).aggregate(
            sessions=Count("pk"),
            **count_verdicts("cited", actor.user),
            **count_verdicts("misled", actor.user),
            people=Count("user", distinct=True),
            others=Count("user", filter=~mine, distinct=True),
            last=Max("at"),
            my_sessions=ArrayAgg("session_id", filter=mine, order_by="-at", default=[]),
            my_first=Min("at", filter=mine),
            my_last=Max("at", filter=mine),
        )
    if own := totals["my_sessions"]:
        since = timezone.localtime(totals["my_first"])
        note = _describe_use(len(own), totals["my_cited"], totals["my_misled"])
        yield StoryStep(
            "told-to-you",
            totals["my_last"],
            _("Sent to your agents"),
            notes=_("%(said)s First on %(day)s.") % {"said": note, "day": date_format(since, _("j F Y"))},
            address=reverse("memory-session", args=[own[0]]),
            link=_("The last session that received it"),
        )
    if settings.BIGMIND_MODE != "personal" and totals["others"] >= COLLEAGUES:
        # Where few of them said so, the number would tell of one of them.
        helped, harmed = (
            totals[f"all_{one}"] if may_be_shown(totals[f"others_{one}"]) else None for one in ("cited", "misled")
        )
        note = _describe_use(totals["sessions"], helped, harmed)
        yield StoryStep(
            "told",
            totals["last"],
            _("Sent to the team’s agents"),
            notes=_("%(said)s Those were sessions of %(people)s people.")
            % {"said": note, "people": write_number(totals["people"])},
            address=f"{reverse('insights-knowledge')}?whose=everybody",
            link=_("Impact of company knowledge"),
        )


def _describe_use(sessions: int, cited: int | None, misled: int | None) -> str:
    numbers = {"sessions": write_number(sessions), "cited": write_number(cited or 0)}
    if cited is None:
        words = ngettext("%(sessions)s session had it", "%(sessions)s sessions had it", sessions) % numbers
    else:
        words = ngettext(
            "%(sessions)s session had it; it helped in %(cited)s",
            "%(sessions)s sessions had it; it helped in %(cited)s",
            sessions,
        )
        words %= numbers
    return (
        _("%(words)s and misled in %(misled)s.") % {"words": words, "misled": write_number(misled)}
        if misled
        else f"{words}."
    )


def _tell_firings(actor: Actor, entry: CompanyEntry) -> Iterator[StoryStep]:
    """How often its triggers fired, level by level: for one's own agents, and for all where enough others took part."""
    if not (entry.triggers or entry.trigger_levels):
        return
    for one in count_firings_by_level(actor, Kind.COMPANY, entry.pk):
        if one.my_last:
            note = _say_fired(one.level, one.my_count, one.my_brought)
            yield StoryStep(
                f"fired-{one.level}-for-you",
                one.my_last,
                _("Fired for your agents"),
                notes=note,
                address=_place(entry.pk, "triggers"),
                link=_("What they were about to do"),
            )
        if settings.BIGMIND_MODE != "personal" and one.others >= COLLEAGUES:
            yield StoryStep(
                f"fired-{one.level}",
                one.last,
                _("Fired for the agents of the team"),
                notes=_("%(level)s Those were agents of %(people)s people.")
                % {"level": _say_fired(one.level, one.count, one.brought), "people": write_number(one.people)},
                address=_place(entry.pk, "triggers"),
                link=_("How often they fired"),
            )


def _say_fired(level: str, times: int, brought: int) -> str:
    words = ngettext("At the level “%(level)s”: %(times)s time", "At the level “%(level)s”: %(times)s times", times) % {
        "level": word_of(TriggerLevel(level).label).lower(),
        "times": write_number(times),
    }
    return (
        f"{words}."
        if level == TriggerLevel.SHADOW
        else _("%(words)s; %(brought)s of them shown or blocked.") % {"words": words, "brought": write_number(brought)}
    )


def _tell_merged(actor: Actor, detail: CompanyEntryDetail) -> Iterator[StoryStep]:
    """The proposals that went into it, as far as the actor may read them: their evidence says why it was edited."""
    for one in detail.merged:
        is_readable = may_decide(actor) or one.proposed_by_id == actor.user.pk
        if is_readable and one.verified_at is None:
            yield _proposal_step("proposal", one, _("A proposal that went into it"))


def _tell_edits(actor: Actor, entry: CompanyEntry) -> Iterator[StoryStep]:
    """The proposals that were made of it and are no part of it, or not yet; as far as the actor may read them."""
    made_of_it = CompanyEntry.objects.filter(source_kind=Kind.COMPANY, source_id=str(entry.pk))
    readable = made_of_it.readable_by(actor.user, curator=may_decide(actor))
    for one in readable.exclude(superseded_by=entry).select_related("proposed_by", "agent").order_by("pk"):
        yield _proposal_step("edit", one, _("An edit was proposed"))


def _proposal_step(name: str, one: CompanyEntry, title: str) -> StoryStep:
    return StoryStep(
        f"{name}-{one.pk}",
        one.created_at,
        title,
        one.proposer or "",
        str(one.agent or ""),
        address=reverse("company-entry", args=[one.pk]),
        link=f"{one.handle} {one.title}",
    )


def _tell_last_check(detail: CompanyEntryDetail) -> Iterator[StoryStep]:
    """What the last check of the code found, unless it changed the label and is a step of the history itself."""
    checks = [state for state in detail.entry.anchor_states if state.checked_at]
    if not checks:
        return
    last = max(checks, key=lambda check: datetime.fromisoformat(check.checked_at))
    moment = datetime.fromisoformat(last.checked_at)
    if any(review.action == Action.CHECK and review.created_at >= moment for review in detail.history):
        return
    found = Counter(check.verdict for check in checks if check.commit == last.commit)
    note = ", ".join(f"{write_number(number)} {word_of(verdict)}" for verdict, number in sorted(found.items()))
    yield StoryStep(
        "last-check",
        moment,
        _("Checked against the code"),
        notes=_("Places that it rests on, at commit %(what)s: %(said)s.") % {"what": last.commit[:12], "said": note},
        address=_place(detail.entry.pk, "code"),
        link=_("The code it rests on"),
    )


def _tell_complaints(actor: Actor, entry: CompanyEntry) -> Iterator[StoryStep]:
    """Who said that it is wrong or outdated: curators decide about that, and others see what they decided."""
    if not may_decide(actor):
        return
    with rls_bypass():
        feedback = Feedback.objects.filter(kind=Kind.COMPANY, source_id=str(entry.pk), verdict__in=COMPLAINTS)
        complaints = list(feedback.select_related("user", "agent").order_by("created_at", "pk"))
    for one in complaints:
        yield StoryStep(
            f"feedback-{one.pk}",
            one.created_at,
            _("Reported as %(verdict)s") % {"verdict": word_of(one.verdict)},
            str(one.user),
            str(one.agent or ""),
            one.note,
        )


_TELLING: tuple[Callable[[Actor, CompanyEntry], Iterator[StoryStep]], ...] = (
    _tell_source,
    _tell_use,
    _tell_firings,
    _tell_complaints,
)
_EVIDENCE: dict[str, tuple[str, str]] = {
    Action.CHECK: ("code", gettext_lazy("The code it rests on")),
    Action.SET_LEVEL: ("triggers", gettext_lazy("Its triggers, and what they did")),
}
"""Actions whose evidence is a section of the entry's page: its name, and what the link to it says."""


def changes_in(review: Review) -> list[FieldChange]:
    """Return what one step changed, without the fields that its action implies."""
    shown = SHOWN.keys() - {"status", "review_after"}
    return [
        FieldChange(SHOWN[name], *map(_as_text, values)) for name, values in review.changed.items() if name in shown
    ]


def changes_since(history: Sequence[Review], revision: int) -> list[FieldChange]:
    """Return the changes of an entry since a revision; an empty list if it never had that revision."""
    seen = next((review.after for review in history if review.after.get("revision") == revision), None)
    if seen is None:
        return []
    now = history[-1].after
    pairs = {name: (_as_text(seen.get(name)), _as_text(now.get(name))) for name in SHOWN}
    return [FieldChange(SHOWN[name], *pair) for name, pair in pairs.items() if pair[0] != pair[1]]


def steps_since(history: Sequence[Review], revision: int) -> list[Review]:
    """Return the steps that were taken after a revision."""
    return [review for review in history if review.after.get("revision", 0) > revision]


def same_text(entry: CompanyEntry, text: str) -> bool:
    """Whether a text equals that of an entry, apart from line endings."""
    return entry.content.strip() == text.replace("\r\n", "\n").strip()


def _as_text(value: Any) -> str:
    if isinstance(value, list):
        return ", ".join(map(str, value))
    return "" if value is None else str(value).replace("_", " ") if value == "changes_requested" else str(value)
