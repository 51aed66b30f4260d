"""Imports of references: compares a source with what is stored, and never overwrites what people have edited."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Annotated, Any, Literal, TypeVar
from uuid import UUID

from django.conf import settings
from django.db import connection, transaction
from django.db.models import Max
from django.utils import timezone
from pydantic import Field

from accounts.actor import Actor
from accounts.models import User
from bigmind.core.argument_types import Moment, SharedLongText
from bigmind.core.errors import Invalid
from bigmind.database.bulk_copy import copy_in, copy_new
from bigmind.text.hygiene import REFUSED, echo
from knowledge.argument_types import Completeness, ReferenceKind
from knowledge.kb.import_consent import WouldReplace, require_consent
from knowledge.kb.source_identity import (
    HALF,
    MOST,
    earlier_names,
    is_bare_name_of,
    remember_place,
)
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
from knowledge.parsers.repositories import SourcePlace
from knowledge.references.arguments import (
    CollectionName,
    Declared,
    Drafts,
    SharedName,
    SourceName,
    SynonymTable,
    VersionName,
    plain_completeness,
)
from knowledge.references.readers.reference_drafts import Generated, ReferenceDraft
from knowledge.references.texts import (
    FIELDS,
    PLAIN_VERBS,
    Text,
    digest_of,
    fit_to_store,
    form_of,
    names_of,
    passage_of,
    program_of,
    text_of,
    text_of_draft,
    write_text,
)
from knowledge.search.passages import Indexed, forget_passages, index_new

BATCH = 500
MOST_PROBLEMS = 1_000
KEYS_SHOWN = 50
"""How many keys of each list a report names; it counts all of them."""
_Any = TypeVar("_Any")
_NAME_COLUMNS = ("reference_id", "sort", "said", "lookup", "method")


@dataclass
class ImportedReferences:
    """What an import did."""

    collection: str
    added: int = 0
    changed: int = 0
    removed: int = 0
    unchanged: int = 0
    drifted: Annotated[
        int, Field(description="Not imported, because people edited them: they wait for a decision.")
    ] = 0
    keys: dict[str, list[str]] = field(default_factory=dict)
    troubles: list[str] = field(default_factory=list)
    dry_run: bool = False


@dataclass(frozen=True)
class _SourceItem:
    """One item as its source has it now: its text, of which a form is made when it is written, and their digest."""

    draft: ReferenceDraft
    text: Text
    digest: str

    def make_text(self) -> Text:
        """Return the whole text. Endpoints share their schemas, and thousands of forms would each have a copy."""
        return self.text if "form" in self.text else {**self.text, "form": form_of(self.draft)}


@dataclass
class _Plan:
    """What the import has to do, as lists of keys. `returned`: removed once, and now in the source again."""

    added: list[str] = field(default_factory=list)
    changed: list[str] = field(default_factory=list)
    returned: list[str] = field(default_factory=list)
    removed: list[str] = field(default_factory=list)
    drifted: list[str] = field(default_factory=list)
    unchanged: list[str] = field(default_factory=list)


def require_documentarian(actor: Actor) -> None:
    """Require the right to change shared documentation: curators and admins have it, in personal mode every user.

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
    program: Annotated[SharedName, Field(description="First word of command lines, which people may omit: helios.")]
    | None = None,
    base_path: Annotated[SharedName, Field(description="Prefix of every API path: /api/v1.")] | None = None,
    synonyms: SynonymTable | None = None,
    generated_at: Moment | None = None,
    completeness: Declared | None = None,
    complete: Annotated[
        bool, Field(description="This is all the source has now: earlier items that are missing are removed.")
    ] = False,
    replaces: Annotated[
        bool, Field(description="Change or remove even most of what is there, or what another source brought.")
    ] = False,
    dry_run: Annotated[bool, Field(description="Only report what would be done.")] = False,
) -> ImportedReferences:
    """Import documentation: commands, endpoints, guides, features, troubleshooting, settings. Everybody reads it.

    Call this to import what a generator or a person wrote; for curators and admins. Unchanged items stay as they are.
    What a person edited is never overwritten: it waits for a decision (`drifted`). Returns how many were added,
    changed, removed, unchanged. An import that would change or remove most of what is there asks for `replaces`.
    """
    require_documentarian(actor)
    _allow_long_transaction()
    items = _read_drafts(drafts, version)
    stored = None if dry_run else _lock_collection(collection, title)
    # Read behind the lock: what an import that came first has stored would otherwise be missing from the plan.
    known = {one.key: one for one in Reference.objects.filter(collection__slug=collection).only(*_KNOWN)}
    plan = _make_plan(items, known, origin=source, complete=complete)
    question = [] if replaces else _find_question(plan, known, source, dry_run=dry_run)
    problems = question + _fit_all(items, plan) + _find_repeated_keys(drafts)
    if stored is not None:
        # Screening takes a while, in which people edit: what they have edited since is theirs, and drifts.
        known = _lock_planned(plan, known)
        plan = _make_plan(items, known, origin=source, complete=complete)
    report = _report(collection, plan, problems, dry_run=dry_run)
    if stored is not None:
        rebased = _describe(
            stored, items, description=description, program=program, base_path=base_path, synonyms=synonyms
        )
        _note_completeness(stored, source, items, completeness or {}, plan)
        _carry_out(actor.user, stored, plan, items, known, origin=source, replaces=replaces)
        if rebased:
            rewrite_names(stored, Reference.objects.filter(collection=stored).current())
        _note_import(actor.user, stored, report, source=source, version=version, generated_at=generated_at)
    return report


def import_placed(
    actor: Actor,
    place: SourcePlace | None,
    *,
    collection: str,
    drafts: list[ReferenceDraft],
    dry_run: bool,
    **arguments: Any,
) -> ImportedReferences:
    """Import references from a place, as `import_references`; what the same source brought under another name is its.

    Args:
        place: Where the source is; None if the name in `source` is that of one source alone.
    """
    if place is None:
        return import_references(actor, collection=collection, drafts=drafts, dry_run=dry_run, **arguments)
    require_documentarian(actor)
    with transaction.atomic():
        _adopt(collection, place, _read_drafts(drafts, ""))
        remember_place(place)
        arguments["source"] = str(place)
        report = import_references(actor, collection=collection, drafts=drafts, dry_run=dry_run, **arguments)
        if dry_run:
            transaction.set_rollback(True)
    return report


def import_generated(
    actor: Actor,
    generated: Generated,
    place: SourcePlace | None,
    *,
    collection: str,
    source: str,
    name: str = "",
    keep_missing: bool = False,
    replaces: bool = False,
    dry_run: bool = False,
) -> ImportedReferences:
    """Import what a reader made of a source, and all that it says of it.

    Args:
        name: What people call the program or the API; else as the source declares it.
    """
    runs = any(draft.kind is ReferenceKind.COMMAND for draft in generated.drafts)
    is_titled = ReferenceCollection.objects.filter(slug=collection).exclude(title=collection).exists()
    return import_placed(
        actor,
        place,
        collection=collection,
        drafts=list(generated.drafts),
        source=source,
        version=generated.drafts[0].version,
        title=None if is_titled else name or generated.title or None,
        program=name if name and runs else None,
        # References from a file that cannot be read today are not gone from their source.
        complete=not keep_missing and not generated.problems,
        completeness=plain_completeness(generated.completeness),
        replaces=replaces,
        dry_run=dry_run,
    )


def _adopt(slug: str, place: SourcePlace, items: Mapping[str, _SourceItem]) -> None:
    """Give a place what was stored under an earlier name of it, or under the bare name of its file."""
    stored = Reference.objects.filter(collection__slug=slug).only("id", "key", "digest", "origin")
    by_origin: dict[str, list[Reference]] = {}
    for row in stored:
        by_origin.setdefault(row.origin, []).append(row)
    if str(place) in by_origin:
        return
    earlier = earlier_names(place)
    for name, rows in by_origin.items():
        if name in earlier or is_bare_name_of(name, place):
            same = [row for row in rows if row.key in items and items[row.key].digest == row.digest]
            # Files of one name were taken for one source: a name without a repository has to show that it is this one.
            share = HALF if name in earlier else MOST
            is_whole = len(same) >= share * (min(len(rows), len(items)) if name in earlier else len(rows))
            Reference.objects.filter(pk__in=[row.pk for row in (rows if is_whole else same)]).update(origin=str(place))
            if is_whole:
                _rename_completeness(slug, name, str(place))


def _rename_completeness(slug: str, before: str, after: str) -> None:
    collection = ReferenceCollection.objects.select_for_update().get(slug=slug)
    if before in collection.completeness:
        collection.completeness[after] = collection.completeness.pop(before)
        collection.save(update_fields=["completeness"])


def _find_question(plan: _Plan, known: Mapping[str, Reference], source: str, *, dry_run: bool) -> list[str]:
    """Return what a dry run says of an import that needs a word of its own.

    Raises:
        WouldReplace: this import needs it, and is no dry run.
    """
    touched = {*plan.changed, *plan.removed}
    there = sum(one.origin == source and not one.removed_at for one in known.values())
    foreign = sum(source != known[key].origin != "" for key in plan.changed) if source else 0
    try:
        require_consent(
            source,
            changed=len(plan.changed),
            removed=len(plan.removed),
            there=max(there, len(touched)),
            foreign=foreign,
        )
    except WouldReplace as error:
        if not dry_run:
            raise
        return [str(error)]
    return []


def _note_import(
    by: User,
    collection: ReferenceCollection,
    report: ImportedReferences,
    *,
    source: str,
    version: str,
    generated_at: datetime | None,
) -> None:
    """Record the import with its numbers."""
    ReferenceImport.objects.create(
        collection=collection,
        source=source,
        version=version,
        generated_at=generated_at or timezone.now(),
        by=by,
        **{name: getattr(report, name) for name in ("added", "changed", "removed", "unchanged", "drifted")},
    )


def rewrite_names(collection: ReferenceCollection, references: Iterable[Reference]) -> None:
    """Replace the names by which these references are looked up."""
    rows = list(references)
    ReferenceName.objects.filter(reference__in=[row.pk for row in rows]).delete()
    names = (name for row in rows for name in names_of(row, base_path=collection.base_path))
    copy_in(
        ReferenceName,
        _NAME_COLUMNS,
        ((name.reference_id, name.sort, name.said, name.lookup, name.method) for name in names),
    )


def keep_versions(references: Sequence[Reference], *, why: str, by: User | None) -> None:
    """Store the current texts of these references as versions. Call this before changing them.

    Hold their locks: two that count at once would give one number twice.
    """
    counted = ReferenceVersion.objects.filter(reference__in=[one.pk for one in references])
    last = dict(counted.values_list("reference").annotate(Max("number")))
    ReferenceVersion.objects.bulk_create(
        [
            ReferenceVersion(reference=one, number=last.get(one.pk, 0) + 1, text=text_of(one), why=why, by=by)
            for one in references
        ],
        batch_size=BATCH,
    )


def reindex(references: Sequence[Reference], collection: ReferenceCollection) -> None:
    """Rebuild the passages and names of these references, after their texts have changed.

    In batches: a statement over thousands of long texts would exceed the time limit of statements.
    """
    for some in _batches(references):
        forget_passages(Kind.REFERENCE, [one.pk for one in some])
        index_new(Kind.REFERENCE, [Indexed(one.pk, passage_of(one), "") for one in some], owner=None)
        rewrite_names(collection, some)


def index_reference(reference: Reference) -> None:
    """Rebuild the passages and names of one reference. One that was removed has none."""
    if reference.removed_at is None:
        reindex([reference], reference.collection)
    else:
        forget_passages(Kind.REFERENCE, [reference.pk])


def remove_references(references: Sequence[Reference], *, by: User | None) -> None:
    """Mark references, which are locked, as removed: they stay on record, but no search or lookup finds them."""
    keep_versions(references, why="removal", by=by)
    ids = [one.pk for one in references]
    Reference.objects.filter(pk__in=ids).update(removed_at=timezone.now(), edited_at=None, edited_by=None)
    forget_passages(Kind.REFERENCE, ids)
    ReferenceName.objects.filter(reference__in=ids).delete()


@transaction.atomic
def take_back_import(actor: Actor, *, collection: str, source: str, since: datetime) -> int:
    """Take back what a source brought into a collection since a moment; return how many references that were.

    What it added is deleted, with a collection that it made; what it changed or removed is as it was. What a person
    edited meanwhile stays.
    """
    require_documentarian(actor)
    here = ReferenceCollection.objects.filter(slug=collection).first()
    if here is None:  # Somebody deleted the collection meanwhile.
        return 0
    rows = Reference.objects.filter(collection=here, origin=source, edited_at=None)
    locked = {row.pk: row for row in rows.select_for_update(no_key=True).order_by("pk")}
    history: dict[UUID, list[ReferenceVersion]] = {}
    for version in ReferenceVersion.objects.filter(reference__in=locked).order_by("number"):
        history.setdefault(version.reference_id, []).append(version)
    new, gone, former = [], [], {}
    for pk, row in locked.items():
        earlier = [one for one in history.get(pk, ()) if one.at < since]
        ended = next((one for one in history.get(pk, ()) if one.at >= since), None)
        was_gone = bool(earlier) and earlier[-1].why == "removal"
        if ended is not None and not was_gone:
            former[row.key] = ended.text
        elif row.created_at >= since:
            new.append(pk)
        elif ended is not None and not row.removed_at:
            gone.append(row)
    remove_references(gone, by=actor.user)
    forget_passages(Kind.REFERENCE, new)
    Reference.objects.filter(pk__in=new).delete()
    changed = [row for row in locked.values() if row.key in former]
    keep_versions(changed, why="undo", by=actor.user)
    for row in changed:
        write_text(row, former[row.key])
        row.digest, row.removed_at, row.updated_at = digest_of(former[row.key]), None, timezone.now()
    _store(changed, [*FIELDS, "signs", "digest", "removed_at", "updated_at"])
    reindex(changed, here)
    ReferenceDrift.objects.filter(
        reference__collection=here, reference__origin=source, decided_at=None, opened_at__gte=since
    ).delete()
    if here.created_at >= since and not Reference.objects.filter(collection=here).exists():
        here.delete()
    return len(new) + len(gone) + len(changed)


def _allow_long_transaction() -> None:
    """Lift the limit on idle time: screening thousands of long texts between two statements takes longer than that."""
    with connection.cursor() as cursor:
        cursor.execute("SET LOCAL idle_in_transaction_session_timeout TO 0")


_KNOWN = ("id", "key", "digest", "edited_at", "removed_at", "origin", "source", "version", "collection")


def _lock_collection(slug: str, title: str | None) -> ReferenceCollection:
    """Return the collection, created if needed and locked: a concurrent import waits, and then sees the result."""
    ReferenceCollection.objects.get_or_create(slug=slug, defaults={"title": title or slug})
    row = ReferenceCollection.objects.select_for_update().get(slug=slug)
    row.title = title or row.title
    return row


def _read_drafts(drafts: Sequence[ReferenceDraft], version: str) -> dict[str, _SourceItem]:
    items: dict[str, _SourceItem] = {}
    for draft in drafts:
        if not draft.key.strip() or len(draft.key) > NAME_CHARS or REFUSED.search(draft.key):
            problem = (
                f"{echo(draft.title, limit=60)} has no key of 1 to {NAME_CHARS} characters without control characters"
            )
            raise Invalid(f"drafts: {problem}.", problems=[{"field": "drafts", "message": problem}])
        text = text_of_draft(draft)
        text["version"] = text["version"] or version
        # Of the text before `_fit_all`, so that it depends on the source alone, and not on the limits and rules here.
        digest = digest_of(text)
        del text["form"]
        items[draft.key] = _SourceItem(draft, text, digest)
    return items


def _fit_all(items: dict[str, _SourceItem], plan: _Plan) -> list[str]:
    """Make the texts storable that the plan writes, in place; return notes on what was changed.

    Unchanged texts are skipped, because they went through this when they were stored.
    """
    notes = []
    for key in (*plan.added, *plan.changed, *plan.returned, *plan.drifted):
        if key in items:
            text, problems = fit_to_store(items[key].make_text())
            items[key] = replace(items[key], text=text) if problems else items[key]
            notes += [f"{key}: {problem}." for problem in problems]
    return notes


def _find_repeated_keys(drafts: Sequence[ReferenceDraft]) -> list[str]:
    counted = Counter(draft.key for draft in drafts)
    return [f"{key}: {number} items have this key; the last is taken." for key, number in counted.items() if number > 1]


def _make_plan(
    items: Mapping[str, _SourceItem], known: Mapping[str, Reference], *, origin: str, complete: bool
) -> _Plan:
    plan = _Plan()
    for key, item in items.items():
        there = known.get(key)
        if there is None:
            plan.added.append(key)
        elif there.digest != item.digest and there.edited_at:
            # The digest is that of the source's text, so a person's edit alone is no drift.
            plan.drifted.append(key)
        elif there.removed_at:
            plan.returned.append(key)
        else:
            (plan.unchanged if there.digest == item.digest else plan.changed).append(key)
    if complete:
        # Of this source alone: a collection may have several, and each is complete by itself.
        gone = [one for one in known.values() if one.origin == origin and not one.removed_at and one.key not in items]
        plan.removed = [one.key for one in gone if not one.edited_at]
        plan.drifted += [one.key for one in gone if one.edited_at]
    return plan


def _lock_planned(plan: _Plan, known: Mapping[str, Reference]) -> dict[str, Reference]:
    """Lock the references that the plan rewrites or removes, and return all that are known, these as they are now.

    Not those that drift: a decision on one locks the drift first, and then the reference.
    """
    planned = {*plan.changed, *plan.returned, *plan.removed}
    # In one order, so that two who lock several do not wait for each other. Uses are counted meanwhile.
    rows = Reference.objects.select_for_update(no_key=True).order_by("pk")
    locked = rows.filter(pk__in=[known[key].pk for key in planned])
    return {key: one for key, one in known.items() if key not in planned} | {row.key: row for row in locked}


def _report(collection: str, plan: _Plan, problems: list[str], *, dry_run: bool) -> ImportedReferences:
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
        keys={name: listed[:KEYS_SHOWN] for name, listed in keys.items() if listed},
        troubles=problems[:MOST_PROBLEMS],
        dry_run=dry_run,
    )


def _describe(
    collection: ReferenceCollection,
    items: Mapping[str, _SourceItem],
    *,
    description: str | None,
    program: str | None,
    base_path: str | None,
    synonyms: dict[str, list[str]] | None,
) -> bool:
    """Update the collection from the arguments or from its items; return whether its base path has changed."""
    before = collection.base_path
    texts = [item.text for item in items.values()]
    collection.description = collection.description if description is None else description
    collection.synonyms = collection.synonyms if synonyms is None else synonyms
    commands = [text["name"] for text in texts if text["kind"] == ReferenceType.COMMAND]
    # A verb that an earlier version took for a program is read once more.
    known = collection.program if collection.program.casefold() not in PLAIN_VERBS else ""
    collection.program = (known or program_of(commands)) if program is None else program
    collection.base_path = collection.base_path if base_path is None else base_path
    collection.save()
    return collection.base_path != before


def _note_completeness(
    collection: ReferenceCollection,
    source: str,
    items: Mapping[str, _SourceItem],
    declared: Mapping[Literal["command", "api"], str],
    plan: _Plan,
) -> None:
    """Record how complete a source declares itself. If it adds items without a declaration, that becomes unknown.

    An item that a complete list did not have shows that the list was not complete. Decision 26.
    """
    stated = dict(collection.completeness.get(source, {}))
    changed = {items[key].text["kind"] for key in (*plan.added, *plan.changed, *plan.returned) if key in items}
    for kind in ("command", "api"):
        if kind in changed or kind in declared:
            stated[kind] = declared.get(kind, Completeness.UNKNOWN.value)
    collection.completeness = {**collection.completeness, source: stated}
    collection.save(update_fields=["completeness"])


def _carry_out(
    by: User,
    collection: ReferenceCollection,
    plan: _Plan,
    items: Mapping[str, _SourceItem],
    known: Mapping[str, Reference],
    *,
    origin: str,
    replaces: bool,
) -> None:
    for keys in _batches(plan.added):
        fresh = [_make(collection, items[key], origin=origin) for key in keys]
        copy_new(fresh, unique="id")
        reindex(fresh, collection)
    rewritten = [known[key] for key in (*plan.changed, *plan.returned)]
    _rewrite(by, rewritten, items, origin=origin)
    reindex(rewritten, collection)
    if plan.removed:
        remove_references([known[key] for key in plan.removed], by=by)
    _open_drifts([known[key].pk for key in plan.drifted], items)
    same = [known[key] for key in plan.unchanged]
    # If the source is back at the text it had when a person edited it, there is nothing left to decide.
    ReferenceDrift.objects.filter(reference__in=[row.pk for row in same if row.edited_at], decided_at=None).delete()
    # What another source says in the same words stays that one's.
    own = [row for row in same if replaces or row.origin in ("", origin)]
    _note_provenance(own, items, origin=origin)


def _make(collection: ReferenceCollection, item: _SourceItem, *, origin: str) -> Reference:
    made = Reference(collection=collection, key=item.draft.key, digest=item.digest, origin=origin)
    write_text(made, item.make_text())
    made.updated_at = item.draft.updated or made.updated_at
    return made


def _rewrite(by: User, rows: Sequence[Reference], items: Mapping[str, _SourceItem], *, origin: str) -> None:
    keep_versions(rows, why="import", by=by)
    now = timezone.now()
    for row in rows:
        item = items[row.key]
        write_text(row, item.make_text())
        row.digest, row.origin, row.removed_at, row.updated_at = item.digest, origin, None, now
    # `signs` are found in the texts as they are written (decision 62), and an upsert writes only what it names.
    _store(rows, [*FIELDS, "signs", "digest", "origin", "removed_at", "updated_at"])


def _open_drifts(ids: Sequence[UUID], items: Mapping[str, _SourceItem]) -> None:
    """Open a drift for each of these references, or update the open one: only the newest text of the source counts."""
    for row in Reference.objects.filter(pk__in=ids):
        item = items.get(row.key)
        # `before` stays what it was when the drift was opened: what is decided on is all that changed since the edit.
        now = {"now": item.make_text() if item else None, "digest": item.digest if item else ""}
        ReferenceDrift.objects.update_or_create(
            reference=row, decided_at=None, defaults=now, create_defaults={**now, "before": row.generated}
        )


def _note_provenance(rows: Sequence[Reference], items: Mapping[str, _SourceItem], *, origin: str) -> None:
    """Update where unchanged texts come from: line numbers move, versions grow."""
    moved = []
    for row in rows:
        text = items[row.key].text
        if (row.source, row.version, row.origin) != (text["source"], text["version"], origin):
            row.source, row.version, row.origin = text["source"], text["version"], origin
            moved.append(row)
    Reference.objects.bulk_update(moved, ["source", "version", "origin"], batch_size=BATCH)


def _batches(rows: Sequence[_Any]) -> Iterator[Sequence[_Any]]:
    return (rows[start : start + BATCH] for start in range(0, len(rows), BATCH))


def _store(rows: Sequence[Reference], fields: list[str]) -> None:
    """Write existing rows as an upsert, which takes a tenth of the time of a bulk UPDATE."""
    Reference.objects.bulk_create(
        rows, update_conflicts=True, unique_fields=["id"], update_fields=fields, batch_size=BATCH
    )
