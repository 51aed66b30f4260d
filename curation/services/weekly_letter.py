"""The weekly letter: what agents learned, what helped, what was unknown, what became false, and what to decide.

It stores nothing: each line is read from its source, so that it disappears with it, and links to its evidence.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta
from typing import Annotated, Any

from django.conf import settings
from django.contrib.postgres.aggregates import ArrayAgg
from django.db.models import Count, Q, QuerySet, Window
from django.urls import reverse
from django.utils import timezone
from django.utils.formats import date_format
from django.utils.text import Truncator
from pydantic import Field

from accounts.actor import Actor
from accounts.people.time_zones import zone_of
from bigmind.core.errors import Invalid
from bigmind.core.handles import handle_of
from bigmind.core.private_row_numbers import number_of
from bigmind.core.text import one_line, show_hidden
from bigmind.core.translation import _, gettext_lazy, ngettext, write_number
from curation.decisions.who_may_decide import may_decide
from curation.models import Action, Review
from knowledge.kinds import KINDS
from knowledge.models import Chunk, CompanyEntry, Entry, Fact, Hypothesis, Kind, Serving, Verdict
from knowledge.models.lessons import FIXED_ERROR
from knowledge.services.effects import MeasuredEffect, effects_of
from knowledge.services.gaps import ShownGap, list_open_gaps

from .inbox import InboxLine, decisions_for

DAYS = 7
SHOWN = 5
"""Of each part; its own page has the rest."""
TO_DECIDE = 3
TEXT_CHARS = 160
FIRST_YEAR = 2000

LastDay = Annotated[date, Field(description="The last of the seven days, such as 2026-11-22. Default: today.")]

TITLES = {
    "learned": gettext_lazy("What your agents learned"),
    "helped": gettext_lazy("What helped"),
    "unknown": gettext_lazy("What nobody could answer"),
    "false": gettext_lazy("What no longer holds, or may not"),
    "decide": gettext_lazy("For you to decide"),
}
EMPTY = gettext_lazy(
    "Nothing was learned, used, asked in vain or found false in this week, and nothing waits for your decision."
)
FALSIFYING: dict[str, str] = {
    Action.DEPRECATE: gettext_lazy("Deprecated"),
    Action.SUPERSEDE: gettext_lazy("Replaced"),
    Action.CHECK: gettext_lazy("The code changed"),
}
"""The steps by which company knowledge becomes false or doubtful, and their wording."""
QUESTION = "question"
"""What a line is about that is no kind of knowledge."""
ASKING = {
    "asked": (QUESTION, "question", gettext_lazy("A colleague asks you")),
    "to_revise": (Kind.COMPANY, "company-entry", gettext_lazy("Changes requested: revise or withdraw your proposal")),
    "to_review": (Kind.COMPANY, "curation-entry", gettext_lazy("Proposed: approve or reject it")),
    "to_verify": (Kind.COMPANY, "company-entry", gettext_lazy("Due: does it still hold?")),
    "contradicted": (Kind.FACT, "memory-fact", gettext_lazy("Contradicted by a newer fact: which one holds?")),
    "hypotheses": (Kind.HYPOTHESIS, "memory-hypothesis", gettext_lazy("Its day has come: how did it turn out?")),
}
"""What each group of decisions of the inbox is about, its page, and what is to be decided."""


@dataclass(frozen=True)
class Week:
    """Seven days of a person, from the midnight before the first to the one after the last, in their time zone."""

    last: date
    start: datetime
    end: datetime

    @property
    def first(self) -> date:
        """The first day."""
        return self.last - timedelta(days=DAYS - 1)

    def holds(self, moment: datetime) -> bool:
        """Whether a moment is in it."""
        return self.start <= moment < self.end

    def of(self, field: str) -> Q:
        """Return the rows whose moment is in it."""
        return Q(**{f"{field}__gte": self.start, f"{field}__lt": self.end})


@dataclass(frozen=True)
class LetterLine:
    """One line: its subject, a note, and the pages of both. `handle` is empty where it has none."""

    kind: str
    text: str
    note: str
    address: str
    handle: str = ""
    evidence: str = ""

    @property
    def url(self) -> str:
        """Where it leads, in full, for mails and agents."""
        return f"{settings.PUBLIC_URL}{self.address}"

    @property
    def evidence_url(self) -> str:
        """The page with the note's evidence, if it is another one."""
        return f"{settings.PUBLIC_URL}{self.evidence}" if self.evidence else ""


@dataclass(frozen=True)
class LetterPart:
    """Lines of one kind, the most telling first; `total` says how many there are, `address` where all of them are."""

    name: str
    lines: Sequence[LetterLine]
    total: int
    address: str

    @property
    def title(self) -> str:
        """Its heading."""
        return str(TITLES[self.name])

    @property
    def left(self) -> int:
        """How many are not shown."""
        return self.total - len(self.lines)

    @property
    def url(self) -> str:
        """The page with all of them, in full."""
        return f"{settings.PUBLIC_URL}{self.address}"


@dataclass(frozen=True)
class WeeklyLetter:
    """What seven days brought one person. Parts without a line are left out."""

    week: Week
    parts: list[LetterPart]

    @property
    def first(self) -> date:
        """Its first day."""
        return self.week.first

    @property
    def last(self) -> date:
        """Its last day."""
        return self.week.last

    @property
    def is_empty(self) -> bool:
        """Whether there is nothing to tell."""
        return not self.parts

    @property
    def summary(self) -> str:
        """What there is, in one line."""
        counts = {part.name: part.total for part in self.parts}
        told = [say(counts[name]) for name, say in _COUNTED.items() if name in counts]
        return f"{'; '.join(told)}." if told else str(EMPTY)

    @property
    def url(self) -> str:
        """Its page, in full."""
        return f"{settings.PUBLIC_URL}{reverse('letter')}?until={self.last.isoformat()}"


def write_weekly_letter(actor: Actor, *, until: LastDay | None = None) -> WeeklyLetter:
    """Summarize seven days for the user: learned, helped, unknown, no longer true, and up to three decisions.

    Call this when the user asks how their week was, what you learned lately, or what to tidy up. Returns the parts with
    their lines, each with the URL of its evidence. The decisions are those pending now.

    Raises:
        Invalid: `until` is in the future, or before 2000.
    """
    zone = zone_of(actor.user)
    with timezone.override(zone):
        week = _week_until(until or timezone.localdate())
        parts = [LetterPart(name, *read(actor, week)) for name, read in _PARTS.items()]
    return WeeklyLetter(week, [part for part in parts if part.lines])


def _week_until(last: date) -> Week:
    if last > timezone.localdate():
        raise Invalid.of("until", f"is {last.isoformat()}, which is to come; the last day can be today")
    if last.year < FIRST_YEAR:
        raise Invalid.of("until", f"is {last.isoformat()}; the first year is {FIRST_YEAR}")
    first, after = last - timedelta(days=DAYS - 1), last + timedelta(days=1)
    return Week(last, *(timezone.make_aware(datetime.combine(day, time.min)) for day in (first, after)))


Lines = tuple[list[LetterLine], int]
"""The first few, and how many there are."""
Part = tuple[list[LetterLine], int, str]


def _list_learned(actor: Actor, week: Week) -> Part:
    """What agents wrote down: how errors were fixed, what was proposed to all, then facts and shared entries."""
    user = actor.user
    fixes = Chunk.objects.filter(user=user, flag_reason=FIXED_ERROR, set_aside_at=None)
    proposed = CompanyEntry.objects.own().filter(proposed_by=user)
    lines, total = _join(
        _read(fixes, week, lambda fix: _line(Kind.CHUNK, fix, _("An error and its fix"), session=fix.session_id)),
        _read(
            proposed,
            week,
            lambda one: _line(
                Kind.COMPANY, one, _("Proposed: %(lower)s") % {"lower": _(one.get_status_display().lower())}
            ),
        ),
        _read(
            Fact.objects.of(user).current(),
            week,
            lambda fact: _line(Kind.FACT, fact, _("Fact"), session=fact.source_session_id),
        ),
        _read(Entry.objects.filter(created_by=user), week, lambda one: _line(Kind.ENTRY, one, _("Shared entry"))),
    )
    return lines, total, _on_timeline(week)


def _list_helpful(actor: Actor, week: Week) -> Part:
    """What sessions that ended in the week received and cited, the most cited first."""
    told = Serving.objects.filter(week.of("session__ended_at"), user=actor.user)
    rows = list(
        told.order_by()
        .values("kind", "source_id")
        .annotate(
            told=Count("pk"),
            times=Count("pk", filter=Q(cited=True)),
            sessions=ArrayAgg("session_id", filter=Q(cited=True), order_by="-session__ended_at"),
        )
        .filter(times__gt=0)
        .order_by("-times", "kind", "source_id")
    )
    things = _find_things(actor, ((row["kind"], row["source_id"]) for row in rows))
    found = [(row, thing) for row in rows if (thing := things.get((row["kind"], row["source_id"])))]
    shown = found[:SHOWN]
    effects = {
        kind: effects_of(actor, kind, [row["source_id"] for row, _ in shown if row["kind"] == kind])
        for kind in {row["kind"] for row, _ in shown}
    }
    lines = [
        _line(row["kind"], thing, _say_cited(row, effects[row["kind"]][row["source_id"]]), session=row["sessions"][0])
        for row, thing in shown
    ]
    return lines, len(found), reverse("insights-knowledge")


def _say_cited(row: Mapping[str, Any], effect: MeasuredEffect) -> str:
    cited = ngettext(
        "Helped in %(times)s of %(told)s session that had it",
        "Helped in %(times)s of %(told)s sessions that had it",
        row["told"],
    ) % {"times": write_number(row["times"]), "told": write_number(row["told"])}
    return f"{cited}. {effect.in_words}" if effect.verdict in {"helps", "harms"} else cited


def _list_unknown(actor: Actor, week: Week) -> Part:
    """Unanswered questions of the week that are still unanswered."""
    asked = [gap for gap in list_open_gaps(actor) if _was_asked_in(gap, week)]
    asked.sort(key=lambda gap: (gap.times, gap.last_asked), reverse=True)
    lines = [
        LetterLine(
            QUESTION,
            _short(gap.name),
            ngettext("Asked %(times)s time so far", "Asked %(times)s times so far", gap.times)
            % {"times": write_number(gap.times)},
            f"{reverse('insights-gaps')}#question-{number_of(gap.question)}",
        )
        for gap in asked
    ]
    return lines[:SHOWN], len(lines), reverse("insights-gaps")


def _was_asked_in(gap: ShownGap, week: Week) -> bool:
    """Whether it was last asked in the week, or one of the actor's own questions was asked before and after its end."""
    spans = [(one.first_asked, one.last_asked) for one in gap.own] or [(gap.last_asked, gap.last_asked)]
    return any(first < week.end and last >= week.start for first, last in spans)


def _list_false(actor: Actor, week: Week) -> Part:
    """What misled, which company knowledge became false or is due, and what ended in one's own memory."""
    facts = Fact.objects.of(actor.user)
    ended = facts.current().filter(valid_until__lte=timezone.now())
    refuted = Hypothesis.objects.of(actor.user).filter(status=Verdict.REFUTED, set_aside_at=None)
    misleading, fallen = _list_misleading(actor, week), _list_fallen(actor, week)
    lines, total = _join(
        (misleading, len(misleading)),
        (fallen, len(fallen)),
        _read(
            facts.select_related("superseded_by"),
            week,
            lambda fact: _line(Kind.FACT, fact, _say_ended(fact)),
            moment="deprecated_at",
        ),
        _read(
            ended,
            week,
            lambda fact: _line(
                Kind.FACT, fact, _("Held until %(valid_until)s") % {"valid_until": _day(fact.valid_until)}
            ),
            moment="valid_until",
        ),
        _read(
            refuted,
            week,
            lambda belief: _line(Kind.HYPOTHESIS, belief, _("Refuted"), session=belief.session_id),
            moment="resolved_at",
        ),
    )
    return lines, total, _on_timeline(week)


def _say_ended(fact: Fact) -> str:
    if fact.superseded_by:
        return _("Replaced by F%(number)s") % {"number": fact.superseded_by.number}
    return (
        _("Archived: %(deprecation_reason)s") % {"deprecation_reason": _short(fact.deprecation_reason)}
        if fact.deprecation_reason
        else _("Archived")
    )


def _list_misleading(actor: Actor, week: Week) -> list[LetterLine]:
    rows = Serving.objects.filter(week.of("session__ended_at"), user=actor.user, misled=True).order_by("-at", "pk")
    named = list(rows.values_list("kind", "source_id", "session_id"))
    things = _find_things(actor, ((kind, id) for kind, id, _session in named))
    sessions = {(kind, id): session for kind, id, session in reversed(named)}
    return [
        _line(kind, thing, _("Misled a session"), session=sessions[kind, id]) for (kind, id), thing in things.items()
    ]


def _list_fallen(actor: Actor, week: Week) -> list[LetterLine]:
    """Company knowledge that the user keeps or their agents received: what was taken back, and what fell due."""
    steps = Review.objects.filter(week.of("created_at"), action__in=FALSIFYING).order_by("created_at", "pk")
    fallen = {step.entry_id: step for step in steps if step.action != Action.CHECK or _finds_fault(step)}
    due = CompanyEntry.objects.due().filter(review_after__range=(week.first, week.last))
    readable = CompanyEntry.objects.readable_by(actor.user, curator=may_decide(actor))
    found = readable.filter(Q(pk__in=fallen) | Q(pk__in=due.values("pk"))).select_related("superseded_by")
    return [
        _line(Kind.COMPANY, entry, _say_fallen(fallen[entry.pk], entry) if entry.pk in fallen else _say_due(entry))
        for entry in _select_concerning(actor, found)
    ]


def _select_concerning(actor: Actor, entries: "QuerySet[CompanyEntry]") -> list[CompanyEntry]:
    rows = list(entries.order_by("-updated_at", "pk"))
    told = Serving.objects.filter(user=actor.user, kind=Kind.COMPANY, source_id__in=[str(row.pk) for row in rows])
    ids = set(told.values_list("source_id", flat=True))
    mine = actor.user.pk
    return [row for row in rows if str(row.pk) in ids or mine in (row.owner_id, row.proposed_by_id)]


def _say_fallen(step: Review, entry: CompanyEntry) -> str:
    into = _(" by %(handle)s") % {"handle": entry.superseded_by.handle} if entry.superseded_by else ""
    reason = f": {_short(step.notes)}" if step.notes else ""
    return _("%(what)s%(into)s, says %(by_name)s%(reason)s") % {
        "what": str(FALSIFYING[step.action]),
        "into": into,
        "by_name": step.by_name,
        "reason": reason,
    }


def _finds_fault(step: Review) -> bool:
    """Whether a check made an entry due at once: a check that finds the code unchanged postpones the date again."""
    until = step.after.get("review_after")
    return bool(until) and date.fromisoformat(until) <= timezone.localdate(step.created_at)


def _say_due(entry: CompanyEntry) -> str:
    return _("To be verified since %(review_after)s") % {"review_after": _day(entry.review_after)}


def _list_decisions(actor: Actor, week: Week) -> Part:
    lines = [_decision(name, line) for name, line in decisions_for(actor, limit=TO_DECIDE)]
    return lines, len(lines), reverse("home")


def _decision(name: str, line: InboxLine) -> LetterLine:
    kind, route, asks = ASKING[name]
    thing: Any = line.thing
    text = next(getattr(thing, field) for field in ("title", "text", "fact", "hypothesis") if hasattr(thing, field))
    return LetterLine(kind, _short(text), str(asks), reverse(route, args=[thing.pk]))


_PARTS: dict[str, Callable[[Actor, Week], Part]] = {
    "learned": _list_learned,
    "helped": _list_helpful,
    "unknown": _list_unknown,
    "false": _list_false,
    "decide": _list_decisions,
}
_COUNTED: dict[str, Callable[[int], str]] = {
    "learned": lambda count: _("%(count)s learned") % {"count": write_number(count)},
    "helped": lambda count: _("%(count)s helped") % {"count": write_number(count)},
    "unknown": lambda count: _("%(count)s asked in vain") % {"count": write_number(count)},
    "false": lambda count: _("%(count)s no longer true or doubtful") % {"count": write_number(count)},
    "decide": lambda count: _("%(count)s to decide") % {"count": write_number(count)},
}


def _read(rows: "QuerySet[Any]", week: Week, tell: Callable[[Any], LetterLine], *, moment: str = "created_at") -> Lines:
    """Return the latest rows of a week as lines, and how many there are: in one statement."""
    counted = rows.filter(week.of(moment)).annotate(of_all=Window(Count("*")))
    shown = list(counted.order_by(f"-{moment}", "-pk")[:SHOWN])
    return [tell(row) for row in shown], shown[0].of_all if shown else 0


def _join(*sources: Lines) -> Lines:
    lines = [line for some, _ in sources for line in some]
    return lines[:SHOWN], sum(total for _, total in sources)


def _on_timeline(week: Week) -> str:
    return f"{reverse('memory-timeline')}?week={week.first.isoformat()}"


def _find_things(actor: Actor, named: Iterable[tuple[str, str]]) -> dict[tuple[str, str], Any]:
    """Return those of these items, by kind and id, that the actor may find now, in order."""
    ids: dict[str, dict[Any, str]] = {}
    order = list(dict.fromkeys(named))
    for kind, id in order:
        if kind in KINDS:
            ids.setdefault(kind, {})[KINDS[kind].read_id(id)] = id
    found = {
        (kind, wanted[row.pk]): row
        for kind, wanted in ids.items()
        for row in KINDS[kind].visible(actor.user).filter(pk__in=wanted)
    }
    return {one: found[one] for one in order if one in found}


def _line(kind: str, thing: Any, note: str, *, session: Any = None) -> LetterLine:
    row = KINDS[kind]
    text = thing.title if kind == Kind.COMPANY else row.promoted(thing) if row.promoted else row.title(thing)
    return LetterLine(
        kind,
        _short(text),
        note,
        reverse(row.route, args=[thing.pk]),
        handle_of(kind, str(thing.pk)) if kind in {Kind.COMPANY, Kind.FACT, Kind.HYPOTHESIS} else "",
        reverse("memory-session", args=[session]) if session else "",
    )


def _short(text: str) -> str:
    return Truncator(one_line(show_hidden(text))).chars(TEXT_CHARS)


def _day(moment: Any) -> str:
    day = timezone.localdate(moment) if isinstance(moment, datetime) else moment
    return date_format(day, _("j F Y"))
