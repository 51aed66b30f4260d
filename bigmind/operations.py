"""The catalogue: everything BigMind can do, by name. What is not listed here is not exposed."""

from collections.abc import Collection, Iterator
from difflib import get_close_matches

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


OTHER_NAMES: dict[str, str] = {
    **dict.fromkeys(("recall", "search", "find", "query", "ask", "lookup", "retrieve"), "memory_semantic_search"),
    **dict.fromkeys(("remember", "store", "save", "add", "write", "memorize"), "memory_store_fact"),
    **dict.fromkeys(("forget", "remove", "delete"), "memory_deprecate_fact"),
}
"""What agents call an operation whose name they do not know, by the verb that they use."""


def operations_for(actor: Actor, toolsets: Collection[str] = ("core",)) -> Iterator[Operation]:
    """Yield what this actor may call, in the toolsets asked for; `all` means every toolset."""
    for operation in CATALOGUE.values():
        asked = "all" in toolsets or operation.toolset in toolsets
        if asked and operation.scope in actor.scopes and actor.may_use(operation.toolset):
            yield operation


def nearest_names(name: str, known: Collection[str]) -> list[str]:
    """Return the operations that an unknown name was probably meant to be, the likeliest first: at most three."""
    words = name.lower().replace("-", "_").split("_")
    by_verb = [OTHER_NAMES[word] for word in words if word in OTHER_NAMES]
    # `memory_recall` is spelled like `memory_correct_fact`: a known verb says more than similar letters.
    nearest = dict.fromkeys([*by_verb, *get_close_matches(name, known, n=3, cutoff=0.8 if by_verb else 0.6)])
    return [one for one in nearest if one in known][:3]
