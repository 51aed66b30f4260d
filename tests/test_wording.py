"""Pages, messages, commands and docs use the field's words: no whole message that reads as if translated."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent

PLAIN = {
    "Questions that found nothing": "Unanswered questions",
    "Nothing waits": "Queue empty",
    "With the ticked ones": "3 selected",
    "Start with the first": "Start reviewing",
    "Keys of the queue": "Keyboard shortcuts",
    "Leave it to others": "Release",
    "It still holds": "Mark as verified",
    "decided against it": "rejected it",
    "Made from scratch": "Written from scratch",
    "What came of company knowledge": "Impact of company knowledge",
    "Everybody’s, added up": "Whole team",
    "Half within (p50)": "Median",
    "95 % within (p95)": "p95",
    "Refused and failed": "Errors",
    "All about the making of vectors": "Embedding details",
    "Make all vectors anew": "Re-embed everything",
    "It took its place": "Active since",
    "none are made by themselves": "Automatic backups: off",
    "a guessed password is enough": "Two-factor authentication is optional",
    "Rows, about": "Rows (estimate)",
    "Operations in a minute": "Rate limit (per minute)",
    "Show that it works": "Verify",
    "closes all doors": "signs them out everywhere",
    "so that nobody else goes by mistake": "to confirm",
    "This goes for good": "This will be permanently deleted",
    "Invited, not here yet": "Pending invitations",
    "has a slip in it": "Page not found",
    "will want the request id": "Request ID",
    "nothing was saved yet": "Not saved",
    "Say who you are": "Set up your profile",
    "Choose what others see": "Privacy settings",
    "What every session is told about you": "Your profile, as agents see it",
    "Take it along": "Export your data",
    "Truths about you": "Short facts about you",
    "One truth, in one sentence": "One fact per entry, as a sentence",
    "Build anew": "Rebuild",
    "Names that stand in several places": "Ambiguous names",
    "were never given to an agent": "None of these has been used yet",
    "what comes nearest in meaning, near or not": "Closest by meaning",
    "Nothing is documented under that": "No results",
    "Connectors of chats on the web": "OAuth apps",
    "Tell your client where BigMind is": "Add BigMind to your client",
    "they belong into": "Put them in",
    "Invite somebody": "Invite someone",
    "Their way in": "Access",
    "Make the invitation": "Create invitation",
    "I have copied it": "Done",
    "What to hear of": "Notify me about",
    "are always told": "You are always notified",
    "What you were told": "Notifications",
    "That of the browser": "Same as browser",
    "That of this BigMind": "Server default",
    "Of all times that you are shown": "Used for all times",
    "If it is not since it was stored": "Leave empty for today",
    "From this day on it no longer holds": "Valid until",
    "Bring it just before an act": "Triggers and code checks",
    "too few sessions were told it": "Not used often enough to measure",
    "was told company knowledge": "received company knowledge",
    "start contexts told": "start contexts delivered",
    "the newer is told": "Agents get the newer one",
    "Which one holds": "Which is correct",
    "Reject it: it does not hold": "Reject (incorrect)",
    "archive the one that does not": "Archive the wrong one",
    "They may disagree": "Possible conflict",
    "Struck out: only in": "Removed / added, compared with",
    "Its story": "History",
    "Comes from what an agent inferred": "Source: inferred by an agent",
    "Put out by a tool": "Source: tool output",
    "Give it to another owner": "Change owner",
    "Unchanged, only the credit is": "merge credit only",
    "will hear of it": "will know this",
    "hear of it within minutes": "Applies to hooks within minutes",
    "learnt once for everybody": "learned once, shared by all",
    "ocumentation that cannot lie": "Verified reference docs",
    "Apps that sign you in instead of": "Claude.ai, ChatGPT and more options",
    "among the instructions of your client, make it certain": "Add these rules",
    "Put in what is true of you": "Make it true for you",
    "What BigMind sees": "Status",
    "do not belong together": "Wrong username or password",
    "somebody who is no longer here": "a former user",
    "This key opens nothing": "This key has been revoked",
}
"""What is no longer written, and what is written instead."""

_COMMENT = re.compile(r"\{#.*?#\}|\{% comment %\}.*?\{% endcomment %\}", re.S)
_TEXTS = {
    path: " ".join(_COMMENT.sub("", path.read_text()).split())
    for folder, endings in (
        ("templates", (".html", ".md", ".txt")),
        ("docs", (".md",)),
        *((app, (".py",)) for app in ("bigmind", "accounts", "knowledge", "curation")),
    )
    for path in sorted((ROOT / folder).rglob("*"))
    # Decisions are records of their day, and so are migrations.
    if path.suffix in endings and not {"migrations", "decisions"} & set(path.parts)
}


@pytest.mark.parametrize("once", PLAIN)
def test_what_once_read_as_if_translated_is_written_plainly(once):
    found = [str(path.relative_to(ROOT)) for path, text in _TEXTS.items() if once in text]

    assert found == [], f"Write “{PLAIN[once]}”."
