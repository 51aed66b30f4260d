"""Filters for what agents read: stored text is shown as data that cannot forge structure."""

from typing import Any

from django import template

from bigmind.core import text as texts
from bigmind.core.tokens import cut_to_tokens
from knowledge.parsers.app_map_text import write_reply

register = template.Library()


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
def resolved_yaml(reply: Any) -> str:
    """Show where something is, by name and id, as the few lines of YAML an agent needs."""
    return write_reply(reply.model_dump())
