"""Recall: one question over everything, merged so that no kind crowds out the others; and searches of one kind.

Nothing that was found is hidden. How sure recall is decides how many lines follow, and the words above them: none above
an answer, “Nothing certain; nearest:”, or “Nothing is stored yet.”
"""

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, field, replace
from operator import attrgetter, itemgetter
from typing import Literal

from accounts.actor import Actor
from bigmind.core.argument_types import AsOf, Before, Limit, Offset, Project, Query, Since
from knowledge.argument_types import Domain
from knowledge.exposures.recent_questions import QuestionRecord
from knowledge.kinds import KINDS, SEARCHED, STATEMENTS
from knowledge.models import AskedForm, Kind
from knowledge.recall.episode_questions import read_episode_question
from knowledge.recall.episodes import answer_episode, period_between
from knowledge.recall.hits import NEAREST, Hit, Hits, filters_of, find, has_asked, hits_of, names_for, words_in_each
from knowledge.recall.reply_budget import MaxTokens, fit_hits, send
from knowledge.recall.visibility import visible_things
from knowledge.search.abstention import answering, best_score, is_answered, judge, next_steps
from knowledge.search.excerpts import excerpt_of
from knowledge.search.findings import Finding, Findings
from knowledge.search.hybrid import search_groups
from knowledge.search.question_periods import find_then, read_then, say_period

_NAMED: tuple[tuple[int, frozenset[str]], ...] = (
    (3, frozenset({"1"})),
    (2, frozenset({"G"})),
    (2, frozenset({"2", "3"})),
    (1, frozenset({"kb"})),
)
_TIERS = frozenset(KINDS[kind].tier for kind in SEARCHED)
GROUPS = (*_NAMED, (1, _TIERS.difference(*(tiers for _, tiers in _NAMED))))
"""The tiers that are searched apart, and how many hits of each are shown in turn.

One search over everything keeps the best 200 passages: an import of ten thousand with the words of the question would
leave no room for the one fact that answers. A round is nine hits, so the ten that are shown by default have some of
each group. What people remember themselves comes first and thrice, because nobody else can say it; what was imported,
of which there is most, once. How many exactly is a choice: with one of each the tests of recall pass as well, and with
nine of each a flood drowns the fact.
"""
COMPANY_GROUP = next(number for number, (_, tiers) in enumerate(GROUPS) if KINDS[Kind.COMPANY].tier in tiers)
_KINDS_OF_GROUPS = [[kind for kind in SEARCHED if KINDS[kind].tier in tiers] for _, tiers in GROUPS]
_SCORE = attrgetter("score")
_UNTITLED = STATEMENTS | {Kind.CHUNK}
"""Kinds whose texts do not begin with a title."""
SAME_PROJECT = 0.1
"""Added to the score of items of the question's project."""
CONCISE_CHARS = 160

RecallStyle = Literal["concise", "detailed"]
RecallState = Literal["answer", "uncertain", "empty"]
_HIT_TEMPLATES = {"concise": "_hit_line.md", "detailed": "_hit.md"}


@dataclass(frozen=True)
class Recollections:
    """What a question brought back: an answer, the best of each group in turn; or what comes nearest to one.

    `state`: `empty` where nothing is stored that could be meant. `asked_before`: this conversation asked the same
    before, and nothing certain answered it then either. `left` counts what answers too and did not fit. `as_of` has the
    days that the question is about: what held then is there although it was replaced since.
    """

    items: list[Hit]
    style: str
    state: RecallState = "answer"
    did_you_mean: list[str] = field(default_factory=list)
    fallback: bool = False
    reason: str | None = None
    notice: str = ""
    left: int = 0
    asked_before: bool = False
    as_of: str = ""
    as_sent: str = ""


def recall(
    actor: Actor,
    *,
    query: Query,
    project: Project = "",
    since: Since | None = None,
    before: Before | None = None,
    as_of: AsOf | None = None,
    style: RecallStyle = "concise",
    max_tokens: MaxTokens = 800,
    limit: Limit = 10,
) -> Recollections:
    """Search all memory: facts, sessions, notes, company knowledge, documentation, app maps.

    Call this before you answer from your own knowledge, ask the user or search elsewhere. Returns answers with handle
    and date, or the nearest lines, marked as uncertain.
    """
    then = read_then(actor, as_of) if as_of else find_then(actor, query)
    things = visible_things(actor.user, SEARCHED, since=since, before=before, then=then, only_then=bool(as_of))
    is_narrowed = bool(since or before or as_of)
    episodes = None
    if asked := read_episode_question(query):
        within = then if as_of else period_between(since, before)
        episodes = answer_episode(actor, asked, project=project, within=within)
    filters = filters_of(things, is_narrowed=is_narrowed, then=then, groups=_KINDS_OF_GROUPS)
    found = search_groups(query, owner=actor.user, filters=filters, limit=limit)
    everything = join_groups(found)
    is_known = is_answered(everything)
    was_asked = not (is_narrowed or is_known or episodes) and has_asked(actor, query)
    is_whole, first = style == "detailed", episodes.hits if episodes else []
    others, best = _choose(found, everything, first, project, limit, is_known=is_known, is_whole=is_whole)
    # What is not shown is counted, and not read.
    shown = hits_of([one for one, *_ in others[:limit]], actor, things, is_known=is_known, best=best)
    alike = {(one.kind, one.source_id): len(same) for one, *same in others if same}
    hits = [*first, *[replace(hit, alike=alike.get((hit.kind, hit.id), 0)) if alike else hit for hit in shown]]
    total = len(hits) + len(others[limit:])
    empty = Recollections(
        items=[],
        style=style,
        state="answer" if is_known or episodes else "uncertain" if everything.searched_something else "empty",
        asked_before=was_asked,
        fallback=everything.fallback,
        reason=everything.reason or None,
        notice=episodes.notice if episodes and episodes.notice else everything.notice,
        as_of=say_period(then) if then and not episodes else "",
    )
    # All of them are left at first: the line that says so has to fit as well.
    short = [hit if is_whole or len(hit.excerpt) <= CONCISE_CHARS else _shorten(hit) for hit in hits[:limit]]
    full = replace(empty, items=short, left=total)
    fitting = fit_hits(full, max_tokens, template="recall.md", hit_template=_HIT_TEMPLATES[style])
    reply = replace(empty, items=[hit for hit, _ in fitting], left=total - len(fitting))
    if reply.state == "uncertain":
        meant = judge(query, everything, names=lambda: names_for(actor, things)).did_you_mean
        reply = replace(reply, did_you_mean=meant)
    question = QuestionRecord(
        query,
        AskedForm.RECALL,
        found[COMPANY_GROUP],
        found,
        project=project,
        limit=limit,
        fitted=len(reply.items) if reply.left else None,
    )
    lines = [line for _, line in fitting]
    return send(actor, reply, lines, None if is_narrowed or episodes else question, template="recall.md")


def _choose(
    found: list[Findings],
    everything: Findings,
    first: Sequence[Hit],
    project: str,
    limit: int,
    *,
    is_known: bool,
    is_whole: bool,
) -> tuple[list[list[Finding]], float]:
    """Return what follows the first hits, each with those that have the same words, and the best score of all.

    Where nothing is certain, only the nearest follow, unless all is shown; and always a second step of the question.
    """
    ordered = take_turns(found, project) if is_known else nearest(everything.items, project)
    second = {id(one): one for one in next_steps(replace(everything, items=everything.items[:limit]))}
    known = set(map(id, ordered))
    ordered += [one for key, one in second.items() if key not in known]
    others = _each_once(ordered, {(hit.kind, hit.id) for hit in first})
    if not (is_known or is_whole):
        others = others[:NEAREST] + [one for one in others[NEAREST:] if id(one[0]) in second]
    return others, best_score(ordered)


def _each_once(found: Iterable[Finding], known: Collection[tuple[str, str]]) -> list[list[Finding]]:
    """Return findings that are not known yet, each with those that have the same words."""
    same: dict[tuple[str, ...], list[Finding]] = {}
    new = [one for one in found if (one.kind, one.source_id) not in known]
    below = ["" if one.kind in _UNTITLED else one.text.partition("\n")[2].strip() for one in new]
    texts = [text or one.text for one, text in zip(new, below, strict=True)]
    for one, words in zip(new, words_in_each(texts), strict=True):
        same.setdefault(words, []).append(one)
    return [*same.values()]


def take_turns(found: list[Findings], project: str) -> list[Finding]:
    """Return what clears the floor, each group in turn and its best first: as many at a time as its share.

    Where that is less than `NEAREST`, the nearest of the others follow.
    """
    score, ordered, others = _score_for(project), list[tuple[float, float, Finding]](), list[Finding]()
    for (share, _), one in zip(GROUPS, found, strict=True):
        if not one.items:
            continue
        first = sorted(answering(one.items), key=score, reverse=True)
        ordered += [(rank // share, -score(item), item) for rank, item in enumerate(first)]
        known = set(map(id, first))
        others += [item for item in one.items if id(item) not in known]
    ordered.sort(key=itemgetter(0, 1))
    answers = [item for *_, item in ordered]
    return answers + nearest(others, project)[: max(0, NEAREST - len(answers))]


def nearest(items: Iterable[Finding], project: str) -> list[Finding]:
    """Return findings by their scores, those of the question's project a little higher."""
    return sorted(items, key=_score_for(project), reverse=True)


def _score_for(project: str) -> Callable[[Finding], float]:
    folded = project.casefold()
    return _SCORE if not project else lambda item: item.score + SAME_PROJECT * (item.project.casefold() == folded)


def join_groups(found: list[Findings]) -> Findings:
    """Return what all groups found as one: what a question that nothing answers is kept and judged by."""
    waiting = sum([one.waiting for one in found])
    items = sorted([item for one in found for item in one.items], key=_SCORE, reverse=True)
    searched = sum([one.searched for one in found])
    # Groups without any of the words weigh none of them. A word is missing when all groups miss it.
    weights = {word: max([one.weights.get(word, weight) for one in found]) for word, weight in found[0].weights.items()}
    missing = frozenset.intersection(*[one.missing for one in found])
    total = sum([one.total for one in found])
    joined = replace(found[0], items=items, total=total, waiting=waiting, searched=searched)
    return replace(joined, weights=weights, missing=missing)


def _shorten(hit: Hit) -> Hit:
    return replace(hit, excerpt=excerpt_of(hit.excerpt, hit.matched, chars=CONCISE_CHARS))


def search_chunks(actor: Actor, *, query: Query, project: Project = "", limit: Limit = 5, offset: Offset = 0) -> Hits:
    """Search the flagged exchanges of all sessions by words and meaning.

    Call this when asked “do you remember…”, before you answer. Returns excerpts with their sessions, best first.
    """
    things = visible_things(actor.user, [Kind.CHUNK])
    return find(actor, query, things=things, project=project, limit=limit, offset=offset)[0]


def search_notes(
    actor: Actor, *, query: Query, domain: Domain | None = None, limit: Limit = 5, offset: Offset = 0
) -> Hits:
    """Search notes by the words and the meaning of a question, in one domain or all.

    Call this when you do not know the exact domain and key. Returns the notes' addresses with excerpts, the best first.
    """
    things = visible_things(actor.user, [Kind.NOTE])
    if domain is not None:
        things = {kind: notes.filter(domain=domain) for kind, notes in things.items()}
    return find(actor, query, things=things, is_narrowed=domain is not None, limit=limit, offset=offset)[0]
