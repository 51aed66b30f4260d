"""Writing passages: in the transaction that writes what they are a piece of."""

from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import NamedTuple

from django.db import connection
from django.utils import timezone

from accounts.models import User
from bigmind.core.background import after_commit
from bigmind.core.copying import copy_in
from bigmind.core.text import digest
from knowledge.models import CachedVector, Kind, Passage
from knowledge.models.passages import FORM
from knowledge.search.authorship import note_writings
from knowledge.search.splits import heads_of, pieces_of

_QUEUE = """
INSERT INTO knowledge_passagevector (passage_id, space_id, owner_id, trouble)
SELECT passage.id, space.id, passage.owner_id, ''
FROM knowledge_passage AS passage CROSS JOIN knowledge_embeddingspace AS space
WHERE passage.id = ANY(%s) AND space.stopped_at IS NULL
ON CONFLICT (space_id, passage_id) DO NOTHING
"""
_COLUMNS = ("kind", "source_id", "owner_id", "project", "ordinal", "text", "head", "form", "digest", "created_at")
_OF_SOURCES = "SELECT id FROM knowledge_passage WHERE kind = %s AND source_id = ANY(%s)"


class Indexed(NamedTuple):
    """One thing to be found by its text. `head`: what makes it understandable alone, such as who said it, and when."""

    source_id: object
    text: str
    project: str
    head: str = ""


class Written(NamedTuple):
    """A passage as it is searched. Its first `head` characters say what it belongs to, and are never shown."""

    text: str
    head: int


def written(pieces: Sequence[str], head: str = "") -> Iterator[Written]:
    """Write the pieces of a text, each with the head of the whole and the headings that it stands under."""
    for piece, headings in zip(pieces, heads_of(pieces), strict=True):
        above = "".join(f"{part}\n" for part in (head, headings) if part)
        yield Written(above + piece, len(above))


def index_passages(
    kind: Kind,
    source_id: object,
    texts: Iterable[str],
    *,
    owner: User | None,
    project: str = "",
    head: str = "",
    made: bool = False,
) -> None:
    """Make `texts` the passages of one thing, in place of those it had. Blank texts are left out.

    Call this in the transaction that writes the thing: what is stored can be found by keyword at once, and by meaning
    as soon as a worker has made its vectors. Long texts become several passages. Without an owner it is shared.

    Args:
        head: What makes it understandable alone, such as who said it and when. It is searched, and never shown.
        made: Whether the actor of this call is the one who made the thing; else they changed it or brought it back.
    """
    digests = _let_go(kind, [source_id])
    passages = Passage.objects.bulk_create(
        Passage(
            kind=kind,
            source_id=str(source_id),
            owner=owner,
            project=project,
            ordinal=ordinal,
            text=text,
            head=above,
            form=FORM,
            digest=digest(text),
        )
        for ordinal, (text, above) in enumerate(one for text in texts for one in written([*pieces_of(text)], head))
    )
    queue_vectors([passage.pk for passage in passages])
    forget_vectors(digests)
    # Company knowledge is indexed when a curator approves it; who wrote it is noted when it is proposed.
    if kind is not Kind.COMPANY:
        note_writings(kind, [source_id], made=made)


def index_new(kind: Kind, things: Sequence[Indexed], *, owner: User | None) -> None:
    """Write the passages of many things that have none yet, as `index_passages` does for one, at the speed of COPY."""
    owner_id, now = owner.pk if owner else None, timezone.now()
    rows = (
        (kind.value, str(thing.source_id), owner_id, thing.project, ordinal, text, above, FORM, digest(text), now)
        for thing in things
        for ordinal, (text, above) in enumerate(written([*pieces_of(thing.text)], thing.head))
    )
    copy_in(Passage, _COLUMNS, rows)
    with connection.cursor() as cursor:
        cursor.execute(_OF_SOURCES, [kind, [str(thing.source_id) for thing in things]])
        queue_vectors([number for (number,) in cursor.fetchall()])
    note_writings(kind, [thing.source_id for thing in things], made=True)


def queue_vectors(passage_ids: Sequence[int]) -> None:
    """Note that these passages wait for a vector in every space that is built, and wake a worker."""
    with connection.cursor() as cursor:
        cursor.execute(_QUEUE, [list(passage_ids)])
    after_commit("knowledge.tasks.embed_pending")


def mark_outdated(kind: Kind, source_ids: Iterable[object]) -> None:
    """Let the passages of things be rewritten in the background: what their heads say has changed."""
    Passage.objects.filter(kind=kind, source_id__in=[str(source_id) for source_id in source_ids]).update(form=0)
    after_commit("knowledge.tasks.rewrite_passages")


def erase_passages(kind: Kind, source_ids: Iterable[object]) -> None:
    """Delete the passages of things that are erased, and the cached vectors of texts that nothing else has."""
    forget_vectors(_let_go(kind, source_ids))


def forget_vectors(digests: Collection[str]) -> None:
    """Forget the cached vectors of texts that no passage has any more."""
    if not digests:
        return
    kept = Passage.objects.filter(digest__in=digests).values("digest")
    CachedVector.objects.filter(digest__in=digests).exclude(digest__in=kept).delete()


def forget_passages(kind: Kind, source_ids: Iterable[object]) -> None:
    """Delete the passages of things that get others at once; their cached vectors stay, for texts that come back."""
    _let_go(kind, source_ids)


def _let_go(kind: Kind, source_ids: Iterable[object]) -> set[str]:
    """Delete passages, and return the digests of their texts."""
    passages = Passage.objects.filter(kind=kind, source_id__in=[str(source_id) for source_id in source_ids])
    digests = set(passages.values_list("digest", flat=True))
    if digests:
        passages.delete()
    return digests
