"""What the operations about people reply."""

from datetime import datetime

from pydantic import BaseModel, ConfigDict


class ProfileShape(BaseModel):
    """Who the user is."""

    model_config = ConfigDict(from_attributes=True)

    role: str
    preferences: str
    pinned_facts: list[str]
    updated_at: datetime | None
