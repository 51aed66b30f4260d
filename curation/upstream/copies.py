"""Copies of what the company server has approved, kept here so that agents have it when the server is unreachable."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from django.conf import settings
from django.db import transaction
from django.db.models import CharField, F, Value
from django.db.models.functions import Cast, Concat
from django.utils import timezone
from pydantic import ValidationError

from accounts.actor import Actor
from accounts.models import User
from bigmind.database.advisory_locks import AdvisoryLock, wait_for_turn
from bigmind.database.change_notifications import Change, tell_of_change
from bigmind.database.columns import ColumnCopy
from bigmind.text.hygiene import digest
from curation.decisions.history import record
from curation.models import Action
from curation.shapes.upstream import UpstreamEntry
from knowledge.kb.company import index_company_entry
from knowledge.models import CompanyCopy, CompanyEntry, CompanyServer, Kind, Status
from knowledge.search.passages import Indexed, erase_passages, index_new

BATCH = 500
_ELSEWHERE = "It is of the company server: the copy keeps the name beside it."
_DECIDED = "It is decided on the company server."
COLUMNS = ColumnCopy(
    "the copies of what the company server approved",
    CompanyEntry,
    {
        "id": "It has a number of its own here; the copy keeps that of the server.",
        "digest": "It is set last, when an own entry with the same text is superseded.",
        "warnings": _DECIDED,
        "signs": "They follow from the text.",
        "anchor_checks": "The company server has its repositories checked.",
        "status": "Copies are approved.",
        "revision": "It is set with the copy.",
        "proposed_by": _ELSEWHERE,
        "agent": _ELSEWHERE,
        "source_session": "The company server does not tell it.",
        "source_kind": "The company server does not tell it.",
        "source_id": "The company server does not tell it.",
        "owner": _ELSEWHERE,
        "endorsed_by": _DECIDED,
        "decided_by": _ELSEWHERE,
        "decision_notes": _DECIDED,
        "told_at": "No one here proposed it.",
        "is_copy": "All of them are.",
        "superseded_by": "What is superseded there is removed here.",
        "created_at": "It is set with the copy.",
        "updated_at": "It is when the copy was changed last.",
    },
)
"""The fields that a copy takes over unchanged. People are not among them: they have no account on this instance."""


@dataclass(frozen=True)
class Kept:
    """How many copies one synchronization added, changed, removed, or could not read."""

    added: int = 0
    changed: int = 0
    removed: int = 0
    unreadable: int = 0


def read_entries(items: Iterable[dict[str, object]]) -> tuple[list[UpstreamEntry], int]:
    """Validate the entries of the company server; return the valid ones, and the number of the others.

    The second of two entries with the same id or text counts as unreadable: a digest is unique among approved entries.
    """
    entries: dict[int, UpstreamEntry] = {}
    digests: set[str] = set()
    unreadable = 0
    for item in items:
        try:
            entry = UpstreamEntry.model_validate(item)
        except ValidationError:
            unreadable += 1
            continue
        text = digest(entry.content)
        if entry.id in entries or text in digests:
            unreadable += 1
        else:
            entries[entry.id] = entry
            digests.add(text)
    return list(entries.values()), unreadable


@transaction.atomic
def keep_copies(server: CompanyServer, entries: Sequence[UpstreamEntry], *, unreadable: int = 0) -> Kept:
    """Make the copies equal to what the company server has approved now. Returns what changed.

    An entry that was approved here with the same text is superseded by the copy.
    """
    wait_for_turn(AdvisoryLock.UPSTREAM_COPIES, server.pk)
    known = {copy.upstream_id: copy for copy in server.copies.select_related("entry")}
    by_id = {entry.id: entry for entry in entries}
    removed = _remove([copy.entry_id for number, copy in known.items() if number not in by_id])
    new = [entry for entry in entries if entry.id not in known]
    changed = [entry for entry in entries if entry.id in known and _differs(known[entry.id], entry)]
    # After the removals, before anything is written: each text that is given up is free by then.
    rows = [known[entry.id].entry for entry in changed]
    _make_room(rows)
    made = [_write_copy(CompanyEntry(is_copy=True, status=Status.APPROVED), entry) for entry in new]
    CompanyEntry.objects.bulk_create(made)
    CompanyCopy.objects.bulk_create(_copy(row, server, entry) for row, entry in zip(made, new, strict=True))
    for row, entry in zip(rows, changed, strict=True):
        _write_copy(row, entry).save()
        _copy(row, server, entry).save()
    _settle(server, [*zip(made, new, strict=True), *zip(rows, changed, strict=True)])
    # New ones together, because a first synchronization brings all that the company knows.
    index_new(Kind.COMPANY, [Indexed(row.pk, row.text, row.project) for row in made], owner=None)
    for row in rows:
        index_company_entry(row)
    if new or changed or removed:
        tell_of_change(Change())
    return Kept(len(new), len(changed), removed, unreadable)


@transaction.atomic
def forget_other_servers() -> int:
    """Delete the copies of company servers that are no longer configured; return how many entries were deleted."""
    others = CompanyServer.objects.exclude(url=settings.COMPANY_URL)
    # Without its mark, everything is read again if the server is configured once more.
    others.exclude(mark="").update(mark="", read_at=None)
    return _remove(list(CompanyCopy.objects.filter(server__in=others).values_list("entry_id", flat=True)))


def _remove(numbers: list[int]) -> int:
    """Delete copies completely: the company may have withdrawn a text for a reason, so laptops must not keep it."""
    if numbers:
        erase_passages(Kind.COMPANY, numbers)
    CompanyEntry.objects.filter(pk__in=numbers, is_copy=True).delete()
    return len(numbers)


def _differs(copy: CompanyCopy, entry: UpstreamEntry) -> bool:
    return copy.upstream_revision != entry.revision or copy.entry.digest != digest(entry.content)


def _make_room(rows: Sequence[CompanyEntry]) -> None:
    """Free the digests of entries that change: digests are unique, and one may take the text that another gives up."""
    aside = Concat(Value("copy:"), Cast(F("pk"), CharField()))
    CompanyEntry.objects.filter(pk__in=[row.pk for row in rows]).update(digest=aside)


def _write_copy(row: CompanyEntry, entry: UpstreamEntry) -> CompanyEntry:
    for name in COLUMNS.names():
        setattr(row, name, getattr(entry, name))
    row.revision, row.created_at = entry.revision, entry.created_at
    row.digest = f"upstream:{entry.id}"  # a placeholder until an own entry with the same text is superseded
    return row


def _copy(row: CompanyEntry, server: CompanyServer, entry: UpstreamEntry) -> CompanyCopy:
    return CompanyCopy(
        entry=row,
        server=server,
        upstream_id=entry.id,
        upstream_revision=entry.revision,
        proposed_by=entry.proposed_by,
        owner=entry.owner,
        decided_by=entry.decided_by,
    )


def _settle(server: CompanyServer, written: list[tuple[CompanyEntry, UpstreamEntry]]) -> None:
    """Supersede own entries that have the same text as a copy, then give each copy its digest."""
    by_digest = {digest(entry.content): (row, entry) for row, entry in written}
    for twin in CompanyEntry.objects.own().approved().filter(digest__in=by_digest).order_by("pk").select_for_update():
        row, entry = by_digest[twin.digest]
        _give_way(twin, row, f"{server.host} approved it as C{entry.id}.")
    for text, (row, _) in by_digest.items():
        row.digest = text
    CompanyEntry.objects.bulk_update([row for row, _ in written], ["digest"], batch_size=BATCH)


def _give_way(twin: CompanyEntry, copy: CompanyEntry, why: str) -> None:
    person = twin.proposed_by or User.objects.filter(is_active=True).order_by("created_at").first()
    if person is None:
        return
    changes = {
        "status": Status.SUPERSEDED,
        "superseded_by_id": copy.pk,
        "decided_by_id": person.pk,
        "decided_at": timezone.now(),
        "decision_notes": why,
    }
    record(Actor.of(person), twin, Action.SUPERSEDE, notes=why, changes=changes)
