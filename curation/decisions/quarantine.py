"""Quarantine: company knowledge whose source is no longer trusted leaves agents' contexts until a curator decides."""

from collections.abc import Iterable

from django.db.models import QuerySet

from accounts.actor import Actor
from accounts.models import User
from curation.models import Action, Notice
from curation.notifications.notices import take_words_back
from knowledge.models import CompanyEntry, Kind, Status
from knowledge.services.withdrawals import Heard, handle_of

from .decisions import wait_for_pairs
from .history import WAITING, entry_to_change, record

REOPENED = "What wrote this is not trusted any more: it waits for a curator again."
WHY = "what wrote it is not trusted any more."


def ids_of_approved(entries: QuerySet[CompanyEntry]) -> list[int]:
    """Return the numbers of the entries that are approved, and so reach every agent."""
    return list(entries.filter(status=Status.APPROVED).order_by("pk").values_list("pk", flat=True))


def quarantine(actor: Actor, numbers: Iterable[int]) -> None:
    """Put approved entries back into the queue. Searches and start contexts drop them; the history gains one step."""
    approved = list(numbers)
    if not approved:
        return
    wait_for_pairs()
    for number in approved:
        entry = entry_to_change(number)
        record(actor, entry, Action.REOPEN, notes=REOPENED, changes=WAITING)
    take_words_back(approved)


def tell_owners(heard: Heard) -> None:
    """Notify people whose ended sessions received a withdrawn entry: one notice for each person and entry.

    Open sessions are not counted here: their agents hear it at the next call.
    """
    shared = {(person, one): count for (person, one), count in heard.by_person.items() if one.kind == Kind.COMPANY}
    known = set(User.objects.filter(pk__in={person for person, _ in shared}).values_list("pk", flat=True))
    Notice.objects.bulk_create(
        Notice(user_id=person, entry_id=int(one.source_id), text=_line(handle_of(*one), count))
        for (person, one), count in sorted(shared.items(), key=lambda row: (str(row[0][0]), int(row[0][1].source_id)))
        if person in known
    )


def _line(handle: str, count: int) -> str:
    one, more = "A session of yours that has ended was", f"{count:,} sessions of yours that have ended were"
    sessions = one if count == 1 else more
    return f"{sessions} told [{handle}], which was recalled: {WHY} Look at what was based on it."
