"""Triggers: in one line, which acts of an agent an entry is about; and whether an act is one of them.

`command: git push --force` is about a command, `path: db/migrations/*` about a file that is about to be changed,
`tool: mcp__stripe__*` about a tool, `error: connection refused … 5432` about what went wrong, `prompt: deploy friday`
about what a person asks for. The hook program has a copy of these modules, so they are of the standard library alone.
"""

from .acts import BEFORE, ERROR, MOMENTS, PROMPT, AgentAct, act_of
from .patterns import KINDS, MOST_CHARS, compile_trigger

TRIGGER_CHARS = MOST_CHARS + 20

__all__ = ["BEFORE", "ERROR", "KINDS", "MOMENTS", "PROMPT", "TRIGGER_CHARS", "AgentAct", "act_of", "compile_trigger"]
