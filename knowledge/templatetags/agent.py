"""Filters for what agents read: stored text is shown as data that cannot forge structure."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from django import template

from bigmind.core import text as texts
from bigmind.core.handles import handle_of
from bigmind.core.tokens import cut_to_tokens
from knowledge.app_maps.files.text import write_reply
from knowledge.kinds import UNTITLED
from knowledge.search.excerpts import excerpt_of

register = template.Library()

SHARED_TIERS = ("kb", "G", "docs", "apps")
TITLE_TOKENS = 12
LINE_CHARS = 240


@register.filter
def inline(text: str) -> str:
    """Show a stored text within a line: one line, no headings, no table bars, hidden characters visible."""
    return texts.inline(text)


@register.filter
def fence(text: str, label: str = "stored text") -> str:
    """Show a stored text as a quoted block that it cannot leave."""
    return texts.fence(text, label=label)


@register.filter
def tokens(text: str, budget: int) -> str:
    """Cut a text between words so that it costs at most this many tokens."""
    return cut_to_tokens(text, budget)


@register.filter
def around(text: str, matched: Sequence[str]) -> str:
    """Cut a long text to the part that has the words it was found by, as much as a line should be long."""
    return excerpt_of(text, matched, chars=LINE_CHARS)


@register.filter
def resolved_yaml(reply: Any) -> str:
    """Show where something is, by name and id, as the few lines of YAML an agent needs."""
    return write_reply(reply.model_dump())


@register.filter
def hit_label(hit: Any) -> str:
    """Say of a hit in one line what it is, who said it, when, and where it comes from.

    It stands behind the opening fence, so no text of anybody's can pass for it; what was stored comes last.
    """
    handle = handle_of(hit.kind, hit.id)
    by = f"approved by {hit.approver}" if hit.approver else f"by {hit.owner or 'someone who has left'}"
    shown = hit.role or (by if hit.tier in SHARED_TIERS else "")
    session = f"session {hit.session_id[:8]}" if hit.kind == "chunk" and hit.session_id else ""
    named = hit.title.removeprefix(f"[{handle}] ")
    title = "" if named in hit.excerpt or named in UNTITLED else _quote(named)
    alike = f"and {hit.alike} alike" if hit.alike else ""
    against = f"(contradicted by the newer {hit.contradicted_by})" if hit.contradicted_by else ""
    return _label(
        handle, _weakness(hit), shown, hit.created_at, hit.validity, session, alike, hit.project, title, against
    )


@register.filter
def entry_label(hit: Any) -> str:
    """Say so of an entry of the knowledge base that was found."""
    entry = hit.entry
    by = f"by {entry.created_by}" if entry.created_by else "by someone who has left"
    sure = "" if entry.confidence == 1 else f"confidence {entry.confidence:.1f}"
    return _label(
        f"entry:{entry.id}", _weakness(hit), entry.entry_type, by, entry.updated_at, sure, _quote(entry.source_story)
    )


@register.filter
def company_label(hit: Any) -> str:
    """Say so of an approved entry that was found, with how lately someone verified it."""
    entry = hit.entry
    by = f"approved by {entry.decided_by}" if entry.decided_by else "approved"
    source = f"from {entry.comes_from} as of {entry.as_of:%Y-%m-%d}" if entry.comes_from and entry.as_of else ""
    return _label(
        entry.handle, _weakness(hit), entry.category, entry.freshness, by, entry.updated_at, source, _quote(entry.title)
    )


def _weakness(hit: Any) -> str:
    """Return the word for a hit that merely comes closest; of the others nothing is said."""
    return "weak" if hit.relevance == "weak" else ""


def _label(*parts: str | datetime) -> str:
    shown = (f"{part:%Y-%m-%d}" if isinstance(part, datetime) else texts.inline(part) for part in parts if part)
    return " ".join(shown)


def _quote(stored: str) -> str:
    return f"“{cut_to_tokens(texts.inline(stored), TITLE_TOKENS)}”" if stored else ""
