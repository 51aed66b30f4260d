"""The components that need a little arithmetic before they are drawn: `{% load components %}`."""

from datetime import datetime
from typing import Any

from django import template
from django.http import HttpRequest
from django.utils import timezone
from django.utils.html import format_html
from django.utils.text import slugify

from bigmind.core.addresses import linkable
from bigmind.core.pages import Page
from bigmind.observability.logging import current_request_id

register = template.Library()

SECONDS_IN = {"year": 31_556_952, "month": 2_629_746, "day": 86_400, "hour": 3_600, "minute": 60}


register.filter("linkable", linkable)


@register.filter
def counted(number: int) -> str:
    """Write a number the way people read it: 1,300."""
    return f"{number:,}"


@register.filter
def age(moment: datetime) -> str:
    """Say in words how long ago a moment was, or how far ahead it lies: “3 days ago”, “in 3 days”."""
    seconds = (timezone.now() - moment).total_seconds()
    for unit, length in SECONDS_IN.items():
        count = int(abs(seconds) // length)
        if count:
            words = f"{count} {unit}{'' if count == 1 else 's'}"
            return f"{words} ago" if seconds > 0 else f"in {words}"
    return "just now"


@register.simple_tag
def when(moment: datetime) -> str:
    """Render a moment as its age, with the exact time on hover and for programs."""
    local = timezone.localtime(moment)
    exact = f"{local.day} {local:%B %Y, %H:%M %Z}"
    return format_html('<time datetime="{}" title="{}">{}</time>', moment.isoformat(), exact, age(moment))


@register.simple_tag
def request_id() -> str:
    """Return the id of this request. It needs no context, so the page for an unexpected error can show it, too."""
    return current_request_id()


@register.inclusion_tag("components/_meter.html")
def meter(label: str, value: int, limit: int, unit: str = "tokens", key: str = "") -> dict[str, Any]:
    """Draw how much of a budget is used, in words and as a bar that warns in its last tenth.

    `key` tells two meters with the same label on one page apart.
    """
    words = f"{value:,} of {limit:,} {unit}"
    meter_id = slugify(f"meter {label} {key}")
    return {"id": meter_id, "label": label, "value": value, "limit": limit, "high": limit * 9 // 10, "words": words}


@register.inclusion_tag("components/_pagination.html", takes_context=True)
def pagination(context: template.Context, page: Page[Any], noun: str, label: str = "Pages") -> dict[str, Any]:
    """Draw where in a list this page is, and the links to its neighbours, which keep the rest of the address."""
    request: HttpRequest = context["request"]
    shown_to = page.offset + len(page.items)
    return {
        "label": label,
        "noun": noun,
        "first": f"{page.offset + 1:,}",
        "last": f"{shown_to:,}",
        "total": f"{page.total:,}",
        "is_needed": bool(page.items),
        "previous": _address(request, max(0, page.offset - page.limit)) if page.offset else "",
        "next": _address(request, shown_to) if page.left else "",
    }


def _address(request: HttpRequest, offset: int) -> str:
    query = request.GET.copy()
    query.pop("offset", None)
    if offset:
        query["offset"] = str(offset)
    return f"?{query.urlencode()}"
