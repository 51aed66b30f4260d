"""A question as search asks it: its words, what they mean, and who asks when."""

import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from uuid import UUID

import structlog
from pgvector import HalfVector

from accounts.models import User
from bigmind.text.periods import Period
from knowledge.embeddings.providers import (
    Embedded,
    EmbedderError,
    TokenEmbedder,
    TokenSigns,
    provider,
    spaces_of,
)
from knowledge.embeddings.retry import embed_query
from knowledge.models import EmbeddingSpace
from knowledge.search.filters import Sql, of_scopes
from knowledge.search.indexes import Scope
from knowledge.search.retrievers import read_words
from knowledge.search.synonyms import Synonyms

log = structlog.get_logger()


@dataclass(frozen=True)
class SearchQuestion:
    """A question as both retrievers need it. Without a vector, `reason` says why.

    `scopes`: those that are searched for it.
    """

    lexemes: list[str]
    vector: HalfVector | None = None
    space: EmbeddingSpace | None = None
    reason: str = ""
    synonyms: Synonyms | None = None
    text: str = ""
    tokens: TokenSigns | None = None
    period: Period | None = None
    owner: UUID | None = None
    scopes: Sequence[Scope] = ()

    @cached_property
    def searched(self) -> Sql:
        """The condition that a passage is of a scope that is searched."""
        return of_scopes("passage", self.scopes)


def understand(query: str, *, owner: User, synonyms: Synonyms | None = None) -> SearchQuestion:
    """Return a question with its words and its vector; `search` says what synonyms are."""
    query, spaces, reason = unicodedata.normalize("NFKC", query), list[str](), ""
    try:
        spaces = spaces_of(provider())
    except EmbedderError as error:
        reason = error.reason
    read = read_words(query, *spaces)
    words = SearchQuestion(
        read.lexemes,
        synonyms={**read.forms, **(synonyms or {})},
        text=query,
        owner=owner.pk,
    )
    try:
        if reason:
            raise EmbedderError(reason)
        if read.space is None:
            return replace(words, reason="The vectors of this model are still being made.")
        vectors, tokens = embed_question(query)
        vector = HalfVector(vectors[0][: read.space.dimensions].tolist())
        return replace(words, vector=vector, space=read.space, tokens=tokens[0] if tokens else None)
    except EmbedderError as error:
        log.warning("Search answers by keyword alone.", outage="embedder", reason=error.reason)
        return replace(words, reason=error.reason)


def embed_question(query: str) -> Embedded:
    """Return the vector of a question and its tokens.

    Raises:
        EmbedderError: search by keyword alone then, and say so.
    """
    embedder = provider()
    embedded = embed_query(embedder, query)
    return embedder.weigh_question(query, embedded) if isinstance(embedder, TokenEmbedder) else embedded
