"""Embedders behind an OpenAI-compatible endpoint: OpenAI, Azure, Ollama, vLLM, TEI, LM Studio and others."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import NoReturn

from openai import (
    APIConnectionError,
    APIError,
    APIStatusError,
    APITimeoutError,
    DefaultHttpxClient,
    OpenAI,
    Timeout,
    omit,
)
from openai.types import CreateEmbeddingResponse

from bigmind.network.addresses import retry_after
from knowledge.embeddings.providers import (
    BATCH_SECONDS,
    EmbedderBroken,
    EmbedderDown,
    TextsRefused,
    Vectors,
    check_vectors,
)

OPENAI = "https://api.openai.com/v1"
NATURAL_DIMENSIONS = {
    "text-embedding-3-small": 1536,
    "text-embedding-3-large": 3072,
    "text-embedding-ada-002": 1536,
    "all-minilm": 384,
    "bge-m3": 1024,
    "embeddinggemma": 768,
    "mxbai-embed-large": 1024,
    "nomic-embed-text": 768,
}
"""The dimensions of common models, so that people who use them need not configure them."""

_TEMPORARY = {408, 409, 425, 429}
_REFUSALS = {400, 413, 422}
"""About the texts, so that asking for each alone helps; all other errors below 500 need a person. Decision 7."""


@dataclass(frozen=True)
class OpenAICompatible:
    """A model behind an endpoint. With a key it counts as paid: then the daily budget applies."""

    url: str
    model: str
    dimensions: int
    key: str = field(default="", repr=False)

    @property
    def space(self) -> str:
        """The name of this model's vectors, the same at every endpoint that serves it."""
        return f"openai:{self.model}:{self.dimensions}"

    is_local = False

    @property
    def is_paid(self) -> bool:
        """Whether each text costs money."""
        return bool(self.key)

    def embed(self, texts: Sequence[str], *, timeout: float = BATCH_SECONDS) -> Vectors:
        """Return the vectors of the texts, in one request without retries that ends after about `timeout` seconds.

        Raises:
            EmbedderDown: the endpoint is unreachable, too slow, overloaded or failing; another try may succeed.
            EmbedderBroken: the key, the address, the model or the answer is wrong.
            TextsRefused: the endpoint will not embed these texts; one may be too long for the model.
        """
        try:
            answer = self._client.embeddings.create(
                model=self.model,
                input=list(texts),
                dimensions=self.dimensions if self._is_shortened else omit,
                # Connecting is part of the time: an address that drops packets must not cost it twice.
                timeout=Timeout(timeout * 0.75, connect=timeout * 0.25),
            )
        except APIError as error:
            _translate(error)
        except (ValueError, TypeError, AttributeError) as error:
            raise EmbedderBroken("The embedding endpoint's answer cannot be read.") from error
        return check_vectors(_in_order(answer), count=len(texts), dimensions=self.dimensions)

    @cached_property
    def _client(self) -> OpenAI:
        return OpenAI(
            base_url=self.url or OPENAI,
            # Never the package's own default: a key from OPENAI_API_KEY must not be sent to another endpoint.
            api_key=self.key or "none",
            max_retries=0,
            # The texts go to the configured endpoint only, not to where it may redirect.
            http_client=DefaultHttpxClient(follow_redirects=False),
        )

    @property
    def _is_shortened(self) -> bool:
        """Whether to send `dimensions`: only when shortening, because many models refuse the parameter."""
        return self.model.startswith("text-embedding-3") and NATURAL_DIMENSIONS.get(self.model) != self.dimensions


def _in_order(answer: CreateEmbeddingResponse) -> list[list[float]]:
    """Return the vectors in the order of the texts, whatever the order of the answer.

    Raises:
        EmbedderBroken: the index of a vector is missing or repeated, so nobody knows which text it belongs to.
    """
    items = getattr(answer, "data", None)  # An answer that is not JSON arrives here as a text.
    if not isinstance(items, list):
        raise EmbedderBroken("The embedding endpoint's answer has no vectors.")
    vectors = {item.index: item.embedding for item in items}
    if sorted(vectors) != list(range(len(items))):
        raise EmbedderBroken("The embedding endpoint does not say which vector belongs to which text.")
    return [vectors[index] for index in range(len(items))]


def _translate(error: APIError) -> NoReturn:
    """Raise our error for one of the package. Its own message may quote the texts or the key, so it is dropped."""
    if isinstance(error, APITimeoutError):
        raise EmbedderDown("The embedding endpoint did not answer in time.") from error
    if isinstance(error, APIConnectionError):
        raise EmbedderDown("The embedding endpoint cannot be reached.") from error
    if not isinstance(error, APIStatusError):
        raise EmbedderBroken("The embedding endpoint's answer cannot be read.") from error
    status = f"The embedding endpoint answered {error.status_code}"
    if error.status_code in _TEMPORARY or error.status_code >= 500:
        raise EmbedderDown(f"{status}.", retry_after(error.response.headers.get("retry-after", ""))) from error
    if error.status_code in _REFUSALS:
        raise TextsRefused(f"{status}: it does not take these texts.") from error
    raise EmbedderBroken(f"{status}: look at the address, the key and the name of the model.") from error
