"""Writing passages, in the same transaction as the thing they belong to, and noting who wrote it."""

from collections.abc import Collection, Iterable, Iterator, Sequence
from datetime import datetime
from typing import NamedTuple

from django.db import connection
from django.utils import timezone

from accounts.actor import acting
from accounts.models import User
from bigmind.core.background import after_commit
from bigmind.database.bulk_copy import copy_in
from bigmind.database.fixed_queries import FixedQuery
from bigmind.text.hygiene import digest
from knowledge.models import CachedVector, Kind, Passage
from knowledge.models.passages import COMPARED, FORM
from knowledge.search.filters import Scope, scope_of
from knowledge.search.language_identification import dictionary_of
from knowledge.search.passage_splitting import heads_of, split_text

# A space that is being dropped is skipped; else the commit would fail because it is gone.
_QUEUE = """
INSERT INTO knowledge_passagevector (passage_id, space_id, owner_id, kind, trouble)
SELECT passage.id, space.id, passage.owner_id, passage.kind, ''
FROM knowledge_passage AS passage CROSS JOIN knowledge_embeddingspace AS space
WHERE passage.id = ANY(%s) AND {scope} AND space.stopped_at IS NULL
FOR KEY SHARE OF space SKIP LOCKED
ON CONFLICT DO NOTHING
"""
_COLUMNS = (
    "kind",
    "source_id",
    "owner_id",
    "project",
    "ordinal",
    "text",
    "head",
    "language",
    "form",
    "digest",
    "created_at",
    "compared",
)
_OF_SOURCES = "SELECT id FROM knowledge_passage AS passage WHERE kind = %s AND source_id = ANY(%s) AND {scope}"


_WROTE = """
INSERT INTO knowledge_writing (kind, source_id, made, user_id, key_id, agent_id, sub_agent, at)
SELECT %s, written, %s, %s, %s, %s, %s, %s FROM unnest(%s::text[]) AS written
"""


def note_writings(kind: Kind | str, source_ids: Iterable[object], *, made: bool) -> None:
    """Record that the actor of this call has written these things.

    Does nothing for a person on a page: without a key or an agent, the owner of the row is the author.

    Args:
        kind: A kind of passages, or the word for something without passages: `comment`, `feedback`.
        made: Whether the text is the actor's own; otherwise it was there before, and the actor changed or moved it.
    """
    actor = acting()
    if actor is None or not actor.is_agent:
        return
    by = (actor.key.pk if actor.key else None, actor.agent.pk if actor.agent else None, actor.sub_agent)
    with connection.cursor() as cursor:
        cursor.execute(_WROTE, [str(kind), made, actor.user.pk, *by, timezone.now(), list(map(str, source_ids))])


class Indexed(NamedTuple):
    """One thing to index by its text. `head`: what makes it understandable alone, such as who said it, and when.

    `moment` is when it was said or stored; now by default.
    """

    source_id: object
    text: str
    project: str
    head: str = ""
    moment: datetime | None = None


class Written(NamedTuple):
    """A passage as it is searched. Its first `head` characters say what it belongs to, and are never shown."""

    text: str
    head: int

    @property
    def language(self) -> str:
        """The language of the words themselves."""
        return dictionary_of(self.text[self.head :])


def add_heads(splits: Sequence[str], head: str = "") -> Iterator[Written]:
    """Yield each split of a text below the head of the whole text and the headings it belongs to."""
    for split, headings in zip(splits, heads_of(splits), strict=True):
        above = "".join(f"{part}\n" for part in (head, headings) if part)
        yield Written(above + split, len(above))


def index_passages(
    kind: Kind,
    source_id: object,
    texts: Iterable[str],
    *,
    owner: User | None,
    project: str = "",
    head: str = "",
    moment: datetime | None = None,
    made: bool = False,
    past: bool = False,
    is_new: bool = False,
) -> None:
    """Replace the passages of one thing by those of `texts`. Blank texts are left out, long ones are split.

    Call this in the transaction that writes the thing: it is found by keyword at once, and by meaning as soon as a
    worker has embedded it. Without an owner the passages are shared.

    Args:
        head: What makes the text understandable alone, such as who said it and when. It is searched, and never shown.
        moment: When it was said or stored. Default: now.
        made: Whether the actor of this call created the thing; otherwise they changed or restored it.
        past: Whether only a question about then may find it.
        is_new: Whether the thing was stored a moment ago, and has no passages to replace.
    """
    digests, moment = set() if is_new else _delete_passages(kind, [source_id]), moment or timezone.now()
    passages = Passage.objects.bulk_create(
        Passage(
            kind=kind,
            source_id=str(source_id),
            owner=owner,
            project=project,
            ordinal=ordinal,
            text=one.text,
            head=one.head,
            language=one.language,
            form=FORM,
            digest=digest(one.text),
            past=past,
            created_at=moment,
            compared=not _is_to_be_compared(kind, ordinal),
        )
        for ordinal, one in enumerate(one for text in texts for one in add_heads([*split_text(text)], head))
    )
    queue_vectors([passage.pk for passage in passages], Scope(owner.pk if owner else None))
    # After the new passages are there: a text that stays keeps its cached vector, and is not embedded again.
    forget_vectors(digests)
    # Company knowledge is indexed when a curator approves it; who wrote it is noted when it is proposed.
    if kind is not Kind.COMPANY:
        note_writings(kind, [source_id], made=made)


def index_new(kind: Kind, things: Sequence[Indexed], *, owner: User | None) -> None:
    """Write the passages of many new things, as `index_passages` does for one, with COPY (ten times as fast)."""
    owner_id, now = owner.pk if owner else None, timezone.now()
    rows = (
        (
            kind.value,
            str(thing.source_id),
            owner_id,
            thing.project,
            ordinal,
            one.text,
            one.head,
            one.language,
            FORM,
            digest(one.text),
            thing.moment or now,
            not _is_to_be_compared(kind, ordinal),
        )
        for thing in things
        for ordinal, one in enumerate(add_heads([*split_text(thing.text)], thing.head))
    )
    copy_in(Passage, _COLUMNS, rows)
    scope = Scope(owner_id)
    condition = scope_of("passage", scope)
    with connection.cursor() as cursor:
        ids = [str(thing.source_id) for thing in things]
        cursor.execute(_OF_SOURCES.format(scope=condition.text), [kind, ids, *condition.parameters])
        queue_vectors([number for (number,) in cursor.fetchall()], scope)
    note_writings(kind, [thing.source_id for thing in things], made=True)


def _is_to_be_compared(kind: Kind, ordinal: int) -> bool:
    """Return whether a worker compares a passage with older ones: of things that may repeat others, the first."""
    return ordinal == 0 and kind in COMPARED


def queue_vectors(passage_ids: Sequence[int], scope: Scope) -> None:
    """Queue passages of a scope for a vector in every active or growing space, and wake a worker after the commit."""
    condition = scope_of("passage", scope)
    with connection.cursor() as cursor:
        cursor.execute(_QUEUE.format(scope=condition.text), [list(passage_ids), *condition.parameters])
    after_commit("knowledge.tasks.embed_pending")


def mark_outdated(kind: Kind, source_ids: Iterable[object]) -> None:
    """Mark the passages of things for rewriting in the background, because the content of their heads has changed."""
    Passage.objects.filter(kind=kind, source_id__in=[str(source_id) for source_id in source_ids]).update(form=0)
    after_commit("knowledge.tasks.rewrite_passages")


def erase_passages(kind: Kind, source_ids: Iterable[object]) -> None:
    """Delete the passages of erased things, and the cached vectors of texts that no other passage has."""
    forget_vectors(_delete_passages(kind, source_ids))


def forget_vectors(digests: Collection[str]) -> None:
    """Delete the cached vectors of texts that no passage has any more: they would let an erased text be recognised."""
    if not digests:
        return
    kept = Passage.objects.filter(digest__in=digests).values("digest")
    CachedVector.objects.filter(digest__in=digests).exclude(digest__in=kept).delete()


def forget_passages(kind: Kind, source_ids: Iterable[object]) -> None:
    """Delete the passages of things, but keep their cached vectors, for texts that come back."""
    _delete_passages(kind, source_ids)


def _delete_passages(kind: Kind, source_ids: Iterable[object]) -> set[str]:
    """Delete passages, and return the digests of their texts."""
    ids = [str(source_id) for source_id in source_ids]
    digests = {known for (known,) in _DIGESTS(Kind(kind), ids)}
    if digests:
        Passage.objects.filter(kind=kind, source_id__in=ids).delete()
    return digests


_DIGESTS = FixedQuery(lambda kind, ids: Passage.objects.filter(kind=kind, source_id__any_of=ids).values_list("digest"))
