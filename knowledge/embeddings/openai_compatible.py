"""Embedders behind an OpenAI-compatible endpoint: OpenAI, Azure, Ollama, vLLM, TEI, LM Studio and others."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
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

from knowledge.embeddings.vectors import EmbedderBroken, EmbedderDown, TextsRefused, Vectors, check_vectors

BATCH_SECONDS = 30.0
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
"""The dimensions of models that people use, so that they need not know them."""

_BACK_SOON = {408, 409, 425, 429}
_ABOUT_THE_TEXTS = {400, 413, 422}


@dataclass(frozen=True)
class OpenAICompatible:
    """A model behind an endpoint. With a key it counts as paid: then the daily budget holds."""

    url: str
    model: str
    dimensions: int
    key: str = field(default="", repr=False)

    @property
    def space(self) -> str:
        """The name of this model's vectors, the same at every endpoint that serves it."""
        return f"openai:{self.model}:{self.dimensions}"

    @property
    def is_paid(self) -> bool:
        """Whether somebody is billed for each text."""
        return bool(self.key)

    def embed(self, texts: Sequence[str], *, timeout: float = BATCH_SECONDS) -> Vectors:
        """Return the vectors of the texts, asking once. A silent endpoint is given up after `timeout` seconds.

        Raises:
            EmbedderDown: the endpoint is away, too slow, overloaded or failing; another try may succeed.
            EmbedderBroken: the key, the address, the model or the answer is wrong.
            TextsRefused: the endpoint will not embed these texts; one may be too long for the model.
        """
        try:
            answer = self._client.embeddings.create(
                model=self.model,
                input=list(texts),
                dimensions=self.dimensions if self._is_shortened else omit,
                # Connecting is part of the time: an address that swallows packets must not cost it twice.
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
            # Never the package's own default: a key from OPENAI_API_KEY is not for whatever endpoint this is.
            api_key=self.key or "none",
            max_retries=0,
            # What is embedded goes to the endpoint that was configured, and nowhere it may point to.
            http_client=DefaultHttpxClient(follow_redirects=False),
        )

    @property
    def _is_shortened(self) -> bool:
        """Whether fewer dimensions are wanted than the model has: to others, the parameter is often an error."""
        return self.model.startswith("text-embedding-3") and NATURAL_DIMENSIONS.get(self.model) != self.dimensions


def _in_order(answer: CreateEmbeddingResponse) -> list[list[float]]:
    """Return the vectors in the order of the texts, whatever the order of the answer.

    Raises:
        EmbedderBroken: it is not said, or said twice, which vector belongs to which text.
    """
    items = getattr(answer, "data", None)  # An answer that is not JSON arrives here as a text.
    if not isinstance(items, list):
        raise EmbedderBroken("The embedding endpoint's answer has no vectors.")
    vectors = {item.index: item.embedding for item in items}
    if sorted(vectors) != list(range(len(items))):
        raise EmbedderBroken("The embedding endpoint does not say which vector belongs to which text.")
    return [vectors[index] for index in range(len(items))]


def _translate(error: APIError) -> NoReturn:
    """Say what an error of the package means. Its own message may quote the texts or the key, so it is not kept."""
    if isinstance(error, APITimeoutError):
        raise EmbedderDown("The embedding endpoint did not answer in time.") from error
    if isinstance(error, APIConnectionError):
        raise EmbedderDown("The embedding endpoint cannot be reached.") from error
    if not isinstance(error, APIStatusError):
        raise EmbedderBroken("The embedding endpoint's answer cannot be read.") from error
    said = f"The embedding endpoint answered {error.status_code}"
    if error.status_code in _BACK_SOON or error.status_code >= 500:
        raise EmbedderDown(f"{said}.", _retry_after(error.response.headers.get("retry-after", ""))) from error
    if error.status_code in _ABOUT_THE_TEXTS:
        raise TextsRefused(f"{said}: it does not take these texts.") from error
    raise EmbedderBroken(f"{said}: look at the address, the key and the name of the model.") from error


def _retry_after(header: str) -> float | None:
    """Read a `Retry-After`: seconds or a date. What is neither is as good as none."""
    try:
        return max(0.0, float(header))
    except ValueError:
        pass
    try:
        return max(0.0, (parsedate_to_datetime(header) - datetime.now(UTC)).total_seconds())
    except (ValueError, TypeError):
        return None
