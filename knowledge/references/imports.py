"""Bringing references in: what a source says now against what is known, without touching what people have written."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Annotated, Literal
from uuid import UUID

from django.conf import settings
from django.db import connection, transaction
from django.db.models import Max
from django.utils import timezone
from pydantic import Field

from accounts.actor import Actor
from accounts.models import User
from bigmind.core.copying import copy_in, copy_new
from bigmind.core.errors import Invalid
from bigmind.core.text import REFUSED, show_hidden
from bigmind.core.vocabulary import Moment, SharedLongText
from knowledge.models import (
    Kind,
    Reference,
    ReferenceCollection,
    ReferenceDrift,
    ReferenceImport,
    ReferenceName,
    ReferenceType,
    ReferenceVersion,
)
from knowledge.models.references import NAME_CHARS
from knowledge.reference_vocabulary import Completeness
from knowledge.references.arguments import (
    CollectionName,
    Declared,
    Drafts,
    SharedName,
    SourceName,
    SynonymTable,
    VersionName,
)
from knowledge.references.readers.drafts import ReferenceDraft
from knowledge.references.texts import (
    FIELDS,
    PLAIN_VERBS,
    Text,
    base_path_of,
    digest_of,
    fit_to_store,
    names_of,
    passage_of,
    path_of,
    program_of,
    text_of,
    text_of_draft,
    write_text,
)
from knowledge.search.passages import Indexed, forget_passages, index_new

BATCH = 500
TROUBLES = 1_000
NAMED = 50
"""Of each list of keys in a report, so many are named; all are counted."""
_NAME_COLUMNS = ("reference_id", "sort", "said", "lookup", "method")


@dataclass
class ImportedReferences:
    """What an import did, or with `dry_run` would do: numbers, and the keys behind them."""

    collection: str
    added: int = 0
    changed: int = 0
    removed: int = 0
    unchanged: int = 0
    drifted: int = 0
    keys: dict[str, list[str]] = field(default_factory=dict)
    troubles: list[str] = field(default_factory=list)
    dry_run: bool = False


@dataclass(frozen=True)
class _SourceItem:
    """One item as its source tells it now."""

    text: Text
    digest: str


@dataclass
class _Plan:
    """What has to be done, by key."""

    added: list[str] = field(default_factory=list)
    changed: list[str] = field(default_factory=list)
    returned: list[str] = field(default_factory=list)
    removed: list[str] = field(default_factory=list)
    drifted: list[str] = field(default_factory=list)
    unchanged: list[str] = field(default_factory=list)


def require_documentarian(actor: Actor) -> None:
    """Refuse who may not change documentation that everybody reads: curators and admins may, and whoever is alone.

    Raises:
        Forbidden: a member of a team, or a key without the scope.
    """
    actor.require("write" if settings.BIGMIND_MODE == "personal" else "curate")


@transaction.atomic
def import_references(
    actor: Actor,
    *,
    collection: CollectionName,
    drafts: Drafts,
    source: SourceName = "",
    version: VersionName = "",
    title: SharedName | None = None,
    description: SharedLongText | None = None,
    program: Annotated[
        SharedName, Field(description="Word that command lines begin with and people may leave out: helios.")
    ]
    | None = None,
    base_path: Annotated[SharedName, Field(description="What stands before every path of the API: /api/v1.")]
    | None = None,
    synonyms: SynonymTable | None = None,
    generated_at: Moment | None = None,
    completeness: Declared | None = None,
    complete: Annotated[
        bool, Field(description="These are all there is of this source: what it had before and has no more is removed.")
    ] = False,
    dry_run: Annotated[bool, Field(description="Only report what would be done.")] = False,
) -> ImportedReferences:
    """Import documentation: commands, endpoints, guides, features, troubleshooting, settings. Everybody reads it.

    Call this to bring in what a generator or a person wrote down; curators and admins may. What is unchanged stays as
    it is. What a person has changed is never overwritten: it waits for a decision (`drifted`). Returns how many were
    added, changed, removed, unchanged.
    """
    require_documentarian(actor)
    _take_ones_time()
    told = _read_drafts(drafts, version)
    shelf = None if dry_run else _shelf(collection, title)
    known = {one.key: one for one in Reference.objects.filter(collection__slug=collection).only(*_KNOWN)}
    plan = _make_plan(told, known, origin=source, complete=complete)
    troubles = _fit_all(told, plan) + _twice(drafts)
    report = _report(collection, plan, troubles, dry_run=dry_run)
    if shelf is not None:
        rebased = _describe(
            shelf, told, description=description, program=program, base_path=base_path, synonyms=synonyms
        )
        _note_completeness(shelf, source, told, completeness or {}, plan)
        _carry_out(actor.user, shelf, plan, told, known, origin=source)
        if rebased:
            name_anew(shelf, Reference.objects.filter(collection=shelf).current())
        _note_import(actor.user, shelf, report, source=source, version=version, generated_at=generated_at)
    return report


def _note_import(
    by: User,
    shelf: ReferenceCollection,
    report: ImportedReferences,
    *,
    source: str,
    version: str,
    generated_at: datetime | None,
) -> None:
    """Keep that there was an import, with its numbers."""
    ReferenceImport.objects.create(
        collection=shelf,
        source=source,
        version=version,
        generated_at=generated_at or timezone.now(),
        by=by,
        **{name: getattr(report, name) for name in ("added", "changed", "removed", "unchanged", "drifted")},
    )


def name_anew(shelf: ReferenceCollection, references: Iterable[Reference]) -> None:
    """Write what these references are looked up by, in place of what was there."""
    rows = list(references)
    ReferenceName.objects.filter(reference__in=[row.pk for row in rows]).delete()
    names = (name for row in rows for name in names_of(row, base_path=shelf.base_path))
    copy_in(
        ReferenceName,
        _NAME_COLUMNS,
        ((name.reference_id, name.sort, name.said, name.lookup, name.method) for name in names),
    )


def keep_versions(references: Sequence[Reference], *, why: str, by: User | None) -> None:
    """Keep what these references say, before it is changed."""
    counted = ReferenceVersion.objects.filter(reference__in=[one.pk for one in references])
    last = dict(counted.values_list("reference").annotate(Max("number")))
    ReferenceVersion.objects.bulk_create(
        [
            ReferenceVersion(reference=one, number=last.get(one.pk, 0) + 1, text=text_of(one), why=why, by=by)
            for one in references
        ],
        batch_size=BATCH,
    )


def find_anew(references: Sequence[Reference], shelf: ReferenceCollection) -> None:
    """Let these references be found by what they say now.

    Some at a time: no statement may take as long as thousands of long texts do.
    """
    for some in _batches(references):
        forget_passages(Kind.REFERENCE, [one.pk for one in some])
        index_new(Kind.REFERENCE, [Indexed(one.pk, passage_of(one), "") for one in some], owner=None)
        name_anew(shelf, some)


def remove_references(references: Sequence[Reference], *, by: User | None) -> None:
    """Mark references as removed: they stay on record, and nothing finds them any more."""
    keep_versions(references, why="removal", by=by)
    ids = [one.pk for one in references]
    Reference.objects.filter(pk__in=ids).update(removed_at=timezone.now(), edited_at=None, edited_by=None)
    forget_passages(Kind.REFERENCE, ids)
    ReferenceName.objects.filter(reference__in=ids).delete()


def _take_ones_time() -> None:
    """Let this transaction wait while thousands of long texts are screened between two statements of it."""
    with connection.cursor() as cursor:
        cursor.execute("SET LOCAL idle_in_transaction_session_timeout TO 0")


_KNOWN = ("id", "key", "digest", "edited_at", "removed_at", "origin", "source", "version", "collection")


def _shelf(slug: str, title: str | None) -> ReferenceCollection:
    """The collection, locked: of two imports at once the second sees what the first has done."""
    ReferenceCollection.objects.get_or_create(slug=slug, defaults={"title": title or slug})
    shelf = ReferenceCollection.objects.select_for_update().get(slug=slug)
    shelf.title = title or shelf.title
    return shelf


def _read_drafts(drafts: Sequence[ReferenceDraft], version: str) -> dict[str, _SourceItem]:
    told: dict[str, _SourceItem] = {}
    for draft in drafts:
        if not draft.key.strip() or len(draft.key) > NAME_CHARS or REFUSED.search(draft.key):
            called = show_hidden(draft.title[:60])
            problem = f"a key must have 1 to {NAME_CHARS} characters, no control character; “{called}” has none such"
            raise Invalid(f"drafts: {problem}.", problems=[{"field": "drafts", "message": problem}])
        text = text_of_draft(draft)
        text["version"] = text["version"] or version
        told[draft.key] = _SourceItem(text, digest_of(text))
    return told


def _fit_all(told: dict[str, _SourceItem], plan: _Plan) -> list[str]:
    """Make fit to be stored what is about to be, and say what that took. What is unchanged has been through it."""
    troubles = []
    for key in (*plan.added, *plan.changed, *plan.returned, *plan.drifted):
        if key in told:
            text, said = fit_to_store(told[key].text)
            told[key] = _SourceItem(text, told[key].digest)
            troubles += [f"{key}: {trouble}." for trouble in said]
    return troubles


def _twice(drafts: Sequence[ReferenceDraft]) -> list[str]:
    counted = Counter(draft.key for draft in drafts)
    return [f"{key}: {number} items have this key; the last is taken." for key, number in counted.items() if number > 1]


def _make_plan(
    told: Mapping[str, _SourceItem], known: Mapping[str, Reference], *, origin: str, complete: bool
) -> _Plan:
    plan = _Plan()
    for key, item in told.items():
        there = known.get(key)
        if there is None:
            plan.added.append(key)
        elif there.digest != item.digest and there.edited_at:
            plan.drifted.append(key)
        elif there.removed_at:
            plan.returned.append(key)
        else:
            (plan.unchanged if there.digest == item.digest else plan.changed).append(key)
    if complete:
        gone = [one for one in known.values() if one.origin == origin and not one.removed_at and one.key not in told]
        plan.removed = [one.key for one in gone if not one.edited_at]
        plan.drifted += [one.key for one in gone if one.edited_at]
    return plan


def _report(collection: str, plan: _Plan, troubles: list[str], *, dry_run: bool) -> ImportedReferences:
    keys = {
        "added": plan.added + plan.returned,
        "changed": plan.changed,
        "removed": plan.removed,
        "drifted": plan.drifted,
    }
    counts = {name: len(listed) for name, listed in keys.items()}
    return ImportedReferences(
        collection,
        **counts,
        unchanged=len(plan.unchanged),
        keys={name: listed[:NAMED] for name, listed in keys.items() if listed},
        troubles=troubles[:TROUBLES],
        dry_run=dry_run,
    )


def _describe(
    shelf: ReferenceCollection,
    told: Mapping[str, _SourceItem],
    *,
    description: str | None,
    program: str | None,
    base_path: str | None,
    synonyms: dict[str, list[str]] | None,
) -> bool:
    """Note what was said of the collection, or can be read from its items; return whether its paths begin anew."""
    before = shelf.base_path
    texts = [item.text for item in told.values()]
    shelf.description = shelf.description if description is None else description
    shelf.synonyms = shelf.synonyms if synonyms is None else synonyms
    commands = [text["name"] for text in texts if text["kind"] == ReferenceType.COMMAND]
    # A verb that an earlier version took for a program is read once more.
    known = shelf.program if shelf.program.casefold() not in PLAIN_VERBS else ""
    shelf.program = (known or program_of(commands)) if program is None else program
    paths = [path_of(text) for text in texts if text["kind"] == ReferenceType.API]
    shelf.base_path = (shelf.base_path or base_path_of(paths)) if base_path is None else base_path
    shelf.save()
    return shelf.base_path != before


def _note_completeness(
    shelf: ReferenceCollection,
    source: str,
    told: Mapping[str, _SourceItem],
    declared: Mapping[Literal["command", "api"], str],
    plan: _Plan,
) -> None:
    """Note what a source says of itself. One that adds items without a word about that is not known to be whole."""
    said = dict(shelf.completeness.get(source, {}))
    changed = {told[key].text["kind"] for key in (*plan.added, *plan.changed, *plan.returned) if key in told}
    for kind in ("command", "api"):
        if kind in changed or kind in declared:
            said[kind] = declared.get(kind, Completeness.UNKNOWN.value)
    shelf.completeness = {**shelf.completeness, source: said}
    shelf.save(update_fields=["completeness"])


def _carry_out(
    by: User,
    shelf: ReferenceCollection,
    plan: _Plan,
    told: Mapping[str, _SourceItem],
    known: Mapping[str, Reference],
    *,
    origin: str,
) -> None:
    fresh = []
    for key in plan.added:
        made = Reference(collection=shelf, key=key, digest=told[key].digest, origin=origin)
        write_text(made, told[key].text)
        fresh.append(made)
    for some in _batches(fresh):
        copy_new(some, unique="id")
    rewritten = _rewrite(by, [known[key].pk for key in (*plan.changed, *plan.returned)], told, origin=origin)
    find_anew([*fresh, *rewritten], shelf)
    if plan.removed:
        remove_references(list(Reference.objects.filter(pk__in=[known[key].pk for key in plan.removed])), by=by)
    _open_drifts([known[key].pk for key in plan.drifted], told)
    same = [known[key] for key in plan.unchanged]
    # A source that says again what it said when a person changed the text has nothing left to decide.
    ReferenceDrift.objects.filter(reference__in=[row.pk for row in same if row.edited_at], decided_at=None).delete()
    _note_provenance(same, told, origin=origin)


def _rewrite(by: User, ids: Sequence[UUID], told: Mapping[str, _SourceItem], *, origin: str) -> list[Reference]:
    rows = list(Reference.objects.filter(pk__in=ids))
    keep_versions(rows, why="import", by=by)
    now = timezone.now()
    for row in rows:
        item = told[row.key]
        if not row.edited_at:  # What a person wrote comes back as they wrote it.
            write_text(row, item.text)
        row.digest, row.origin, row.removed_at, row.updated_at = item.digest, origin, None, now
    _store(rows, [*FIELDS, "digest", "origin", "removed_at", "updated_at"])
    return rows


def _open_drifts(ids: Sequence[UUID], told: Mapping[str, _SourceItem]) -> None:
    """Let each wait for a decision, once: what the source says at the next import takes the place of this."""
    for row in Reference.objects.filter(pk__in=ids):
        item = told.get(row.key)
        now = {"now": item.text if item else None, "digest": item.digest if item else ""}
        ReferenceDrift.objects.update_or_create(
            reference=row, decided_at=None, defaults=now, create_defaults={**now, "before": row.generated}
        )


def _note_provenance(rows: Sequence[Reference], told: Mapping[str, _SourceItem], *, origin: str) -> None:
    """Note where an unchanged text stands now: lines move, versions grow."""
    moved = []
    for row in rows:
        text = told[row.key].text
        if (row.source, row.version, row.origin) != (text["source"], text["version"], origin):
            row.source, row.version, row.origin = text["source"], text["version"], origin
            moved.append(row)
    Reference.objects.bulk_update(moved, ["source", "version", "origin"], batch_size=BATCH)


def _batches(rows: Sequence[Reference]) -> Iterator[Sequence[Reference]]:
    return (rows[start : start + BATCH] for start in range(0, len(rows), BATCH))


def _store(rows: Sequence[Reference], fields: list[str]) -> None:
    """Write rows that are there already. As an upsert it takes a tenth of the time that an UPDATE of many rows does."""
    Reference.objects.bulk_create(
        rows, update_conflicts=True, unique_fields=["id"], update_fields=fields, batch_size=BATCH
    )
