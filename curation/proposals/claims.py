"""Claims: a curator reserves the entry that they review, so that another one takes the next."""

from datetime import datetime

from django.db import connection, transaction
from django.utils import timezone

from accounts.actor import Actor
from accounts.models import User
from bigmind.core.errors import Conflict
from curation.argument_types import CompanyEntryId
from curation.decisions.history import entry_to_change, require_own
from curation.decisions.who_may_decide import waits_for_others
from curation.models import CLAIM_LASTS, Claim
from knowledge.models import CompanyEntry

# One statement, because every page of an entry does it. Without the entry, which may just have been deleted, no claim.
_CLAIMING = """
INSERT INTO curation_claim (entry_id, by_id, until)
SELECT id, %(by)s, %(until)s FROM knowledge_companyentry WHERE id = %(entry)s FOR KEY SHARE
ON CONFLICT (entry_id) DO UPDATE SET by_id = EXCLUDED.by_id, until = EXCLUDED.until
WHERE NOT (curation_claim.until > %(now)s AND curation_claim.until <= EXCLUDED.until)
    OR curation_claim.by_id = EXCLUDED.by_id
RETURNING until
"""
_RELEASING = """
WITH released AS (DELETE FROM curation_claim WHERE by_id = %(by)s AND entry_id <> %(entry)s)
"""


def claimer_of(entry: CompanyEntry) -> User | None:
    """Return who is looking at an entry that was read with its claim."""
    claim: Claim | None = getattr(entry, "claim", None)
    return claim.by if claim and claim.is_current else None


@transaction.atomic
def claim_entry(actor: Actor, *, entry_id: CompanyEntryId) -> Claim:
    """Reserve an entry for ten minutes, so that another curator takes the next one.

    Call this when a curator opens it. Returns the claim, which is someone else's if they were first. You cannot claim
    your own proposal: another curator reviews it.
    """
    actor.require("curate")
    entry = entry_to_change(entry_id)
    if waits_for_others(actor, entry):
        raise Conflict(f"You proposed {entry.handle} yourself.", hint="Another curator reviews it.", entry_id=entry.pk)
    return _claim(actor, entry)


def look_at(actor: Actor, *, entry: CompanyEntry) -> Claim | None:
    """Claim an entry, read with its claim, and release the actor's other claims: one entry is reviewed at a time.

    Returns the claim on the entry, if any: curators do not claim their own proposals, which others must review.
    """
    actor.require("curate")
    known: Claim | None = getattr(entry, "claim", None)
    theirs = known if known and known.is_current and known.by_id != actor.user.pk else None
    if waits_for_others(actor, entry):
        Claim.objects.filter(by=actor.user).delete()
        return theirs
    require_own(entry)
    return _claim(actor, entry, releases_others=True, known=theirs)


def release_entry(actor: Actor, *, entry_id: CompanyEntryId, until: datetime | None = None) -> None:
    """Release the actor's claim on an entry, so that other curators see it is free.

    Args:
        until: The expiry of the claim to release. A page that closes late must not release a newer claim.
    """
    claims = Claim.objects.filter(entry_id=entry_id, by=actor.user)
    (claims if until is None else claims.filter(until=until)).delete()


def _claim(actor: Actor, entry: CompanyEntry, *, releases_others: bool = False, known: Claim | None = None) -> Claim:
    """Claim an entry, unless someone else has; return the claim that holds. `known`: one that held a moment ago."""
    now = timezone.now()
    until = now + CLAIM_LASTS
    sql = f"{_RELEASING}{_CLAIMING}" if releases_others else _CLAIMING
    with connection.cursor() as cursor:
        cursor.execute(sql, {"by": actor.user.pk, "until": until, "entry": entry.pk, "now": now})
        is_mine = cursor.fetchone() is not None
    theirs = None if is_mine else known or Claim.objects.select_related("by").filter(entry=entry).first()
    return theirs or Claim(entry=entry, by=actor.user, until=until)
