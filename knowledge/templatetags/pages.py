"""What the pages about memory need to show it: rendered markdown, marked words, plain words for numbers."""

from collections.abc import Iterable
from html import escape
from re import Pattern
from typing import Any

from django import template
from django.utils.formats import number_format
from django.utils.html import conditional_escape
from django.utils.safestring import SafeString, mark_safe

from bigmind.core.private_row_numbers import number_of
from bigmind.core.translation import gettext_lazy
from bigmind.privacy.injections import why_of
from bigmind.web.markdown import render_markdown
from knowledge.models.injection_signs import signs_of
from knowledge.search.excerpts import words_like
from knowledge.views.pages import address_of, word_for

register = template.Library()

SURENESS = (
    (1.0, gettext_lazy("certain")),
    (0.8, gettext_lazy("confident")),
    (0.6, gettext_lazy("fairly sure")),
    (0.4, gettext_lazy("unsure")),
    (0.0, gettext_lazy("doubtful")),
)

register.filter("rendered", render_markdown)
register.filter("address", address_of)
register.filter("number", number_of)
register.filter("kind_word", word_for)


@register.simple_tag
def injection_signs(thing: Any) -> dict[str, str]:
    """Return what looks like a prompt injection in a thing that everybody shares: each kind of sign, and why."""
    return {kind: why_of(kind) for kind in signs_of(thing)}


@register.filter
def sureness(confidence: float) -> str:
    """Say a confidence in a word, with its number unless it is 1: “fairly sure (0.7)”."""
    word = next(word for least, word in SURENESS if confidence >= least)
    return str(word) if confidence == 1 else f"{word} ({number_format(f'{confidence:.2g}')})"


@register.filter
def inline_code(text: str) -> SafeString:
    """Show a text of one line with what stands between backticks as code. A backtick without its fellow stays."""
    parts = text.split("`")
    if len(parts) < 3 or len(parts) % 2 == 0:
        return conditional_escape(text)
    shown = [f"<code>{escape(part)}</code>" if number % 2 else escape(part) for number, part in enumerate(parts)]
    return mark_safe("".join(shown))  # noqa: S308 - each part has been escaped


@register.filter
def snippet(text: str, words: Iterable[str]) -> SafeString:
    """Show plain words of a hit as `highlighted` does, and what stands between backticks as code."""
    parts = text.split("`")
    if len(parts) % 2 == 0:
        # The cut took the other half of a pair away.
        parts[-2:] = ["".join(parts[-2:])]
    found = words_like(list(words))
    marked = [_mark(part, found) for part in parts]
    shown = [f"<code>{part}</code>" if number % 2 else part for number, part in enumerate(marked)]
    return mark_safe("".join(shown))  # noqa: S308 - each part has been escaped


@register.filter
def highlighted(text: str, words: Iterable[str]) -> SafeString:
    """Show a text with the words it was found by marked. Words are stems: their common endings are marked along."""
    return _mark(text, words_like(list(words)))


def _mark(text: str, found: Pattern[str] | None) -> SafeString:
    if found is None:
        return conditional_escape(text)
    # Of the parts, every second one is what was found. There may be tens of thousands: `format_html` takes ten times as
    # long for each.
    parts = (
        f"<mark>{escape(part)}</mark>" if number % 2 else escape(part) for number, part in enumerate(found.split(text))
    )
    return mark_safe("".join(parts))  # noqa: S308 - each part has been escaped
