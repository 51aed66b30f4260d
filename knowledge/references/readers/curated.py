"""Curated entries: JSON in the schema of a knowledge base that people keep in git, read and written back."""

import json
import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError

from bigmind.core.errors import Invalid
from bigmind.core.limits import CONTENT_BYTES, TAG_CHARS, TITLE_CHARS
from knowledge.argument_types import CAN_BE_COMPLETE, Completeness, ReferenceKind, least_complete
from knowledge.references.readers.commands import name_in
from knowledge.references.readers.documents import read_document
from knowledge.references.readers.reference_drafts import (
    CommandForm,
    EndpointForm,
    Example,
    Generated,
    ReaderProblem,
    ReferenceDraft,
)
from knowledge.references.readers.registry import Source

ITEMS = 200
_COMPLETENESS = TypeAdapter(dict[ReferenceKind, Completeness])


class CuratedEntry(BaseModel):
    """One entry as it stands in the file. The last four fields are BigMind's own; they are written only if they say
    what the others do not."""

    model_config = ConfigDict(extra="forbid")

    id: str = Field(min_length=1, max_length=TITLE_CHARS, pattern=r"^\S(.*\S)?$")
    type: ReferenceKind
    title: str = Field(min_length=1, max_length=TITLE_CHARS)
    category: str = Field(default="", max_length=TAG_CHARS)
    subcategory: str = Field(default="", max_length=TAG_CHARS)
    content: str = Field(min_length=1, max_length=CONTENT_BYTES)
    summary: str = Field(default="", max_length=CONTENT_BYTES)
    keywords: list[str] = Field(default=[], max_length=ITEMS)
    aliases: list[str] = Field(default=[], max_length=ITEMS)
    examples: list[Example] = Field(default=[], max_length=ITEMS)
    relatedIds: list[str] = Field(default=[], max_length=ITEMS)
    source: str = Field(default="", max_length=1_000)
    lastUpdated: str = Field(default="", max_length=40)
    name: str = Field(default="", max_length=1_000)
    version: str = Field(default="", max_length=TITLE_CHARS)
    command: CommandForm | None = Field(default=None)
    endpoint: EndpointForm | None = Field(default=None)


def generate(source: Source) -> Generated:
    """Read the entries of a file, or of every JSON file in a folder and the folders below it.

    A folder is the category of the entries in it that name none. Files that are not read are named in `passed_over`.

    Raises:
        Invalid: a file is no JSON, or holds no list of entries; of a folder, if that is true of all of them.
    """
    if not source.is_folder:
        return _generate([_read(source, source.name)], [])
    files, passed_over = _files_of(source)
    read: list[_CuratedFile] = []
    problems: list[ReaderProblem] = []
    for file in files:
        place = file.relative_to(source.path)
        try:
            read.append(_read(Source(str(file)), place.as_posix(), place.parent.parts))
        except Invalid as refused:
            problems.append(ReaderProblem(where=place.as_posix(), says=f"{refused} The file was passed over."))
    if not read and problems:
        raise Invalid(problems[0].says, hint="Give a folder with files of entries.")
    return _generate(read, problems, passed_over)


def _generate(read: list["_CuratedFile"], problems: list[ReaderProblem], passed_over: Iterable[str] = ()) -> Generated:
    drafts: dict[str, ReferenceDraft] = {}
    for raw in (raw for file in read for raw in file.entries):
        entry = _check(raw, problems)
        if entry is not None and entry.id in drafts:
            problems.append(
                ReaderProblem(where=raw.where, says=f"The id {entry.id} is taken by an entry above; left out.")
            )
        elif entry is not None:
            drafts[entry.id] = draft_of(entry)
    return Generated(
        drafts=tuple(drafts.values()),
        problems=tuple(problems),
        passed_over=tuple(passed_over),
        completeness=_least(read),
    )


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
        updated=_moment_of(entry.lastUpdated),
    )


def _moment_of(text: str) -> datetime | None:
    """Return a moment as an export writes it; what people write as a date is theirs."""
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        return None
    return moment if moment.tzinfo and moment <= datetime.now(UTC) else None


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


def write_entries(
    drafts: Iterable[ReferenceDraft],
    updated: Mapping[str, datetime | str],
    completeness: Mapping[ReferenceKind, Completeness] | None = None,
) -> str:
    """Return references as the text of one file; `updated` says when each key was changed last."""
    moments = {key: moment if isinstance(moment, str) else moment.isoformat() for key, moment in updated.items()}
    entries = [entry_of(draft, moments.get(draft.key, "")) for draft in drafts]
    known = {kind: state for kind, state in (completeness or {}).items() if state != Completeness.UNKNOWN}
    document = {"completeness": known, "entries": entries} if known else entries
    return json.dumps(document, indent=2, ensure_ascii=False) + "\n"


@dataclass(frozen=True)
class _Raw:
    """One entry as a file has it, and the folders that it was found in."""

    value: Any
    where: str
    folders: tuple[str, ...]


@dataclass(frozen=True)
class _CuratedFile:
    """The entries of one file, and how complete it declares to be."""

    entries: list[_Raw]
    completeness: dict[ReferenceKind, Completeness]


def _files_of(source: Source) -> tuple[list[Path], list[str]]:
    """Return the JSON files of a folder and of those below it, and the names of what else is there."""
    files: list[Path] = []
    others: list[str] = []
    for at, below, names in os.walk(source.path):
        folder = Path(at)
        others += [f"{(folder / name).relative_to(source.path)}/" for name in below if name.startswith(".")]
        below[:] = sorted(name for name in below if not name.startswith("."))  # In place: `os.walk` enters these.
        for name in sorted(names):
            path = folder / name
            if path.suffix.lower() == ".json" and not name.startswith("."):
                files.append(path)
            else:
                others.append(path.relative_to(source.path).as_posix())
    if not files:
        raise Invalid(f"{source.name} has no JSON file.", hint="Give a file, or a folder of them.")
    return sorted(files), sorted(others)


def _read(source: Source, name: str, folders: tuple[str, ...] = ()) -> _CuratedFile:
    read = read_document(source.text, name)
    declared = read.get("completeness") if isinstance(read, dict) else None
    entries = read.get("entries") if isinstance(read, dict) else read
    if not isinstance(entries, list):
        raise Invalid(f"{name} holds no list of entries.")
    raw = [_Raw(entry, f"{name}, entry {number}", folders) for number, entry in enumerate(entries, 1)]
    return _CuratedFile(raw, _completeness_in(declared, name))


def _completeness_in(declared: Any, name: str) -> dict[ReferenceKind, Completeness]:
    """Return what a file declares to be complete; what people keep by hand is unknown otherwise."""
    if declared is None:
        return {}
    try:
        return _COMPLETENESS.validate_python(declared)
    except ValidationError as error:
        raise Invalid(
            f"{name} declares a completeness that cannot be read.",
            hint='Write for example {"command": "complete", "api": "partial"}.',
        ) from error


def _least(files: Iterable[_CuratedFile]) -> dict[ReferenceKind, Completeness]:
    """Return what holds of several files together: each type is as complete as its least complete file."""
    states: dict[ReferenceKind, list[Completeness]] = {}
    for file in files:
        kinds = [raw.value.get("type") for raw in file.entries if isinstance(raw.value, dict)]
        for kind in CAN_BE_COMPLETE:
            if kind in kinds:
                states.setdefault(kind, []).append(file.completeness.get(kind, Completeness.UNKNOWN))
    return {kind: least_complete(found) for kind, found in states.items()}


def _check(raw: _Raw, problems: list[ReaderProblem]) -> CuratedEntry | None:
    value, where = raw.value, raw.where
    if not isinstance(value, dict):
        problems.append(ReaderProblem(where=where, says="It is no object; left out."))
        return None
    known = {key: given for key, given in value.items() if key in CuratedEntry.model_fields and given is not None}
    if raw.folders and not known.get("category"):
        known["category"] = raw.folders[0][:TAG_CHARS]
        known.setdefault("subcategory", "/".join(raw.folders[1:])[:TAG_CHARS])
    if others := [key[:50] for key in value if key not in CuratedEntry.model_fields][:5]:
        problems.append(
            ReaderProblem(where=where, says=f"Nobody knows the fields {', '.join(others)}; they were left out.")
        )
    try:
        return CuratedEntry.model_validate(known)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False, include_context=False)[0]
        field = ".".join(map(str, first["loc"]))[:100]
        problems.append(ReaderProblem(where=where, says=f"{field}: {first['msg']}; the entry was left out."))
        return None


def _name_of(entry: CuratedEntry) -> str:
    """Return the command or the request line that an entry is about, as its title says it or its code shows it."""
    if entry.endpoint and entry.type is ReferenceKind.API:
        return f"{entry.endpoint.method} {entry.endpoint.path}"
    if entry.command and entry.type is ReferenceKind.COMMAND:
        return entry.command.name
    return name_in(entry.type, entry.title, entry.content, [example.code for example in entry.examples])
