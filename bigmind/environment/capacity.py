"""How much is served at once."""

from pydantic import BaseModel, Field


class Capacity(BaseModel):
    """How much is served at once."""

    web_threads: int = Field(default=8, ge=1, le=128, description="Pages and REST requests served at once.")
    mcp_threads: int = Field(default=4, ge=1, le=128, description="Tool calls served at once.")
