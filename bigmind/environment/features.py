"""What a BigMind does beside remembering: mapped apps, search and its vectors, profiles, connected apps."""

import os
from typing import Literal
from urllib.parse import urlsplit
from zoneinfo import ZoneInfo

from pydantic import BaseModel, Field, SecretStr, field_validator

from bigmind.environment.instance import InstanceSettings
from bigmind.environment.parts import read_by
from bigmind.environment.profile_sections import ProfileSection
from bigmind.text.languages import Language


def zone_of_machine() -> str:
    """Return the name of this machine's time zone; an empty text where it does not say one."""
    name = os.environ.get("TZ", "").lstrip(":") or os.path.realpath("/etc/localtime").partition("/zoneinfo/")[2]
    try:
        return ZoneInfo(name).key
    except (KeyError, ValueError, OSError):
        return ""


class Features(InstanceSettings):
    """What a BigMind does beside remembering."""

    budibase_url: str = Field(
        default="",
        description="Budibase server whose apps are mapped automatically, such as `https://budibase.example.com`.",
    )
    budibase_api_key: SecretStr = Field(
        default=SecretStr(""), description="Key for Budibase’s public API. BigMind only reads with it."
    )
    connector_lookups: Literal["curators", "everyone"] = Field(
        default="curators",
        description="For whom a connector looks up rows: `curators` (in personal mode, you), or `everyone`, which "
        "lets everybody here learn what rows are called. Choose `everyone` only if the key sees no more than they do.",
    )
    language: Language = Field(
        default="english",
        description="Language assumed for texts and questions too short to tell. Longer ones are searched with the "
        "word forms and stop words of their own language, whatever this says. The built-in embedding model knows only "
        "English: for search by meaning in other languages, name a multilingual model's endpoint in "
        "BIGMIND_EMBEDDING_URL.",
    )
    search_fusion: Literal["blend", "rrf"] = Field(
        default="blend",
        description="How a search combines what it found by words and by meaning: `blend` adds their scores, `rrf` "
        "their reciprocal ranks. docs/benchmarks.md compares them.",
    )
    profile_sections: str = Field(
        default="",
        description="Sections of a profile that everybody here sees until its owner chooses, such as `who,badges`, or "
        "`none`. They are `who`, `role`, `agents`, `statistics`, `badges`, `topics`, `activity`, `contributions` and "
        "`headlines`. Default: `who,role,badges,contributions` in `team` mode, none in `enterprise`.",
    )
    gaps: bool = Field(
        default=True,
        description="Keep the questions of agents that found nothing, to show what is not known here. A question is "
        "shown only when at least three people other than the viewer have asked it. `off` keeps none.",
    )
    oauth: bool | None = Field(
        default=None,
        json_schema_extra=read_by("web"),
        description="Let apps that have no key ask their user to sign in here (OAuth), at `/mcp/oauth`. It needs "
        "https, or a BIGMIND_PUBLIC_URL on this machine. Default: `on` in the modes `personal` and `team`, `off` in "
        "`enterprise`, where an admin decides which clouds may ask.",
    )
    source_megabytes: int = Field(
        default=64,
        ge=1,
        le=1024,
        description="Largest file that references are made from, such as an OpenAPI document. Reading one takes about "
        "ten times its size in memory.",
    )
    time_zone: str = Field(
        default="",
        description="Time zone of days and times, on pages and for agents, of everyone who neither chose one nor has "
        "a browser that names one, such as `Europe/Berlin`. Default: in `personal` mode that of this machine, else "
        "UTC.",
    )

    @field_validator("budibase_url")
    @classmethod
    def address_without_name(cls, url: str) -> str:
        """Refuse what is no address of the web, or has a key in it, which logs would show."""
        parts = urlsplit(url)
        if url and (parts.scheme not in {"http", "https"} or not parts.hostname or parts.username or parts.query):
            raise ValueError("must look like https://apps.example.com, without name, password or query")
        return url.rstrip("/")

    @field_validator("profile_sections")
    @classmethod
    def refuse_unknown_sections(cls, names: str) -> str:
        """Refuse a section that no profile has: someone would believe it hidden."""
        chosen = [name.strip() for name in names.split(",") if name.strip()]
        unknown = sorted({*chosen} - {*ProfileSection, "none"})
        if unknown or ("none" in chosen and len(chosen) > 1):
            known = ", ".join(ProfileSection)
            raise ValueError(f"must be `none` or some of {known}, with commas between them")
        return ",".join(chosen)

    @property
    def sections(self) -> tuple[str, ...] | None:
        """The sections of a profile that are shared until its owner chooses; None leaves it to the mode."""
        return (
            tuple(name for name in self.profile_sections.split(",") if name != "none")
            if self.profile_sections
            else None
        )

    @property
    def zone(self) -> str:
        """The time zone of everyone of whom none is known."""
        return self.time_zone or (self.mode == "personal" and zone_of_machine()) or "UTC"

    @property
    def serves_oauth(self) -> bool:
        """Whether apps may ask people to let them in. Codes and tokens travel encrypted, or not at all."""
        enabled = self.mode != "enterprise" if self.oauth is None else self.oauth
        parts = urlsplit(self.url)
        return enabled and (parts.scheme == "https" or parts.hostname in {"localhost", "127.0.0.1", "::1"})


class Embedding(BaseModel):
    """What turns texts into vectors."""

    embedding_provider: Literal["", "builtin", "openai", "hashing"] = Field(
        default="",
        description="What turns texts into vectors: `builtin` (two models on this machine), `openai` (any "
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
        description="The endpoint's key. With a key, BIGMIND_EMBEDDING_DAILY_TOKENS applies.",
    )
    embedding_dimensions: int = Field(
        default=0,
        ge=0,
        le=4000,
        description="Length of the vectors. Needed only for models that BigMind does not know.",
    )
    embedding_daily_tokens: int = Field(
        default=1_000_000,
        ge=0,
        description="Tokens that may be sent per day (UTC) to an embedder and a reranker with a key. 0: no limit.",
    )
    rerank_url: str = Field(
        default="",
        description="Address of a reranker that puts the best 50 texts of a search in order, such as "
        "`http://localhost:8080/rerank`: Cohere, Jina, vLLM, TEI and others. Question and texts are sent there, "
        "without the secrets that BigMind recognises. While it is away, the order is the one without it. Default: "
        "none.",
    )
    rerank_model: str = Field(
        default="",
        description="The reranker's model. Leave it empty for TEI, which serves one and names its texts otherwise.",
    )
    rerank_api_key: SecretStr = Field(
        default=SecretStr(""), description="The reranker's key. With a key, BIGMIND_EMBEDDING_DAILY_TOKENS applies."
    )
