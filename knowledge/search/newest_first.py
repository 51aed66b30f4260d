"""Newest first: of facts that are about the same thing, the newest comes first."""

from collections.abc import Collection, Mapping, Sequence
from typing import Any, Protocol

from bigmind.database.replicas import read_cursor
from bigmind.text.words import IDENTIFIER
from knowledge.search.question import SearchQuestion

# Fitted on half A of the facts that changed and of all other corpora (decision 120).
SAME_THING = 0.7
"""Cosine of two facts and the share of words they have in common, added up, from which two with one score are about the
same thing. Words alone and cosines alone put the current fact first less often."""
MOST = 2.0
"""That sum of two facts that are equal."""
APART = 4.0
"""How much more alike two facts have to be for each point by which their scores differ."""
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
    if question.space is None or len(facts) < 2 or APART * (scores[facts[0]] - scores[facts[1]]) > MOST - SAME_THING:
        return {}, set()
    with read_cursor() as cursor:
        cursor.execute(_ALIKE, [question.space.pk, facts, facts, question.owner, question.owner])
        near = cursor.fetchall()
    same = pair_facts(near, scores, {passage: texts[passage].text for passage in facts}, question.text)
    return {passage: (texts[passage].at, passage) for passage in facts}, same


def pair_facts(
    near: Sequence[tuple[int, int, float]], scores: Mapping[int, float], texts: Mapping[int, str], question: str
) -> set[frozenset[int]]:
    """Return the pairs of facts that are about the same thing.

    What was true before is often nearer to a question than what is true now, and something else about the same person
    hardly further away. So the further the scores of two facts are apart, the more alike they have to be. A name or a
    number of the question that only one of them has tells them apart.

    Args:
        near: Two facts and their cosine each.
    """
    words = {passage: set(IDENTIFIER.findall(text.casefold())) for passage, text in texts.items()}
    names = {word.casefold() for text in texts.values() for word in IDENTIFIER.findall(text)[1:] if not word.islower()}
    names.intersection_update(IDENTIFIER.findall(question.casefold()))
    return {
        frozenset((one, other))
        for one, other, cosine in near
        if not names & (words[one] ^ words[other])
        and cosine + len(words[one] & words[other]) / max(1, len(words[one] | words[other]))
        >= SAME_THING + APART * abs(scores[one] - scores[other])
    }


def put_newest_first(
    ranked: Sequence[int], ages: Mapping[int, tuple[Any, int]], same: Collection[frozenset[int]]
) -> list[int]:
    """Return passages in a new order: of facts that say the same of one thing, the newest is first, the oldest last.

    Facts that are about the same thing as a better one share the places they have among them.

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
            if one in ages and one not in settled and (one == best or frozenset((best, one)) in same)
        ]
        settled.update(group)
        places = [ranked.index(one) for one in group]
        for where, one in zip(places, sorted(group, key=ages.__getitem__, reverse=True), strict=True):
            order[where] = one
    return order
