"""Choices: texts of which an argument takes only some, where a registry has these and no `Literal` repeats them."""

from collections.abc import Iterable
from typing import Any

from pydantic_core import CoreSchema, core_schema


class OneOf:
    """Marks a text as one of some names, as `Literal` does: `Annotated[str, OneOf(names)]`."""

    def __init__(self, names: Iterable[str]) -> None:
        self.names = [str(name) for name in names]

    def __get_pydantic_core_schema__(self, source: Any, handler: Any) -> CoreSchema:
        return core_schema.literal_schema(self.names)
