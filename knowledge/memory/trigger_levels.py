"""The levels of triggers: for a person's own facts as the person wants, for shared entries as a curator decided."""

from django.db import transaction

from accounts.actor import Actor
from bigmind.core.errors import Conflict, Forbidden
from bigmind.privacy.screening.policy import add_notice
from knowledge.anchors.grammar import Anchors
from knowledge.argument_types import EntryId, FactId, TriggerLevelName, Triggers
from knowledge.kb.entry_reading import entry_of_id
from knowledge.models import Entry, Fact, TriggerLevel

from .facts import own_fact


def level_of(levels: dict[str, str]) -> TriggerLevel:
    """Return the level that was decided for the triggers of an entry; else they only count."""
    decided = levels.get("")
    return TriggerLevel(decided) if decided in TriggerLevel.values else TriggerLevel.SHADOW


def level_brought(actor: Actor, level: str) -> TriggerLevel:
    """Return the level at which triggers of a fact start that are imported at another one.

    An agent that may not decide a level does not decide it by an import either.
    """
    if not actor.is_person and level != TriggerLevel.ADVISE:
        add_notice(f"Imported triggers at `{level}` start at `advise`: only the user decides how far triggers go.")
        return TriggerLevel.ADVISE
    return TriggerLevel(level)


@transaction.atomic
def set_fact_triggers(
    actor: Actor,
    *,
    fact_id: FactId,
    triggers: Triggers | None = None,
    anchors: Anchors | None = None,
    level: TriggerLevelName | None = None,
) -> Fact:
    """Set the acts before which hooks show this user's agents a fact (`triggers`), and the code it rests on.

    Call this to keep agents from a mistake, or when a fact is about code that may change: `bigmind verify` checks its
    `anchors`. Each list replaces the previous one; new triggers start at `advise`. Only the user sets `level`, on the
    page of the fact. Returns the fact.
    """
    fact = own_fact(actor, fact_id)
    if not actor.is_person and level is not None:
        raise Forbidden("Only the user decides how far triggers go.", hint="They can on the page of the fact.")
    if triggers is not None and triggers != fact.triggers:
        fact.triggers, fact.trigger_level = triggers, TriggerLevel.ADVISE
    if level is not None:
        if not fact.triggers:
            raise Conflict(f"Fact {fact.number} has no triggers.", hint="Send triggers as well.")
        fact.trigger_level = TriggerLevel(level)
    fact.anchors = fact.anchors if anchors is None else anchors
    fact.save(update_fields=["triggers", "trigger_level", "anchors", "updated_at"])
    return fact


@transaction.atomic
def set_entry_trigger_level(actor: Actor, *, id: EntryId, level: TriggerLevelName) -> Entry:
    """Decide how far the triggers of an entry of the knowledge base go, as a curator.

    Raises:
        Conflict: it has none.
        Forbidden: it would hold agents back, and nobody has reviewed what it says.
    """
    actor.require("curate")
    entry = entry_of_id(id, lock=True)
    if not entry.triggers:
        raise Conflict("This entry has no triggers.", hint="Edit it: there they are added.")
    if level in {TriggerLevel.ASK, TriggerLevel.BLOCK}:
        raise Forbidden(
            "This entry may only advise: nobody has reviewed it.", hint="Propose it as company knowledge first."
        )
    entry.trigger_levels = {"": level}
    entry.save(update_fields=["trigger_levels", "updated_at"])
    return entry
