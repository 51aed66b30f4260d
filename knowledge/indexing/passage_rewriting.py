"""Rewrites passages in place: those with outdated headings, and those stored before languages were detected.

Each is found by its old text until its new words and vector are there.
"""

import unicodedata
from collections.abc import Iterable, Sequence

from django.db import connection, transaction
from django.utils import timezone

from bigmind.core.background import after_commit
from bigmind.database.rls import rls_bypass
from bigmind.text.hygiene import digest
from knowledge.conversation.chunks import head_of
from knowledge.indexing.embedding import AGAIN
from knowledge.models import Chunk, Kind, Passage, PassageVector
from knowledge.models.passages import FORM, OUTDATED
from knowledge.search.language_identification import UNSPACED, dictionary_of
from knowledge.search.passages import add_heads, forget_vectors

BATCH = 200
"""Things that are rewritten in one transaction."""

READ_AT_ONCE = 1_000
"""Passages that are read in one transaction; only those whose words come out otherwise today are written."""

Source = tuple[str, str]


@rls_bypass()
def rewrite_passages() -> int:
    """Rewrite what an older version wrote, and the chunks of sessions whose headline has changed; return how many.

    May run twice at once and be killed at any point. What someone changes at the moment is left to the next run.
    """
    rewritten, after = 0, ("", "")
    while sources := _find_outdated(after):
        rewritten += _rewrite(sources)
        after = sources[-1]
    return rewritten


@rls_bypass()
def read_languages() -> int:
    """Index as today what an older version stored: in its language, and in one form; return how many were written.

    May run twice at once and be killed at any point: how far it has come is written with what it wrote.
    """
    written = 0
    while (found := _read_languages()) is not None:
        written += found
    return written


@transaction.atomic
def _read_languages() -> int | None:
    """Read the next passages; return how many were written, or None when there are none or another worker reads."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT read_to, last FROM knowledge_passagereading FOR UPDATE SKIP LOCKED")
        row = cursor.fetchone()
        if row is None:
            return None
        read_to, last = row
        waiting = Passage.objects.filter(pk__gt=read_to, pk__lte=last).only("text", "head", "language").order_by("pk")
        # Locked rows are skipped, so that it never waits while holding locks. They are being rewritten anyway.
        passages = list(waiting.select_for_update(skip_locked=True, no_key=True)[:READ_AT_ONCE])
        if not passages:
            cursor.execute("DELETE FROM knowledge_passagereading")
            return None
        languages: dict[str, list[int]] = {}
        for passage in passages:
            language = dictionary_of(passage.words)
            is_other = language != passage.language or UNSPACED.search(passage.text)
            if is_other or not unicodedata.is_normalized("NFKD", passage.text):
                languages.setdefault(language, []).append(passage.pk)
        for language, pks in languages.items():
            Passage.objects.filter(pk__in=pks).update(language=language)
        cursor.execute("UPDATE knowledge_passagereading SET read_to = %s", [passages[-1].pk])
    return sum(map(len, languages.values()))


def _find_outdated(after: Source) -> list[Source]:
    outdated = Passage.objects.filter(OUTDATED).order_by("kind", "source_id")
    kind, source_id = after
    later = outdated.filter(kind=kind, source_id__gt=source_id) | outdated.filter(kind__gt=kind)
    return list(later.values_list("kind", "source_id").distinct()[:BATCH])


@transaction.atomic
def _rewrite(sources: Sequence[Source]) -> int:
    heads = _heads(source_id for kind, source_id in sources if kind == Kind.CHUNK)
    passages = [
        passage
        for source, passages in _free(sources).items()
        for passage in _with_heads(passages, heads.get(source[1], "") if source[0] == Kind.CHUNK else "")
    ]
    former = {passage.pk: passage.digest for passage in passages}
    for passage in passages:
        passage.digest, passage.form = digest(passage.text), FORM
    Passage.objects.bulk_update(passages, ["text", "head", "language", "digest", "form"])
    changed = [passage.pk for passage in passages if passage.digest != former[passage.pk]]
    # They keep their vectors until new ones replace them.
    made = PassageVector.objects.filter(passage__in=changed).exclude(vector=None)
    made.update(trouble=AGAIN, not_before=timezone.now())
    forget_vectors({former[pk] for pk in changed})
    if changed:
        after_commit("knowledge.tasks.embed_pending")
    return len(passages)


def _free(sources: Sequence[Source]) -> dict[Source, list[Passage]]:
    """The passages of those things of which nobody changes any passage or vector, locked in the order of who erases."""
    passages = Passage.objects.filter(kind__in={kind for kind, _ in sources}, source_id__in=[id for _, id in sources])
    vectors = PassageVector.objects.filter(passage__in=passages)
    locked = set(vectors.select_for_update(skip_locked=True).order_by("pk").values_list("pk", flat=True))
    busy = set(vectors.exclude(pk__in=locked).values_list("passage", flat=True))
    free = {passage.pk: passage for passage in passages.defer("lexemes").select_for_update(skip_locked=True)}
    found: dict[Source, list[int]] = {}
    for pk, kind, source_id in passages.order_by("ordinal").values_list("pk", "kind", "source_id"):
        found.setdefault((kind, source_id), []).append(pk)
    available = free.keys() - busy
    return {source: [free[pk] for pk in found[source]] for source in sources if available.issuperset(found[source])}


def _with_heads(passages: Sequence[Passage], head: str) -> Sequence[Passage]:
    for passage, one in zip(passages, add_heads([one.words for one in passages], head), strict=True):
        passage.text, passage.head, passage.language = one.text, one.head, one.language
    return passages


def _heads(chunk_ids: Iterable[str]) -> dict[str, str]:
    chunks = Chunk.objects.select_related("session", "user").filter(pk__in=[int(id) for id in chunk_ids])
    return {str(chunk.pk): head_of(chunk) for chunk in chunks}
