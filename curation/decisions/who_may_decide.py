"""Who may decide, by mode: the user alone (personal), any curator but the proposer (team), two of them (enterprise).

Who is a curator is a matter of scopes: `accounts/roles.py` says which role has which.
"""

from collections.abc import Sequence

from django.conf import settings

from accounts.actor import Actor
from bigmind.core.errors import Forbidden
from curation.models import Review
from knowledge.models import CompanyEntry

FOUR_EYES_FROM = 8
"""In enterprise mode, an entry of this importance or more is approved by two people."""


def is_personal() -> bool:
    """Whether this is personal mode: one user, who decides alone."""
    return bool(settings.BIGMIND_MODE == "personal")


def may_decide(actor: Actor) -> bool:
    """Whether the actor is a curator."""
    return "curate" in actor.scopes


def require_may_approve(actor: Actor, entry: CompanyEntry) -> None:
    """Refuse to let a curator approve their own proposal, except in personal mode.

    Raises:
        Forbidden: it is the actor's own, and this is a team or an enterprise.
    """
    actor.require("curate")
    if is_own(actor, entry):
        raise Forbidden("You proposed this yourself.", hint="Another curator has to approve it.")


def waits_for_others(actor: Actor, entry: CompanyEntry) -> bool:
    """Whether the entry is the actor's own proposal, which another curator has to review."""
    return entry.is_undecided and is_own(actor, entry)


def needs_second_approval(
    actor: Actor, entry: CompanyEntry, *, importance: int, history: Sequence[Review] | None = None
) -> bool:
    """Whether the entry needs the approval of one more person. `history`: its steps, where they were read already."""
    is_first = entry.endorsed_by_id is None or entry.endorsed_by_id == actor.user.pk
    return is_first and needs_four_eyes(entry, importance=importance, history=history)


def needs_four_eyes(entry: CompanyEntry, *, importance: int, history: Sequence[Review] | None = None) -> bool:
    """Whether two people have to agree to this entry with this importance.

    The highest importance that the entry ever had counts, so that lowering it before approval is no way around.
    """
    if settings.BIGMIND_MODE != "enterprise":
        return False
    if importance >= FOUR_EYES_FROM or history is None:
        return importance >= FOUR_EYES_FROM or entry.reviews.filter(after__importance__gte=FOUR_EYES_FROM).exists()
    return any(review.after.get("importance", 0) >= FOUR_EYES_FROM for review in history)


def is_own(actor: Actor, entry: CompanyEntry) -> bool:
    """Whether the actor proposed it, in a mode where others can decide."""
    return not is_personal() and entry.proposed_by_id == actor.user.pk
