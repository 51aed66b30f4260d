"""Explanations: how an answer was made, step by step, to show why this was found and that was not."""

from dataclasses import dataclass

from django.conf import settings

from accounts.actor import Actor
from bigmind.core.argument_types import Limit, Offset, Project, Query, Since
from knowledge.embeddings.providers import provider
from knowledge.kinds import SEARCHED
from knowledge.recall.hits import Hit, findings, hits_of
from knowledge.recall.semantic_search import AnyKind
from knowledge.recall.visibility import visible_things
from knowledge.search.fusion import MEANING, NEIGHBOUR_SHARE, WORDS
from knowledge.search.question_periods import find_then
from knowledge.search.retrievers import CANDIDATES, lexemes_of


@dataclass(frozen=True)
class Recipe:
    """How the two scores become one."""

    name: str
    words: float = WORDS
    meaning: float = MEANING
    neighbour_share: float = NEIGHBOUR_SHARE
    candidates: int = CANDIDATES


@dataclass(frozen=True)
class Explanation:
    """What a question searched for, which retrievers ran, how long each step took, and the result.

    `passages` has the number that each retriever returned; `space` is the model and the length of its vectors.
    """

    lexemes: list[str]
    passages: dict[str, int]
    space: str
    fallback: bool
    reason: str
    recipe: Recipe
    milliseconds: dict[str, float]
    hits: list[Hit]
    total: int
    limit: int
    offset: int

    @property
    def best(self) -> Hit | None:
        """What comes first, on the page that it is on."""
        return self.hits[0] if self.hits and not self.offset else None


def explain_search(
    actor: Actor,
    *,
    query: Query,
    kinds: AnyKind | None = None,
    project: Project = "",
    since: Since | None = None,
    limit: Limit = 50,
    offset: Offset = 0,
) -> Explanation:
    """Search as `semantic_search` does, and return how the answer was made, with its candidates."""
    then = find_then(actor, query)
    things = visible_things(actor.user, kinds or SEARCHED, since=since, then=then)
    found = findings(
        actor,
        query,
        things=things,
        is_narrowed=bool(since),
        project=project,
        then=then,
        limit=limit,
        offset=offset,
    )
    return Explanation(
        lexemes=lexemes_of(query),
        passages=found.candidates,
        space=provider().space,
        fallback=found.fallback,
        reason=found.reason,
        recipe=Recipe(settings.SEARCH_FUSION),
        milliseconds=found.milliseconds,
        hits=hits_of(found.items, actor, things, explain=True),
        total=found.total,
        limit=limit,
        offset=offset,
    )
