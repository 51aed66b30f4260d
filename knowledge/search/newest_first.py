"""Newest first: of facts that are about the same thing, the newest comes first, if it is hardly worse."""

from collections.abc import Collection, Mapping, Sequence
from typing import Any, Protocol

from bigmind.database.replicas import read_cursor
from bigmind.text.words import IDENTIFIER
from knowledge.search.question import SearchQuestion

# Chosen on all shapes of text at once, like the weights of `fusion.py`: decision 34.
NEAR_TIE = 0.15
"""Of facts that say the same of the same thing, a newer one may stand so far below an older one."""
SAME_THING = 1.0
"""Cosine of two facts and the share of words they have in common, added up, from which they are about the same. The sum
put the current fact first in 92 of 100 cases, the best threshold of words alone in 90, of cosines alone in 84."""
NEWEST_OF = 20
"""Among how many of the best facts it is looked which are about the same thing."""

_ALIKE = """
SELECT one.passage_id, other.passage_id, 1 - (one.vector <=> other.vector)
FROM knowledge_passagevector AS one
JOIN knowledge_passagevector AS other ON other.space_id = one.space_id AND other.passage_id > one.passage_id
WHERE one.space_id = %s AND one.passage_id = ANY(%s) AND other.passage_id = ANY(%s)
    AND one.owner_id = %s AND other.owner_id = %s
    AND one.vector IS NOT NULL AND other.vector IS NOT NULL
"""


class Text(Protocol):
    """What a fact says, and when it was stored, in microseconds since 1970."""

    @property
    def text(self) -> str: ...

    @property
    def at(self) -> int: ...


def find_same(
    facts: list[int], scores: Mapping[int, float], texts: Mapping[int, Text], question: SearchQuestion
) -> tuple[dict[int, tuple[int, int]], set[frozenset[int]]]:
    """Return when each of the best facts was stored, and the pairs of them that are about the same thing."""
    if question.space is None or len(facts) < 2 or scores[facts[0]] - scores[facts[1]] > NEAR_TIE:
        return {}, set()
    with read_cursor() as cursor:
        cursor.execute(_ALIKE, [question.space.pk, facts, facts, question.owner, question.owner])
        near = cursor.fetchall()
    words = {passage: set(IDENTIFIER.findall(texts[passage].text.casefold())) for passage in facts}
    same = {
        frozenset((one, other))
        for one, other, cosine in near
        if cosine + len(words[one] & words[other]) / max(1, len(words[one] | words[other])) >= SAME_THING
    }
    return {passage: (texts[passage].at, passage) for passage in facts}, same


def put_newest_first(
    ranked: Sequence[int],
    scores: Mapping[int, float] | Sequence[float],
    ages: Mapping[int, tuple[Any, int]],
    same: Collection[frozenset[int]],
) -> list[int]:
    """Return passages in a new order: of facts that say the same of one thing, the newest is first, the oldest last.

    What was true before is as near to a question as what is true now, often nearer. Facts that are about the same thing
    as a better one, and hardly worse, share the places they have among them.

    Args:
        ranked: The passages, the best first.
        ages: When each fact among them was stored; of two at one moment the one with the greater number is newer.
        same: Pairs of facts that are about the same thing.
    """
    order, settled = list(ranked), set[int]()
    for place, best in enumerate(ranked):
        if best not in ages or best in settled:
            continue
        group = [
            one
            for one in ranked[place:]
            if one in ages
            and one not in settled
            and (one == best or (scores[best] - scores[one] <= NEAR_TIE and frozenset((best, one)) in same))
        ]
        settled.update(group)
        places = [ranked.index(one) for one in group]
        for where, one in zip(places, sorted(group, key=ages.__getitem__, reverse=True), strict=True):
            order[where] = one
    return order
