"""The level of an entry's triggers: each step is a curator's decision, recorded with the counts."""

from django.db import transaction

from accounts.actor import Actor
from accounts.services.usage import may_be_shown_to_all
from bigmind.core.errors import Conflict
from curation.argument_types import CompanyEntryId, Notes, Revision
from curation.decisions.history import entry_to_change, record
from curation.decisions.who_may_decide import require_may_approve
from curation.models import Action, Review
from knowledge.argument_types import TriggerLevelName
from knowledge.memory.trigger_levels import level_of
from knowledge.memory.who_sees_firings import count_firings
from knowledge.models import CompanyEntry, Kind, TriggerLevel

_ORDER = list(TriggerLevel)


@transaction.atomic
def set_trigger_level(
    actor: Actor,
    *,
    entry_id: CompanyEntryId,
    level: TriggerLevelName,
    revision: Revision,
    notes: Notes = "",
) -> Review:
    """Set the level of an approved entry's triggers, as a curator.

    The returned step of the history says how often they had fired by then. Hooks get it within minutes. It can be
    undone.

    Raises:
        Conflict: it is not approved, has no triggers, or changed since `revision`.
        Forbidden: it is the curator's own entry, and the step holds agents back more than before.
    """
    actor.require("curate")
    entry = entry_to_change(entry_id, revision=revision)
    if not (entry.is_approved and entry.triggers):
        raise Conflict(f"{entry.handle} has no triggers that are approved.", hint="Edit it: there they are added.")
    target = TriggerLevel(level)
    # Lowering a level needs no second person: it only lets agents go on.
    if _ORDER.index(target) > _ORDER.index(level_of(entry.trigger_levels)):
        require_may_approve(actor, entry)
    text = f"For everyone: {target.label.lower()}. {_say_counted(actor, entry)} {notes}".strip()
    return record(actor, entry, Action.SET_LEVEL, notes=text, changes={"trigger_levels": {"": str(target)}})


def _say_counted(actor: Actor, entry: CompanyEntry) -> str:
    counted = [one for one in count_firings(actor, Kind.COMPANY, entry.pk) if may_be_shown_to_all(one.people)]
    if not counted:
        return "Nothing is counted of it yet."
    times, brought = sum(one.count for one in counted), sum(one.brought for one in counted)
    return f"They had fired {times:,} time{'' if times == 1 else 's'}, and were told {brought:,} times."
