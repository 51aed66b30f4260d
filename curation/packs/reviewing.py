"""An update before it is decided: what it adds, changes and withdraws here, and what golden questions find then."""

from collections.abc import Iterator
from copy import copy
from dataclasses import dataclass, field, replace
from typing import Any

from django.utils import timezone

from accounts.actor import Actor
from bigmind.core.errors import Conflict
from bigmind.core.injections import has_warnings
from bigmind.core.read_only import is_read_only
from bigmind.core.text import digest
from curation.models import GoldenQuestion, Pack, PackVersion
from curation.proposals.neighbours import Neighbour, contradicting
from curation.proposals.replay.afterwards import EntryChange, ask_afterwards
from curation.proposals.screening import suspicions_about
from curation.services.golden_questions import find_concerned, first_answers, place_in
from curation.shapes.briefings import SuspicionShape
from knowledge.models import CompanyEntry, Kind, Origin, Reference, Status
from knowledge.models.references import PACK_ORIGIN
from knowledge.references.imports import ImportedReferences, import_references

from .documents import (
    PackDocument,
    PackedCollection,
    PackedEntry,
    PackName,
    PackVersionName,
    document_of,
    provenance_of,
    slug_here,
)
from .subscriptions import find_subscription

CARRIED = tuple(name for name in PackedEntry.model_fields if name != "key")
LABELS = {"content": "Text"}
NOT_STORED = 9_000_000_000_000
"""The first number of lines that are tried and not stored."""


@dataclass(frozen=True)
class LineChange:
    """One entry of a pack that an update would add, change or withdraw here.

    Attributes:
        overwrites: What stands here now was edited here, and would be lost.
        left: Why the update leaves it as it is; empty: it takes effect.
        fields: Label, text now and text then of each field that differs.
    """

    key: str
    kind: str
    entry: CompanyEntry
    after: CompanyEntry | None
    overwrites: bool = False
    left: str = ""
    fields: list[tuple[str, str, str]] = field(default_factory=list)
    suspicions: list[SuspicionShape] = field(default_factory=list)
    against: list[Neighbour] = field(default_factory=list)

    @property
    def title(self) -> str:
        """The title, as it will be."""
        return (self.after or self.entry).title

    @property
    def is_dangerous(self) -> bool:
        """Whether it reads like an instruction to agents: it takes effect only if a curator says so."""
        return any(found.is_warning for found in self.suspicions)


@dataclass(frozen=True)
class TriedQuestion:
    """A golden question before the update and after it: the place of what it must find, and what comes first."""

    question: str
    handle: str
    before: int | None
    after: int | None
    within: int
    first_before: str = ""
    first_after: str = ""
    differs: bool = False

    @property
    def outcome(self) -> str:
        """The effect in a word: lost, found, changed or same."""
        held, holds = (place is not None and place <= self.within for place in (self.before, self.after))
        if held != holds:
            return "found" if holds else "lost"
        return "changed" if self.differs else "same" if holds else "missing"


@dataclass(frozen=True)
class PackUpdate:
    """What a version would do here."""

    pack: Pack
    version: PackVersion
    document: PackDocument
    accepted: PackVersion | None
    lines: list[LineChange]
    documentation: list[ImportedReferences]
    dangerous_documentation: list[str] = field(default_factory=list)
    questions: list[TriedQuestion] = field(default_factory=list)

    def of_kind(self, kind: str) -> list[LineChange]:
        """Return the lines that are added, changed or withdrawn."""
        return [line for line in self.lines if line.kind == kind and not line.left]

    @property
    def counts(self) -> dict[str, int]:
        """How many entries are added, changed, withdrawn and left as they are, and how many edits are overwritten."""
        kinds = {kind: len(self.of_kind(kind)) for kind in ("added", "changed", "withdrawn")}
        overwritten = sum(line.overwrites for line in self.lines if not line.left)
        return {**kinds, "left": sum(bool(line.left) for line in self.lines), "overwritten": overwritten}

    @property
    def left_by_first(self) -> list[str]:
        """The keys of the lines that the first of two curators left out. The second one has to accept the same."""
        accepted = self.version.endorsed_lines if self.version.endorsed_by_id else []
        return [line.key for line in self.lines if accepted and not line.left and line.key not in accepted]

    @property
    def lost(self) -> list[TriedQuestion]:
        """The golden questions that it would lose."""
        return [one for one in self.questions if one.outcome == "lost"]


def review_update(actor: Actor, *, name: PackName, version: PackVersionName | None = None) -> PackUpdate:
    """Preview what the pending version would do here, like an update of a dependency.

    Each line is compared with what is valid here now. Golden questions of the pack and of this instance are checked as
    if it had been accepted. Nothing is changed.

    Raises:
        NotFound: there is no subscription of this name.
        Conflict: no version waits, or another one than this.
    """
    actor.require("curate")
    pack = find_subscription(name)
    waiting = waiting_version(pack, version)
    accepted, document = pack.accepted, document_of(waiting)
    lines = list(read_lines(actor, pack, waiting, document))
    reports = [
        _import(actor, pack, waiting, one, dry_run=True) for one in _collections_between(accepted, document.collections)
    ]
    dangerous = [
        f"{one.slug}/{draft.key}"
        for one in document.collections
        for draft in one.references
        if has_warnings("\n".join((draft.title, draft.summary, draft.content)))
    ]
    return PackUpdate(pack, waiting, document, accepted, lines, reports, dangerous, _try(pack, document, lines))


def waiting_version(pack: Pack, version: str | None = None) -> PackVersion:
    """Return the version that waits for a curator.

    Raises:
        Conflict: none does, or another one than the one that was read.
    """
    waiting = pack.waiting
    if waiting is None:
        raise Conflict(f"No version of {pack.name} waits.", hint="Look for an update first.")
    if version and waiting.version != version:
        raise Conflict(f"{waiting.version} waits by now, not {version}.", hint="Look at what it changes.")
    return waiting


def read_lines(actor: Actor, pack: Pack, version: PackVersion, document: PackDocument) -> Iterator[LineChange]:
    """Yield what a version would change, with what is dangerous and what it may contradict."""
    accepted = pack.accepted
    old = {item.key: item for item in document_of(accepted).entries} if accepted else {}
    rows = pack.lines.select_related("entry__decided_by")
    # An entry that the publisher withdrew and published again is new here.
    known = {line.key: line.entry for line in rows if line.key in old or line.entry.is_approved}
    kept = {entry.pk for entry in known.values()}
    said = provenance_of(pack, version.public_key)
    for number, item in enumerate(document.entries, start=1):
        line = _line_of(item, known.get(item.key), old.get(item.key), said, number)
        if line is not None and line.after is not None and not line.left:
            # Not entries of the pack itself: the version brings them along as they belong together.
            against = [near for near in contradicting(line.after) if near.entry.pk not in kept]
            line = replace(line, suspicions=suspicions_about(line.after), against=against)
        if line is not None:
            yield line
    there = {item.key for item in document.entries}
    for key, entry in known.items():
        if key not in there and entry.is_approved:
            yield LineChange(key, "withdrawn", entry, None, overwrites=_is_edited(entry, old.get(key)))


def import_documentation(actor: Actor, pack: Pack, version: PackVersion | None, before: PackVersion | None) -> None:
    """Import the documentation of a version in place of that of the version before; None: there is none."""
    there = document_of(version).collections if version else []
    for collection in _collections_between(before, there):
        _import(actor, pack, version or before, collection, dry_run=False)


def target_of(pack: Pack, finds: str) -> tuple[str, str] | None:
    """Return kind and id of what a golden question of a pack must find here, if it is here."""
    line = pack.lines.filter(key=finds).first()
    if line is not None:
        return str(Kind.COMPANY), str(line.entry_id)
    slug, _, key = finds.partition("/")
    here = slug_here(pack.name, slug)
    reference = Reference.objects.current().filter(collection__slug=here, key=key, origin=_origin(pack)).first()
    return (str(Kind.REFERENCE), str(reference.pk)) if reference else None


def _line_of(
    item: PackedEntry, entry: CompanyEntry | None, old: PackedEntry | None, said: str, number: int
) -> LineChange | None:
    """Return what becomes of one item; None where it is here as the version has it, or was not changed by it."""
    if entry is None:
        made = _candidate(item, said, number)
        same = CompanyEntry.objects.approved().filter(digest=digest(item.content)).first()
        return LineChange(item.key, "added", made, made, left=f"known here as {same.handle}" if same else "")
    if old is not None and _values(old) == _values(item):
        return None
    after = copy(entry)
    for name in CARRIED:
        setattr(after, name, getattr(item, name))
    after.brought_by = said
    fields = [
        (LABELS.get(name, name.capitalize()), _plain(getattr(entry, name)), _plain(getattr(item, name)))
        for name in CARRIED
        if getattr(entry, name) != getattr(item, name)
    ]
    if not entry.is_approved:
        status = entry.get_status_display().lower()
        return LineChange(item.key, "changed", entry, after, left=f"{status} here, as {entry.handle}", fields=fields)
    if not fields:
        return None
    return LineChange(item.key, "changed", entry, after, overwrites=_is_edited(entry, old), fields=fields)


def _candidate(item: PackedEntry, said: str, number: int) -> CompanyEntry:
    """Return the entry that an item would become, with an unused number, so that it can be tried."""
    now = timezone.now()
    entry = CompanyEntry(pk=NOT_STORED + number, origin=Origin.IMPORTED, brought_by=said, status=Status.APPROVED)
    for name in CARRIED:
        setattr(entry, name, getattr(item, name))
    entry.verified_at = entry.decided_at = now
    return entry


def _is_edited(entry: CompanyEntry, old: PackedEntry | None) -> bool:
    return old is not None and any(getattr(entry, name) != getattr(old, name) for name in CARRIED)


def _values(item: PackedEntry) -> list[Any]:
    return [getattr(item, name) for name in CARRIED]


def _plain(value: Any) -> str:
    return ", ".join(value) if isinstance(value, list) else str(value)


def _collections_between(before: PackVersion | None, there: list[PackedCollection]) -> list[PackedCollection]:
    """Return the collections of a version, and empty ones for those that it has no more."""
    slugs = {one.slug for one in there}
    old = document_of(before).collections if before else []
    return [*there, *(one.model_copy(update={"references": []}) for one in old if one.slug not in slugs)]


def _import(
    actor: Actor, pack: Pack, version: PackVersion | None, collection: PackedCollection, *, dry_run: bool
) -> ImportedReferences:
    """Import a collection, or report what would happen. The source of each item names who signed it.

    Raises:
        Conflict: there is documentation of this name that does not come from this pack.
    """
    slug, origin = slug_here(pack.name, collection.slug), _origin(pack)
    if Reference.objects.current().filter(collection__slug=slug).exclude(origin=origin).exists():
        raise Conflict(f"There is documentation called {slug} here that is none of this pack.", hint="Rename it.")
    said = provenance_of(pack, version.public_key) if version else ""
    drafts = [
        one.model_copy(update={"source": f"{said}: {one.source}"[:500] if one.source else said})
        for one in collection.references
    ]
    return import_references(
        actor,
        collection=slug,
        drafts=drafts,
        source=origin,
        title=collection.title,
        complete=True,
        replaces=True,  # A curator has seen the difference, line by line.
        dry_run=dry_run,
    )


def _origin(pack: Pack) -> str:
    return f"{PACK_ORIGIN}{pack.name}"


def _try(pack: Pack, document: PackDocument, lines: list[LineChange]) -> list[TriedQuestion]:
    """Ask the golden questions of the pack and of this instance before the update and as if it had been accepted."""
    changes = [
        EntryChange(line.entry if line.entry.pk < NOT_STORED else None, line.after)
        for line in lines
        if not line.left and not line.is_dangerous
    ]
    asked = list(_questions(pack, document, lines, changes))
    if not asked or not changes or is_read_only():
        return []
    texts = list(dict.fromkeys(question for question, _, _, _ in asked))
    before = {text: first_answers(text) for text in texts}
    after = ask_afterwards(changes, lambda: {text: first_answers(text) for text in texts})
    tried = [
        TriedQuestion(
            question,
            handle,
            place_in(before[question], *target),
            place_in(after[question], *target),
            within,
            _name(before[question], lines),
            _name(after[question], lines),
            before[question][:3] != after[question][:3],
        )
        for question, handle, target, within in asked
    ]
    order = ("lost", "missing", "changed", "found", "same")
    return sorted(tried, key=lambda one: order.index(one.outcome))


def _questions(
    pack: Pack, document: PackDocument, lines: list[LineChange], changes: list[EntryChange]
) -> Iterator[tuple[str, str, tuple[str, str], int]]:
    """Yield each golden question with what it must find: of the pack, and those of this instance that it concerns."""
    new = {line.key: (str(Kind.COMPANY), str(line.entry.pk)) for line in lines if line.kind == "added"}
    seen = set()
    for one in document.questions:
        if target := new.get(one.finds) or target_of(pack, one.finds):
            seen.add((one.question.casefold(), target))
            yield one.question, "of the pack", target, one.within
    texts = [entry.text for change in changes for entry in (change.before, change.after) if entry]
    concerned: list[GoldenQuestion] = find_concerned([change.entry.pk for change in changes], texts, lost=True)
    for golden in concerned:
        if (golden.question.casefold(), (golden.kind, golden.source_id)) not in seen:
            yield golden.question, golden.handle, (golden.kind, golden.source_id), golden.within


def _name(answers: list[tuple[str, str]], lines: list[LineChange]) -> str:
    """Return the title of the first answer, if it is company knowledge."""
    if not answers or answers[0][0] != Kind.COMPANY:
        return answers[0][0] if answers else ""
    number = int(answers[0][1])
    line = next((one for one in lines if one.after and one.after.pk == number), None)
    if line is not None:
        return line.title
    entry = CompanyEntry.objects.filter(pk=number).only("title").first()
    return entry.title if entry else ""
