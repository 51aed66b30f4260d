"""Drift: a source changed a text that a person had edited; a person decides which text is kept."""

from dataclasses import dataclass
from typing import Annotated, Any, Literal

from django.db import transaction
from django.db.models import QuerySet
from django.utils import timezone
from pydantic import Field

from accounts.actor import Actor
from bigmind.core.errors import Conflict, NotFound
from bigmind.core.vocabulary import RowId
from knowledge.models import Reference, ReferenceDrift
from knowledge.references.imports import keep_versions, reindex, remove_references, require_documentarian
from knowledge.references.texts import Text, write_text
from knowledge.references.texts_by_hand import rewrite

DriftId = Annotated[RowId, Field(description="The number of the decision.")]
FIELD_LABELS = {
    "title": "Title",
    "name": "Name",
    "category": "Category",
    "subcategory": "Subcategory",
    "summary": "Summary",
    "content": "Text",
    "aliases": "Aliases",
    "keywords": "Keywords",
    "examples": "Examples",
    "related": "Related",
}
"""The parts of a text that people are shown, in the order in which they read them."""


@dataclass(frozen=True)
class Difference:
    """One part of a text that is different: as it was, and as it is."""

    label: str
    before: str
    after: str


def open_drifts() -> QuerySet[ReferenceDrift]:
    """Return what waits for a decision, the oldest first."""
    drifts = ReferenceDrift.objects.filter(decided_at=None, reference__removed_at=None)
    return drifts.select_related("reference__collection", "reference__edited_by").order_by("opened_at", "pk")


def see_drift(actor: Actor, *, drift_id: DriftId) -> ReferenceDrift:
    """Return what waits for a decision.

    Raises:
        NotFound: there is none.
    """
    require_documentarian(actor)
    drift = open_drifts().filter(pk=drift_id).first()
    if drift is None:
        raise NotFound(f"Nothing waits for a decision under {drift_id}.", hint="Somebody may have decided it.")
    return drift


@transaction.atomic
def decide_drift(
    actor: Actor, *, drift_id: DriftId, decision: Literal["mine", "new", "edited"], **correction: Any
) -> Reference:
    """Say which text stands: the person's (`mine`), the source's (`new`), or what is written now (`edited`).

    Raises:
        Conflict: it was decided meanwhile.
    """
    require_documentarian(actor)
    drift = ReferenceDrift.objects.select_for_update().filter(pk=drift_id).first()
    if drift is None:
        raise NotFound(f"Nothing waits for a decision under {drift_id}.")
    if drift.decided_at:
        raise Conflict("Somebody has decided this already.", hint="Read the reference to see what stands.")
    locked = Reference.objects.select_for_update(of=("self",)).select_related("collection")
    reference = locked.get(pk=drift.reference_id)
    if decision == "new":
        _take(actor, reference, drift)
    else:
        if decision == "edited":
            rewrite(actor, reference, correction, why="decision")
        _keep(reference, drift)
    drift.decision, drift.decided_at, drift.decided_by = decision, timezone.now(), actor.user
    drift.save(update_fields=["decision", "decided_at", "decided_by"])
    return reference


def differences(before: Text | None, after: Text | None) -> list[Difference]:
    """Return in which parts two texts differ."""
    pairs = {name: (text_part(before, name), text_part(after, name)) for name in FIELD_LABELS}
    return [Difference(FIELD_LABELS[name], *pair) for name, pair in pairs.items() if pair[0] != pair[1]]


def text_part(text: Text | None, name: str) -> str:
    """Return a part of a text as people read it."""
    value = (text or {}).get(name) or []
    if name == "examples":
        return "\n".join(f"{one.get('description', '')}\n{one.get('code', '')}".strip() for one in value)
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value)


def _keep(reference: Reference, drift: ReferenceDrift) -> None:
    """Keep the person's text, and record the source's text as known, so that it does not drift again."""
    reference.digest = drift.digest or reference.digest
    reference.generated = drift.now or reference.generated
    if drift.now is None:
        reference.origin = ""  # Its source has it no more; the next import is not to ask again.
    reference.save(update_fields=["digest", "generated", "origin"])


def _take(actor: Actor, reference: Reference, drift: ReferenceDrift) -> None:
    if drift.now is None:
        remove_references([reference], by=actor.user)
        return
    keep_versions([reference], why="decision", by=actor.user)
    write_text(reference, drift.now)
    reference.digest, reference.generated = drift.digest, None
    reference.edited_at = reference.edited_by = None
    reference.updated_at = timezone.now()
    reference.save()
    reindex([reference], reference.collection)
