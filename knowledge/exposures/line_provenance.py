"""Provenance of lines: who each line of a start context is from, and which report erased it if it is gone."""

from collections.abc import Iterable, Sequence
from datetime import datetime
from uuid import UUID

from django.utils import timezone
from django.utils.formats import date_format

from accounts.models import User
from accounts.services.erasure_reports import erasures_of
from bigmind.core.translation import _
from knowledge.kinds import KIND_OF_WORD, OWN
from knowledge.models import CompanyEntry, Fact, Kind, Session, Writing

Thing = tuple[str, str]


def provenance_of_lines(user: User, things: Sequence[Thing]) -> dict[Thing, str]:
    """Return the lineage of each of these lines of a receipt, as far as its owner may know it."""
    lineages = {("profile", id): _("from your profile") for kind, id in things if kind == "profile"}
    lineages |= (
        _of_company(user, things) | _of_facts(user, things) | _of_sessions(user, things) | _of_others(user, things)
    )
    gone = [thing for thing in things if thing not in lineages]
    return lineages | _of_erased(user, gone)


def _of_company(user: User, things: Sequence[Thing]) -> dict[Thing, str]:
    numbers = [int(id) for kind, id in things if kind in ("company", "decision")]
    entries = CompanyEntry.objects.readable_by(user, curator=False).filter(pk__in=numbers)
    lineages: dict[Thing, str] = {}
    for entry in entries.select_related("proposed_by", "decided_by"):
        gone = _("someone who has left")
        words = _("proposed by %(by)s, %(day)s") % {
            "by": entry.proposed_by or gone,
            "day": day_of(entry.created_at),
        }
        if entry.decided_at:
            decided = {"by": entry.decided_by or gone, "day": day_of(entry.decided_at)}
            words += _("; decided by %(by)s, %(day)s") % decided
        lineages["company", str(entry.pk)] = lineages["decision", str(entry.pk)] = words
    return lineages


def _of_facts(user: User, things: Sequence[Thing]) -> dict[Thing, str]:
    facts = Fact.objects.of(user).filter(pk__in=[int(id) for kind, id in things if kind == "fact"])
    created = dict(facts.values_list("pk", "created_at"))
    through = _writers(user, Kind.FACT, created)
    by_hand = _("from you, on a page")
    return {("fact", str(pk)): f"{through.get(str(pk), by_hand)}, {day_of(at)}" for pk, at in created.items()}


def _of_sessions(user: User, things: Sequence[Thing]) -> dict[Thing, str]:
    ids = [UUID(id) for kind, id in things if kind == "session"]
    sessions = Session.objects.of(user).filter(pk__in=ids).select_related("agent")
    return {
        ("session", str(one.pk)): _("of %(agent)s, %(day)s") % {"agent": one.agent, "day": day_of(one.started_at)}
        if one.agent
        else _("of you, %(day)s") % {"day": day_of(one.started_at)}
        for one in sessions
    }


def _of_others(user: User, things: Sequence[Thing]) -> dict[Thing, str]:
    """Say through which agent the user stored what else is shown of theirs."""
    lineages: dict[Thing, str] = {}
    others = {kind for kind, _id in things if kind in Kind.values} - {Kind.FACT, Kind.COMPANY}
    for written in sorted(others):
        ids = [id for kind, id in things if kind == written]
        lineages |= {(written, id): through for id, through in _writers(user, Kind(written), ids).items()}
    return lineages


def _of_erased(user: User, things: Sequence[Thing]) -> dict[Thing, str]:
    """Name the report that erased each missing item, if one lists it."""
    missing: dict[str, list[str]] = {}
    for kind, id in things:
        if kind in OWN:
            missing.setdefault(KIND_OF_WORD[kind].value, []).append(id)
    reports = erasures_of(user, missing) if missing else {}
    lineages: dict[Thing, str] = {}
    for kind, id in things:
        report = reports.get((KIND_OF_WORD[kind].value, id)) if kind in OWN else None
        if report:
            lineages[kind, id] = _("erased on %(day)s (report %(report)s)") % {
                "day": day_of(report.at),
                "report": report.pk,
            }
    return lineages


def _writers(user: User, kind: Kind, ids: Iterable[object]) -> dict[str, str]:
    """Through which agent, or with which key, each thing was first stored."""
    rows = Writing.objects.filter(user=user, kind=kind, made=True, source_id__in=[str(id) for id in ids])
    lineages: dict[str, str] = {}
    for row in rows.select_related("agent", "key").order_by("at", "pk"):
        writer = row.agent or row.key
        through = _("from you, through %(writer)s") % {"writer": writer} if writer else _("from you")
        lineages.setdefault(row.source_id, through)
    return lineages


def day_of(moment: datetime) -> str:
    """Return the day of a moment as people write it."""
    return date_format(timezone.localtime(moment), "j F Y")
