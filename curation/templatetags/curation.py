"""Template tags of the queue: waiting time, names of actions, track records, differences, keyboard shortcuts."""

from django import template
from django.utils.html import conditional_escape, format_html
from django.utils.safestring import SafeString, mark_safe

from bigmind.web.differences import words_changed
from curation.proposals.queue import QueueItem
from curation.shapes.briefings import ProposerRecordShape

register = template.Library()

PAST = {
    "propose": "Proposed",
    "revise": "Revised",
    "withdraw": "Withdrawn",
    "endorse": "Agreed to as the first of two",
    "approve": "Approved",
    "reject": "Rejected",
    "request_changes": "Changes requested",
    "merge": "Merged",
    "edit": "Edited",
    "verify": "Verified",
    "deprecate": "Deprecated",
    "supersede": "Replaced",
    "restore": "Restored",
    "reopen": "Reopened",
    "assign": "Given to another owner",
    "keep": "Kept as it is",
    "undo": "Decision undone",
}
ELEMENTS = {"same": "{}", "gone": "<del>{}</del>", "new": "<ins>{}</ins>"}


@register.simple_tag
def waiting_badge(waiting: QueueItem, review_days: int) -> str:
    """Render how long an entry has waited: a word and a colour, which change when it takes too long."""
    days = waiting.age_days
    counted = f"{days} day{'' if days == 1 else 's'}"
    if days < 1:
        return format_html('<span class="badge" data-tone="info">{}</span>', "new")
    if days < review_days:
        return format_html('<span class="badge" data-tone="warning">waiting {}</span>', counted)
    return format_html('<span class="badge" data-tone="danger">overdue, {}</span>', counted)


@register.filter
def past(action: str) -> str:
    """Return the past participle of an action."""
    return PAST.get(action, action)


@register.filter
def record_in_words(record: ProposerRecordShape) -> str:
    """Return the track record of the proposer in words."""
    known = ((record.approved, "approved"), (record.rejected, "rejected"), (record.waiting, "pending"))
    counts = ", ".join(f"{count:,} {word}" for count, word in known if count)
    return f"track record: {counts}" if counts else "first proposal"


@register.simple_tag
def word_difference(before: str, after: str) -> SafeString:
    """Render the difference between two texts, word by word."""
    parts = (format_html(ELEMENTS[part.kind], part.text) for part in words_changed(before, after))
    return mark_safe("".join(map(conditional_escape, parts)))  # noqa: S308 - each part has been escaped


@register.simple_tag(takes_context=True)
def key(context: template.Context, name: str) -> str:
    """Announce the shortcut of a control, unless the user has turned shortcuts off."""
    return format_html(' aria-keyshortcuts="{}"', name) if context.get("keys_are_on") else ""


@register.simple_tag(takes_context=True)
def hint(context: template.Context, name: str) -> str:
    """Show the shortcut of a control beside its label, unless the user has turned shortcuts off."""
    return format_html(' <kbd aria-hidden="true">{}</kbd>', name) if context.get("keys_are_on") else ""
