"""Quarantine: company knowledge whose source is not trusted any more waits for a curator, and is told to nobody."""

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
    """Return the numbers of those that every agent hears now."""
    return list(entries.filter(status=Status.APPROVED).order_by("pk").values_list("pk", flat=True))


def quarantine(actor: Actor, numbers: Iterable[int]) -> None:
    """Let approved entries wait again. The history stays, with one step more; searches and start contexts drop them."""
    told = list(numbers)
    if not told:
        return
    wait_for_pairs()
    for number in told:
        entry = entry_to_change(number)
        record(actor, entry, Action.REOPEN, notes=REOPENED, changes=WAITING)
    take_words_back(told)


def tell_owners(heard: Heard) -> None:
    """Tell whose sessions have ended that they were told something which was recalled: one line for each thing."""
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
