"""What held then: the facts that change, each replaced on a day, asked for now, for a time, and before an event."""

from collections.abc import Sequence
from datetime import UTC, date, datetime, timedelta
from random import Random
from statistics import fmean
from typing import NamedTuple

from accounts.actor import Actor
from accounts.people.users import add_user
from benchmarks.retrieval.shapes import sections
from knowledge.indexing.embedding import embed_pending
from knowledge.memory.facts import store_fact
from knowledge.models import Fact, Passage
from knowledge.recall.semantic_search import semantic_search

FIRST, LAST = date(2024, 1, 12), date(2026, 5, 1)
APART = 80
"""Days between two changes: a whole month lies between them."""
ASKED = 60
"""Questions of each sort."""
PLACES = "Harbour Mill Station Castle Garden Bridge Tower Market Forest Lake Chapel Quarry".split()  # noqa: SIM905
EVENTS = ("audit", "outage", "anniversary", "flood", "strike", "rehearsal")
NOW, MONTH, DAY, AS_OF, BEFORE = "now", "in a month", "on a day", "`as_of` a day", "before an event"


class Link(NamedTuple):
    """One value of something that changes: its fact, and the days from which and until which it held."""

    fact: int
    start: date
    end: date


class Asked(NamedTuple):
    """One question, the fact that answers it, and the others of its chain."""

    sort: str
    text: str
    as_of: str | None
    answer: int
    others: frozenset[int]


def measure() -> list[str]:
    """Store all chains, ask every question; return a table."""
    actor, random = Actor.of(add_user("then-reader")), Random(5)
    asked = list(_store_chains(actor, random))
    embed_pending()
    lines = ["| asked for | questions | the right one first | among the first three | one of another time first |"]
    lines.append("|---|---|---|---|---|")
    for sort in (NOW, MONTH, DAY, AS_OF, BEFORE):
        own = [one for one in asked if one.sort == sort]
        questions = random.sample(own, min(ASKED, len(own)))
        found = [_ask(actor, one) for one in questions]
        pairs = list(zip(questions, found, strict=True))
        first = fmean(hits[:1] == [one.answer] for one, hits in pairs)
        third = fmean(one.answer in hits[:3] for one, hits in pairs)
        other = fmean(bool(hits) and hits[0] in one.others for one, hits in pairs)
        lines.append(f"| {sort} | {len(questions)} | {first:.3f} | {third:.3f} | {other:.3f} |")
    return lines


def _ask(actor: Actor, one: Asked) -> list[int]:
    hits = semantic_search(actor, query=one.text, as_of=one.as_of, limit=10).items
    return [int(hit.id) for hit in hits if hit.kind == "fact"]


def _store_chains(actor: Actor, random: Random) -> list[Asked]:
    """Store every chain in the order of time; half of them say since when they hold, half were stored on the day."""
    asked: list[Asked] = []
    names = [f"the {place} {event}" for place in PLACES for event in EVENTS]
    random.shuffle(names)
    for things, wordings, values, question, _ in sections("changes"):
        for thing in things:
            chain = _store_chain(actor, random, wordings, random.sample(values, random.choice((2, 2, 3))), thing)
            text = question.format(e=thing)
            everything = frozenset(link.fact for link in chain)
            asked.append(Asked(NOW, text, None, chain[-1].fact, everything - {chain[-1].fact}))
            link = random.choice(chain[:-1])
            asked += _ask_of(random, text, link, everything - {link.fact})
            if names:
                day = link.start + timedelta(days=random.randrange(3, (link.end - link.start).days - 3))
                event = names.pop()
                store_fact(actor, category="codebase", fact=f"{event[0].upper()}{event[1:]} was on {_say(day)}.")
                words = f"{_past(text)[:-1]} before {event}?"
                asked.append(Asked(BEFORE, words, None, link.fact, everything - {link.fact}))
    return asked


def _store_chain(
    actor: Actor, random: Random, wordings: Sequence[str], values: Sequence[str], thing: str
) -> list[Link]:
    is_dated = random.random() < 0.5
    days = _days(random, len(values))
    chain: list[Link] = []
    wording = random.choice(wordings)
    for value, start, end in zip(values, days, [*days[1:], LAST], strict=True):
        text = wording.format(e=thing, v=value)
        moment = datetime.combine(start, datetime.min.time(), UTC)
        fact = store_fact(
            actor,
            category="codebase",
            fact=f"{text[0].upper()}{text[1:]}.",
            supersedes=[chain[-1].fact] if chain else None,
            valid_from=moment if is_dated else None,
        ).fact
        if not is_dated:
            Fact.objects.filter(pk=fact.pk).update(created_at=moment)
            Passage.objects.filter(kind="fact", source_id=str(fact.pk)).update(created_at=moment)
        chain.append(Link(fact.pk, start, end))
    return chain


def _days(random: Random, number: int) -> list[date]:
    """Return days of change, far enough apart, in the middle of a month."""
    room = (LAST - FIRST).days - APART * number
    places = sorted(random.randrange(room) for _ in range(number))
    return [FIRST + timedelta(days=place + APART * turn) for turn, place in enumerate(places)]


def _ask_of(random: Random, text: str, link: Link, others: frozenset[int]) -> list[Asked]:
    month = (link.start.replace(day=1) + timedelta(days=32)).replace(day=1)
    day = link.start + timedelta(days=random.randrange(3, (link.end - link.start).days - 3))
    past = _past(text)[:-1]
    return [
        Asked(MONTH, f"{past} in {month:%B} {month.year}?", None, link.fact, others),
        Asked(DAY, f"{past} on {_say(day)}?", None, link.fact, others),
        Asked(AS_OF, text, day.isoformat(), link.fact, others),
    ]


def _past(question: str) -> str:
    return question.replace(" does ", " did ", 1).replace(" is ", " was ", 1)


def _say(day: date) -> str:
    return f"{day.day} {day:%B} {day.year}"
