"""Questions over two steps: how often both facts are among the first ten, in memories where words repeat."""

from pathlib import Path

from accounts.actor import Actor
from accounts.people.users import add_user
from knowledge.indexing.embedding import embed_pending
from knowledge.memory.facts import store_fact
from knowledge.recall.recall import recall
from knowledge.recall.semantic_search import semantic_search

CHAINS = Path(__file__).parent / "shapes" / "chains.txt"


def measure() -> list[str]:
    """Store each half as one person's memory, and return the share of questions whose two facts are both found."""
    lines = ["| both facts of a question over two steps | half A | half B, held out |", "|---|---|---|"]
    found = [_ask(half) for half in "AB"]
    for name in ("among ten of a search", "among those that a search shows", "in a recall"):
        cells = [f"{sum(one[name] for one in half) / len(half):.1%} of {len(half)}" for half in found]
        lines.append(f"| {name} | {' | '.join(cells)} |")
    return lines


def _ask(half: str) -> list[dict[str, bool]]:
    actor = Actor.of(add_user(f"chains-{half}".lower()))
    asked: list[tuple[str, set[str]]] = []
    for block in CHAINS.read_text(encoding="utf-8").split("\n= ")["AB".index(half) + 1 :: 2]:
        lines = block.splitlines()
        ids = [
            str(store_fact(actor, category="codebase", fact=line[2:]).fact.pk)
            for line in lines
            if line.startswith("- ")
        ]
        for line in lines:
            if line.startswith("? "):
                question, _, numbers = line[2:].partition(" ?? ")
                asked.append((question, {ids[int(number) - 1] for number in numbers.split()}))
    embed_pending()
    return [_found(actor, question, both) for question, both in asked]


def _found(actor: Actor, question: str, both: set[str]) -> dict[str, bool]:
    shown = semantic_search(actor, query=question)
    rest = semantic_search(actor, query=question, offset=len(shown.items))
    return {
        "among those that a search shows": both <= {hit.id for hit in shown.items},
        "among ten of a search": both <= {hit.id for hit in [*shown.items, *rest.items][:10]},
        "in a recall": both <= {hit.id for hit in recall(actor, query=question).items},
    }
