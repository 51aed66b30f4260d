"""What a source becomes: entries of the knowledge base, and how two readings of one source differ."""

import json
import math
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Literal, NamedTuple, Self, TypeVar
from uuid import UUID

from pydantic import (
    AfterValidator,
    AwareDatetime,
    BaseModel,
    ConfigDict,
    Field,
    ValidationError,
    ValidatorFunctionWrapHandler,
    WrapValidator,
    model_validator,
)

from bigmind.core.argument_checks import refusal
from bigmind.core.argument_types import Confidence, Content, Project, Tags
from bigmind.core.errors import Invalid
from bigmind.core.limits import CONTENT_BYTES, JSON_DEPTH
from bigmind.privacy.screening import drop_private_in
from bigmind.text.hygiene import check_content, clean_name, digest, without_accents

EntryType = Literal["fact", "summary", "template"]
Role = Literal["pm", "dev", "qa", "all"]
KEY_CHARS = 200
PATH_CHARS = 500
SLUG_CHARS = 60
KEY_WORDS = 8
REWORDED = 0.6
"""How much two texts in the same place have in common if one is a new wording of the other."""
PAIRS, COMPARED_CHARS = 10_000, 2_000
OF_THE_KNOWLEDGE_BASE = {"id", "created_by", "created_at", "updated_at"}
"""What an export says of an entry besides, and no source does."""


def _json_within_limits(value: dict[str, Any]) -> dict[str, Any]:
    _refuse_what_is_no_json(value, JSON_DEPTH)
    if (size := len(json.dumps(value, ensure_ascii=False).encode())) > CONTENT_BYTES:
        raise ValueError(f"is {size:,} bytes; the limit is {CONTENT_BYTES:,}")
    return value


def _refuse_what_is_no_json(value: Any, depth: int) -> None:
    if depth == 0:
        raise ValueError(f"is nested deeper than {JSON_DEPTH} levels")
    if isinstance(value, str):
        check_content(value)
    elif isinstance(value, dict):
        for name, inner in value.items():
            _refuse_what_is_no_json(name, depth)
            _refuse_what_is_no_json(inner, depth - 1)
    elif isinstance(value, list):
        for inner in value:
            _refuse_what_is_no_json(inner, depth - 1)
    elif isinstance(value, float) and not math.isfinite(value):
        raise ValueError("has a number that is not finite")
    elif isinstance(value, int) and abs(value) >= 2**63:
        raise ValueError("has a number that does not fit in 64 bits")
    elif not (value is None or isinstance(value, bool | int | float)):
        raise ValueError(f"has a {type(value).__name__}, which is not JSON")


Key = Annotated[str, AfterValidator(clean_name), Field(max_length=KEY_CHARS)]
SourcePath = Annotated[str, AfterValidator(clean_name), Field(max_length=PATH_CHARS)]
Roles = Tags
"""Any that kb_add takes; ours are those of `Role`."""
Metadata = Annotated[dict[str, Any], AfterValidator(_json_within_limits)]


def _or_nothing(value: Any, check: ValidatorFunctionWrapHandler) -> Any:
    try:
        return check(value)
    except ValidationError:
        return None


T = TypeVar("T")
OrNothing = Annotated[T | None, WrapValidator(_or_nothing)]
"""What people who write a file by hand may put there for themselves: what is none of ours says nothing."""


class SourceEntry(BaseModel):
    """One entry as a YAML file holds it, before the knowledge base knows it."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    key: Key = ""
    """Its stable identity within the source. Where a person left it out: a digest of the content.

    Made of its place and first words, because with the content as identity a corrected typo would remove an entry, with
    all that hangs on it, and add another. Decision 8."""
    content: Content
    entry_type: EntryType = "fact"
    roles: Roles = ["all"]
    tags: Tags = []
    project: Project = ""
    source_file: SourcePath = ""
    source_story: Key = ""
    parent: Key = ""
    """The key of another entry in the same file, usually the summary of the story."""
    confidence: Confidence = 1.0
    metadata: Metadata = {}
    triggers: Annotated[list[str], Field(max_length=20)] = []
    anchors: Annotated[list[str], Field(max_length=20)] = []
    origin: Annotated[str, Field(max_length=64)] = ""
    """Digest of what the parser made, so that a person's edit is distinguished from a change of the source: all that a
    three-way merge needs. Decision 8."""
    id: OrNothing[UUID] = None
    created_by: OrNothing[SourcePath] = None
    created_at: OrNothing[AwareDatetime] = None
    updated_at: OrNothing[AwareDatetime] = None

    @model_validator(mode="before")
    @classmethod
    def _empty_is_left_out(cls, fields: Any) -> Any:
        if not isinstance(fields, dict):
            return fields
        return drop_private_in({name: value for name, value in fields.items() if value is not None})[0]

    @model_validator(mode="after")
    def _has_a_key(self) -> Self:
        if not self.key:
            object.__setattr__(self, "key", digest(self.content)[:16])
        return self

    def fingerprint(self) -> str:
        """Return a digest of everything an editor may change."""
        # Files written before entries had a project, or cited code, keep their fingerprints.
        later = {name for name in ("project", "anchors") if not getattr(self, name)}
        left_out = {"origin", *OF_THE_KNOWLEDGE_BASE, *later}
        fields = self.model_dump(exclude=left_out)
        return digest(json.dumps(fields, sort_keys=True, ensure_ascii=False))[:16]


@dataclass(frozen=True, slots=True)
class Changes:
    """How the entries of a source differ from those read before, in the order of the newer reading."""

    added: tuple[SourceEntry, ...] = ()
    changed: tuple[SourceEntry, ...] = ()
    removed: tuple[SourceEntry, ...] = ()
    unchanged: tuple[SourceEntry, ...] = ()

    def __str__(self) -> str:
        return (
            f"{len(self.added)} added, {len(self.changed)} changed, "
            f"{len(self.removed)} removed, {len(self.unchanged)} unchanged"
        )


def changes(old: Iterable[SourceEntry], new: Iterable[SourceEntry]) -> Changes:
    """Compare two readings of one source by the keys of their entries."""
    before, after = {entry.key: entry for entry in old}, {entry.key: entry for entry in new}
    kept = [entry for key, entry in after.items() if key in before]
    return Changes(
        added=tuple(entry for key, entry in after.items() if key not in before),
        changed=tuple(entry for entry in kept if entry.fingerprint() != before[entry.key].fingerprint()),
        removed=tuple(entry for key, entry in before.items() if key not in after),
        unchanged=tuple(entry for entry in kept if entry.fingerprint() == before[entry.key].fingerprint()),
    )


def rewordings(gone: Sequence[SourceEntry], new: Sequence[SourceEntry]) -> dict[str, str]:
    """Return which entries of a source are the same as before under another key: the new key of each, and the old one.

    Keys are made of the first words, so they change with them. The same text is the same entry wherever it stands now;
    another one is it if it stands in the same place, of the same story, and has most of its words in common, or most of
    those in its key (Dice's coefficient of the words, each as often as it occurs). The most alike are paired first.
    """
    found: dict[str, str] = {}
    # Backwards, so that of equal texts the first is found.
    by_text = {one.content: one.key for one in reversed(gone)}
    for one in new:
        if (old := by_text.pop(one.content, None)) is not None:
            found[one.key] = old
    taken = set(found.values())
    before = _words_by_place(one for one in gone if one.key not in taken)
    after = _words_by_place(one for one in new if one.key not in found)
    for place in before.keys() & after.keys():
        if len(before[place]) * len(after[place]) > PAIRS:
            continue  # More than anyone rewords at once: it is another text.
        pairs = (
            (words.likeness(before[place][old]), key, old)
            for key, words in after[place].items()
            for old in before[place]
        )
        for likeness, key, old in sorted(pairs, reverse=True):
            if likeness >= REWORDED and key not in found and old not in taken:
                found[key] = old
                taken.add(old)
    return found


class _Wording(NamedTuple):
    """The words of a text, and those that its key was made of, which a later edit of the text leaves."""

    text: Counter[str]
    key: Counter[str]

    def likeness(self, other: "_Wording") -> float:
        return max(_likeness(mine, theirs) for mine, theirs in zip(self, other, strict=True))


def _words_by_place(entries: Iterable[SourceEntry]) -> dict[tuple[str, ...], dict[str, _Wording]]:
    found: dict[tuple[str, ...], dict[str, _Wording]] = {}
    for one in entries:
        above, _, name = one.key.rpartition("/")
        words = slug(one.content[:COMPARED_CHARS], COMPARED_CHARS).split("-")
        wording = _Wording(Counter(words), Counter(name.split("-")))
        found.setdefault((one.entry_type, one.source_story, above), {})[one.key] = wording
    return found


def _likeness(words: Counter[str], others: Counter[str]) -> float:
    return 2 * (words & others).total() / (words.total() + others.total())


def generations(entries: Sequence[SourceEntry]) -> Iterator[list[SourceEntry]]:
    """Yield the entries of a source, parents before what hangs below them; a circle comes as it stands."""
    waiting, there = list(entries), set[str]()
    keys = {entry.key for entry in entries}
    while waiting:
        # None is ready within a circle: then all are yielded, or this would never end.
        ready = [entry for entry in waiting if entry.parent not in keys or entry.parent in there] or waiting
        yield ready
        there |= {entry.key for entry in ready}
        waiting = [entry for entry in waiting if entry.key not in there]


def make_entry(line: int, fields: Mapping[str, Any]) -> SourceEntry:
    """Return the entry a parser found at a line of its source, marked as not yet edited by anyone.

    Raises:
        Invalid: the source says something that an entry cannot hold, such as a bullet of 100 KiB.
    """
    try:
        entry = SourceEntry.model_validate(fields)
    except ValidationError as error:
        found = refusal(error, SourceEntry)
        where = f"{fields.get('source_file') or 'source'}, line {line}"
        raise Invalid(f"{where}: {found.message}", problems=[{**it, "line": line} for it in found.problems]) from error
    return entry.model_copy(update={"origin": entry.fingerprint()})


def slug(text: str, limit: int = SLUG_CHARS) -> str:
    """Return the words of a text as lower-case letters, digits and hyphens, cut at a word."""
    words = re.findall(r"[^\W_]+", without_accents(text))
    joined = "-".join(words)
    if len(joined) <= limit:
        return joined
    return joined[: limit + 1].rpartition("-")[0] or joined[:limit]


def first_words(text: str) -> str:
    """Return the part of a key that a text gives: its beginning outlives most corrections, and so does the key."""
    return "-".join(slug(text[:400]).split("-")[:KEY_WORDS])


class Keys:
    """Gives each entry of one source a key of its own: the second `a` becomes `a~2`."""

    def __init__(self) -> None:
        self._seen: dict[str, int] = {}

    def claim(self, *parts: str) -> str:
        """Return the parts joined by slashes, made unique within this source."""
        # Leaves room for the number behind it.
        key = "/".join(part for part in parts if part)[: KEY_CHARS - 10] or "entry"
        self._seen[key] = self._seen.get(key, 0) + 1
        return key if self._seen[key] == 1 else f"{key}~{self._seen[key]}"
