"""The index as a decision would leave it: written, asked, and taken back."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any, TypeVar

from django.db import IntegrityError, transaction
from pgvector import HalfVector

from bigmind.text.hygiene import digest
from knowledge.embeddings.calls import embed_batch
from knowledge.embeddings.providers import EmbedderError, provider
from knowledge.models import CachedVector, CompanyEntry, EmbeddingSpace, Kind, Passage, PassageVector
from knowledge.models.passages import FORM
from knowledge.search.passage_splitting import split_text
from knowledge.search.passages import add_heads

Answer = TypeVar("Answer")


@dataclass(frozen=True)
class EntryChange:
    """One entry before and after the decision; None where it is not approved."""

    before: CompanyEntry | None
    after: CompanyEntry | None

    @property
    def entry(self) -> CompanyEntry:
        """The entry, as it would be."""
        entry = self.after or self.before
        assert entry is not None
        return entry


def ask_afterwards(
    changes: Sequence[EntryChange], ask: Callable[[], Answer], space: EmbeddingSpace | None = None
) -> Answer:
    """Make changes in the index, return what `ask` finds there then, and take everything back."""
    space = space or active_space()[0]
    # Before the transaction: an embedder may take seconds, and what is rewritten inside is locked.
    made = _embed(changes, space)
    try:
        return _ask_within(changes, ask, space, made)
    except IntegrityError:
        # The decision itself was made meanwhile, and wrote the same passages. Now they are seen, and taken away first.
        return _ask_within(changes, ask, space, made)


def _ask_within(
    changes: Sequence[EntryChange],
    ask: Callable[[], Answer],
    space: EmbeddingSpace | None,
    made: Mapping[str, tuple[Any, bytes | None]],
) -> Answer:
    with transaction.atomic():
        for change in changes:
            _rewrite(change, space, made)
        answer = ask()
        transaction.set_rollback(True)
    return answer


def _embed(changes: Sequence[EntryChange], space: EmbeddingSpace | None) -> dict[str, tuple[Any, Any]]:
    """Return vector and tokens of each text that the changes would add, by its digest; known ones are not remade."""
    texts = {digest(one.text): one.text for change in changes if change.after for one in _pieces(change.after)}
    if space is None or not texts:
        return {}
    cached = CachedVector.objects.filter(space=space, digest__in=texts)
    made: dict[str, tuple[Any, Any]] = {
        key: (vector, tokens) for key, vector, tokens in cached.values_list("digest", "vector", "tokens")
    }
    missing = {key: text for key, text in texts.items() if key not in made}
    for start in range(0, len(missing), 100):
        part = dict(islice(missing.items(), start, start + 100))
        try:
            # Repeated without a pause, because a page waits for it.
            embedded = embed_batch(provider(), list(part.values()), sleep=lambda _: None)
        except EmbedderError:
            continue
        signs: list[Any] = [one.signs.tobytes() for one in embedded.tokens] or [None] * len(part)
        made |= {
            key: (HalfVector(vector.tolist()), tokens)
            for key, vector, tokens in zip(part, embedded.vectors, signs, strict=True)
        }
    return made


def _pieces(entry: CompanyEntry) -> list[Any]:
    return list(add_heads([*split_text(entry.text)]))


def _rewrite(change: EntryChange, space: EmbeddingSpace | None, made: Mapping[str, tuple[Any, bytes | None]]) -> None:
    """Write the passages of an entry as the decision would; not by `index_passages`, which would learn their words."""
    Passage.objects.filter(kind=Kind.COMPANY, source_id=str(change.entry.pk)).delete()
    if change.after is None:
        return
    passages = Passage.objects.bulk_create(
        Passage(
            kind=Kind.COMPANY,
            source_id=str(change.entry.pk),
            project=change.after.project,
            ordinal=ordinal,
            text=one.text,
            head=one.head,
            language=one.language,
            form=FORM,
            digest=digest(one.text),
        )
        for ordinal, one in enumerate(_pieces(change.after))
    )
    known = [(one, *made[one.digest]) for one in passages if one.digest in made]
    PassageVector.objects.bulk_create(
        PassageVector(passage=one, space=space, kind=Kind.COMPANY, vector=vector) for one, vector, _ in known
    )
    # Late interaction reads the tokens from there, also in the trial.
    CachedVector.objects.bulk_create(
        [CachedVector(space=space, digest=one.digest, vector=vector, tokens=tokens) for one, vector, tokens in known],
        ignore_conflicts=True,
    )


def active_space() -> tuple[EmbeddingSpace | None, str]:
    """Return what search compares meaning by now; or None and why it does not."""
    try:
        space = EmbeddingSpace.objects.filter(name=provider().space).exclude(active_since=None).first()
    except EmbedderError as error:
        return None, error.reason
    return space, "" if space else "The vectors of this model are still being made."
