"""The audit log, for admins: decisions about company knowledge, and changes to people and keys, in one list."""

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, replace
from datetime import date, datetime
from typing import Any
from uuid import UUID

from django.core.serializers.json import DjangoJSONEncoder
from django.db.models import BigIntegerField, CharField, F, Q, QuerySet, TextField, Value
from django.db.models.functions import Cast, Concat

from accounts.actor import Actor
from accounts.models import AuditEvent
from bigmind.core.translation import gettext_lazy
from bigmind.database.pagination import Page
from bigmind.text.csv_exports import csv_of
from curation.models import Review

from .audit_words import EVENT_KINDS, AuditSubject, say_decision, say_event, subjects_of

KINDS = {
    "decisions": "Company knowledge",
    "people": gettext_lazy("All but company knowledge"),
    **{kind: label for kind, (label, _) in EVENT_KINDS.items()},
}
LINES_SHOWN = 50
EXPORTED = 50_000
"""The most lines in one export, the newest first. Older lines are exported by their dates."""
_DECISION = "company_"


@dataclass(frozen=True)
class AuditLine:
    """One event. `by` and `about` are names while the person has an account; `by_id` stays when it is deleted.

    `sentence` says all of it in words.
    """

    at: datetime
    what: str
    by: str
    by_id: UUID | None
    about: str
    details: str
    number: int
    sentence: str = ""


@dataclass(frozen=True)
class AuditQuestion:
    """The filters of the log."""

    text: str = ""
    kind: str = ""
    person: str = ""
    since: date | None = None
    until: date | None = None


def read_audit_log(actor: Actor, question: AuditQuestion, *, offset: int = 0) -> Page[AuditLine]:
    """Return a page of the log, the newest first. For admins."""
    rows = _rows(actor, question)
    total = rows.count()
    return Page(_lines(rows[offset : offset + LINES_SHOWN]), total, LINES_SHOWN, offset)


def export_audit_log(actor: Actor, question: AuditQuestion, *, as_csv: bool) -> str:
    """Return the newest 50,000 lines that match, as JSON or CSV. For admins."""
    lines = _lines(_rows(actor, question)[:EXPORTED])
    rows = [asdict(line) for line in lines]
    if as_csv:
        return csv_of(AuditLine.__dataclass_fields__, rows)
    return DjangoJSONEncoder(indent=2, ensure_ascii=False).encode(rows)


def _rows(actor: Actor, question: AuditQuestion) -> "QuerySet[Any, Any]":
    actor.require("admin")
    parts = {"people": _events(question), "decisions": _decisions(question)}
    source = "people" if question.kind in EVENT_KINDS else question.kind
    chosen = [part for kind, part in parts.items() if source in ("", kind)]
    rows = chosen[0].union(*chosen[1:], all=True) if len(chosen) > 1 else chosen[0]
    return rows.order_by("-line_at", "-line_row")


def _events(question: AuditQuestion) -> "QuerySet[Any, Any]":
    rows = AuditEvent.objects.annotate(text=Cast("details", TextField()))
    if question.kind in EVENT_KINDS:
        rows = rows.filter(event__in=EVENT_KINDS[question.kind][1])
    if person := question.person.strip():
        named = Q(by_name__icontains=person) | Q(about_name__icontains=person)
        rows = rows.filter(named | _is_person(person, "by_id_kept", "about_id_kept"))
    for word in question.text.split():
        found = Q(event__icontains=word) | Q(by_name__icontains=word) | Q(about_name__icontains=word)
        rows = rows.filter(found | Q(text__icontains=word) | _is_person(word, "by_id_kept", "about_id_kept"))
    return _as_lines(_between(rows, "at", question), "at", "event", "about_name", "text", "number")


def _decisions(question: AuditQuestion) -> "QuerySet[Any, Any]":
    rows = Review.objects.annotate(
        event=Concat(Value(_DECISION), "action", output_field=CharField()),
        handle=Concat(Value("C"), Cast("entry_id", CharField()), output_field=CharField()),
    )
    if person := question.person.strip():
        rows = rows.filter(Q(by_name__icontains=person) | _is_person(person, "by_id_kept"))
    for word in question.text.split():
        found = Q(event__icontains=word) | Q(by_name__icontains=word) | Q(handle__iexact=word)
        rows = rows.filter(found | Q(notes__icontains=word) | _is_person(word, "by_id_kept"))
    return _as_lines(_between(rows, "created_at", question), "created_at", "event", "handle", "notes", "number")


def _as_lines(rows: "QuerySet[Any, Any]", *fields: str) -> "QuerySet[Any, Any]":
    """Give rows of either table the same column names, so that a union can order and page them in the database."""
    when, what, about, text, row = (F(name) for name in fields)
    read = rows.order_by().annotate(
        line_at=when,
        line_what=Cast(what, TextField()),
        line_about=Cast(about, TextField()),
        line_text=Cast(text, TextField()),
        line_row=Cast(row, BigIntegerField()),
    )
    lines: QuerySet[Any, Any] = read.values_list(
        "line_at", "line_what", "by_name", "by_id_kept", "line_about", "line_text", "line_row"
    )
    return lines


def _between(rows: "QuerySet[Any, Any]", field: str, question: AuditQuestion) -> "QuerySet[Any, Any]":
    rows = rows.filter(**{f"{field}__date__gte": question.since}) if question.since else rows
    return rows.filter(**{f"{field}__date__lte": question.until}) if question.until else rows


def _is_person(word: str, *fields: str) -> Q:
    try:
        person = UUID(word)
    except ValueError:
        return Q(pk__in=[])
    matches = Q()
    for name in fields:
        matches |= Q(**{name: person})
    return matches


def _lines(rows: Iterable[Any]) -> list[AuditLine]:
    """Return the lines with their sentences: two queries, however many lines."""
    lines = [AuditLine(*row) for row in rows]
    subjects = subjects_of({line.about for line in lines if line.what.startswith(_DECISION)})
    return [replace(line, sentence=_say(line, subjects)) for line in lines]


def _say(line: AuditLine, subjects: Mapping[str, AuditSubject]) -> str:
    if line.what.startswith(_DECISION):
        return say_decision(line.what.removeprefix(_DECISION), by=line.by, handle=line.about, subjects=subjects)
    return say_event(line.what, by=line.by, by_id=line.by_id, about=line.about, details=line.details)
