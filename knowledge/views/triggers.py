"""What the pages of entries and facts share about triggers: their field, how far they go, and what they did."""

from collections.abc import Sequence
from typing import Any

from accounts.actor import Actor
from bigmind.core.translation import gettext_lazy
from bigmind.web.forms import Lines
from knowledge.memory.trigger_levels import level_of
from knowledge.memory.who_sees_firings import count_firings, list_own_firings

FIRINGS_SHOWN = 5
HINT = gettext_lazy(
    "Acts just before which hooks bring it, one a line: command: git push --force, path: db/migrations/*, "
    "tool: mcp__stripe__*, error: connection refused, prompt: deploy friday. “unless --dry-run” names an exception."
)


def triggers_field(rows: int = 2) -> Lines:
    """Return the field for the acts just before which hooks bring something."""
    return Lines(required=False, rows=rows, label=gettext_lazy("Triggers"), help_text=HINT)


def triggers_of(
    actor: Actor,
    kind: str,
    thing: Any,
    *,
    choices: Sequence[tuple[str, str]],
    holds: bool = True,
) -> dict[str, Any]:
    """Return what the page of a shared entry says about its triggers; nothing where it has none.

    Args:
        choices: The levels that the actor may choose.
        holds: Whether hooks receive the entry, which they are not of one that waits.
    """
    if not thing.triggers:
        return {}
    return {
        "counted": count_firings(actor, kind, thing.pk) if holds else [],
        "fired_for_me": list_own_firings(actor, kind=kind, source_id=thing.pk, limit=FIRINGS_SHOWN),
        "holds": holds,
        "level": level_of(thing.trigger_levels),
        "choices": choices if holds else (),
    }
