"""Company entries that were sent often and hardly ever cited: they come last in a start context."""

from collections.abc import Iterable, Sequence
from typing import Any, TypeVar

from django.conf import settings
from django.db.models import QuerySet

from accounts.services.usage import COLLEAGUES
from bigmind.database.fixed_queries import FixedQuery
from knowledge.models import Proof

Ranked = TypeVar("Ranked")
SESSIONS_ASKED = 20
PEOPLE_ASKED = 4 * COLLEAGUES
"""An entry that so many sessions of so many people received, of whom fewer than `CITING` named it when they said what
they used, comes last in the start context. Who proposed or owns it does not count. With fewer its place would tell
that one of them cited it; so that four who cite it are few, twelve must have received it. In personal mode one person,
the proposer, is enough for all of it."""
CITING = COLLEAGUES + 1
MOST_OF_ONE = -(-SESSIONS_ASKED // PEOPLE_ASKED)
"""Sessions of one person that count among these: else two others who say anything would be enough."""


def put_uncited_last(ranked: Sequence[Ranked], proofs: Sequence[Any]) -> list[Ranked]:
    """Return entries in their order, those sent often and hardly ever cited after all others; each has its proof."""
    behind = [bool(proof and proof.answered and comes_behind(proof)) for proof in proofs]
    return [ranked[at] for at in sorted(range(len(ranked)), key=behind.__getitem__)] if any(behind) else [*ranked]


def find_demoted(entry_ids: Iterable[int | None]) -> set[int]:
    """Return those of these entries that were shown often enough and hardly ever cited."""
    ids = [pk for pk in entry_ids if pk is not None]
    return {proof.entry_id for proof in _UNCITED(ids) if comes_behind(proof)} if ids else set()


_UNCITED = FixedQuery(lambda ids: Proof.objects.filter(pk__any_of=ids, cited=0))


def list_uncited() -> QuerySet[Proof, int]:
    """Return the numbers of all entries that were shown often enough and hardly ever cited."""
    people = 1 if is_personal() else PEOPLE_ASKED
    often = Proof.objects.filter(cited=0, answered__gte=SESSIONS_ASKED, people__gte=people)
    return often.values_list("entry_id", flat=True)


def comes_behind(proof: Any) -> bool:
    """Return whether hardly anyone cited an entry although enough sessions of enough people said what they used."""
    if proof is None:
        return False
    people = 1 if is_personal() else PEOPLE_ASKED
    return not proof.cited and proof.answered >= SESSIONS_ASKED and proof.people >= people


def is_personal() -> bool:
    """Whether this BigMind is that of one person, about whom no figure tells anybody anything."""
    return bool(settings.BIGMIND_MODE == "personal")
