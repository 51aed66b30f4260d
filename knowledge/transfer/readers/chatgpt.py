"""ChatGPT: the archive of its data export, conversations and the memories it saved on the way."""

import re
from collections.abc import Iterator, Mapping
from pathlib import PurePosixPath
from typing import Any

from knowledge.parsers.archives import Bundle

from .conversations import Message, session_of
from .json_rows import SIGNS_WITHIN, elements_of, mapping, start_of
from .memory_drafts import DraftRow, FactDraft, Row, Unread, moment_of
from .saved_memories import facts_in
from .words import category_of

FILE = re.compile(r"conversations(-\d+)?\.json", re.I)
NODES = 20_000


def looks_like(bundle: Bundle) -> bool:
    """Whether there are conversations in it as ChatGPT writes them: trees of messages."""
    return any(_is_ours(bundle, name) for name in _files(bundle))


def rows(bundle: Bundle) -> Iterator[Row]:
    """Yield a session for each conversation, and a fact for each memory that was saved in one."""
    for name in _files(bundle):
        with bundle.open(name) as file:
            for element in elements_of(file, name):
                place = f"{name}, conversation {element.number} (line {element.line})"
                yield from _rows(place, element.value)


def _rows(place: str, record: Any) -> Iterator[Row]:
    if not isinstance(record, Mapping) or not isinstance(record.get("mapping"), Mapping):
        yield Unread(place, "is no conversation.")
        return
    source_id = record.get("conversation_id") or record.get("id")
    if not isinstance(source_id, str):
        yield Unread(place, "has no id.")
        return
    branch = _branch(record)
    yield from _memories(place, branch)
    yield session_of(
        place,
        source_id,
        [message for node in branch if (message := _message(node))],
        title=str(record.get("title") or ""),
        program="ChatGPT",
        started_at=moment_of(record.get("create_time")),
        ended_at=moment_of(record.get("update_time")),
    )


def _branch(record: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """The messages of the branch that is shown, in order: answers that were asked for again leave others behind."""
    nodes, branch, seen = record["mapping"], list[Mapping[str, Any]](), set[str]()
    at = record.get("current_node")
    if not isinstance(at, str) or at not in nodes:
        # Whatever has no child ends a branch; the last of them is the newest.
        at = next(
            (key for key, node in reversed(nodes.items()) if isinstance(node, Mapping) and not node.get("children")),
            None,
        )
    while isinstance(at, str) and at in nodes and at not in seen and len(seen) < NODES:
        seen.add(at)
        node = nodes[at]
        if not isinstance(node, Mapping):
            break
        if isinstance(node.get("message"), Mapping):
            branch.append(node["message"])
        at = node.get("parent")
    return branch[::-1]


def _message(record: Mapping[str, Any]) -> Message | None:
    """A message that was said to someone: not the calls of tools, and nothing that is hidden in the conversation."""
    metadata = record.get("metadata")
    is_hidden = isinstance(metadata, Mapping) and metadata.get("is_visually_hidden_from_conversation")
    if is_hidden or record.get("recipient") not in (None, "all"):
        return None
    return Message(_role(record), _text(record), moment_of(record.get("create_time")))


def _memories(place: str, branch: list[Mapping[str, Any]]) -> Iterator[Row]:
    """What was sent to its memory, and the list of memories that a conversation began with."""
    for message in branch:
        content = message.get("content")
        if message.get("recipient") == "bio":
            text = _text(message)
            made = moment_of(message.get("create_time"))
            fields = {"fact": text, "category": category_of(text, otherwise="identity"), "created_at": made}
            yield DraftRow(f"{place}, saved memory", FactDraft, fields)
        elif isinstance(content, Mapping) and content.get("content_type") == "model_editable_context":
            yield from facts_in(str(content.get("model_set_context") or ""), f"{place}, saved memories")


def _role(record: Mapping[str, Any]) -> str:
    return str(mapping(record.get("author")).get("role") or "")


def _text(record: Mapping[str, Any]) -> str:
    content = record.get("content")
    if not isinstance(content, Mapping):
        return ""
    parts = content.get("parts")
    if isinstance(parts, list):
        # A picture or a recording is an object among the texts.
        return "\n".join(part for part in parts if isinstance(part, str)).strip()
    return str(content.get("text") or "").strip()


def _files(bundle: Bundle) -> list[str]:
    names = bundle.names()
    if len(names) == 1 and names[0].lower().endswith(".json"):
        return names  # Whatever someone called it.
    return [name for name in names if FILE.fullmatch(PurePosixPath(name).name)]


def _is_ours(bundle: Bundle, name: str) -> bool:
    start = start_of(bundle, name, size=SIGNS_WITHIN)
    return start.startswith("[") and '"mapping"' in start
