"""Gaps of the index: what search cannot find although it is stored. A sweep looks for them, and repairs them.

Counting reads whole tables, so it is done in the background; what health, metrics and pages show is the last count.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from django.db import connection, transaction
from django.db.models import Exists, OuterRef, QuerySet, Sum, TextField
from django.db.models.functions import Cast

from accounts.services.task_statistics import last_error
from bigmind.core.background import after_commit
from bigmind.database.rls import rls_bypass
from knowledge.kinds import KINDS
from knowledge.models import IndexGap, Passage, PassageVector

from .embedding import AGAIN, active_space, queue_missing

MENDED_AT_ONCE = 500
"""Things whose passages are written in one transaction."""
Lack = IndexGap.Lack

_WITHOUT_WORDS = "SELECT kind, count(*) FROM knowledge_passage WHERE lexemes IS NULL GROUP BY kind"
_WITHOUT_VECTORS = """
SELECT passage.kind, count(*) FROM knowledge_passage AS passage WHERE NOT EXISTS (
    SELECT FROM knowledge_passagevector AS vector WHERE vector.space_id = %s AND vector.passage_id = passage.id
) GROUP BY passage.kind
"""
_OF_ANOTHER_MODEL = """
SELECT passage.kind, count(*) FROM knowledge_passagevector AS vector
JOIN knowledge_passage AS passage ON passage.id = vector.passage_id
WHERE vector.space_id = %s AND vector_dims(vector.vector) <> %s AND vector.trouble <> %s GROUP BY passage.kind
"""
_MAKE_AGAIN = """
UPDATE knowledge_passagevector SET trouble = %s, not_before = now()
WHERE space_id = %s AND vector_dims(vector) <> %s AND trouble <> %s
"""
# The trigger that writes the words of a passage runs when its text is written.
_WRITE_WORDS = """
UPDATE knowledge_passage SET text = text WHERE id IN (
    SELECT id FROM knowledge_passage WHERE lexemes IS NULL ORDER BY id LIMIT %s FOR UPDATE SKIP LOCKED
)
"""


@dataclass(frozen=True)
class FoundGap:
    """How many things of one kind lack something in the index."""

    gap: str
    kind: str
    count: int

    @property
    def label(self) -> str:
        """What is missing, in words."""
        return str(Lack(self.gap).label)


@rls_bypass()
def find_gaps() -> list[FoundGap]:
    """Count what the index lacks, of every kind, and keep the figures for those who show them. Reads whole tables."""
    found = [FoundGap(gap, kind, count) for gap, kind, count in _count() if count]
    with transaction.atomic():
        IndexGap.objects.all().delete()
        IndexGap.objects.bulk_create(IndexGap(gap=one.gap, kind=one.kind, count=one.count) for one in found)
    return found


@rls_bypass()
def mend_gaps() -> int:
    """Write what is missing, and delete orphans; return how many rows. Others may read and write meanwhile.

    Passages are written from the things themselves; words by their trigger; vectors wait for a worker.
    """
    # Passages first: words and vectors are made of them.
    mended = sum(_write_passages(kind) + _delete_orphans(kind) for kind in KINDS)
    mended += _in_parts(_write_words)
    space = active_space()
    if space is not None:
        with transaction.atomic(), connection.cursor() as cursor:
            cursor.execute("SET LOCAL statement_timeout TO '10min'")
            before = PassageVector.objects.filter(space=space).count()
            queue_missing(space)
            mended += PassageVector.objects.filter(space=space).count() - before
            cursor.execute(_MAKE_AGAIN, [AGAIN, space.pk, space.dimensions, AGAIN])
            mended += cursor.rowcount
        after_commit("knowledge.tasks.embed_pending")
    return mended


def check_index() -> int:
    """Find gaps and repair them; return how many there were. The sweep calls this."""
    found = find_gaps()
    if found:
        mend_gaps()
        find_gaps()
    return sum(one.count for one in found)


def index_error() -> str:
    """Return what the index lacks, as the last check found it, or that this failed; nothing where it is complete."""
    if error := last_error("knowledge.tasks.check_index"):
        return f"is not checked: the last check failed ({error}); worker.log says why"
    rows = IndexGap.objects.order_by("gap").values_list("gap").annotate(count=Sum("count"))
    lacks = ", ".join(f"{count:,} {Lack(gap).label}" for gap, count in rows)
    return f"is incomplete: {lacks}; the next check mends it, and so does “bigmind reindex”" if lacks else ""


def _count() -> Iterator[tuple[str, str, int]]:
    with transaction.atomic(), connection.cursor() as cursor:
        # A statement may usually take five seconds, and these read whole tables.
        cursor.execute("SET LOCAL statement_timeout TO '10min'")
        for kind in KINDS:
            yield Lack.PASSAGES, kind, _without_passages(kind).count()
            yield Lack.ORPHANS, kind, _orphans(kind).count()
        cursor.execute(_WITHOUT_WORDS)
        yield from ((Lack.WORDS, kind, count) for kind, count in cursor.fetchall())
        space = active_space()
        if space is not None:
            cursor.execute(_WITHOUT_VECTORS, [space.pk])
            yield from ((Lack.VECTORS, kind, count) for kind, count in cursor.fetchall())
            cursor.execute(_OF_ANOTHER_MODEL, [space.pk, space.dimensions, AGAIN])
            yield from ((Lack.OTHER_MODEL, kind, count) for kind, count in cursor.fetchall())


def _without_passages(kind: str) -> QuerySet[Any]:
    row = KINDS[kind]
    if row.searchable is None:
        return Passage.objects.none()
    passages = Passage.objects.filter(kind=kind, source_id=Cast(OuterRef("pk"), TextField()))
    return row.searchable().filter(~Exists(passages)).order_by("pk")


def _orphans(kind: str) -> QuerySet[Passage]:
    things = KINDS[kind].model._base_manager.annotate(id_text=Cast("pk", TextField())).order_by()
    return Passage.objects.filter(kind=kind).filter(~Exists(things.filter(id_text=OuterRef("source_id"))))


def _write_passages(kind: str) -> int:
    # By their keys: an item whose text has no passages, such as only spaces, must not be retried for ever.
    keys, written = list(_without_passages(kind).values_list("pk", flat=True)), 0
    for begin in range(0, len(keys), MENDED_AT_ONCE):
        with transaction.atomic():
            rows = _without_passages(kind).filter(pk__in=keys[begin : begin + MENDED_AT_ONCE])
            for thing in rows.select_for_update(skip_locked=True, of=("self",)):
                KINDS[kind].write_passages(thing)
                written += 1
    return written


def _delete_orphans(kind: str) -> int:
    deleted, _ = _orphans(kind).delete()
    return deleted


def _write_words() -> int:
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(_WRITE_WORDS, [MENDED_AT_ONCE])
        return int(cursor.rowcount)


def _in_parts(step: Callable[[], int]) -> int:
    done = 0
    while part := step():
        done += part
    return done
