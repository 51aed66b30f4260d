"""Claude: the archive of its data export, with conversations, memories and projects."""

import re
from collections.abc import Iterator, Mapping
from pathlib import PurePosixPath
from typing import Any

from knowledge.parsers.archives import Bundle

from .conversations import Message, session_of
from .front_matter import notes_of
from .json_rows import SIGNS_WITHIN, Element, document_in, elements_of, listing, start_of
from .memory_drafts import DraftRow, NoteDraft, Row, Unread, moment_of
from .saved_memories import facts_in
from .words import headline

CONVERSATIONS, MEMORIES, PROJECTS = "conversations.json", "memories.json", "projects.json"
ROLES = {"human": "user", "assistant": "assistant"}
TEXT_KEYS = ("conversations_memory", "memory", "content")


def looks_like(bundle: Bundle) -> bool:
    """Whether a file of the export is there, in Claude's own terms."""
    return any(_is_ours(bundle, name) for name in bundle.names())


def rows(bundle: Bundle) -> Iterator[Row]:
    """Yield a session for each conversation, facts of what it remembers, and a note for each document of a project."""
    readers = {CONVERSATIONS: _conversation, MEMORIES: _memory, PROJECTS: _project}
    for name in bundle.names():
        read = readers.get(PurePosixPath(name).name.casefold())
        if read is None and re.search(r"(^|/)projects/[^/]+\.json$", name):
            read = _project
        if read is not None:
            for element in _elements(bundle, name):
                yield from read(f"{name}, item {element.number} (line {element.line})", element.value)


def _elements(bundle: Bundle, name: str) -> Iterator[Element]:
    is_list = start_of(bundle, name).startswith("[")
    with bundle.open(name) as file:
        if is_list:
            yield from elements_of(file, name)
        else:
            yield Element(1, 1, document_in(file, name))


def _conversation(place: str, record: Any) -> Iterator[Row]:
    messages = record.get("chat_messages") if isinstance(record, Mapping) else None
    if not isinstance(messages, list) or not isinstance(record.get("uuid"), str):
        yield Unread(place, "is no conversation.")
        return
    if not messages:
        return
    yield session_of(
        place,
        record["uuid"],
        [_message(one) for one in messages if isinstance(one, Mapping)],
        title=str(record.get("name") or ""),
        program="Claude",
        started_at=moment_of(record.get("created_at")),
        ended_at=moment_of(record.get("updated_at")),
        summary=str(record.get("summary") or ""),
    )


def _message(record: Mapping[str, Any]) -> Message:
    role = ROLES.get(str(record.get("sender")), "")
    return Message(role, _text(record), moment_of(record.get("created_at")))


def _text(record: Mapping[str, Any]) -> str:
    """The blocks of text of a message: what it thought and which tools it called stay away."""
    texts = [
        str(block.get("text") or "")
        for block in listing(record.get("content"))
        if isinstance(block, Mapping) and block.get("type") == "text"
    ]
    return "\n".join(text for text in texts if text.strip()) or str(record.get("text") or "")


def _memory(place: str, record: Any) -> Iterator[Row]:
    if not isinstance(record, Mapping):
        yield Unread(place, "is no memory.")
        return
    for key in TEXT_KEYS:
        if isinstance(record.get(key), str):
            yield from _read_memory(f"{place}, {key}", record[key], key="what Claude remembers")
    projects = record.get("project_memories")
    for project, text in projects.items() if isinstance(projects, Mapping) else []:
        if isinstance(text, str):
            yield from _read_memory(f"{place}, project {project}", text, key=f"project {project}")


def _read_memory(place: str, text: str, *, key: str) -> Iterator[Row]:
    """The text as it stands, as a note; and its bullets as facts. Its paragraphs are about many things at once."""
    yield from notes_of(place, text, {"domain": "claude", "key": headline(key, otherwise="memory")})
    bullets = "\n".join(line if line.lstrip().startswith(("- ", "* ", "• ")) else "" for line in text.split("\n"))
    yield from facts_in(bullets, place)


def _project(place: str, record: Any) -> Iterator[Row]:
    if not isinstance(record, Mapping) or not isinstance(record.get("name"), str):
        yield Unread(place, "is no project.")
        return
    name = headline(record["name"], otherwise="project")
    fields: dict[str, Any] = {"domain": f"claude {name}"[:200], "project": name[:100]}
    for key, title in (("description", "description"), ("prompt_template", "instructions")):
        if isinstance(record.get(key), str) and record[key].strip():
            yield DraftRow(place, NoteDraft, {**fields, "key": title, "content": record[key]})
    for number, document in enumerate(listing(record.get("docs")), start=1):
        where = f"{place}, document {number}"
        if isinstance(document, Mapping) and isinstance(document.get("content"), str):
            key = headline(str(document.get("filename") or f"document {number}"), otherwise="document")
            made = moment_of(document.get("created_at"))
            yield from notes_of(where, document["content"], {**fields, "key": key, "created_at": made})
        else:
            yield Unread(where, "has no text.")


def _is_ours(bundle: Bundle, name: str) -> bool:
    last = PurePosixPath(name).name.casefold()
    if last not in {CONVERSATIONS, MEMORIES, PROJECTS}:
        return False
    sign = {CONVERSATIONS: '"chat_messages"', MEMORIES: "_memor", PROJECTS: '"prompt_template"'}[last]
    return sign in start_of(bundle, name, size=SIGNS_WITHIN)
