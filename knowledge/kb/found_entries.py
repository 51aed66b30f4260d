"""Entries of shared knowledge, as they are searched and browsed: company entries, and those of the knowledge base."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Generic, TypeVar

from bigmind.database.pagination import Page
from knowledge.argument_types import Relevance
from knowledge.models import CompanyEntry, Entry
from knowledge.search.abstention import best_score, judge, name_relevances
from knowledge.search.excerpts import excerpt_of
from knowledge.search.findings import Findings

E = TypeVar("E", CompanyEntry, Entry)

HITS = 50
PROJECTS_SHOWN = 200


@dataclass(frozen=True)
class FoundEntry(Generic[E]):
    """An entry, and why it was found. A listed one has no reason."""

    entry: E
    score: float = 0.0
    excerpt: str = ""
    matched: list[str] = field(default_factory=list)
    arms: tuple[str, ...] = ()
    relevance: Relevance = "strong"


@dataclass(frozen=True)
class FoundEntries(Generic[E]):
    """Matching entries, best first. `fallback`: by their words alone, because the embedder is away.

    `weak`: nothing of it answers the question, as far as that can be judged; `did_you_mean` has words that exist then.
    """

    items: list[FoundEntry[E]]
    total: int
    fallback: bool
    weak: bool = False
    did_you_mean: list[str] = field(default_factory=list)
    notice: str = ""

    @property
    def left(self) -> int:
        """How many more were found."""
        return max(0, self.total - len(self.items))


def entries_found(
    query: str, found: Findings, entries: Mapping[str, E], *, names: Callable[[], Iterable[str]] = tuple
) -> FoundEntries[E]:
    """Return what a search found, of these entries by their ids; `names` are words that a question may have meant."""
    judgement = judge(query, found, names=names)
    relevances = name_relevances(found.items, is_known=not judgement.weak, best=best_score(found.items))
    hits = [
        FoundEntry(
            entries[item.source_id],
            item.score,
            excerpt_of(item.text, item.matched),
            item.matched,
            item.retrievers,
            relevance,
        )
        for item, relevance in zip(found.items, relevances, strict=True)
        if item.source_id in entries
    ]
    total = found.total - len(found.items) + len(hits)
    return FoundEntries(hits, total, found.fallback, judgement.weak, judgement.did_you_mean, found.notice)


def page_of_found(hits: Sequence[FoundEntry[E]], order: Sequence[str], limit: int, offset: int) -> Page[FoundEntry[E]]:
    """Return a page of what was found, the best first unless columns to order by are named."""
    ordered = list(hits)
    for name in reversed(order):
        ordered.sort(key=lambda hit: getattr(hit.entry, name.lstrip("-")), reverse=name.startswith("-"))
    return Page(ordered[offset : offset + limit], len(ordered), limit, offset)


def page_of_listed(page: Page[E]) -> Page[FoundEntry[E]]:
    """Return a page of entries as one of what was found."""
    return page.of([FoundEntry(entry) for entry in page.items])
