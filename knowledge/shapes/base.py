"""The base of every reply."""

from pydantic import BaseModel, ConfigDict


class Shape(BaseModel):
    """A reply, read from the attributes of what a service returns."""

    model_config = ConfigDict(from_attributes=True)
