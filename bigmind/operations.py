"""The catalogue: everything BigMind can do, by name. What is not listed here is not exposed."""

from collections.abc import Collection, Iterator

from accounts.actor import Actor
from accounts.operations import OPERATIONS as ACCOUNTS
from bigmind.core.operations import Operation
from curation.operations import OPERATIONS as CURATION
from knowledge.operations import OPERATIONS as KNOWLEDGE

TOOLSETS: dict[str, str] = {
    "core": "What most sessions need: start, remember, recall, end.",
    "memory": "The rest of the personal memory: profile, hypotheses, corrections, erasure.",
    "company": "What the company knows: read, propose, say what it was worth, decide.",
    "kb": "The knowledge base that everybody here shares.",
    "docs": "Documentation that cannot lie: commands, endpoints, guides, looked up exactly.",
    "directory": "Who is here, and who worked on what, as far as people share it.",
    "apps": "Maps of outside apps: names to ids, schemas and workflows, learnt once for everybody.",
    "notes": "Texts addressed by domain and key.",
    "admin": "Health, statistics, pruning, export and import.",
}

CATALOGUE: dict[str, Operation] = {operation.name: operation for operation in (*KNOWLEDGE, *ACCOUNTS, *CURATION)}


def operations_for(actor: Actor, toolsets: Collection[str] = ("core",)) -> Iterator[Operation]:
    """Yield what this actor may call, in the toolsets asked for; `all` means every toolset."""
    for operation in CATALOGUE.values():
        asked = "all" in toolsets or operation.toolset in toolsets
        if asked and operation.scope in actor.scopes and actor.may_use(operation.toolset):
            yield operation
