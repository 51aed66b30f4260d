"""What the pages of the queue say in words: how long something waits, how near a text is, what was done and changed."""

from django import template
from django.utils.html import conditional_escape, format_html
from django.utils.safestring import SafeString, mark_safe

from bigmind.web.differences import words_changed
from curation.proposals.briefing import ProposerRecord
from curation.proposals.queue import QueueItem

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
    "undo": "Decision taken back",
}
ELEMENTS = {"same": "{}", "gone": "<del>{}</del>", "new": "<ins>{}</ins>"}


@register.simple_tag
def patience(waiting: QueueItem, review_days: int) -> str:
    """Draw how long something has waited: a word and a colour, which change when it takes too long."""
    days = waiting.age_days
    counted = f"{days} day{'' if days == 1 else 's'}"
    if days < 1:
        return format_html('<span class="badge" data-tone="info">{}</span>', "new")
    if days < review_days:
        return format_html('<span class="badge" data-tone="warning">waiting {}</span>', counted)
    return format_html('<span class="badge" data-tone="danger">overdue, {}</span>', counted)


@register.filter
def past(action: str) -> str:
    """Say what was done."""
    return PAST.get(action, action)


@register.filter
def record_in_words(record: ProposerRecord) -> str:
    """Say what became of the other proposals of the same person."""
    known = ((record.approved, "approved"), (record.rejected, "rejected"), (record.waiting, "pending"))
    told = ", ".join(f"{count:,} {word}" for count, word in known if count)
    return f"track record: {told}" if told else "first proposal"


@register.simple_tag
def word_difference(before: str, after: str) -> SafeString:
    """Draw what changed from one text to another, word by word."""
    parts = (format_html(ELEMENTS[part.kind], part.text) for part in words_changed(before, after))
    return mark_safe("".join(map(conditional_escape, parts)))  # noqa: S308 - each part has been escaped


@register.simple_tag(takes_context=True)
def key(context: template.Context, name: str) -> str:
    """Announce the key of a control, unless the person has switched the keys off."""
    return format_html(' aria-keyshortcuts="{}"', name) if context.get("keys_are_on") else ""


@register.simple_tag(takes_context=True)
def hint(context: template.Context, name: str) -> str:
    """Show the key of a control beside its label, unless the person has switched the keys off."""
    return format_html(' <kbd aria-hidden="true">{}</kbd>', name) if context.get("keys_are_on") else ""
