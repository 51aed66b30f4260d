"""The facts of a start context: which are sent, by class and by usefulness.

Identity, instructions and preferences apply to every task and are chosen by class; facts about the work compete by what
they help this session.
"""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from datetime import UTC, datetime
from functools import partial, reduce
from operator import attrgetter, or_
from typing import Any
from uuid import UUID

from django.contrib.postgres.search import SearchQuery
from django.db.models import (
    BigIntegerField,
    BooleanField,
    Exists,
    F,
    FloatField,
    Func,
    OuterRef,
    Q,
    QuerySet,
    Value,
)
from django.db.models.functions import Cast, Left
from django.utils import timezone

from accounts.actor import Actor
from accounts.models import Profile
from bigmind.core.private_row_numbers import numbers_of
from bigmind.database.fixed_queries import Asked, FixedQuery, pad
from bigmind.text.days import iso_days
from bigmind.text.hygiene import inline, inline_each, normalise, quote
from bigmind.text.token_counts import cut_to_tokens
from knowledge.context.budget import PART_BUDGETS
from knowledge.context.line_ranking import DIRECTIVES, ContextFact, LineRanking, tells_to
from knowledge.context.lines import ContextLine, ContextPart
from knowledge.models import Category, Fact, Kind, Passage, say_validity
from knowledge.truth.doubtful_facts import why_doubtful_each

FACTS_READ_PER_GROUP = 110
TOPIC_WORDS = 24
PROJECT_TOKENS = 12
ITEM_CHARS = 2_000
MOST_LINES = 110
"""Lines of one part that compete with those of the others: more would never fit."""
DATED = {Category.DECISION, Category.CODEBASE}
"""Categories that age, so their facts carry a date; identity and preferences do not age."""
STANDING = (Category.IDENTITY, Category.CONSTRAINT, Category.PREFERENCE)
"""Categories that apply to every task. Chosen by category, since no task's topics match “always answer in German”."""

WORK = "work"
TASTE_AND_RULE = (Category.CONSTRAINT, Category.PREFERENCE)
FACT_PARTS = ("identity", "constraint", "preference", WORK)


def line_start(text: str, chars: int = ITEM_CHARS, shown: Callable[[str], str] = inline) -> str:
    """Return as much of a text as could ever be shown: counting the tokens of megabytes would take seconds."""
    return shown(text[:chars]) + ("…" if len(text) > chars else "")


def line_starts(texts: Sequence[str]) -> list[str]:
    """Return as much of each of several texts so."""
    starts = inline_each([text[:ITEM_CHARS] for text in texts])
    return [f"{start}…" if len(text) > ITEM_CHARS else start for start, text in zip(starts, texts, strict=True)]


def distance(of: str, project: str) -> int:
    """Return the sort key of a project: this one first, none second, another one last."""
    return 0 if project and of == project else 2 if of else 1


def name_project(of: str, project: str) -> str:
    """Return the name of another project, as a line about it carries it; empty for this one and for none."""
    return f"project {quote(cut_to_tokens(inline(of), PROJECT_TOKENS))}" if of and of != project else ""


def fact_parts(
    facts: Sequence[ContextFact],
    ranking: LineRanking,
    *,
    cited: Collection[str],
    profile: Profile,
    company: Collection[str],
) -> dict[str, ContextPart]:
    """Return the facts by class: those that always apply have their own parts, so that work cannot displace them.

    What the profile or company knowledge says in the same words is left out, unless there is nothing else.

    Args:
        cited: The ids of facts that sessions said they used.
        company: The texts of the company entries beside them.
    """
    against = _find_pairs(facts)
    profile_lines = {
        normalise(line.lstrip("-* ")) for line in (*profile.pinned_facts, *profile.preferences.splitlines())
    }
    of_part: dict[str, list[ContextFact]] = {name: [] for name in FACT_PARTS}
    said_once = [
        fact
        for fact in facts
        if fact.start not in company and not (profile_lines and normalise(fact.start) in profile_lines)
    ]
    for fact in said_once or facts:
        applies = fact.category in STANDING and fact.project in {"", ranking.project}
        of_part[_class_of(fact) if applies else WORK].append(fact)
    return {
        name: ContextPart(
            "1",
            (ranking.rank(found, cited) if name == WORK else _standing(found, ranking.project))[:MOST_LINES],
            *PART_BUDGETS[name],
            make=partial(_lines_of, part=name, ranking=ranking, cited=cited, against=against),
        )
        for name, found in of_part.items()
    }


def _find_pairs(facts: Iterable[ContextFact]) -> dict[int, list[int]]:
    """Return for each fact that may contradict others of these, which."""
    newer = {fact.pk: fact.contradicted_by_id for fact in facts if fact.contradicted_by_id}
    known, pairs = {fact.pk for fact in facts} if newer else (), dict[int, list[int]]()
    for one, other in newer.items():
        if other in known:
            pairs.setdefault(one, []).append(other)
            pairs.setdefault(other, []).append(one)
    return pairs


def _class_of(fact: ContextFact) -> str:
    """Return the class of a fact that applies to every task. A preference that reads like an instruction is one."""
    # Agents store both as preferences, and instructions have the larger share.
    if fact.category == Category.PREFERENCE and tells_to(fact.start) == 2:
        return str(Category.CONSTRAINT)
    return str(fact.category)


def _standing(facts: Iterable[ContextFact], project: str) -> list[ContextFact]:
    """Put facts that always apply in order: of this project first, then what reads like an instruction, then by age."""
    newest = sorted(facts, key=attrgetter("created", "pk"), reverse=True)
    places = [(distance(fact.project, project), -tells_to(fact.start)) for fact in newest]
    return [newest[at] for at in sorted(range(len(newest)), key=places.__getitem__)]


def _lines_of(
    facts: Sequence[ContextFact],
    *,
    part: str,
    ranking: LineRanking,
    cited: Collection[str],
    against: Mapping[int, Iterable[int]],
) -> list[ContextLine]:
    """Return the lines of facts: the text, with handle, another project, date, and what makes it doubtful."""
    lines = []
    numbers, texts = numbers_of([fact.pk for fact in facts]), line_starts([fact.start for fact in facts])
    days = iso_days([datetime.fromtimestamp(fact.created, UTC) for fact in facts])
    doubts = why_doubtful_each([fact.start for fact in facts])
    for fact, number, day, text, doubt in zip(facts, numbers, days, texts, doubts, strict=True):
        about = [f"F{number}"]
        if fact.project and fact.project != ranking.project:
            about.append(name_project(fact.project, ranking.project))
        if fact.category in DATED and not fact.valid_from:
            about.append(day)
        if fact.valid_from or fact.valid_until or fact.replaced_from:
            ends = min(filter(None, (fact.valid_until, fact.replaced_from)), default=None)
            about.append(say_validity(fact.valid_from, ends))
        if fact.is_false:
            about.append("stale: its code changed")
        if doubt:
            about.append(doubt)
        if others := against.get(fact.pk):
            about += [f"may contradict F{other}" for other in numbers_of(others)]
        opening = f"- **[{fact.category}]** ({', '.join(about)}) "
        why = partial(_why, fact, part, ranking, cited)
        lines.append(ContextLine("fact", str(fact.pk), opening, text, why=why, is_spare=bool(doubt)))
    return lines


def _why(fact: ContextFact, part: str, ranking: LineRanking, cited: Collection[str]) -> str:
    reasons = {
        f"about the project {ranking.project}": bool(ranking.project) and fact.project == ranking.project,
        "applies to every task": part != WORK and not fact.project,
        "has words of the topics": part == WORK and ranking.is_named_in(fact.start),
        "used by an earlier session": str(fact.pk) in cited,
    }
    return ", ".join(reason for reason, holds in reasons.items() if holds) or f"among the newest of {fact.category}"


def ask_facts(actor: Actor, project: str, topics: Sequence[str]) -> Asked:
    """Return the query for the newest facts of each category and of the project, and for older ones that instruct, or
    are about the topics.

    A UNION of limited queries, each answered by an index: sorting all facts by usefulness in the database would read
    every one of them.
    """
    words = [word for topic in topics for word in topic.split()][:TOPIC_WORDS]
    return _FACTS_TO_TELL, (actor.user.pk, timezone.now(), project, *pad(words))


# As a number: hundreds of moments would be made for the few that are shown.
_CREATED = Func(F("created_at"), template="date_part('epoch', %(expressions)s)", output_field=FloatField())
_FALSE_IN_CODE = Func(
    F("anchor_checks"),
    Value('$.* ? (@.verdict == "false")'),
    function="jsonb_path_exists",
    template="%(function)s(%(expressions)s::jsonpath)",
    output_field=BooleanField(),
)


def _facts_to_tell(user_id: UUID, now: datetime, project: str, *words: str) -> QuerySet[Any, Any]:
    current = Fact.objects.of(user_id).current().filter(Q(valid_until=None) | Q(valid_until__gt=now))
    # As `without_past`, but without a join: hardly a current fact is superseded.
    replaced = Exists(Fact.objects.filter(pk=OuterRef("superseded_by"), valid_from__lte=now))
    current = current.filter(Q(superseded_by=None) | ~replaced)
    groups = [current.filter(category=category) for category in Category.values]
    # If a person has more preferences than are read here, those that instruct come first, whatever their age.
    instructions = _ids_with_words(user_id, DIRECTIVES, config="simple")
    groups.append(current.filter(category=Category.PREFERENCE, pk__in=instructions))
    if project:
        groups.append(current.filter(project=project))
    if words:
        groups.append(current.filter(pk__in=_ids_with_words(user_id, words, config="english")[:FACTS_READ_PER_GROUP]))
    first, *others = [group.newest_first().values("pk")[:FACTS_READ_PER_GROUP] for group in groups]
    # Only of those chosen is more read: a fact is in several groups.
    rows = Fact.objects.filter(pk__in=first.union(*others)).annotate(
        created=_CREATED,
        start=Left("fact", ITEM_CHARS + 1),
        replaced_from=F("superseded_by__valid_from"),
        is_false=_FALSE_IN_CODE,
    )
    return rows.order_by("pk").values_list(*ContextFact._fields)


_FACTS_TO_TELL = FixedQuery(_facts_to_tell)


def _ids_with_words(user_id: UUID, words: Iterable[str], *, config: str) -> "QuerySet[Passage, Any]":
    query = reduce(or_, (SearchQuery(word, config=config, search_type="plain") for word in words))
    found = Passage.objects.filter(owner=user_id, kind=Kind.FACT, lexemes=query)
    return found.values_list(Cast("source_id", BigIntegerField()))
