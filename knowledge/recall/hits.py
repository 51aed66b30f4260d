"""Hits: what a question finds, each with what a reader needs to judge it. Every search of several kinds answers so."""

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from itertools import filterfalse
from typing import Any

from django.contrib.postgres.fields import ArrayField
from django.db.models import Func, QuerySet, TextField
from django.utils import timezone

from accounts.actor import Actor
from bigmind.core.handles import handle_of
from bigmind.database.replicas import read_cursor
from bigmind.text.periods import Period
from bigmind.text.words import IDENTIFIER
from knowledge.argument_types import Relevance
from knowledge.exposures.gaps import was_asked_in_vain
from knowledge.exposures.ledgers import settle
from knowledge.kinds import KINDS, STATEMENTS
from knowledge.models import Entry, Kind, Note, Session
from knowledge.models.injection_signs import signs_of
from knowledge.recall.visibility import Things, read_things
from knowledge.search.abstention import Judgement, best_score, count_strong, is_answered, judge, name_relevances
from knowledge.search.excerpts import EXCERPT_CHARS, below_title, excerpt_of
from knowledge.search.filters import Filters
from knowledge.search.findings import Finding, Findings
from knowledge.search.hybrid import search
from knowledge.search.nearest_names import SUGGEST_FROM
from knowledge.search.question_periods import say_period

NEAREST = 3
"""Lines of a concise reply that is not certain, and the fewest of any other."""
_ARTICLES = frozenset({"a", "an", "the"})


@dataclass(frozen=True)
class Reckoning:
    """How a score was made: what each retriever says of this, how much of that the score has, and neighbours."""

    keyword: float | None
    vector: float | None
    support: float
    keyword_share: float | None = None
    vector_share: float | None = None


@dataclass(frozen=True)
class Hit:
    """One thing that was found, with who said it, where it comes from and why it matched.

    `relevance` is weak for what merely comes closest, related for what scores much less than the best; `validity` says
    when a fact holds, or held, where that is known; `freshness` how lately someone verified company knowledge.
    `role` says who spoke in what was said; `may_contradict` names another one beside which this may not hold, and
    quotes it where it was not found; `alike` is how many more say the same. `signs` are kinds of signs of a
    prompt injection in all of what is shared, whatever the excerpt shows.
    """

    kind: str
    id: str
    tier: str
    title: str
    excerpt: str
    score: float
    matched: list[str]
    arms: tuple[str, ...]
    created_at: datetime
    age_days: int
    relevance: Relevance = "strong"
    project: str = ""
    owner: str = ""
    approver: str = ""
    session_id: str | None = None
    session_handle: str = ""
    domain: str | None = None
    key: str | None = None
    role: str = ""
    may_contradict: str = ""
    validity: str = ""
    freshness: str = ""
    alike: int = 0
    signs: list[str] | None = None
    explain: Reckoning | None = None

    @property
    def handle(self) -> str:
        """What agents name it by."""
        return self.session_handle if self.kind == Kind.SUMMARY else handle_of(self.kind, self.id)


@dataclass(frozen=True)
class Hits:
    """What was found, the best first. `weak`: nothing of it answers the question, as far as that can be judged.

    `asked_before`: this conversation asked the same before, and nothing answered it then either.

    `as_of`: the days that the question is about; what held then is there although it was replaced since.

    Something is always nearest in meaning, so that is what these are then; `did_you_mean` has words that exist.
    """

    items: list[Hit]
    total: int
    limit: int
    offset: int
    weak: bool = False
    did_you_mean: list[str] = field(default_factory=list)
    fallback: bool = False
    reason: str | None = None
    notice: str = ""
    asked_before: bool = False
    as_of: str = ""
    as_sent: str = ""

    @property
    def left(self) -> int:
        """How many more follow these."""
        return max(0, self.total - self.offset - sum([1 + hit.alike for hit in self.items]))


def find(
    actor: Actor,
    query: str,
    *,
    things: Things,
    is_narrowed: bool = False,
    project: str = "",
    explain: bool = False,
    then: Period | None = None,
    only_strong: bool = False,
    limit: int,
    offset: int = 0,
) -> tuple[Hits, Findings]:
    """Find what fits a question best among these things, by words and meaning; return it, and how the search went.

    Args:
        things: Of each kind, what may be found.
        is_narrowed: Whether they are only some of what the actor may see.
        then: The period that the question is about.
        only_strong: Whether the first page ends where much weaker statements follow. They are at the next offset.
    """
    found = findings(
        actor, query, things=things, is_narrowed=is_narrowed, project=project, then=then, limit=limit, offset=offset
    )
    is_known = is_answered(found)
    shown = found.items[: count_strong(found, STATEMENTS)] if only_strong and not offset else found.items
    hits = hits_of(shown, actor, things, explain=explain, is_known=is_known)
    was_asked = not (offset or is_narrowed or is_known) and has_asked(actor, query)
    # The first page has already said it of all pages.
    judgement = Judgement() if offset else judge(query, found, names=lambda: names_for(actor, things))
    page = Hits(
        items=each_once(hits),
        total=found.total,
        limit=limit,
        offset=offset,
        weak=judgement.weak,
        did_you_mean=judgement.did_you_mean,
        fallback=found.fallback,
        reason=found.reason or None,
        notice=found.notice,
        asked_before=was_asked,
        as_of=say_period(then) if then else "",
    )
    return page, found


def has_asked(actor: Actor, query: str) -> bool:
    """Whether this conversation asked the same before, without an answer. Users may repeat questions on pages."""
    if not actor.is_agent:
        return False
    settle(actor)
    return was_asked_in_vain(actor, query)


def findings(
    actor: Actor,
    query: str,
    *,
    things: Things,
    is_narrowed: bool,
    project: str,
    then: Period | None = None,
    limit: int,
    offset: int,
) -> Findings:
    """Return what a question finds among these things, and how the search went.

    The index has all that the actor may see and nothing else, but for what time alone has made invisible, such as a
    note that expired a minute ago. So the things themselves are only asked where they are fewer, or may lapse.
    """
    if not things:
        return Findings([], 0, fallback=False)
    filters = filters_of(things, is_narrowed=is_narrowed, project=project, then=then)
    return search(query, owner=actor.user, filters=filters, limit=limit, offset=offset)


def filters_of(
    things: Things,
    *,
    is_narrowed: bool,
    project: str = "",
    then: Period | None = None,
    groups: Sequence[Collection[str]] = (),
) -> Filters:
    """Return the filters by which a search finds these things, in these groups of kinds, and nothing else."""
    return Filters(
        kinds=[*things],
        project=project,
        groups=groups,
        eligible={
            kind: things[kind] for kind in things if is_narrowed or KINDS[kind].lapses or (then and KINDS[kind].held)
        },
        then=then,
    )


def hits_of(
    found: Sequence[Finding],
    actor: Actor,
    things: Things,
    *,
    explain: bool = False,
    is_known: bool = True,
    best: float | None = None,
    read: Callable[[str], str] = str,
) -> list[Hit]:
    """Read the hits, with what a reader needs of each. Hits that are gone are left out.

    Args:
        is_known: Whether the list answers the question.
        best: The best score of the whole list, of which these are the first.
        read: What becomes of a text before its excerpt is cut: a page shows markdown as plain words.
    """
    rows, best = read_things(found, things), best_score(found) if best is None else best
    owner, now, relevances = str(actor.user), timezone.now(), name_relevances(found, is_known=is_known, best=best)
    shown = [
        _hit(finding, thing, owner, now, relevance, read, explain=explain)
        for finding, relevance in zip(found, relevances, strict=True)
        if (thing := rows.get((finding.kind, finding.source_id))) is not None
    ]
    return _label_pairs(shown)


def _label_pairs(hits: Sequence[Hit]) -> list[Hit]:
    """Label both of two that may contradict each other, where both were found. Neither changes its place."""
    newer = {hit.handle: hit.may_contradict.partition(":")[0] for hit in hits if hit.may_contradict}
    if not newer:
        return [*hits]
    found = {hit.handle for hit in hits}
    pairs = {handle: other for handle, other in newer.items() if other in found}
    labels = {newer: older for older, newer in pairs.items()} | pairs
    return [replace(hit, may_contradict=labels[hit.handle]) if hit.handle in labels else hit for hit in hits]


def each_once(hits: Iterable[Hit]) -> list[Hit]:
    """Group hits of a kind with the same words under the best of them, and count them.

    Only case, punctuation and articles may differ: texts that differ in a port or a “not” do not say the same.
    """
    same: dict[tuple[str, ...], list[Hit]] = {}
    hits = [*hits]
    for hit, words in zip(hits, words_in_each([hit.excerpt for hit in hits]), strict=True):
        same.setdefault((hit.kind, *words), []).append(hit)
    return [
        replace(first, alike=sum([1 + other.alike for other in others])) if others else first
        for first, *others in same.values()
    ]


def words_in(text: str) -> tuple[str, ...]:
    """Return the words by which a text says the same as another one."""
    return words_in_each([text])[0]


def words_in_each(texts: Iterable[str]) -> list[tuple[str, ...]]:
    """Return those of each of several texts."""
    is_article, find = _ARTICLES.__contains__, IDENTIFIER.findall
    return [tuple(filterfalse(is_article, find(text.casefold()))) or (text,) for text in texts]


def _hit(
    finding: Finding,
    thing: Any,
    owner: str,
    now: datetime,
    relevance: Relevance,
    read: Callable[[str], str],
    *,
    explain: bool,
) -> Hit:
    source = KINDS[finding.kind]
    moment, title = getattr(thing, source.moment) or finding.created_at, source.title(thing)
    text = read(below_title(finding.text, title) if "\n" in finding.text else finding.text)
    shown: dict[str, Any] = {"owner": owner, **source.told(thing)}
    return Hit(
        kind=finding.kind,
        id=finding.source_id,
        tier=source.tier,
        title=read(title),
        excerpt=text if len(text) <= EXCERPT_CHARS else excerpt_of(text, finding.matched),
        score=finding.score,
        matched=finding.matched,
        arms=finding.retrievers,
        created_at=moment,
        age_days=max(0, (now - moment).days),
        relevance=relevance,
        project=finding.project,
        explain=_reckoning(finding) if explain else None,
        signs=signs_of(thing) if source.is_shared else None,
        **shown,
    )


def _reckoning(finding: Finding) -> Reckoning:
    shares = finding.parts.get("keyword"), finding.parts.get("vector")
    return Reckoning(finding.keyword, finding.vector, finding.support, *shares)


def names_for(actor: Actor, things: Things) -> list[str]:
    """Return names that the actor may see: their topics and note keys, the tags of shared entries."""
    key = Func("key", template="ARRAY[%(expressions)s]::text[]", output_field=ArrayField(TextField()))
    names: list[QuerySet[Any, Any]] = [
        Session.objects.of(actor.user).in_view().newest_first().values_list("topics")[:SUGGEST_FROM],
        Note.objects.of(actor.user).current().annotate(names=key).values_list("names")[:SUGGEST_FROM],
        *([Entry.objects.exclude(tags=[]).values_list("tags")[:SUGGEST_FROM]] if Kind.ENTRY in things else []),
    ]
    parts = [one.query.sql_with_params() for one in names]
    with read_cursor() as cursor:
        cursor.execute(
            " UNION ALL ".join(f"({text})" for text, _ in parts), [value for _, values in parts for value in values]
        )
        return [name for (some,) in cursor.fetchall() for name in some]
