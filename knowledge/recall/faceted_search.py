"""Search for people: results narrowed by facets, counted, and grouped if they say nearly the same.

The best POOL results are read at once, so that each count is the number of results behind its link. Kind, project and
day narrow the search itself; the other facets narrow what was read.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Annotated, Any, Literal

from django.utils import timezone
from pydantic import Field

from accounts.actor import Actor
from bigmind.core.argument_types import Name, Offset, Project, Query, Since
from bigmind.core.handles import handle_of
from bigmind.core.markdown import plain_words
from bigmind.database.replicas import read_cursor
from bigmind.text.periods import Period
from knowledge.kinds import KINDS, SEARCHED
from knowledge.models import EmbeddingSpace, Kind
from knowledge.recall.episode_questions import read_episode_question
from knowledge.recall.episodes import answer_episode
from knowledge.recall.hits import Hit, findings, hits_of, names_for
from knowledge.recall.semantic_search import AnyKind
from knowledge.recall.visibility import visible_things
from knowledge.search.abstention import is_answered, judge
from knowledge.search.findings import Findings
from knowledge.search.question_periods import find_then, say_period
from knowledge.truth.contradictions import contradictions
from knowledge.truth.near_duplicates import find_worded_alike

POOL = 100
GROUPS_SHOWN = 20
WEAK_SHOWN = 20
PEOPLE_COUNTED = 8
SAME_TEXT = 0.9
"""Cosine from which two texts of one kind differ in wording only, so that one can represent both."""
MINE = "me"

AgeName = Annotated[Literal["week", "month", "year"], Field(description="How old it is at most.")]
FreshnessName = Annotated[
    Literal["verified", "due", "stale", "never"], Field(description="How lately someone verified company knowledge.")
]
DAYS: dict[str, int] = {"week": 7, "month": 30, "year": 365}

_ALIKE = """
SELECT one.source_id, other.source_id
FROM knowledge_passage AS one
JOIN knowledge_passage AS other ON other.kind = one.kind AND other.ordinal = 0 AND other.id > one.id
JOIN knowledge_passagevector AS first ON first.passage_id = one.id AND first.space_id = %(space)s
JOIN knowledge_passagevector AS second ON second.passage_id = other.id AND second.space_id = %(space)s
WHERE one.ordinal = 0
    AND (one.kind, one.source_id) IN (SELECT * FROM unnest(%(kinds)s::text[], %(ids)s::text[]))
    AND (other.kind, other.source_id) IN (SELECT * FROM unnest(%(kinds)s::text[], %(ids)s::text[]))
    AND first.vector IS NOT NULL AND second.vector IS NOT NULL
    AND 1 - (first.vector <=> second.vector) >= %(least)s
"""


@dataclass(frozen=True)
class HitGroup:
    """A hit, and those that say nearly the same."""

    best: Hit
    alike: list[Hit] = field(default_factory=list)


@dataclass(frozen=True)
class FacetCount:
    """One value that narrows an answer, and how many answers it leaves."""

    value: str
    count: int
    is_chosen: bool


@dataclass(frozen=True)
class FoundPage:
    """A page of what was found for a person, the best first; `total` counts the groups of all pages.

    `weak` comes near, the nearest first. `is_empty`: nothing is stored that the question could mean. `facets` has the
    values of each facet by its name. `is_cut`: only the best were read.
    """

    groups: list[HitGroup]
    total: int
    limit: int
    offset: int
    weak: list[Hit]
    facets: dict[str, list[FacetCount]]
    is_cut: bool = False
    did_you_mean: list[str] = field(default_factory=list)
    fallback: bool = False
    reason: str = ""
    as_of: str = ""
    is_empty: bool = False

    @property
    def is_known(self) -> bool:
        """Whether anything answers for certain."""
        return bool(self.total)


def find_for_page(
    actor: Actor,
    *,
    query: Query,
    kinds: AnyKind | None = None,
    project: Project = "",
    since: Since | None = None,
    who: Name | None = None,
    age: AgeName | None = None,
    verified: FreshnessName | None = None,
    offset: Offset = 0,
) -> FoundPage:
    """Return what answers a question, in groups that say the same, with the facets to narrow it by; or the nearest."""
    then = find_then(actor, query)
    chosen = {"kinds": kinds[0] if kinds else "", "project": project, "who": who, "age": age, "verified": verified}
    found, everything = _find(actor, query, SEARCHED, "", since, then)
    pool, narrowed = everything, found
    if kinds or project:
        narrowed, pool = _find(actor, query, kinds or SEARCHED, project, since, then, is_known=is_answered(found))
    shown = [hit for hit in pool if _passes(hit, actor, chosen)]
    groups = fold([hit for hit in shown if hit.relevance != "weak"], narrowed.space)
    asked = None if any(chosen.values()) else read_episode_question(query)
    if asked and (episodes := answer_episode(actor, asked)):
        in_episodes = {(hit.kind, hit.id) for hit in episodes.hits}
        rest = [group for group in groups if (group.best.kind, group.best.id) not in in_episodes]
        groups = [*(HitGroup(hit) for hit in episodes.hits), *rest]
    # Kind and project say what else the whole search found; the others, what is left of it.
    facets = {
        name: _count(everything if name in {"kinds", "project"} else pool, name, actor, chosen) for name in _VALUES
    }
    things = visible_things(actor.user, kinds or SEARCHED)
    judgement = judge(query, narrowed, names=lambda: names_for(actor, things))
    return FoundPage(
        groups=groups[offset : offset + GROUPS_SHOWN],
        total=len(groups),
        limit=GROUPS_SHOWN,
        offset=offset,
        weak=[hit for hit in shown if hit.relevance == "weak"][:WEAK_SHOWN],
        facets={name: values for name, values in facets.items() if values},
        is_cut=narrowed.total > POOL and not any(hit.relevance == "weak" for hit in pool),
        did_you_mean=[] if groups else judgement.did_you_mean,
        fallback=narrowed.fallback,
        reason=narrowed.reason,
        as_of=say_period(then) if then else "",
        is_empty=not found.searched_something,
    )


def _find(
    actor: Actor,
    query: str,
    kinds: Iterable[str],
    project: str,
    since: Since | None,
    then: Period | None,
    *,
    is_known: bool | None = None,
) -> tuple[Findings, list[Hit]]:
    """Search, and read the results. For a narrowed search, the wider one has decided whether it answers.

    Otherwise a link could leave fewer answers than its count says (decision 49).
    """
    things = visible_things(actor.user, kinds, since=since, then=then)
    found = findings(
        actor, query, things=things, is_narrowed=bool(since), project=project, then=then, limit=POOL, offset=0
    )
    known = is_answered(found) if is_known is None else is_known
    return found, hits_of(found.items, actor, things, is_known=known, read=plain_words)


def fold(hits: Sequence[Hit], space: EmbeddingSpace | None) -> list[HitGroup]:
    """Group hits of one kind that say nearly the same under the best of them.

    They have nearly the same words, or their vectors hardly differ. A hit never hides behind one that it contradicts:
    texts that differ in a number or a “not” do not say the same.
    """
    near, groups = _near_pairs(hits, space), list[HitGroup]()
    # One product of all texts in place of a comparison of each pair.
    alike = find_worded_alike([hit.excerpt for hit in hits])
    near |= {frozenset((hits[one].id, hits[other].id)) for one, other in alike if hits[one].kind == hits[other].kind}
    for hit in hits:
        group = next((one for one in groups if _says_the_same(one.best, hit, near)), None)
        if group:
            group.alike.append(hit)
        else:
            groups.append(HitGroup(hit))
    return groups


def _says_the_same(one: Hit, other: Hit, near: set[frozenset[str]]) -> bool:
    if one.kind != other.kind or frozenset({one.id, other.id}) not in near:
        return False
    return not (_names(one, other) or _names(other, one) or contradictions(one.excerpt, other.excerpt))


def _names(one: Hit, other: Hit) -> bool:
    """Whether one hit may contradict the other."""
    return bool(one.may_contradict) and one.may_contradict.partition(":")[0] == handle_of(other.kind, other.id)


def _near_pairs(hits: Sequence[Hit], space: EmbeddingSpace | None) -> set[frozenset[str]]:
    if space is None or len(hits) < 2:
        return set()
    parameters: dict[str, Any] = {
        "space": space.pk,
        "kinds": [hit.kind for hit in hits],
        "ids": [hit.id for hit in hits],
        "least": SAME_TEXT,
    }
    with read_cursor() as cursor:
        cursor.execute(_ALIKE, parameters)
        return {frozenset(row) for row in cursor.fetchall()}


def _who(hit: Hit, actor: Actor) -> str:
    """Return whose a hit is: `me`, or the person or collection that it comes from."""
    return MINE if not KINDS[hit.kind].is_shared or hit.owner == str(actor.user) else hit.owner


def _ages(hit: Hit) -> list[str]:
    old = timezone.now() - hit.created_at
    return [name for name, days in DAYS.items() if old < timedelta(days=days)]


_VALUES: dict[str, Callable[[Hit, Actor], list[str]]] = {
    "kinds": lambda hit, actor: [hit.kind],
    "project": lambda hit, actor: [hit.project],
    "who": lambda hit, actor: [_who(hit, actor)],
    "age": lambda hit, actor: _ages(hit),
    "verified": lambda hit, actor: [hit.freshness] if hit.kind == Kind.COMPANY else [],
}
"""The values of each facet that a hit has."""


def _passes(hit: Hit, actor: Actor, chosen: Mapping[str, str | None]) -> bool:
    return all(not value or value in _VALUES[name](hit, actor) for name, value in chosen.items())


def _count(hits: Iterable[Hit], name: str, actor: Actor, chosen: Mapping[str, str | None]) -> list[FacetCount]:
    """Count the answers by one facet, among those that pass all others. A value that is chosen is always listed."""
    others = {other: value for other, value in chosen.items() if other != name}
    answers = [hit for hit in hits if hit.relevance != "weak" and _passes(hit, actor, others)]
    counted = Counter(value for hit in answers for value in _VALUES[name](hit, actor) if value)
    if picked := chosen[name]:
        counted.setdefault(picked, 0)
    order = list(KINDS) if name == "kinds" else list(DAYS) if name == "age" else None
    rows = sorted(counted.items(), key=lambda row: order.index(row[0]) if order else (-row[1], row[0]))
    return [FacetCount(value, count, value == picked) for value, count in rows[:PEOPLE_COUNTED]]
