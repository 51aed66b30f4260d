"""What the pages about memory need to show it: rendered markdown, marked words, plain words for numbers."""

from collections.abc import Iterable

from django import template
from django.utils.html import conditional_escape, format_html
from django.utils.safestring import SafeString, mark_safe

from bigmind.core.numbers import number_of
from bigmind.web.markdown import render_markdown
from knowledge.search.excerpts import words_like
from knowledge.views.pages import address_of, word_for

register = template.Library()

SURENESS = ((1.0, "certain"), (0.8, "confident"), (0.6, "fairly sure"), (0.4, "unsure"), (0.0, "doubtful"))

register.filter("rendered", render_markdown)
register.filter("address", address_of)
register.filter("number", number_of)
register.filter("kind_word", word_for)


@register.filter
def sureness(confidence: float) -> str:
    """Say a confidence in a word, with its number unless it is 1: “fairly sure (0.7)”."""
    word = next(word for least, word in SURENESS if confidence >= least)
    return word if confidence == 1 else f"{word} ({confidence:.2g})"


@register.filter
def highlighted(text: str, words: Iterable[str]) -> SafeString:
    """Show a text with the words it was found by marked. Words are stems: their common endings are marked along."""
    found = words_like(list(words))
    if found is None:
        return conditional_escape(text)
    # Of the parts, every second one is what was found.
    parts = [
        format_html("<mark>{}</mark>", part) if number % 2 else conditional_escape(part)
        for number, part in enumerate(found.split(text))
    ]
    return mark_safe("".join(parts))  # noqa: S308 - each part has been escaped
