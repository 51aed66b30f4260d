"""Template tags of the queue: waiting time, names of actions, track records, differences, keyboard shortcuts."""

from functools import lru_cache
from typing import NamedTuple

from django import template
from django.template.loader import render_to_string
from django.utils.html import escape, format_html
from django.utils.safestring import SafeString, mark_safe
from django.utils.translation import get_language

from bigmind.core.translation import _, gettext_lazy, ngettext, write_number
from bigmind.web.differences import words_changed
from curation.proposals.queue import WHYS, QueueItem
from curation.shapes.briefings import ProposerRecordShape

register = template.Library()

ROWS_KEPT = 1_000

PAST = {
    "propose": gettext_lazy("Proposed"),
    "revise": gettext_lazy("Revised"),
    "withdraw": gettext_lazy("Withdrawn"),
    "endorse": gettext_lazy("Agreed to as the first of two"),
    "approve": gettext_lazy("Approved"),
    "reject": gettext_lazy("Rejected"),
    "request_changes": gettext_lazy("Changes requested"),
    "merge": gettext_lazy("Merged"),
    "edit": gettext_lazy("Edited"),
    "verify": gettext_lazy("Verified"),
    "deprecate": gettext_lazy("Deprecated"),
    "supersede": gettext_lazy("Replaced"),
    "restore": gettext_lazy("Restored"),
    "reopen": gettext_lazy("Reopened"),
    "assign": gettext_lazy("Given to another owner"),
    "keep": gettext_lazy("Kept as it is"),
    "set_level": gettext_lazy("Level of its triggers set"),
    "undo": gettext_lazy("Decision undone"),
    "check": gettext_lazy("Checked against the code"),
}
ELEMENTS = {"same": "{}", "gone": "<del>{}</del>", "new": "<ins>{}</ins>"}


class QueueRow(NamedTuple):
    """All that a line of the queue shows, and how: lines that are equal look the same."""

    pk: int
    revision: int
    handle: str
    title: str
    proposer: str
    project: str
    category: str
    importance: int
    warnings: tuple[str, ...]
    relations: tuple[str, ...]
    comments: int
    complaints: int
    reviewer: str
    age_days: int
    review_days: int
    is_own: bool
    is_open: bool
    kept: str
    keys_are_on: bool
    language: str | None


@register.simple_tag(takes_context=True)
def queue_row(context: template.Context, one: QueueItem) -> SafeString:
    """Render a line of the queue. It is kept: from one entry to the next nearly all lines stay as they are."""
    entry, opened = one.entry, context.get("entry")
    return _render_row(
        QueueRow(
            entry.pk,
            entry.revision,
            entry.handle,
            entry.title,
            str(entry.proposed_by or ""),
            entry.project,
            entry.category,
            entry.importance,
            tuple(entry.warnings),
            one.relations,
            one.comments,
            one.complaints,
            reviewer=str(one.claimed_by) if one.claimed_by and one.claimed_by != context["me"] else "",
            age_days=one.age_days,
            review_days=context["review_days"],
            is_own=one.is_own,
            is_open=bool(opened and opened.pk == entry.pk),
            kept=context["kept"],
            keys_are_on=bool(context.get("keys_are_on")),
            language=get_language(),
        )
    )


@lru_cache(maxsize=ROWS_KEPT)
def _render_row(row: QueueRow) -> SafeString:
    return render_to_string("curation/_row.html", {"row": row, "keys_are_on": row.keys_are_on})


@register.simple_tag(takes_context=True)
def queue_filters(context: template.Context) -> SafeString:
    """Render the filters of the queue. As long as none is used they are the same for everyone, and kept."""
    # As it stands in the address, spaces included: what is kept shows nothing of anyone's address.
    filters = {name: value for name, value in context["question"].data.items() if value}
    is_opened = bool(context.get("entry"))
    shown = {"question": context["question"], "entry": is_opened}
    if filters.keys() - {"why"} or filters.get("why", WHYS[0]) not in WHYS:
        return render_to_string("curation/_filters.html", shown)
    form = filters.get("why", ""), is_opened, get_language()
    if form not in _unused_filters:
        _unused_filters[form] = render_to_string("curation/_filters.html", shown)
    return _unused_filters[form]


_unused_filters: dict[tuple[str, bool, str | None], SafeString] = {}


@register.simple_tag
def waiting_badge(days: int, review_days: int) -> str:
    """Render how long an entry has waited: a word and a colour, which change when it takes too long."""
    if days < 1:
        return format_html('<span class="badge" data-tone="info">{}</span>', _("new"))
    if days < review_days:
        words = ngettext("waiting %(days)s day", "waiting %(days)s days", days) % {"days": days}
        return format_html('<span class="badge" data-tone="warning">{}</span>', words)
    words = ngettext("overdue, %(days)s day", "overdue, %(days)s days", days) % {"days": days}
    return format_html('<span class="badge" data-tone="danger">{}</span>', words)


@register.filter
def past(action: str) -> str:
    """Return the past participle of an action."""
    return PAST.get(action, action)


@register.filter
def record_in_words(record: ProposerRecordShape) -> str:
    known = (
        (record.approved, _("%(count)s approved")),
        (record.rejected, _("%(count)s rejected")),
        (record.waiting, _("%(count)s pending")),
    )
    counts = ", ".join(words % {"count": write_number(count)} for count, words in known if count)
    return _("track record: %(counts)s") % {"counts": counts} if counts else _("first proposal")


@register.simple_tag
def word_difference(before: str, after: str) -> SafeString:
    """Render the difference between two texts, word by word."""
    parts = [ELEMENTS[part.kind].format(escape(part.text)) for part in words_changed(before, after)]
    return mark_safe("".join(parts))  # noqa: S308 - each part has been escaped


@register.simple_tag(takes_context=True)
def key(context: template.Context, name: str) -> str:
    """Announce the shortcut of a control, unless the user has turned shortcuts off."""
    return format_html(' aria-keyshortcuts="{}"', name) if context.get("keys_are_on") else ""


@register.simple_tag(takes_context=True)
def hint(context: template.Context, name: str) -> str:
    """Show the shortcut of a control beside its label, unless the user has turned shortcuts off."""
    return format_html(' <kbd aria-hidden="true">{}</kbd>', name) if context.get("keys_are_on") else ""
