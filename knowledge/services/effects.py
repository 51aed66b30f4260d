"""Effects: what changes in sessions that received something, compared with those from which it was randomly withheld.

Figures about everyone are shown only if at least three other people took part on either side.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from datetime import datetime
from typing import Any

from django.conf import settings
from django.contrib.postgres.aggregates import ArrayAgg
from django.db.models import (
    Avg,
    Count,
    ExpressionWrapper,
    F,
    FloatField,
    IntegerField,
    Max,
    Q,
    QuerySet,
    Sum,
    Value,
    Variance,
)
from django.db.models.functions import Cast, Coalesce
from django.utils import timezone
from django.utils.formats import number_format

from accounts.actor import Actor
from accounts.models import User
from accounts.services.usage import COLLEAGUES
from bigmind.core.rls import rls_bypass
from bigmind.core.translation import _, gettext_lazy, write_number
from knowledge.kinds import KINDS
from knowledge.models import DIGEST_CHARS, HoldoutDraw, Kind, Proof, Serving
from knowledge.services.effect_intervals import START, Sample, compare, find_sure, looks_harmful
from knowledge.services.exposures import count_said, number_told

_FAILING = Cast("session__work__failing", IntegerField())
_COUNTED = {name: F(f"session__work__{name}") for name in ("corrections", "repeated", "reverted", "searches")}
_NONE = {name: Coalesce(count, 0) for name, count in (_COUNTED | {"failing": _FAILING}).items()}
SETBACKS, DISCOVERY = "setbacks", "searches"
MEASURES = {
    SETBACKS: gettext_lazy("setbacks"),
    "corrections": gettext_lazy("corrections"),
    "repeated": gettext_lazy("questions asked again"),
    "failing": gettext_lazy("failing tests at the end"),
    "reverted": gettext_lazy("reverted commits"),
    DISCOVERY: gettext_lazy("searches"),
}
"""The measures of a session, with their words. All but searches, which are only effort, are setbacks."""
_PARTS = ("corrections", "repeated", "failing", "reverted")


@dataclass(frozen=True)
class Lift:
    """How much receiving something changes one measure of a session. Less is always better."""

    measure: str
    difference: float
    low: float
    high: float

    @property
    def name(self) -> str:
        """What is measured, in words."""
        return str(MEASURES[self.measure])

    @property
    def is_clear(self) -> bool:
        """Whether the interval excludes zero."""
        return self.low > 0 or self.high < 0

    @property
    def in_words(self) -> str:
        """The difference with its interval: “1.8 fewer, between 0.4 and 3.1”."""
        if round(self.low, 1) == round(self.high, 1) == 0:
            return _("no difference seen")
        if not self.is_clear:
            return _("between %(low)s and %(high)s") % {"low": _amount(self.low), "high": _amount(self.high)}
        ends = sorted((abs(self.low), abs(self.high)))
        return _("%(difference)s, between %(least)s and %(most)s") % {
            "difference": _amount(self.difference),
            "least": number_format(ends[0], 1),
            "most": number_format(ends[1], 1),
        }


@dataclass(frozen=True)
class MeasuredEffect:
    """What receiving something changes, as far as it may be shown.

    `sessions` and `withheld` are 0 if nothing was compared, or if too few others took part (`has_people`). `measures`
    is empty if too little was compared.
    """

    sessions: int = 0
    withheld: int = 0
    has_people: bool = True
    measures: list[Lift] = field(default_factory=list)

    @property
    def setbacks(self) -> Lift | None:
        """The main measure: corrections, repeated questions, failing tests and reverted commits together."""
        return next((lift for lift in self.measures if lift.measure == SETBACKS), None)

    @property
    def verdict(self) -> str:
        """`helps`, `harms` or `unclear`; empty if nothing may be said."""
        lift = self.setbacks
        if lift is None:
            return ""
        return "unclear" if not lift.is_clear else "helps" if lift.high < 0 else "harms"

    @property
    def in_words(self) -> str:
        """What may be said of it, in one or two sentences."""
        lift = self.setbacks
        if lift is None:
            return self._why_nothing
        if lift.is_clear:
            many, between = _amount(lift.difference), lift.in_words.partition(", ")[2]
            return _("Sessions that were told this had %(many)s %(name)s, %(between)s; %(sessions)s.") % {
                "many": many,
                "name": lift.name,
                "between": between,
                "sessions": self._sessions,
            }
        return _("Not clear yet: sessions that were told this had %(in_words)s %(name)s; %(sessions)s.") % {
            "in_words": lift.in_words,
            "name": lift.name,
            "sessions": self._sessions,
        }

    @property
    def _sessions(self) -> str:
        return _("%(sessions)s sessions") % {"sessions": write_number(self.sessions)}

    @property
    def _why_nothing(self) -> str:
        if not self.has_people:
            return _("Not enough yet to say: fewer than %(COLLEAGUES)s colleagues took part.") % {
                "COLLEAGUES": COLLEAGUES
            }
        if not self.sessions:
            return _("Not compared: it was not withheld from any session.")
        share = _("%(sessions)s sessions, %(withheld)s of them without it") % {
            "sessions": write_number(self.sessions),
            "withheld": write_number(self.withheld),
        }
        return _("Not enough yet to say: %(share)s. It takes about %(what)s without it.") % {
            "share": share,
            "what": round(START * 1.25),
        }


@dataclass(frozen=True)
class ThingCounts:
    """What became of the sessions that received something; no figures if too few people took part."""

    told: int
    cited: int
    misled: int
    corrections: int
    repeated: int
    failing: int
    tested: int
    commits: int
    reverted: int
    last_told_at: datetime | None


def effects_of(actor: Actor, kind: str, ids: Iterable[str | int]) -> dict[str, MeasuredEffect]:
    """Return the effect of each of these things, by its id, as far as the actor may see it.

    Of what is shared it is that of everybody's sessions, of facts that of the actor's own.
    """
    wanted = [str(id) for id in ids]
    is_shared = kind != Kind.FACT
    with rls_bypass():
        found = _compare_sides(kind, wanted, reader=actor.user, of=None if is_shared else actor.user)
    least = _least_people() if is_shared else 0
    return {id: _effect_of(found.get(id, ()), least) for id in wanted}


def counts_of(actor: Actor, kind: str, id: str | int) -> ThingCounts | None:
    """Return what came of the sessions that received something; None where too few people received it."""
    is_shared = kind != Kind.FACT
    told = Serving.objects.filter(kind=kind, source_id=str(id))
    with rls_bypass():
        sums = {
            name: Coalesce(Sum(f"session__work__{name}"), 0)
            for name in ("corrections", "repeated", "commits", "reverted")
        }
        row = (told if is_shared else told.filter(user=actor.user)).aggregate(
            told=Count("pk"),
            **count_said("cited", actor.user),
            **count_said("misled", actor.user),
            failing=Count("pk", filter=Q(session__work__failing=True)),
            tested=Count("pk", filter=Q(session__work__tests_passed__gt=0) | Q(session__work__tests_failed__gt=0)),
            last_told_at=Max("at"),
            people=Count("user", filter=~Q(user=actor.user), distinct=True),
            **sums,
        )
    if (is_shared and row["people"] < _least_people()) or not row["told"]:
        return None
    row |= {said: number_told(row, said) for said in ("cited", "misled")}
    return ThingCounts(**{one.name: row[one.name] for one in fields(ThingCounts)})


def proof_of(actor: Actor, kind: str, id: object) -> dict[str, Any]:
    """Return what a page about something shows of its use: the effect, and the counts."""
    return {"effect": effects_of(actor, kind, [str(id)])[str(id)], "counts": counts_of(actor, kind, str(id))}


@rls_bypass()
def mark_harmful() -> int:
    """Mark the approved entries that certainly do harm, so that curators see them again; return how many.

    Many are compared at once: the chance that any marked one is harmless is at most 5 %.
    """
    # Every curator reads the mark, and what sessions receive depends on it. Whichever of these people looks, three
    # others have to be among them, as where the effect itself is shown.
    least = _least_people(COLLEAGUES + 1)
    compared = _compare_sides(Kind.COMPANY, None, reader=None, of=None)
    strata = {int(id): _strata(sides, SETBACKS) for id, sides in compared.items() if _has_people(sides, least)}
    differences = {id: found for id, of_entry in strata.items() if (found := compare(*of_entry))}
    sure = find_sure({id: found.p for id, found in differences.items()})
    harmful = {id for id in sure if differences[id].value > 0}
    _doubt({id for id, of_entry in strata.items() if looks_harmful(*of_entry)})
    Proof.objects.exclude(harmful_since=None).exclude(pk__in=harmful).update(harmful_since=None)
    Proof.objects.filter(harmful_since=None, pk__in=harmful).update(harmful_since=timezone.now())
    return len(harmful)


def _doubt(ids: set[int]) -> None:
    """Let these entries be withheld more often, and no others; not what a curator looked at since it was sure."""
    seen = Proof.objects.filter(entry__verified_at__gte=F("harmful_since")).values_list("entry_id", flat=True)
    doubted = ids.difference(seen)
    Proof.objects.filter(doubted=True).exclude(pk__in=doubted).update(doubted=False)
    Proof.objects.filter(doubted=False, pk__in=doubted).update(doubted=True)


def list_harmful() -> "QuerySet[Proof, int]":
    """Return the numbers of the harmful entries that nobody has reviewed since that became certain."""
    unseen = Q(entry__verified_at=None) | Q(entry__verified_at__lt=F("harmful_since"))
    return Proof.objects.filter(unseen, harmful_since__isnull=False).values_list("entry_id", flat=True)


Sides = Sequence[Mapping[str, Any]]
"""The sessions of something by the share of their time, and whether it was withheld from them: number, people, mean and
variance of each measure."""


def _select_draws(kind: str) -> "QuerySet[HoldoutDraw]":
    return HoldoutDraw.objects.filter(kind=kind, session__ended_at__isnull=False).order_by()


def _compare_sides(
    kind: str, ids: Collection[str] | None, *, reader: User | None, of: User | None
) -> Mapping[str, Sides]:
    """Return both sides of each thing that was drawn, of the sessions that have ended, as it reads now."""
    draws = _select_draws(kind)
    if ids is not None:
        draws = draws.filter(source_id__in=ids)
    if of is not None:
        draws = draws.filter(user=of)
    total = sum((_NONE[name] for name in _PARTS[1:]), _NONE[_PARTS[0]])
    measures = {**_NONE, SETBACKS: ExpressionWrapper(total, IntegerField())}
    rows = draws.values("source_id", "version", "percent", "withheld").annotate(
        number=Count("pk"),
        people=ArrayAgg("user", filter=~Q(user=reader), distinct=True, default=Value([])),
        **{f"{name}_mean": Avg(count, output_field=FloatField()) for name, count in measures.items()},
        **{f"{name}_variance": Variance(count, sample=True) for name, count in measures.items()},
    )
    versions = _versions(kind, {row["source_id"] for row in rows})
    found: dict[str, list[Mapping[str, Any]]] = {}
    for row in rows:
        if row["version"] == versions.get(row["source_id"]):
            found.setdefault(row["source_id"], []).append(row)
    return found


def _versions(kind: str, ids: Collection[str]) -> dict[str, str]:
    """Return the digests of things as they read now: another text is another thing to be sent."""
    row = KINDS[kind]
    things = row.model._default_manager.filter(pk__in=[row.read_id(id) for id in ids])
    return {str(pk): digest[:DIGEST_CHARS] for pk, digest in things.values_list("pk", "digest")}


def _effect_of(sides: Sides, least: int) -> MeasuredEffect:
    # With one or two others, not even their existence: it would reveal a colleague's first session.
    if not _has_people(sides, least):
        return MeasuredEffect(has_people=False)
    withheld = sum(row["number"] for row in sides if row["withheld"])
    lifts = [lift for measure in MEASURES if (lift := _lift(sides, measure))]
    return MeasuredEffect(sum(row["number"] for row in sides), withheld, measures=lifts)


def _has_people(sides: Sides, least: int) -> bool:
    """Whether so many had a part in it on either side."""
    people = ({one for row in sides if row["withheld"] is side for one in row["people"]} for side in (True, False))
    return all(len(some) >= least for some in people)


def _least_people(in_a_team: int = COLLEAGUES) -> int:
    return 0 if settings.BIGMIND_MODE == "personal" else in_a_team


def _lift(sides: Sides, measure: str) -> Lift | None:
    found = compare(*_strata(sides, measure))
    return Lift(measure, found.value, found.low, found.high) if found else None


def _strata(sides: Sides, measure: str) -> list[tuple[Sample, Sample]]:
    """Return those that received it and the others, of each share: only these had the same chance to be either."""
    samples = {(row["percent"], row["withheld"]): _sample(row, measure) for row in sides}
    return [
        (samples[percent, False], sample)
        for (percent, withheld), sample in samples.items()
        if withheld and (percent, False) in samples
    ]


def _sample(row: Mapping[str, Any], measure: str) -> Sample:
    # Of a single session there is no variance.
    return Sample(row["number"], row[f"{measure}_mean"], row[f"{measure}_variance"] or 0.0)


def _amount(difference: float) -> str:
    said = _("%(number)s fewer") if difference < 0 else _("%(number)s more")
    return said % {"number": number_format(abs(difference), 1)}
