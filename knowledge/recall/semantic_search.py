"""Semantic search: one question over everything the actor may see, by words and by meaning."""

from dataclasses import replace
from typing import Annotated

from pydantic import Field

from accounts.actor import Actor
from bigmind.core.argument_types import AsOf, Before, Limit, Offset, Project, Query, Since, Tags
from bigmind.core.choices import OneOf
from knowledge.exposures.recent_questions import QuestionRecord
from knowledge.kinds import KINDS, SEARCHED
from knowledge.models import AskedForm, Kind
from knowledge.recall.hits import Hits, find
from knowledge.recall.reply_budget import MaxTokens, fit_hits, send
from knowledge.recall.visibility import visible_things
from knowledge.search.question_periods import find_then, read_then

AnyKind = Annotated[
    list[Annotated[str, OneOf(kind for kind in Kind if KINDS[kind].is_searched)]],
    Field(description="Kinds to search. Default: all."),
]
AllTags = Annotated[
    Tags,
    Field(description="Only items with all these tags or topics."),
]


def semantic_search(
    actor: Actor,
    *,
    query: Query,
    kinds: AnyKind | None = None,
    project: Project = "",
    tags: AllTags | None = None,
    since: Since | None = None,
    before: Before | None = None,
    as_of: AsOf | None = None,
    max_tokens: MaxTokens | None = None,
    explain: Annotated[bool, Field(description="Explain each score.")] = False,
    limit: Limit = 10,
    offset: Offset = 0,
) -> Hits:
    """Search all you may see by words and meaning: your memory, shared entries, company knowledge, documentation.

    Call this first when you need to know something, before you ask the user or look elsewhere. Returns the best first,
    each with who said it, when and where; of facts only the few that matter: weaker ones follow at the next offset. If
    nothing matches, the reply says so and shows the closest.
    """
    then = read_then(actor, as_of) if as_of else find_then(actor, query)
    things = visible_things(
        actor.user,
        kinds or SEARCHED,
        tags=tags or [],
        since=since,
        before=before,
        then=then,
        only_then=bool(as_of),
    )
    is_narrowed = bool(tags or since or before or as_of)
    hits, found = find(
        actor,
        query,
        things=things,
        is_narrowed=is_narrowed,
        project=project,
        explain=explain,
        then=then,
        only_strong=True,
        limit=limit,
        offset=offset,
    )
    fitting = fit_hits(hits, max_tokens, template="hits.md", hit_template="_hit_line.md")
    page = replace(hits, items=[hit for hit, _ in fitting])
    question = QuestionRecord(
        query,
        AskedForm.SEARCH if Kind.COMPANY in things else None,
        found,
        # What is missing in one's own memory alone is no gap that others could fill.
        may_be_gap=any(KINDS[kind].is_shared for kind in things),
        project=project,
        limit=limit,
    )
    lines = [line for _, line in fitting]
    return send(actor, page, lines, None if is_narrowed or offset else question, template="hits.md")
