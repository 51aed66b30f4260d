"""What turns texts into vectors."""

from typing import Literal

from pydantic import BaseModel, Field, SecretStr


class Embedding(BaseModel):
    """What turns texts into vectors."""

    embedding_provider: Literal["", "builtin", "openai", "hashing"] = Field(
        default="",
        description="What turns texts into vectors: `builtin` (MiniLM on this machine), `openai` (any "
        "OpenAI-compatible endpoint), `hashing` (for tests). Default: `openai` when BIGMIND_EMBEDDING_URL is set, "
        "else `builtin`.",
    )
    embedding_url: str = Field(
        default="",
        description="OpenAI-compatible endpoint that texts are sent to, e.g. `http://localhost:11434/v1` "
        "(Ollama, vLLM, TEI, LM Studio, Azure). Default with the provider `openai`: OpenAI itself.",
    )
    embedding_model: str = Field(default="", description="The endpoint's model. Default: `text-embedding-3-small`.")
    embedding_api_key: SecretStr = Field(
        default=SecretStr(""),
        description="The endpoint's key. With a key, BIGMIND_EMBEDDING_DAILY_TOKENS holds.",
    )
    embedding_dimensions: int = Field(
        default=0, ge=0, le=4000, description="Length of the vectors. Needed only for models BigMind does not know."
    )
    embedding_daily_tokens: int = Field(
        default=1_000_000,
        ge=0,
        description="Tokens that an endpoint with a key may be sent in a day (UTC). 0 switches the limit off.",
    )
