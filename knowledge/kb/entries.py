"""Entries: what is added to the knowledge base that everybody here shares, changed and deleted (seed 001)."""

import json
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

from django.db import IntegrityError, transaction

from accounts.actor import Actor
from bigmind.core.argument_types import Confidence, Project, SharedContent
from bigmind.core.errors import Conflict, Forbidden, Invalid
from bigmind.core.limits import CONTENT_BYTES
from bigmind.text.hygiene import digest
from knowledge.anchors.grammar import Anchors
from knowledge.argument_types import (
    ChangedMetadata,
    EntryId,
    EntryTags,
    EntryTypeName,
    Metadata,
    ParentId,
    Roles,
    SourceFile,
    SourceStory,
    Triggers,
)
from knowledge.lessons.seen_errors import keep_fingerprints
from knowledge.models import Entry, Kind
from knowledge.models.base import delete_keeping_id
from knowledge.search.passages import erase_passages, index_passages
from knowledge.truth.near_duplicates import RELATED, Similar, compare_entry

from .entry_reading import entry_of_id


@dataclass(frozen=True)
class AddedEntry:
    """The entry as stored, whether it was known before, and those that say nearly the same."""

    entry: Entry
    duplicate: bool
    similar: list[Similar] = field(default_factory=list)

    @property
    def id(self) -> UUID:
        """The id of the entry, the known one for a duplicate."""
        return self.entry.pk

    @property
    def success(self) -> bool:
        """Whether something was added."""
        return not self.duplicate


@dataclass(frozen=True)
class UpdatedEntry:
    """The entry as it is now."""

    entry: Entry
    re_embedded: bool
    success: bool = True


@transaction.atomic
def add_entry(
    actor: Actor,
    *,
    content: SharedContent,
    entry_type: EntryTypeName,
    roles: Roles | None = None,
    tags: EntryTags | None = None,
    source_file: SourceFile = "",
    source_story: SourceStory = "",
    parent_id: ParentId | None = None,
    confidence: Confidence = 1.0,
    metadata: Metadata | None = None,
    project: Project = "",
    triggers: Triggers | None = None,
    anchors: Anchors | None = None,
) -> AddedEntry:
    """Add an entry to the knowledge base: a learning, a summary of a story, a template. Everybody here sees it.

    Call this when you learned something that others should not have to learn again. Returns the entry with its id; the
    exact same content is not added twice (`duplicate`, with the existing id). What it contradicts or repeats is listed
    (`similar`) and linked; nothing is merged.
    """
    parent = entry_of_id(parent_id) if parent_id else None
    entry, is_new = Entry.objects.get_or_create(
        digest=digest(content),
        defaults={
            "content": content,
            "entry_type": entry_type,
            "roles": roles or [],
            "tags": tags or [],
            "source_file": source_file,
            "source_story": source_story,
            "parent": parent,
            "confidence": confidence,
            "metadata": metadata or {},
            "project": project,
            "triggers": triggers or [],
            "anchors": anchors or [],
            "created_by": actor.user,
        },
    )
    if not is_new:
        return AddedEntry(entry, duplicate=True)
    similar = _compare_and_index(actor, entry, made=True)
    return AddedEntry(entry, duplicate=False, similar=similar)


@transaction.atomic
def update_entry(
    actor: Actor,
    *,
    id: EntryId,
    content: SharedContent | None = None,
    roles: Roles | None = None,
    tags: EntryTags | None = None,
    confidence: Confidence | None = None,
    metadata: ChangedMetadata | None = None,
    triggers: Triggers | None = None,
    anchors: Anchors | None = None,
) -> UpdatedEntry:
    """Change your own entry, or any as a curator. Omitted arguments stay unchanged.

    Call this when an entry is out of date, or to raise its confidence once it is proven. `metadata` is merged, not
    replaced: null removes a key. Returns the entry, and whether it was re-embedded.
    """
    entry = _own_entry(actor, id)
    changed = content is not None and digest(content) != entry.digest
    merged = None if metadata is None else _merge_metadata(entry.metadata, metadata)
    sent = {"content": content, "roles": roles, "tags": tags, "confidence": confidence, "metadata": merged}
    sent["anchors"] = anchors
    if triggers is not None and triggers != entry.triggers:
        # Its level was decided for other triggers.
        entry.triggers, entry.trigger_levels = triggers, {}
    for name, value in sent.items():
        if value is not None:
            setattr(entry, name, value)
    if changed:
        entry.digest, entry.similar_to, entry.anchor_checks = digest(entry.content), None, entry.accepted_checks
    try:
        with transaction.atomic():
            entry.save()
    except IntegrityError:
        known = Entry.objects.filter(digest=entry.digest).exclude(pk=entry.pk).first()
        if known is None:
            raise
        raise Conflict(
            "This content is known already.", hint=f"See entry {known.pk}.", entry_id=str(known.pk)
        ) from None
    if changed:
        _compare_and_index(actor, entry, made=False)
    return UpdatedEntry(entry, re_embedded=changed)


@transaction.atomic
def delete_entry(actor: Actor, *, id: EntryId) -> Entry:
    """Delete your own entry, or any as a curator.

    Call this when it is wrong and not worth correcting. Returns what was deleted; it cannot be undone.
    """
    entry = _own_entry(actor, id)
    erase_passages(Kind.ENTRY, [entry.pk])
    delete_keeping_id(entry)
    return entry


def index_entry(entry: Entry, *, made: bool = False) -> None:
    """Write the passages of an entry. They have no owner: everybody here may find them."""
    texts, head = [entry.content], entry.headings
    index_passages(Kind.ENTRY, entry.pk, texts, owner=None, project=entry.project, head=head, made=made)
    keep_fingerprints([entry])


def may_change(actor: Actor, entry: Entry) -> bool:
    """Whether an actor may change an entry: their own, or anybody's with the scope of curators."""
    return entry.created_by_id == actor.user.pk or "curate" in actor.scopes


def _compare_and_index(actor: Actor, entry: Entry, *, made: bool) -> list[Similar]:
    """Write the passages of an entry, and link it to the one that it contradicts or repeats, if any."""
    similar = compare_entry(entry, owner=actor.user)
    if pointed := [one.id for one in similar if one.relation != RELATED]:
        entry.similar_to_id = pointed[0]
        entry.save(update_fields=["similar_to"])
    index_entry(entry, made=made)
    return similar


def _own_entry(actor: Actor, id: UUID) -> Entry:
    """Return an entry that the actor may change, locked: of two changes at once the second would undo the first."""
    entry = entry_of_id(id, lock=True)
    if not may_change(actor, entry):
        hint = "Ask a curator to change it; a curator’s key needs the scope `curate`."
        raise Forbidden("This entry was added by someone else.", hint=hint)
    return entry


def _merge_metadata(known: dict[str, Any], sent: dict[str, Any]) -> dict[str, Any]:
    """Return metadata with what was sent (RFC 7396, its names alone): what is not named stays, null removes."""
    merged = {name: value for name, value in {**known, **sent}.items() if sent.get(name, "") is not None}
    if (size := len(json.dumps(merged, ensure_ascii=False).encode())) > CONTENT_BYTES:
        hint = "Remove a name by sending null for it."
        raise Invalid(f"metadata would be {size:,} bytes; the limit is {CONTENT_BYTES:,}.", hint=hint)
    return merged
