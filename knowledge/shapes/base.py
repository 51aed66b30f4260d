"""The base of every reply."""

from pydantic import BaseModel, ConfigDict, Field


class Shape(BaseModel):
    """A reply, read from the attributes of what a service returns."""

    model_config = ConfigDict(from_attributes=True)


class SharedShape(Shape):
    """A reply about what everybody may write, with the signs of prompt injections that its label tells of."""

    signs: list[str] | None = Field(default=None, exclude=True)
