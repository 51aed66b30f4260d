"""The components that need a little arithmetic before they are drawn: `{% load components %}`."""

from collections.abc import Callable, Mapping
from datetime import datetime
from functools import lru_cache
from hashlib import blake2s
from typing import Any

from django import template
from django.http import HttpRequest
from django.templatetags.static import static
from django.urls import get_script_prefix
from django.utils import timezone
from django.utils.formats import date_format
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString
from django.utils.text import slugify

from bigmind.core.sentences import in_language
from bigmind.core.tracing import current_request_id
from bigmind.core.translation import _, ngettext, write_number
from bigmind.database.pagination import Page
from bigmind.network.addresses import linkable
from bigmind.web.differences import WordRun, words_changed
from bigmind.web.form_rendering import field_notes, form_field
from bigmind.web.words import word_of

register = template.Library()

PAST: dict[str, Callable[[int], str]] = {
    "year": lambda count: ngettext("%(count)s year ago", "%(count)s years ago", count) % {"count": count},
    "month": lambda count: ngettext("%(count)s month ago", "%(count)s months ago", count) % {"count": count},
    "day": lambda count: ngettext("%(count)s day ago", "%(count)s days ago", count) % {"count": count},
    "hour": lambda count: ngettext("%(count)s hour ago", "%(count)s hours ago", count) % {"count": count},
    "minute": lambda count: ngettext("%(count)s minute ago", "%(count)s minutes ago", count) % {"count": count},
}
FUTURE: dict[str, Callable[[int], str]] = {
    "year": lambda count: ngettext("in %(count)s year", "in %(count)s years", count) % {"count": count},
    "month": lambda count: ngettext("in %(count)s month", "in %(count)s months", count) % {"count": count},
    "day": lambda count: ngettext("in %(count)s day", "in %(count)s days", count) % {"count": count},
    "hour": lambda count: ngettext("in %(count)s hour", "in %(count)s hours", count) % {"count": count},
    "minute": lambda count: ngettext("in %(count)s minute", "in %(count)s minutes", count) % {"count": count},
}
# The mean year and the mean month of the Gregorian calendar.
SECONDS_IN = {"year": 31_556_952, "month": 2_629_746, "day": 86_400, "hour": 3_600, "minute": 60}
HUES = 8

SYMBOLS = {"docs": "reference"}
"""The symbols of what is drawn as something else; the registry of kinds adds its own (`show_kinds_as`)."""
CATEGORY_ICONS = {
    "identity": "person",
    "preference": "heart",
    "constraint": "lock",
    "decision": "branch",
    "codebase": "reference",
}

register.filter("linkable", linkable)
register.filter("counted", write_number)
register.filter("worded", word_of)
register.filter("said", in_language)
register.simple_tag(form_field)
register.simple_tag(field_notes)


@register.simple_block_tag
def breadcrumbs(content: SafeString) -> SafeString:
    """Draw the way to a page, whose steps are items of a list."""
    return format_html('<nav class="breadcrumbs" aria-label="{}"><ol>{}</ol></nav>', _("Breadcrumbs"), content)


@register.filter
def age(moment: datetime) -> str:
    """Say in words how long ago a moment was, or how far ahead it lies: “3 days ago”, “in 3 days”."""
    seconds = (timezone.now() - moment).total_seconds()
    for unit, length in SECONDS_IN.items():
        count = int(abs(seconds) // length)
        if count:
            return (PAST if seconds > 0 else FUTURE)[unit](count)
    return _("just now")


@register.simple_tag
def when(moment: datetime) -> str:
    """Render a moment as its age, with the exact time on hover and for programs."""
    exact = date_format(timezone.localtime(moment), _("j F Y, H:i T"))
    return format_html('<time datetime="{}" title="{}">{}</time>', moment.isoformat(), exact, age(moment))


@register.simple_tag
def icon(name: str) -> str:
    """Draw an icon of the sprite, in the colour and size of the text around it. Words beside it say what it means."""
    return _drawing_of(name, get_script_prefix())


@lru_cache(256)
def _drawing_of(name: str, _prefix: str) -> SafeString:
    # What `static` returns depends on the prefix, so it is part of what is remembered.
    return format_html('<svg class="icon" aria-hidden="true"><use href="{}#{}"/></svg>', static("img/icons.svg"), name)


@register.simple_tag
def navigation_link(link: Any) -> SafeString:
    """Draw one line of the navigation: its symbol, its label, and what is new there."""
    current = format_html(' aria-current="{}"', link.current) if link.current else ""
    note = format_html(" <small>{}</small>", link.note) if link.note else ""
    symbol = icon(link.icon) if link.icon else ""
    return format_html('<a href="{}"{}>{}{}{}</a>', link.url, current, symbol, link.label, note)


def show_kinds_as(symbols: Mapping[str, str]) -> None:
    """Draw each of these kinds as a symbol of the sprite, in the colour of that."""
    SYMBOLS.update(symbols)


@register.simple_tag
def kind_icon(kind: str, category: str = "") -> str:
    """Draw what kind of knowledge a row is, in the colour of the kind; of a fact the icon tells the category."""
    shown = SYMBOLS.get(kind, kind)
    name = CATEGORY_ICONS.get(category, shown)
    return format_html('<span class="kind" data-of="{}" aria-hidden="true">{}</span>', shown, icon(name))


@register.simple_tag
def avatar(name: object, size: str = "") -> str:
    """Draw who it is by their initials, in a hue of their own. The name has to stand beside it."""
    words = str(name).split()
    initials = (words[0][:1] + words[-1][:1] if len(words) > 1 else str(name)[:2]).upper()
    sized: str | SafeString = format_html(' data-size="{}"', size) if size else ""
    return format_html('<span class="avatar" data-hue="{}"{} aria-hidden="true">{}</span>', hue(name), sized, initials)


@register.filter
def with_code(text: str) -> SafeString:
    """Print a sentence with what stands between backquotes as code."""
    pieces = text.split("`")
    return SafeString(
        "".join(format_html("<code>{}</code>" if odd % 2 else "{}", piece) for odd, piece in enumerate(pieces))
    )


@register.filter
def hue(name: object) -> int:
    """Choose one of the eight hues by a name: always the same for the same name."""
    return blake2s(str(name).encode(), digest_size=2).digest()[0] % HUES + 1


@register.simple_tag
def request_id() -> str:
    """Return the id of this request. It needs no context, so the page for an unexpected error can show it, too."""
    return current_request_id()


@register.filter
def marked(text: str, other: str) -> SafeString:
    """Render a text, with the words marked that another one has not. Of texts that share little, neither has any."""
    runs = words_changed(other, text)
    if sum(len(run.text) for run in runs if run.kind in {"new", "gone"}) > (len(text) + len(other)) * 2 / 3:
        return format_html("{}", text)
    return format_html_join("", "{}{}", [_mark(run) for run in runs if run.kind != "gone"])


def _mark(run: WordRun) -> tuple[SafeString | str, str]:
    """Return the words of a run, marked if they are new, and the space after them."""
    words = run.text.rstrip()
    is_marked = run.kind == "new" and any(map(str.isalnum, words))
    return format_html("<mark>{}</mark>", words) if is_marked else words, run.text[len(words) :]


@register.inclusion_tag("components/_meter.html")
def meter(label: str, value: int, limit: int, unit: str = "", key: str = "") -> dict[str, Any]:
    """Draw how much of a budget is used, in words and as a bar that warns in its last tenth.

    `key` tells two meters with the same label on one page apart.
    """
    words = _("%(value)s of %(limit)s %(unit)s") % {
        "value": write_number(value),
        "limit": write_number(limit),
        "unit": unit or _("tokens"),
    }
    meter_id = slugify(f"meter {label} {key}")
    return {"id": meter_id, "label": label, "value": value, "limit": limit, "high": limit * 9 // 10, "words": words}


@register.inclusion_tag("components/_pagination.html", takes_context=True)
def pagination(context: template.Context, page: Page[Any], noun: str, label: str = "") -> dict[str, Any]:
    """Draw where in a list this page is, and the links to its neighbours; nothing for one thing alone."""
    request: HttpRequest = context["request"]
    shown_to = page.offset + len(page.items)
    return {
        "label": label or _("Pages"),
        "noun": noun,
        "first": write_number(page.offset + 1),
        "last": write_number(shown_to),
        "total": write_number(page.total),
        "is_needed": bool(page.items) and page.total > 1,
        "previous": _address(request, max(0, page.offset - page.limit)) if page.offset else "",
        "next": _address(request, shown_to) if page.left else "",
    }


def _address(request: HttpRequest, offset: int) -> str:
    query = request.GET.copy()
    query.pop("offset", None)
    if offset:
        query["offset"] = str(offset)
    return f"?{query.urlencode()}"
