"""The queue of curators: proposals, reported entries and entries due for verification."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from datetime import date, datetime, time, timedelta
from functools import cache
from typing import Annotated, Any, Literal
from uuid import UUID

from django.contrib.postgres.expressions import ArraySubquery
from django.db import connection
from django.db.models import (
    Case,
    Count,
    IntegerField,
    JSONField,
    Min,
    OuterRef,
    Q,
    QuerySet,
    Subquery,
    TextField,
    Value,
    When,
)
from django.db.models.expressions import RawSQL
from django.db.models.functions import Cast, Coalesce, JSONObject
from django.utils import timezone
from django.utils.dateparse import parse_datetime
from pydantic import Field

from accounts.actor import Actor
from accounts.models import User
from bigmind.core.argument_types import Cursor, Limit, Name, Offset, Project, Query
from bigmind.core.word_filters import has_words
from bigmind.database.fixed_queries import FixedQuery
from bigmind.database.pagination import Page, page_of
from bigmind.database.postgresql.kept_plans import Repeated
from bigmind.database.rls import rls_bypass
from curation.decisions.overlaps import list_overlapping, list_unused, open_pairs, with_relations
from curation.decisions.who_may_decide import is_personal, waits_for_others
from curation.models import Comment
from knowledge.argument_types import CompanyCategoryName
from knowledge.exposures.feedback import open_complaints
from knowledge.models import CompanyEntry, Kind, Status
from knowledge.models.company import CompanyEntryQuerySet
from knowledge.references.editing import open_drifts

from .claims import claimer_of

Why = Annotated[
    Literal["proposed", "reported", "overlapping", "unused", "due"],
    Field(
        description="proposed: new; reported: said to be wrong or outdated; overlapping: repeats or contradicts "
        "another approved one; unused: told often and hardly ever named as helpful; due: to be verified again."
    ),
]
NOW = "now"
"""What needs a decision now: what was proposed, and what was reported."""
WHYS: tuple[str, ...] = ("proposed", "reported", "overlapping", "unused", "due")
Risk = Annotated[Literal["flagged", "clear"], Field(description="Whether it looks dangerous.")]


@dataclass(frozen=True)
class QueueItem:
    """An entry in the queue, with its complaints and the curator who is reviewing it."""

    entry: CompanyEntry
    why: Annotated[str, Field(description="proposed, reported, overlapping, unused or due.")]
    complaints: int
    claimed_by: User | None
    complained_at: datetime | None = None
    comments: int = 0
    relations: Annotated[
        tuple[str, ...], Field(description="contradiction, duplicate: of pending or approved entries.")
    ] = ()
    is_own: Annotated[bool, Field(description="Whether you proposed it: another curator decides.")] = False

    @property
    def waits_since(self) -> datetime:
        """When it entered the queue: when it was proposed, first reported, or due."""
        if self.why == "reported" and self.complained_at:
            return self.complained_at
        if self.why == "due" and self.entry.review_after:
            return timezone.make_aware(datetime.combine(self.entry.review_after, time.min))
        return self.entry.created_at

    @property
    def age_days(self) -> int:
        return (timezone.now() - self.waits_since).days


@dataclass(frozen=True)
class WaitingCounts:
    """How much needs a decision now, and the date of the oldest proposal."""

    proposed: int
    reported: int
    oldest: datetime | None
    drifts: int
    """References that a person edited and whose source has changed since."""

    @property
    def waiting(self) -> int:
        """How many entries need a decision now: proposals and reported entries."""
        return self.proposed + self.reported


@dataclass(frozen=True)
class QueueSummary(WaitingCounts):
    """The number of entries in the queue by each reason."""

    overlapping: int
    unused: int
    due: int


def list_queue(
    actor: Actor,
    *,
    why: Why | None = None,
    category: CompanyCategoryName | None = None,
    proposer: Name | None = None,
    project: Project = "",
    text: Query | None = None,
    risk: Risk | None = None,
    older_than_days: Annotated[int, Field(ge=0, le=3650)] | None = None,
    order: Literal["risk", "importance", "oldest", "newest"] = "risk",
    limit: Limit = 20,
    offset: Offset = 0,
    cursor: Cursor | None = None,
) -> Page[QueueItem]:
    """List the review queue: what needs a decision now, which is proposals and entries that someone reported.

    `why` asks for one reason, also overlapping, unused or due for verification. Call this only when a curator
    asks what to decide. Returns a page, the risky, important and oldest first, your own
    last, each with its age, what it repeats or contradicts, complaints, and who is reviewing it.
    """
    actor.require("curate")
    filters = QueueFilters(why or NOW, category, proposer, project, text, risk, older_than_days, order)
    with rls_bypass():  # The complaints are others': `_with_company` counts them.
        entries = _with_company(filters.select(filters.reader_of(actor)), order)
        page = page_of(entries, limit=limit, offset=offset, cursor=cursor)
    return page.of([_item(actor, entry, filters.why) for entry in page.items])


@dataclass(frozen=True)
class QueueFilters:
    """The filters of `list_queue`, and its order."""

    why: str = "proposed"
    category: str | None = None
    proposer: str | None = None
    project: str = ""
    text: str | None = None
    risk: str | None = None
    older_than_days: int | None = None
    order: str = "risk"

    @property
    def is_usual(self) -> bool:
        """Whether the statement depends on no moment, and on no pattern: then it is compiled once."""
        return self.why not in {"unused", "due"} and not self.text and self.older_than_days is None

    def reader_of(self, actor: Actor) -> UUID | None:
        """Return whose own proposals come last; None where they come like all others."""
        return actor.user.pk if self.order == "risk" and not is_personal() else None

    def select(self, reader: UUID | None) -> CompanyEntryQuerySet:
        """Return the entries, each with what orders it for a reader."""
        entries = waiting(self.why)
        if self.category:
            entries = entries.filter(category=self.category)
        if self.proposer:
            entries = entries.filter(proposed_by__username__iexact=self.proposer)
        if self.project:
            entries = entries.filter(project=self.project)
        if self.text:
            entries = entries.filter(has_words(self.text, "title", "content"))
        if self.risk:
            entries = entries.exclude(warnings=[]) if self.risk == "flagged" else entries.filter(warnings=[])
        if self.older_than_days is not None:
            entries = entries.filter(created_at__lt=timezone.now() - timedelta(days=self.older_than_days))
        return _with_risk(reader, entries) if self.order == "risk" else entries

    def values(self, actor: Actor) -> tuple[Any, ...]:
        """Return the values of a usual statement: the last has what its SQL depends on."""
        named = (self.category or "", self.proposer or "", self.project)
        return self.reader_of(actor), *named, (self.why, self.risk, self.order)


def read_page(actor: Actor, *, offset: int, limit: int, why: str | None = None, **filters: Any) -> Page[QueueItem]:
    """Return what `list_queue` does, without the cursor, for which the statement would be compiled each time."""
    actor.require("curate")
    chosen = QueueFilters(why or NOW, **filters)
    with rls_bypass():  # As in `list_queue`.
        if chosen.is_usual:
            [(total,)] = _TOTAL(*chosen.values(actor)[1:]) or [(0,)]
        else:
            total = chosen.select(None).count()
    return Page(_read_rows(actor, chosen, offset, limit), total, limit, offset)


def read_around(actor: Actor, entry: CompanyEntry, *, limit: int, **filters: Any) -> tuple[int, Page[QueueItem]]:
    """Return how many entries precede one in the filtered queue, and its page of the queue, with one more on each side.

    It takes two statements. An entry that has left the queue keeps the place that it had.
    """
    actor.require("curate")
    place, total = _place_in(QueueFilters(**filters), actor, entry.pk)
    offset = max(0, place - place % limit - 1)
    rows = _read_rows(actor, QueueFilters(**filters), offset, limit + 2)
    return place, Page(rows, total, limit + 2, offset)


def read_following(actor: Actor, entry_id: int | None, *, limit: int, **filters: Any) -> list[tuple[int, bool]]:
    """Return the numbers in the filtered queue from the place of an entry on, or from the top; and which are free.

    An entry that has left the queue keeps the place that it had. Free is what no other curator is reviewing.
    """
    actor.require("curate")
    chosen, now = QueueFilters(**filters), timezone.now()
    at = _place_in(chosen, actor, entry_id)[0] if entry_id else 0
    with rls_bypass():  # As in `list_queue`.
        if chosen.is_usual:
            rows = _NUMBERS(*chosen.values(actor), at, (limit,))
        else:
            rows = list(_numbers(chosen, chosen.reader_of(actor))[at : at + limit])
    return [(number, until is None or until <= now or by == actor.user.pk) for number, by, until in rows]


def _read_rows(actor: Actor, filters: QueueFilters, offset: int, limit: int) -> list[QueueItem]:
    with rls_bypass():  # As in `list_queue`.
        if filters.is_usual:
            entries = _ROWS(*filters.values(actor), offset, (limit,))
        else:
            entries = list(_lines(filters, filters.reader_of(actor))[offset : offset + limit])
    return [_item(actor, one, filters.why) for one in entries]


def _lines(filters: QueueFilters, reader: UUID | None) -> CompanyEntryQuerySet:
    """Return the queue as pages list it: beside who reviews it, a line names its proposer and nobody else."""
    entries = filters.select(reader).select_related(None).select_related("proposed_by")
    return _with_company(entries, filters.order).only(*_OF_LINES)


_OF_LINES = (
    *("revision", "title", "category", "importance", "project", "warnings", "status", "created_at", "review_after"),
    *(f"{person}__{name}" for person in ("proposed_by", "claim__by") for name in ("username", "display_name")),
    "claim__until",
)


def _usual(reader: UUID | None, category: str, proposer: str, project: str, form: tuple[Any, ...]) -> QueueFilters:
    why, risk, order = form
    return QueueFilters(why, category, proposer, project, risk=risk, order=order)


def _usual_rows(
    reader: UUID | None, category: str, proposer: str, project: str, form: tuple[Any, ...], at: int, limit: tuple[int]
) -> CompanyEntryQuerySet:
    return _lines(_usual(reader, category, proposer, project, form), reader)[at : at + limit[0]]


def _numbers(filters: QueueFilters, reader: UUID | None) -> "QuerySet[Any, Any]":
    entries = filters.select(reader).select_related(None).order_by(*_ORDERS[filters.order])
    return entries.values_list("pk", "claim__by", "claim__until")


def _usual_numbers(
    reader: UUID | None, category: str, proposer: str, project: str, form: tuple[Any, ...], at: int, limit: tuple[int]
) -> "QuerySet[Any, Any]":
    return _numbers(_usual(reader, category, proposer, project, form), reader)[at : at + limit[0]]


def _usual_total(category: str, proposer: str, project: str, form: tuple[Any, ...]) -> "QuerySet[Any, Any]":
    entries = _usual(None, category, proposer, project, form).select(None).select_related(None).order_by()
    return entries.values(of=Value(1)).annotate(number=Count("pk")).values_list("number")


# What the SQL depends on comes in a tuple, which `FixedQuery` takes as part of the form; other values are parameters.
_ROWS, _NUMBERS, _TOTAL = FixedQuery(_usual_rows), FixedQuery(_usual_numbers), FixedQuery(_usual_total)


def _place_in(filters: QueueFilters, actor: Actor, entry_id: int) -> tuple[int, int]:
    """Return how many entries of the queue precede one, and how many there are."""
    reader, order = filters.reader_of(actor), filters.order
    one, its = _OWN_KEYS.statement(reader, entry_id, (order,))
    if filters.is_usual:
        usual, parameters = _USUAL_KEYS.statement(*filters.values(actor))
        sql: str = _place_statement(usual, one, order, len(parameters))
    else:
        queue, parameters = _keys(filters.select(reader), order).query.sql_with_params()
        sql = _place_sql(queue, one, order)
    with rls_bypass(), connection.cursor() as cursor:  # What is reported is known by others' complaints.
        cursor.execute(sql, (*parameters, *its))
        place, total = cursor.fetchone()
    return place, total


@cache
def _place_statement(queue: Repeated, one: Repeated, order: str, behind: int) -> Repeated:
    # The parameters of `one` stand behind all those of the queue, which its statement did not know of.
    return Repeated(_place_sql(queue, one, order), (*queue.changing, *(behind + place for place in one.changing)))


def _place_sql(queue: str, one: str, order: str) -> str:
    return _PLACED.format(waiting=queue, one=one, compared=_COMPARED[order], named=", ".join(_columns_of(order)))


def _columns_of(order: str) -> list[str]:
    return [name.lstrip("-") for name in _ORDERS[order]]


def _keys(entries: CompanyEntryQuerySet, order: str) -> "QuerySet[Any, Any]":
    """Return what orders the entries."""
    return entries.order_by().values_list(*_columns_of(order))


def _usual_keys(
    reader: UUID | None, category: str, proposer: str, project: str, form: tuple[Any, ...]
) -> "QuerySet[Any, Any]":
    filters = _usual(reader, category, proposer, project, form)
    return _keys(filters.select(reader), filters.order)


def _own_keys(reader: UUID | None, entry_id: int, order: tuple[str]) -> "QuerySet[Any, Any]":
    itself = CompanyEntry.objects.filter(pk=entry_id)
    return _keys(_with_risk(reader, itself) if order[0] == "risk" else itself, order[0])


_USUAL_KEYS, _OWN_KEYS = FixedQuery(_usual_keys), FixedQuery(_own_keys)


def counting(*, every_reason: bool = False, now: datetime | None = None, today: date | None = None) -> dict[str, Any]:
    """Return the counts of the queue as parts of a query, for `counts_in`; the asker must see all complaints.

    These figures are on every page of a curator, which asks for them together with what else its navigation shows.

    Args:
        every_reason: Also what is overlapping, unused or due.
        now: When that is counted, where the query is kept for later.
        today: The same, as the day of the one who asks.
    """
    sql, parameters = _counting()
    # Ours, and compiled by the ORM.
    counted: dict[str, Any] = {"queue": RawSQL(f"({sql})", parameters, output_field=JSONField())}  # noqa: S611
    if not every_reason:
        return counted
    return counted | {f"queue_{why}": _number_of(waiting(why, now=now, today=today)) for why in WHYS[2:]}


def counts_in(row: Mapping[str, Any]) -> "WaitingCounts | QueueSummary":
    """Return the counts that a row of such a query has."""
    oldest = row["queue"]["oldest"]
    counts = WaitingCounts(**row["queue"] | {"oldest": oldest and parse_datetime(oldest)})
    others = {why: row[f"queue_{why}"] for why in WHYS[2:] if f"queue_{why}" in row}
    return QueueSummary(**asdict(counts), **others) if others else counts


@cache
def _counting() -> tuple[str, tuple[Any, ...]]:
    """Return that statement. It is compiled once, because that takes longer than counting does."""
    complaints = open_complaints(Kind.COMPANY).annotate(number=Cast("source_id", IntegerField())).order_by()
    complained, about = complaints.values("number").query.sql_with_params()
    drifting, drifts = open_drifts().order_by().values("pk").query.sql_with_params()
    sql = _COUNTED.format(complained=complained, drifting=drifting)
    return sql, (Status.APPROVED.value, *about, *drifts, Status.PENDING.value)


def queue_summary() -> QueueSummary:
    """Count the queue by every reason, where no page asks."""
    with rls_bypass():
        row = User.objects.values(**counting(every_reason=True)).first()
    return counts_in(row) if row else QueueSummary(0, 0, None, 0, 0, 0, 0)


def _number_of(entries: CompanyEntryQuerySet) -> Coalesce:
    counted = entries.order_by().values(of=Value(1)).annotate(count=Count("pk")).values("count")
    return Coalesce(Subquery(counted), 0)


def waiting(why: str, *, now: datetime | None = None, today: date | None = None) -> CompanyEntryQuerySet:
    """Return the entries that are in the queue for one reason, with the users they refer to; now, or at a moment.

    Who asks for those that were reported must see all complaints.
    """
    entries = CompanyEntry.objects.select_related("proposed_by", "owner", "decided_by", "agent", "endorsed_by")
    if why == "proposed":
        return entries.filter(status=Status.PENDING)
    if why in {"reported", NOW}:
        # Start from the complaints, which are few: the other way round would scan all entries.
        numbers = open_complaints(Kind.COMPANY).annotate(number=Cast("source_id", IntegerField())).order_by()
        reported = Q(pk__any_of=ArraySubquery(numbers.values("number")))
        if why == NOW:
            return entries.own().filter(Q(status=Status.PENDING) | (Q(status=Status.APPROVED) & reported))
        return entries.own().approved().filter(reported)
    if why == "due":
        return entries.due(today)
    listed = list_overlapping() if why == "overlapping" else list_unused(now)
    return entries.filter(pk__in=listed.values("pk"))


# From the complaints to their entries, by an array: the complaints are few, and the entries may be many.
_COUNTED = """
SELECT jsonb_build_object('proposed', count(*), 'oldest', min(created_at),
    'reported', (SELECT count(*) FROM knowledge_companyentry
     WHERE status = %s AND NOT is_copy AND id = ANY(ARRAY({complained}))),
    'drifts', (SELECT count(*) FROM ({drifting}) AS drifting))
FROM knowledge_companyentry WHERE status = %s
"""
_ORDERS = {
    "risk": ("own", "-danger", "-importance", "created_at", "pk"),
    "importance": ("-importance", "created_at", "pk"),
    "oldest": ("created_at", "pk"),
    "newest": ("-created_at", "-pk"),
}
# The ORM would repeat in each comparison what makes a column, and take longer to say it than PostgreSQL to count.
_PLACED = """
SELECT count(*) FILTER (WHERE {compared}), count(*)
FROM ({waiting}) AS waiting ({named}), ({one}) AS one ({named})
"""
# Rows are compared column by column, so that what is ordered downwards has its two sides exchanged.
_COMPARED = {
    "risk": "(waiting.own, one.danger, one.importance, waiting.created_at, waiting.pk)"
    " < (one.own, waiting.danger, waiting.importance, one.created_at, one.pk)",
    "importance": "(one.importance, waiting.created_at, waiting.pk) < (waiting.importance, one.created_at, one.pk)",
    "oldest": "(waiting.created_at, waiting.pk) < (one.created_at, one.pk)",
    "newest": "(waiting.created_at, waiting.pk) > (one.created_at, one.pk)",
}


def _with_risk(reader: UUID | None, entries: CompanyEntryQuerySet) -> CompanyEntryQuerySet:
    """Add what orders entries by risk: what looks like an attack, then what others contradict; a reader's own last."""
    disputed = open_pairs().exclude(hints=[])
    in_dispute = disputed.values("entry_id").union(disputed.values("other_id"), all=True)
    own = Case(When(proposed_by=reader, then=1), default=0) if reader else Value(0)
    danger = Case(When(~Q(warnings=[]), then=2), When(pk__in=in_dispute, then=1), default=0)
    return entries.annotate(own=own, danger=danger)


def _with_company(entries: CompanyEntryQuerySet, order: str) -> CompanyEntryQuerySet:
    """Put entries in order, and add to each who claimed it, who complained since when, its overlaps and comments."""
    about = open_complaints(Kind.COMPANY).filter(source_id=Cast(OuterRef("pk"), TextField())).order_by()
    complained = about.values("source_id").annotate(told=JSONObject(number=Count("pk"), first=Min("created_at")))
    commented = Comment.objects.filter(entry=OuterRef("pk")).order_by().values("entry").annotate(number=Count("pk"))
    return (
        with_relations(entries)
        .select_related("claim__by")
        .annotate(
            complained=Subquery(complained.values("told")),
            commented=Coalesce(Subquery(commented.values("number")), 0),
        )
        .order_by(*_ORDERS[order])
    )


def _item(actor: Actor, entry: Any, why: str) -> QueueItem:
    complained = entry.complained or {"number": 0, "first": ""}
    if why == NOW:
        why = "proposed" if entry.status == Status.PENDING else "reported"
    relations = [*(["contradiction"] if entry.is_disputed else []), *(["duplicate"] if entry.is_repeated else [])]
    return QueueItem(
        entry,
        why,
        complained["number"],
        claimer_of(entry),
        parse_datetime(complained["first"]) if complained["first"] else None,
        comments=entry.commented,
        relations=tuple(relations),
        is_own=entry.proposed_by_id == actor.user.pk and waits_for_others(actor, entry),
    )
