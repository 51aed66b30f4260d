"""LEARNINGS.yaml: what an agent wrote down while the knowledge base was out of reach, and that it has arrived since."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any, get_args
from uuid import UUID

from pydantic import ValidationError

from bigmind.core.argument_checks import refusal
from bigmind.core.errors import Invalid
from knowledge.parsers.entries import EntryType, Keys, SourceEntry, slug
from knowledge.parsers.lessons_learned import kind_of, kind_of_heading
from knowledge.parsers.markdown import infer_tags
from knowledge.parsers.reading import decode_text, read_bytes, replace_text
from knowledge.parsers.yaml_nodes import Position, YamlNode, read_yaml

NAME = "LEARNINGS.yaml"
TYPES = set(get_args(EntryType))
YES, NO = {"true", "yes", "on", "1"}, {"false", "no", "off", "0"}
BYTE_ORDER_MARK = "\ufeff"
OWN = {"tags", "roles", "confidence", "metadata", "source_file", "source_story"}


@dataclass(frozen=True, slots=True)
class Learnings:
    """What a LEARNINGS.yaml still has to tell."""

    story: str
    entries: tuple[SourceEntry, ...] = ()
    """What waits, with the parent of each by its key: of another entry here, or of one in `known`."""
    known: Mapping[str, str] = field(default_factory=dict)
    """Ids in the knowledge base of what entries hang below: of those here that arrived, by key; of others, by id."""
    is_pending: bool = False
    """Whether the file says that it waits, with or without entries."""


@dataclass(frozen=True, slots=True)
class _Written:
    """One entry as it stands in the file."""

    key: str
    node: YamlNode
    members: dict[str, YamlNode]
    has_arrived: bool

    def text(self, name: str) -> str:
        node = self.members.get(name)
        return str(node.value) if node and isinstance(node.value, str | int | float) else ""


@dataclass(frozen=True, slots=True)
class _Edit:
    start: Position
    end: Position
    text: str


def read_learnings(path: Path, *, name: str = "", within: Path | None = None) -> Learnings:
    """Read what waits in a LEARNINGS.yaml; nothing, where it says that all has arrived.

    Raises:
        Invalid: the file cannot be read, or an entry in it cannot be accepted; with file, line and number.
    """
    return pending_in(decode_text(read_bytes(path, within=within), name or path.name), name or path.name)


def pending_in(text: str, name: str) -> Learnings:
    """As `read_learnings`, of a text."""
    top = _top(text, name)
    story = top.text("story_id")
    written = list(_read_written(top, name))
    if not _is_pending(top):
        return Learnings(story, known=_ids(written))
    entries = tuple(
        _entry(one, number, story, written, name) for number, one in enumerate(written, 1) if not one.has_arrived
    )
    elsewhere = {entry.parent: entry.parent for entry in entries if _is_id(entry.parent)}
    return Learnings(story, entries, {**elsewhere, **_ids(one for one in written if one.has_arrived)}, is_pending=True)


def mark_synced(path: Path, ids: Mapping[str, str], when: datetime, *, name: str = "") -> None:
    """Note in the file which entries arrived, by key, under which ids; everything else in it, comments too, stays.

    The file stops being pending when all its entries have arrived; until then each that did carries `synced_at`.

    Raises:
        Invalid: the file cannot be read, or does not hold these entries.
    """
    raw = read_bytes(path)
    decode_text(raw, name or path.name)
    text = raw.decode()
    marked = mark_text(text, name or path.name, ids, when)
    if marked != text:
        replace_text(path, marked)


def mark_text(text: str, name: str, ids: Mapping[str, str], when: datetime) -> str:
    """As `mark_synced`, of a text; its line breaks and its byte order mark stay too."""
    mark, body = (BYTE_ORDER_MARK, text[1:]) if text.startswith(BYTE_ORDER_MARK) else ("", text)
    top = _top(_plain(body, name), name)
    written = list(_read_written(top, name))
    if unknown := set(ids) - {one.key for one in written}:
        raise Invalid(f"{name}: has no entry {min(unknown)}.", hint="It was changed meanwhile. Read it again.")
    is_complete = all(one.has_arrived or one.key in ids for one in written)
    moment = when.isoformat(timespec="seconds").replace("+00:00", "Z")
    edits = [edit for one in written for edit in _entry_edits(one, written, ids, moment, is_complete)]
    if is_complete and _is_pending(top):
        stated = {"synced_at": moment, "kb_available": "true", "pending_sync": "false"}
        edits += _settings(top, {name: value for name, value in stated.items() if _is_worth_stating(top, name)})
    marked = _apply(body, edits)
    _top(_plain(marked, name), name)  # What cannot be read again is not written.
    return mark + marked


def _plain(text: str, name: str) -> str:
    """The text as YAML reads it. Its lines and columns are those of the text itself."""
    return decode_text(text.encode("utf-8", "surrogatepass"), name)


def _top(text: str, name: str) -> YamlNode:
    top = read_yaml(text, name)
    if top is None or not isinstance(top.value, dict):
        raise Invalid(f"{name}: is not a LEARNINGS.yaml.", hint="It needs `story_id` and `entries`.")
    return top


def _is_pending(top: YamlNode) -> bool:
    members = top.members
    pending, available = members.get("pending_sync"), members.get("kb_available")
    return _word(pending) in YES if pending else _word(available) in NO


def _word(node: YamlNode | None) -> str:
    """A yes or no, in the words of either YAML: `true`, `yes`, `"false"`."""
    return str(node.value).casefold() if node else ""


def _is_worth_stating(top: YamlNode, name: str) -> bool:
    return name != "pending_sync" or name in top.members


def _read_written(top: YamlNode, name: str) -> Iterator[_Written]:
    listed = top.members.get("entries")
    if listed is None or listed.value is None:
        return
    if not isinstance(listed.value, list):
        raise Invalid(f"{name}, line {listed.line}: entries must be a list.")
    keys = Keys()
    for node in listed.value:
        members = node.members
        fields = {field: str(one.value) for field, one in members.items()}
        # Not from its id: that changes when the entry arrives, and the key must not.
        key = keys.claim(slug(fields.get("category") or fields.get("type", "")), slug(fields.get("content", "")[:400]))
        yield _Written(key, node, members, "synced_at" in members or not _is_pending(top))


def _is_id(text: str) -> bool:
    try:
        return bool(UUID(text))
    except ValueError:
        return False


def _elsewhere(one: _Written) -> str:
    """The id of an entry that is in the knowledge base already, if that is what an entry hangs below."""
    parent = one.text("parent_id")
    return parent if _is_id(parent) else ""


def _ids(written: Any) -> dict[str, str]:
    return {one.key: one.text("id") for one in written if one.text("id")}


def _parent_of(one: _Written, written: list[_Written]) -> _Written | None:
    """Return the entry that an entry hangs below: the one its `parent_id` names, else the file's only summary."""
    parent = one.text("parent_id")
    named = next((other for other in written if parent and parent in {other.text("id"), other.text("key")}), None)
    if named is not None or _is_id(parent):
        return named if named is not one else None
    summaries = [other for other in written if other.text("type") == "summary"]
    return summaries[0] if len(summaries) == 1 and one is not summaries[0] else None


def _entry(one: _Written, number: int, story: str, written: list[_Written], name: str) -> SourceEntry:
    plain = one.node.plain()
    kind = kind_of(one.text("category"))
    entry_type = one.text("type") or one.text("entry_type") or "fact"
    if entry_type not in TYPES and kind_of_heading(
        entry_type
    ):  # `type: recommendation`, with the category where the type goes.
        kind, entry_type = kind_of(entry_type), "fact"
    parent = _parent_of(one, written)
    inferred = {
        "key": one.key,
        "content": one.text("content"),
        "entry_type": entry_type,
        "roles": ["pm", "dev", "qa"] if entry_type == "summary" else list(kind.roles),
        "tags": list(dict.fromkeys([*kind.tags, *infer_tags(one.text("content"))])),
        "source_story": story,
        "parent": parent.key if parent else _elsewhere(one),
    }
    own = {field: value for field, value in plain.items() if field in OWN} if isinstance(plain, dict) else {}
    try:
        entry = SourceEntry.model_validate({**inferred, **own})
    except ValidationError as error:
        found = refusal(error, SourceEntry)
        problems = [{**problem, "entry": number, "line": one.node.line} for problem in found.problems]
        where = f"{name}, line {one.node.line}, entry {number}"
        raise Invalid(f"{where}: {found.message}", problems=problems) from error
    return entry.model_copy(update={"origin": entry.fingerprint()})


def _entry_edits(
    one: _Written, written: list[_Written], ids: Mapping[str, str], moment: str, is_complete: bool
) -> list[_Edit]:
    arrives = one.key in ids
    settings = {"id": ids[one.key]} if arrives else {}
    parent = _parent_of(one, written)
    # Also where only the parent arrived: the name that it had in this file is replaced by its id.
    if parent is not None and (arrives or "parent_id" in one.members):
        arrived = parent.text("id") if parent.has_arrived else ""
        settings |= {"parent_id": parent_id} if (parent_id := ids.get(parent.key) or arrived) else {}
    if arrives and not is_complete:
        settings["synced_at"] = moment
    return _settings(one.node, settings)


def _settings(node: YamlNode, settings: Mapping[str, str]) -> list[_Edit]:
    """Return the edits that give members of a mapping a value: in place where they stand, else in front."""
    members = node.members
    changed = [
        _Edit(members[name].start, members[name].end, text) for name, text in settings.items() if name in members
    ]
    between = ", " if node.is_flow else "\n" + " " * node.start.column
    new = "".join(f"{name}: {text}{between}" for name, text in settings.items() if name not in members)
    begin = Position(node.start.line, node.start.column + node.is_flow)
    return [*changed, *([_Edit(begin, begin, new)] if new else [])]


def _apply(text: str, edits: list[_Edit]) -> str:
    newline = "\r\n" if "\r\n" in text else "\n"
    begins = [0]
    for line in text.splitlines(keepends=True):
        begins.append(begins[-1] + len(line))
    # The last one first, so that the places of the others still hold.
    for edit in sorted(edits, key=lambda edit: (edit.start.line, edit.start.column), reverse=True):
        start, end = begins[edit.start.line] + edit.start.column, begins[edit.end.line] + edit.end.column
        # A value that was empty has no space before it yet: `id:`.
        space = " " if start == end and text[start - 1 : start] == ":" else ""
        text = text[:start] + space + edit.text.replace("\n", newline) + text[end:]
    return text
