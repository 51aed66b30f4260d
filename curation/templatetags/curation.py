"""Template tags of the queue: waiting time, names of actions, track records, differences, keyboard shortcuts."""

from django import template
from django.utils.html import conditional_escape, format_html
from django.utils.safestring import SafeString, mark_safe

from bigmind.core.translation import _, gettext_lazy, ngettext, write_number
from bigmind.web.differences import words_changed
from curation.proposals.queue import QueueItem
from curation.shapes.briefings import ProposerRecordShape

register = template.Library()

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


@register.simple_tag
def waiting_badge(waiting: QueueItem, review_days: int) -> str:
    """Render how long an entry has waited: a word and a colour, which change when it takes too long."""
    days = waiting.age_days
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
    """Return the track record of the proposer in words."""
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
