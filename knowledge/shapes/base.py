"""The base of every reply."""

from pydantic import Field

from bigmind.core.reply_shapes import Shape as Shape


class SharedShape(Shape):
    """A reply about what everybody may write, with the signs of prompt injections that its label tells of."""

    signs: list[str] | None = Field(default=None, exclude=True)
