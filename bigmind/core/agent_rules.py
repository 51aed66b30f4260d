"""The rules by which an agent uses its memory: what it reads of them is rendered here, for the state that holds.

Server instructions, prompts, files of instructions, hooks and the guide take their sentences from this module and its
template: two wordings of one rule would contradict each other sooner or later.
"""

from dataclasses import dataclass
from typing import Literal

from django.template.loader import render_to_string

Writing = Literal["automatic", "ask", "manual", "read_only"]

WRITING: dict[Writing, str] = {
    "automatic": "Store by yourself as things come up: do not wait to be asked.",
    "ask": "Ask the user before you store, in one sentence; store only what they agree to.",
    "manual": "Store only what the user tells you to.",
    "read_only": "This memory is read-only: read and search, store nothing.",
}
"""How memory is written, as an agent reads it."""
AWAY = "BigMind, the persistent memory, is away: it answers no call now. Tell the user once, and go on without it."


@dataclass(frozen=True)
class AgentRules:
    """The rules for one state.

    Attributes:
        has_hooks: Whether hooks open the session and bring the context; then nobody is asked to start.
        writing: How this user's memory is written; None in a file, which outlives the user's choice.
        is_started: Whether the session is open already and what is remembered stands beside the rules.
    """

    has_hooks: bool = False
    writing: Writing | None = None
    is_started: bool = False

    @property
    def writes(self) -> bool:
        """Whether an agent may store anything."""
        return self.writing != "read_only"

    @property
    def how_to_write(self) -> str:
        """The sentence about how memory is written."""
        return WRITING[self.writing] if self.writing else ""

    def __str__(self) -> str:
        """Return the rules, one a line."""
        return render_to_string("agent/rules.md", {"rules": self}, using="agent").strip()


def introduce(rules: AgentRules) -> str:
    """Return the rules as an agent reads them before anything else: in a file, or when it connects."""
    return render_to_string("agent/greetings/core.md", {"rules": str(rules)}, using="agent").strip()
