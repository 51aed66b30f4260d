"""Curated entries: JSON in the schema of a knowledge base that people keep in git, read and written back."""

import json
import re
from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from bigmind.core.errors import Invalid
from bigmind.core.vocabulary import CONTENT_BYTES, TAG_CHARS, TITLE_CHARS
from knowledge.generators.command_names import command_in
from knowledge.generators.documents import read_document
from knowledge.generators.drafts import CommandForm, EndpointForm, Example, Generated, ReferenceDraft, Trouble
from knowledge.generators.sources import Source
from knowledge.reference_vocabulary import ReferenceKind

LONG_TEXT = CONTENT_BYTES
ITEMS = 200
REQUEST_LINE = re.compile(r"\b(GET|POST|PUT|PATCH|DELETE|HEAD|OPTIONS) (/[^\s`'\"]{0,500})")


class CuratedEntry(BaseModel):
    """One entry as it stands in the file. The last four fields are BigMind's own; they are written only if they say
    what the others do not."""

    model_config = ConfigDict(extra="forbid", strict=True)

    id: str = Field(min_length=1, max_length=TITLE_CHARS, pattern=r"^\S(.*\S)?$")
    type: ReferenceKind = Field(strict=False)
    title: str = Field(min_length=1, max_length=TITLE_CHARS)
    category: str = Field(default="", max_length=TAG_CHARS)
    subcategory: str = Field(default="", max_length=TAG_CHARS)
    content: str = Field(min_length=1, max_length=LONG_TEXT)
    summary: str = Field(default="", max_length=LONG_TEXT)
    keywords: list[str] = Field(default=[], max_length=ITEMS)
    aliases: list[str] = Field(default=[], max_length=ITEMS)
    examples: list[Example] = Field(default=[], max_length=ITEMS, strict=False)
    relatedIds: list[str] = Field(default=[], max_length=ITEMS)
    source: str = Field(default="", max_length=1_000)
    lastUpdated: str = Field(default="", max_length=40)
    name: str = Field(default="", max_length=1_000)
    version: str = Field(default="", max_length=TITLE_CHARS)
    command: CommandForm | None = Field(default=None, strict=False)
    endpoint: EndpointForm | None = Field(default=None, strict=False)


def generate(source: Source) -> Generated:
    """Read the entries of a file, or of every JSON file in a folder.

    Raises:
        Invalid: a file is no JSON, or holds no list of entries.
    """
    sources = _files_of(source)
    read = [one for each in sources for one in _entries_of(each)]
    drafts: dict[str, ReferenceDraft] = {}
    troubles: list[Trouble] = []
    for where, raw in read:
        entry = _checked(raw, where, troubles)
        if entry is not None and entry.id in drafts:
            troubles.append(Trouble(where=where, says=f"The id {entry.id} is taken by an entry above; left out."))
        elif entry is not None:
            drafts[entry.id] = draft_of(entry)
    return Generated(drafts=tuple(drafts.values()), troubles=tuple(troubles))


def draft_of(entry: CuratedEntry) -> ReferenceDraft:
    """Return the reference that an entry describes. A command or endpoint is found in its text unless it is named."""
    return ReferenceDraft(
        key=entry.id,
        kind=entry.type,
        title=entry.title,
        category=entry.category,
        subcategory=entry.subcategory,
        summary=entry.summary,
        content=entry.content,
        name=entry.name or _name_of(entry),
        keywords=tuple(entry.keywords),
        aliases=tuple(entry.aliases),
        examples=tuple(entry.examples),
        related=tuple(entry.relatedIds),
        source=entry.source,
        version=entry.version,
        command=entry.command,
        endpoint=entry.endpoint,
    )


def entry_of(draft: ReferenceDraft, updated: str = "") -> dict[str, Any]:
    """Return a reference in the schema; reading it again gives the same reference."""
    entry = CuratedEntry(
        id=draft.key,
        type=draft.kind,
        title=draft.title,
        category=draft.category,
        subcategory=draft.subcategory,
        content=draft.content,
        summary=draft.summary,
        keywords=list(draft.keywords),
        aliases=list(draft.aliases),
        examples=list(draft.examples),
        relatedIds=list(draft.related),
        source=draft.source,
        lastUpdated=updated,
        version=draft.version,
        command=draft.command,
        endpoint=draft.endpoint,
    )
    if _name_of(entry) != draft.name:
        entry.name = draft.name
    written = entry.model_dump(mode="json", exclude_defaults=True)
    return {"summary": "", "keywords": [], **written}


def write_entries(drafts: Iterable[ReferenceDraft], updated: Mapping[str, datetime | str]) -> str:
    """Return references as the text of one file; `updated` says when each key was changed last."""
    moments = {key: moment if isinstance(moment, str) else moment.isoformat() for key, moment in updated.items()}
    entries = [entry_of(draft, moments.get(draft.key, "")) for draft in drafts]
    return json.dumps(entries, indent=2, ensure_ascii=False) + "\n"


def _files_of(source: Source) -> list[Source]:
    if not source.path.is_dir():
        return [source]
    files = sorted(source.path.glob("*.json"))
    if not files:
        raise Invalid(f"{source.name} has no JSON file.", hint="Give a file, or a folder of them.")
    return [Source(str(file)) for file in files]


def _entries_of(source: Source) -> list[tuple[str, Any]]:
    read = read_document(source.text, source.name)
    entries = read.get("entries") if isinstance(read, dict) else read
    if not isinstance(entries, list):
        raise Invalid(f"{source.name} holds no list of entries.")
    return [(f"{source.name}, entry {number}", entry) for number, entry in enumerate(entries, 1)]


def _checked(raw: Any, where: str, troubles: list[Trouble]) -> CuratedEntry | None:
    if not isinstance(raw, dict):
        troubles.append(Trouble(where=where, says="It is no object; left out."))
        return None
    known = {key: value for key, value in raw.items() if key in CuratedEntry.model_fields and value is not None}
    if others := [key[:50] for key in raw if key not in CuratedEntry.model_fields][:5]:
        troubles.append(Trouble(where=where, says=f"Nobody knows the fields {', '.join(others)}; they were left out."))
    try:
        return CuratedEntry.model_validate(known)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False, include_context=False)[0]
        field = ".".join(map(str, first["loc"]))[:100]
        troubles.append(Trouble(where=where, says=f"{field}: {first['msg']}; the entry was left out."))
        return None


def _name_of(entry: CuratedEntry) -> str:
    """Return the command or the request line that an entry is about, as its code shows it."""
    if entry.type is ReferenceKind.API:
        if entry.endpoint:
            return f"{entry.endpoint.method} {entry.endpoint.path}"
        found = REQUEST_LINE.search(f"{entry.title}\n{entry.content}")
        return f"{found[1]} {found[2]}" if found else ""
    if entry.type is not ReferenceKind.COMMAND:
        return ""
    if entry.command:
        return entry.command.name
    return command_in(entry.content, entry.examples[0].code if entry.examples else "")
