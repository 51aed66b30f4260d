"""Rewriting passages whose heads are outdated: in place, each found by what it was until its new vector is there."""

from collections.abc import Iterable, Sequence

from django.db import transaction
from django.utils import timezone

from bigmind.core.background import after_commit
from bigmind.core.rls import rls_bypass
from bigmind.core.text import digest
from knowledge.models import Chunk, Kind, Passage, PassageVector
from knowledge.models.passages import FORM, OUTDATED
from knowledge.search.passages import add_heads, forget_vectors
from knowledge.services.embedding import AGAIN
from knowledge.services.sessions import head_of

BATCH = 200
"""Things that are rewritten in one transaction."""

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
    Passage.objects.bulk_update(passages, ["text", "head", "digest", "form"])
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
    wanted = Passage.objects.filter(kind__in={kind for kind, _ in sources}, source_id__in=[id for _, id in sources])
    vectors = PassageVector.objects.filter(passage__in=wanted)
    locked = set(vectors.select_for_update(skip_locked=True).order_by("pk").values_list("pk", flat=True))
    busy = set(vectors.exclude(pk__in=locked).values_list("passage", flat=True))
    free = {passage.pk: passage for passage in wanted.defer("lexemes").select_for_update(skip_locked=True)}
    found: dict[Source, list[int]] = {}
    for pk, kind, source_id in wanted.order_by("ordinal").values_list("pk", "kind", "source_id"):
        found.setdefault((kind, source_id), []).append(pk)
    available = free.keys() - busy
    return {source: [free[pk] for pk in found[source]] for source in sources if available.issuperset(found[source])}


def _with_heads(passages: Sequence[Passage], head: str) -> Sequence[Passage]:
    for passage, (text, above) in zip(passages, add_heads([one.words for one in passages], head), strict=True):
        passage.text, passage.head = text, above
    return passages


def _heads(chunk_ids: Iterable[str]) -> dict[str, str]:
    chunks = Chunk.objects.select_related("session").filter(pk__in=[int(id) for id in chunk_ids])
    return {str(chunk.pk): head_of(chunk) for chunk in chunks}
