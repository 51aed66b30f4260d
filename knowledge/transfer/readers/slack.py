"""Slack: the export of a workspace. A thread is worth keeping where someone asked and someone else answered.

Only public channels are read: who exports a workspace may not publish what others wrote to each other in private
channels and direct messages. Decision 46.
"""

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from html import unescape
from pathlib import PurePosixPath
from typing import Any
from urllib.parse import urlencode

from bigmind.core.errors import Invalid
from bigmind.core.text import cut

from .bundles import Bundle
from .json_rows import document_in, listing, mapping
from .memory_drafts import DraftRow, PageDraft, PageSource, Remark, Row, unread
from .words import headline, tags_of

CHANNELS, USERS = "channels.json", "users.json"
PRIVATE = ("groups.json", "dms.json", "mpims.json")
DAY = re.compile(r"^\d{4}-\d{2}-\d{2}\.json$")
FILE_BYTES = 32 * 1024 * 1024
NOT_SAID = {
    *("channel_join", "channel_leave", "channel_topic", "channel_purpose", "channel_name", "channel_archive"),
    *("channel_unarchive", "bot_message", "tombstone", "reminder_add", "pinned_item", "huddle_thread", "bot_add"),
    *("group_join", "group_leave", "app_conversation_join", "channel_convert_to_private", "reply_broadcast"),
}
"""Messages that no person wrote, or that were deleted; a `reply_broadcast` only repeats a reply in the channel."""
AGREED = {
    *("white_check_mark", "heavy_check_mark", "ballot_box_with_check", "+1", "thumbsup", "raised_hands", "pray"),
    *("tada", "100", "heart", "bow", "clap", "thankyou", "thank_you", "this"),
}
TEXT_CHARS = 8_000
ANSWERS = 3
ANSWER_CHARS = 20
ASKS = re.compile(
    r"\?|\b(?:how (?:do|can|to)|any(?:one|body) (?:know|seen|else)|why (?:is|does|do)|where (?:is|can|do)|error"
    r"|exception|fail(?:s|ed|ing)?|broken|stuck|can't|cannot|doesn't work|not working|help|problem with|traceback)\b",
    re.IGNORECASE,
)
SAYS_NOTHING = (
    *("+1", "same", "following", "me too", "thanks", "thank you", "thx", "ty", "cool", "nice", "great", "ok", "lgtm"),
    *("congrats", "welcome", "awesome", "yes", "no", "yep", "nope", "sure", "done", "not sure", "no idea", "idk"),
    *("looking", "let me check", "will check", "checking", "hm", "same here", "any update"),
)
WORKED = re.compile(
    r"\b(?:that (?:worked|did it|fixed)|works now|worked|it works|solved|fixed it|perfect|thank you|thanks|thx)\b",
    re.IGNORECASE,
)
TOKEN = re.compile(r"<([^<>\n]{1,3000})>")
BOLD = re.compile(r"(?<![\w*])\*([^*\n]{1,500})\*(?![\w*])")
ITALIC = re.compile(r"(?<![\w_])_([^_\n]{1,500})_(?![\w_])")
STRUCK = re.compile(r"(?<![\w~])~([^~\n]{1,500})~(?![\w~])")


@dataclass
class _Thread:
    """A message and what was answered to it, on whichever day."""

    channel: str
    channel_id: str
    ts: str
    first: dict[str, Any] | None = None
    replies: list[dict[str, Any]] = field(default_factory=list)


def looks_like(bundle: Bundle) -> bool:
    """Whether there are a workspace's channels, and a file for a day of one."""
    names = [PurePosixPath(name) for name in bundle.names()]
    has_list = any(name.name in (CHANNELS, USERS, *PRIVATE) for name in names)
    return has_list and any(DAY.match(name.name) and len(name.parts) > 1 for name in names)


def rows(bundle: Bundle, *, into: str = "") -> Iterator[Row]:
    """Yield a thread for each question in a public channel that someone answered."""
    root = _root(bundle)
    try:
        channels = _ids_by_name(_document(bundle, f"{root}{CHANNELS}"))
        people = _people(_document(bundle, f"{root}{USERS}"))
        private = {name for file in PRIVATE for name in _ids_by_name(_document(bundle, f"{root}{file}"))}
    except Invalid as error:
        yield unread(CHANNELS, error)
        return
    threads: dict[tuple[str, str], _Thread] = {}
    teams, left = Counter[str](), Counter[str]()
    for name in bundle.names():
        folder, _, day = name.removeprefix(root).rpartition("/")
        if not DAY.match(day) or not name.startswith(root):
            continue
        if folder in private or folder not in channels:
            left["days of private channels and direct messages"] += 1
            continue
        try:
            _read_day(_document(bundle, name), folder, channels[folder], threads, teams)
        except Invalid as error:
            yield unread(name, error)
    team = max(teams, key=lambda one: (teams[one], one), default="")
    workspace = headline(re.split(r" Slack export", bundle.name.removesuffix(".zip"))[0], otherwise="Slack")
    # An export covers some days: what was said before is not gone.
    yield PageSource(team or workspace, workspace, is_whole=False)
    for thread in threads.values():
        row = _row(thread, people, team)
        if isinstance(row, str):
            left[row] += 1
        else:
            yield row
    if left:
        yield Remark(f"Left out: {', '.join(f'{number:,} {what}' for what, number in left.most_common())}.")


def _root(bundle: Bundle) -> str:
    found = [name for name in bundle.names() if PurePosixPath(name).name in (CHANNELS, USERS)]
    shortest = min(found, key=lambda name: name.count("/"), default="")
    return shortest.removesuffix(PurePosixPath(shortest).name) if shortest else ""


def _document(bundle: Bundle, name: str) -> list[Any]:
    if name not in bundle.names():
        return []
    with bundle.open(name) as file:
        return listing(document_in(file, name, limit=FILE_BYTES))


def _ids_by_name(told: Sequence[Any]) -> dict[str, str]:
    """Ids of channels by the names of their folders: direct messages have their id for a name."""
    rows_ = [one for one in told if isinstance(one, dict)]
    return {str(one.get("name") or one.get("id")): str(one.get("id") or "") for one in rows_}


def _people(told: Sequence[Any]) -> dict[str, str]:
    people: dict[str, str] = {}
    for one in told:
        if isinstance(one, dict):
            profile = mapping(one.get("profile"))
            names = (profile.get("display_name"), profile.get("real_name"), one.get("real_name"), one.get("name"))
            people[str(one.get("id"))] = headline(next((str(name) for name in names if name), ""), otherwise="someone")
    return people


def _read_day(
    told: Sequence[Any],
    channel: str,
    channel_id: str,
    threads: dict[tuple[str, str], _Thread],
    teams: Counter[str],
) -> None:
    for message in told:
        if not isinstance(message, dict) or not isinstance(message.get("thread_ts"), str):
            continue
        is_first = message.get("ts") == message["thread_ts"]
        # What a program began is counted as that.
        if message.get("hidden") or (str(message.get("subtype")) in NOT_SAID and not (is_first and _is_bot(message))):
            continue
        key = channel, message["thread_ts"]
        thread = threads.setdefault(key, _Thread(channel, channel_id, message["thread_ts"]))
        if is_first:
            thread.first = message
        else:
            thread.replies.append(message)
        if isinstance(message.get("team"), str):
            teams[message["team"]] += 1


def _row(thread: _Thread, people: Mapping[str, str], team: str) -> Row | str:
    """The row of a thread, or why it is left out."""
    first = thread.first
    if first is None:
        return "threads whose first message is not in the export"
    asker = _author_id(first)
    question = _markdown(first.get("text"), people).strip()
    if _is_bot(first) or not question:
        return "threads that a program began"
    if not ASKS.search(question[:TEXT_CHARS]):
        return "threads that ask nothing"
    replies = sorted(_unique(thread.replies), key=lambda reply: _number(reply.get("ts")))
    answers = [reply for reply in replies if _author_id(reply) != asker and _is_answer(reply, people)]
    if not answers:
        return "questions that nobody answered"
    best = sorted(answers, key=lambda reply: (_agreement(reply, asker), len(str(reply.get("text")))))[-ANSWERS:]
    told = [reply for reply in answers if reply in best]
    ends = [reply for reply in replies if _author_id(reply) == asker and WORKED.search(str(reply.get("text"))[:200])]
    moments = [_moment(one) for one in (first, *told)]
    title = headline(_first_line(question), otherwise="Question")
    parts = [
        f"# {title}",
        f"## Problem\n\n{_by(first, people)} in #{thread.channel}:\n\n{cut(question, TEXT_CHARS)}",
        "## Solution",
        *(f"{_by(one, people)}:\n\n{cut(_markdown(one.get('text'), people).strip(), TEXT_CHARS)}" for one in told),
        *([f"{_name(ends[-1], people)} said that it worked."] if ends else []),
    ]
    query = urlencode({"team": team, "channel": thread.channel_id, "message_ts": thread.ts})
    fields = {
        "place": f"{thread.channel_id or thread.channel}/{thread.ts}",
        "title": title,
        "content": "\n\n".join(parts),
        "kind": "thread",
        "folder": headline(thread.channel, otherwise="channel"),
        "url": f"https://slack.com/app_redirect?{query}" if team and thread.channel_id else "",
        "author": _name(first, people),
        "tags": tags_of([thread.channel]),
        "created_at": moments[0],
        "updated_at": max((moment for moment in moments if moment), default=None),
    }
    return DraftRow(f"#{thread.channel}, {thread.ts}", PageDraft, fields)


def _unique(replies: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Each reply once: one that was sent to the channel as well stands there twice."""
    return list({str(reply.get("ts")): reply for reply in replies}.values())


def _is_answer(reply: Mapping[str, Any], people: Mapping[str, str]) -> bool:
    plain = _markdown(reply.get("text"), people).strip()
    if _is_bot(reply) or len(plain) < ANSWER_CHARS:
        return False
    is_short = len(plain) < 60
    if is_short and plain.casefold().lstrip("@ ").startswith(SAYS_NOTHING) and "`" not in plain and "http" not in plain:
        return False
    return not (plain.endswith("?") and "`" not in plain and "http" not in plain)


def _agreement(reply: Mapping[str, Any], asker: str) -> int:
    """How many agreed with a reply by a reaction; that of who asked counts thrice, because they have tried it."""
    found = 0
    for reaction in listing(reply.get("reactions")):
        if isinstance(reaction, dict) and str(reaction.get("name")).partition("::")[0] in AGREED:
            users = listing(reaction.get("users"))
            found += len(users) + 2 * (asker in users)
    return found + ("```" in str(reply.get("text")))


def _is_bot(message: Mapping[str, Any]) -> bool:
    return bool(message.get("bot_id") or message.get("bot_profile")) or not _author_id(message)


def _author_id(message: Mapping[str, Any]) -> str:
    return str(message.get("user") or "")


def _name(message: Mapping[str, Any], people: Mapping[str, str]) -> str:
    profile = mapping(message.get("user_profile"))
    told = people.get(_author_id(message)) or profile.get("display_name") or profile.get("real_name")
    return headline(str(told or ""), otherwise="someone")


def _by(message: Mapping[str, Any], people: Mapping[str, str]) -> str:
    moment = _moment(message)
    return f"{_name(message, people)}{f', {moment:%Y-%m-%d}' if moment else ''}"


def _moment(message: Mapping[str, Any]) -> datetime | None:
    """When it was said, or last edited."""
    seconds = _number(mapping(message.get("edited")).get("ts")) or _number(message.get("ts"))
    return datetime.fromtimestamp(seconds, UTC) if 0 < seconds < 4_000_000_000 else None


def _number(told: Any) -> float:
    try:
        return float(told) if isinstance(told, str | int | float) and len(str(told)) < 30 else 0.0
    except ValueError:
        return 0.0


def _first_line(text: str) -> str:
    """The first line that says something: not a greeting, not a code fence."""
    lines = [line.strip() for line in text.split("\n")]
    said = [line for line in lines if len(line) > 15 and not line.startswith("```")]
    return (said or [line for line in lines if line] or ["Question"])[0]


def _markdown(told: Any, people: Mapping[str, str]) -> str:
    """A text of Slack (`mrkdwn`) as markdown; what stands in code stays as it is."""
    if not isinstance(told, str):
        return ""
    blocks = told[: 4 * TEXT_CHARS].split("```")
    written = []
    for number, block in enumerate(blocks):
        if number % 2 and number < len(blocks) - 1:
            written.append(f"\n```\n{unescape(TOKEN.sub(_address, block)).strip(chr(10))}\n```\n")
        else:
            parts = block.split("`")
            is_paired = len(parts) % 2
            written.append(
                "`".join(
                    unescape(TOKEN.sub(_address, part)) if at % 2 and is_paired else _inline(part, people)
                    for at, part in enumerate(parts)
                )
            )
    return "".join(written)


def _inline(text: str, people: Mapping[str, str]) -> str:
    plain = STRUCK.sub(r"~~\1~~", ITALIC.sub(r"*\1*", BOLD.sub(r"**\1**", text)))
    return unescape(TOKEN.sub(lambda found: _token(found[1], people), plain))


def _address(found: re.Match[str]) -> str:
    return found[1].partition("|")[0]


def _token(told: str, people: Mapping[str, str]) -> str:
    """What stands between angle brackets: a person, a channel, a group, a date, an address."""
    target, _, label = told.partition("|")
    if target.startswith("@"):
        return f"@{people.get(target[1:]) or label or 'someone'}"
    if target.startswith("#"):
        return f"#{label or 'channel'}"
    if target.startswith("!"):
        return label or f"@{target[1:].partition('^')[0]}"
    if target.startswith("mailto:"):
        return label or target.removeprefix("mailto:")
    if target.startswith(("http://", "https://")):
        return f"[{label}]({target})" if label and label != target else target
    return label or target
