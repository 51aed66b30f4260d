"""A question as search asks it: its words, what they mean, and who asks when."""

from collections.abc import Sequence
from dataclasses import dataclass
from uuid import UUID

from pgvector import HalfVector

from bigmind.text.periods import Period
from knowledge.embeddings.providers import TokenSigns
from knowledge.models import EmbeddingSpace
from knowledge.search.filters import Scope, Sql
from knowledge.search.synonyms import Synonyms

_NOTHING = Sql("false")


@dataclass(frozen=True)
class SearchQuestion:
    """A question as both retrievers need it. Without a vector, `reason` says why.

    `scopes`: those that are searched for it. `searched`: the condition that a passage is of one of them.
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
    searched: Sql = _NOTHING
