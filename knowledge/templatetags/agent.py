"""Filters for what agents read: stored text is shown as data that cannot forge structure."""

from collections.abc import Sequence
from typing import Any

from django import template

from bigmind.core.handles import handle_of
from bigmind.privacy.injections import has_warnings
from bigmind.text import hygiene as texts
from bigmind.text.days import iso_day
from bigmind.text.hygiene import Told
from bigmind.text.token_counts import cut_to_tokens
from knowledge.app_maps.files.text import write_reply
from knowledge.kinds import KINDS, UNTITLED
from knowledge.models.injection_signs import signs_of
from knowledge.search.excerpts import excerpt_of

register = template.Library()

TITLE_TOKENS = 12
LINE_CHARS = 240
UNREVIEWED = "unreviewed"
_WEAKNESS = {"weak": "weak"}
"""The word for a hit that merely comes closest; of the others nothing is said."""
CAUTION = "CAUTION: contains words that look like instructions"


@register.filter
def inline(text: str) -> Told:
    """Show a stored text at the end of a line: one line, no headings, no table bars, hidden characters visible."""
    return Told(texts.inline(str(text)))


@register.filter
def quoted(text: str, always: str = "") -> Told:
    """Show a stored text among the server's own words: in quotes, unless it is one word."""
    shown = texts.quote(str(text))
    return Told(f"“{shown}”" if always and not shown.startswith("“") else shown)


@register.filter
def code(text: str) -> Told:
    """Show a stored name, such as that of a command, word for word as code that it cannot leave."""
    shown = texts.inline(str(text)).replace("`", "'")
    return Told(f"`{shown}`")


@register.filter
def fence(text: str, label: str = "stored text") -> Told:
    """Show a stored text as a quoted block that it cannot leave."""
    return Told(texts.fence(text, label=label))


@register.filter
def told(text: str) -> Told:
    """Show a text that the server has put together, line by line, of parts that are harmless."""
    return Told(text)


@register.filter
def tokens(text: str, budget: int) -> str:
    """Cut a text between words so that it costs at most this many tokens. What was marked or quoted stays so."""
    if not isinstance(text, Told):
        return cut_to_tokens(text, budget)
    if text.startswith("“") and text.endswith("”"):
        return Told(f"“{cut_to_tokens(text[1:-1], budget)}”")
    return Told(cut_to_tokens(text, budget))


@register.filter
def caution(shared: Any) -> Told:
    """Add to a label that a text or a shared thing has signs of a prompt injection; nothing to that of any other."""
    return Told(f", {CAUTION}" if _flag(shared) else "")


@register.filter
def around(text: str, matched: Sequence[str]) -> Told:
    """Show a stored text as `inline` does; of a long one, the part that has the words it was found by."""
    return Told(texts.inline(text if len(text) <= LINE_CHARS else excerpt_of(text, matched, chars=LINE_CHARS)))


@register.filter
def resolved_yaml(reply: Any) -> str:
    """Show where something is, by name and id, as the few lines of YAML an agent needs."""
    return write_reply(reply.model_dump())


@register.filter
def hit_label(hit: Any) -> Told:
    """Say of a hit in one line what it is, who said it, whether anyone reviewed it, when, and where it comes from.

    It stands behind the opening fence, so no text of anybody's can pass for it; what was stored comes last.
    """
    handle = hit.session_handle if hit.kind == "summary" else handle_of(hit.kind, hit.id)
    is_shared = KINDS[hit.kind].is_shared
    by = f"approved by {texts.quote(str(hit.approver))}" if hit.approver else _by(hit.owner) if is_shared else ""
    shown = hit.role or (by if is_shared else "")
    session = f"session {hit.session_handle}" if hit.kind == "chunk" and hit.session_handle else ""
    named = hit.title.removeprefix(f"[{handle}] ")
    title = "" if named in hit.excerpt or named in UNTITLED else _quote(named)
    alike = f"and {hit.alike} alike" if hit.alike else ""
    against = f"(may contradict {hit.may_contradict})" if hit.may_contradict else ""
    reviewed = UNREVIEWED if is_shared and not hit.approver else ""
    flag = _flag(hit) if is_shared else ""
    project = texts.quote(hit.project) if hit.project else ""
    stale = _say_stale(hit.freshness) if hit.freshness and not hit.approver else ""
    where = (session, alike, project, title, against)
    return _label(
        handle,
        _WEAKNESS.get(hit.relevance, ""),
        shown,
        reviewed,
        flag,
        iso_day(hit.created_at),
        hit.validity,
        stale,
        *where,
    )


@register.filter
def entry_label(hit: Any) -> Told:
    """Say so of an entry of the knowledge base that was found."""
    entry = hit.entry
    sure = "" if entry.confidence == 1 else f"confidence {entry.confidence:.1f}"
    flag, source, by = _flag(entry), _quote(entry.source_story), _by(entry.created_by)
    stale = _say_stale(entry.freshness)
    about = (entry.entry_type, by, UNREVIEWED, flag, iso_day(entry.updated_at), sure, stale, source)
    return _label(f"entry:{entry.id}", _WEAKNESS.get(hit.relevance, ""), *about)


@register.filter
def company_label(hit: Any) -> Told:
    """Say so of an approved entry that was found, with how lately someone verified it."""
    entry = hit.entry
    decider = getattr(entry.decided_by, "signature", entry.decided_by)  # of a reply, it is said already
    by = f"approved by {texts.quote(decider)}" if decider else "approved"
    since = f" as of {iso_day(entry.as_of)}" if entry.as_of else ""
    source = f"from {texts.quote(entry.comes_from)}{since}" if entry.comes_from else ""
    flag, title = _flag(entry), _quote(entry.title)
    about = (entry.category, entry.freshness, by, flag, iso_day(entry.updated_at), source, title)
    return _label(entry.handle, _WEAKNESS.get(hit.relevance, ""), *about)


def _say_stale(freshness: str) -> str:
    """Say so of what rests on code that changed."""
    return {"stale": "stale: its code changed", "due": "verify it: its code changed"}.get(freshness, "")


def _flag(shared: Any) -> str:
    return CAUTION if (has_warnings(shared) if isinstance(shared, str) else signs_of(shared)) else ""


def _by(name: object) -> str:
    return f"by {texts.quote(str(name))}" if name else "by someone who has left"


def _label(*parts: str) -> Told:
    return Told(" ".join(texts.inline_each(filter(None, parts))))


def _quote(stored: str) -> str:
    """Return a title or a source as a label says it, in quotes also where it is one word."""
    if not stored:
        return ""
    return f"“{cut_to_tokens(texts.quote(stored).strip('“”'), TITLE_TOKENS)}”"
