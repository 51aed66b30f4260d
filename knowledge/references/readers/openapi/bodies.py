"""What is sent and what comes back: media types with their schemas written out and the examples that are given."""

from dataclasses import dataclass
from typing import Any

from knowledge.references.readers.openapi.operations import ApiEndpoint
from knowledge.references.readers.openapi.reading import line, listing, mapping, prose
from knowledge.references.readers.openapi.schemas import Schemas

MEDIA_TYPES = 4
RESPONSES = 40
EXAMPLES = 3
REQUEST_PARTS, SUCCESS_PARTS, FAILURE_PARTS = 300, 200, 40
DESCRIPTION_CHARS = 1_000


@dataclass(frozen=True)
class Media:
    """One form in which a body may come, such as `application/json`."""

    name: str
    schema: dict[str, Any]
    examples: dict[str, Any]
    """The examples that the document gives, by name."""


@dataclass(frozen=True)
class Body:
    """The body of a request or a response."""

    description: str
    media: tuple[Media, ...]
    is_required: bool = False

    def as_json(self) -> dict[str, Any]:
        """Return it in the words of OpenAPI, its references written out."""
        content = {media.name: {"schema": media.schema} if media.schema else {} for media in self.media}
        required = {"required": True} if self.is_required else {}
        return {"description": self.description, **required, **({"content": content} if content else {})}


def request_of(endpoint: ApiEndpoint, schemas: Schemas) -> Body | None:
    """Return the body that a request has, or None where it has none."""
    if "requestBody" not in endpoint.raw:
        return None
    where = f"{endpoint.where}/requestBody"
    raw = endpoint.document.resolve(endpoint.raw["requestBody"], where)
    description = prose(raw.get("description"), DESCRIPTION_CHARS)
    return Body(description, _media(endpoint, schemas, raw, where, REQUEST_PARTS), raw.get("required") is True)


def responses_of(endpoint: ApiEndpoint, schemas: Schemas) -> dict[str, Body]:
    """Return the answers by status, in the order of the document."""
    found: dict[str, Body] = {}
    for status, given in list(mapping(endpoint.raw.get("responses")).items())[:RESPONSES]:
        where = f"{endpoint.where}/responses/{status}"
        raw = endpoint.document.resolve(given, where)
        parts = SUCCESS_PARTS if status.startswith("2") else FAILURE_PARTS
        description = prose(raw.get("description"), DESCRIPTION_CHARS)
        if not status.startswith("x-"):
            found[line(status, 20)] = Body(description, _media(endpoint, schemas, raw, where, parts))
    return found


def _media(endpoint: ApiEndpoint, schemas: Schemas, raw: dict[str, Any], where: str, parts: int) -> tuple[Media, ...]:
    found = []
    for name, given in list(mapping(raw.get("content")).items())[:MEDIA_TYPES]:
        media = endpoint.document.resolve(given, where)
        schema = schemas.write_out(media["schema"], where, parts=parts) if media.get("schema") else {}
        found.append(Media(line(name, 100), schema, _examples(endpoint, media, where)))
    return tuple(found)


def _examples(endpoint: ApiEndpoint, media: dict[str, Any], where: str) -> dict[str, Any]:
    """Return the examples of a media type, or else the one of its schema."""
    if "example" in media:
        return {"": media["example"]}
    named = {}
    for name, given in list(mapping(media.get("examples")).items())[:EXAMPLES]:
        example = endpoint.document.resolve(given, where)
        if "value" in example or "dataValue" in example:
            named[line(name, 100)] = example.get("value", example.get("dataValue"))
    if named:
        return named
    schema = endpoint.document.resolve(media.get("schema"), where)
    if "example" in schema:
        return {"": schema["example"]}
    return {"": given[0]} if (given := listing(schema.get("examples"))) else {}
