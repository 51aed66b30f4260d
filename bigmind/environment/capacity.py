"""How much is served at once."""

from pydantic import BaseModel, Field


class Capacity(BaseModel):
    """How much is served at once, and how long a connection is waited for."""

    web_threads: int = Field(default=8, ge=1, le=128, description="Pages and REST requests served at once.")
    mcp_threads: int = Field(default=4, ge=1, le=128, description="Tool calls served at once.")
    header_seconds: float = Field(
        default=10, ge=0.1, le=600, description="Within how many seconds the head of a request must have arrived."
    )
    body_seconds: float = Field(
        default=60, ge=0.1, le=3600, description="Within how many seconds the body of a request must have arrived."
    )
