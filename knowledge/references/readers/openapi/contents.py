"""The text of an endpoint's reference: short markdown that a person reads as easily as an agent."""

from bigmind.core.text import inline
from bigmind.core.vocabulary import CONTENT_BYTES
from knowledge.references.readers.openapi.bodies import Body, Media
from knowledge.references.readers.openapi.operations import ApiEndpoint, Parameter
from knowledge.references.readers.openapi.outlines import Outlines, about, code, kind_in_words
from knowledge.references.readers.openapi.reading import line, prose
from knowledge.references.readers.openapi.schemas import Schemas
from knowledge.references.readers.openapi.security import security_of

DESCRIPTION_CHARS = 8_000
PARAMETER_PARTS = 20
REQUEST_LINES, REQUEST_DEPTH = 100, 4
RESPONSE_LINES, RESPONSE_DEPTH = 60, 2
TABLE = ("| name | in | type | required | meaning |", "|---|---|---|---|---|")
UNDECLARED = "The document does not describe it."
ENDING = "\n\n… The rest is in the document."


def content_of(
    endpoint: ApiEndpoint, schemas: Schemas, outlines: Outlines, request: Body | None, responses: dict[str, Body]
) -> str:
    """Return what an endpoint is, what it takes and what it answers."""
    parts = [
        code(endpoint.name),
        "**Deprecated.**" if endpoint.is_deprecated else "",
        prose(endpoint.raw.get("description") or endpoint.of_path.get("description"), DESCRIPTION_CHARS),
        _facts(endpoint),
        _parameters(endpoint, schemas),
        _request(request, outlines) if request else "",
        _responses(responses, outlines),
    ]
    return _within_limit("\n\n".join(part for part in parts if part))


def _facts(endpoint: ApiEndpoint) -> str:
    security = security_of(endpoint)
    facts = [f"**Server:** {code(endpoint.server)}"] if endpoint.server else []
    facts += [f"**Authentication:** {' or '.join(map(inline, security))}"] if security else []
    return "  \n".join(facts)


def _parameters(endpoint: ApiEndpoint, schemas: Schemas) -> str:
    rows = [_row(endpoint, schemas, parameter) for parameter in endpoint.parameters]
    rows += [f"| {code(name)} | path | any | yes | {UNDECLARED} |" for name in endpoint.undeclared]
    if not rows:
        return ""
    return "\n".join(["### Parameters", "", *TABLE, *rows])


def _row(endpoint: ApiEndpoint, schemas: Schemas, parameter: Parameter) -> str:
    schema = schemas.write_out(parameter.schema or parameter.raw, endpoint.where, parts=PARAMETER_PARTS)
    described = line(parameter.raw.get("description"), 500)
    meaning = about({**schema, "deprecated": parameter.raw.get("deprecated")}, described)
    required = "yes" if parameter.is_required else "no"
    cells = [code(parameter.name), inline(parameter.place), kind_in_words(schema), required, meaning]
    return f"| {' | '.join(cells)} |"


def _request(request: Body, outlines: Outlines) -> str:
    heading = "### Request body" + (" (required)" if request.is_required else "")
    parts = [heading, request.description]
    for media in request.media:
        parts.append(f"{code(media.name)}: {kind_in_words(media.schema)}")
        parts.append(outlines.of(media.schema, lines=REQUEST_LINES, depth=REQUEST_DEPTH, is_sent=True))
    return "\n\n".join(part for part in _each_once(parts) if part)


def _responses(responses: dict[str, Body], outlines: Outlines) -> str:
    parts = ["### Responses"] if responses else []
    for status, body in responses.items():
        kinds = ", ".join(f"{code(media.name)}: {kind_in_words(media.schema)}" for media in body.media)
        described = inline(line(body.description, 500))
        parts.append(f"**{inline(status)}** {' · '.join(part for part in (described, kinds) if part)}".rstrip())
        if status.startswith("2"):
            parts += _outline(body.media, outlines)
    return "\n\n".join(parts)


def _outline(media: tuple[Media, ...], outlines: Outlines) -> list[str]:
    outlined = [outlines.of(one.schema, lines=RESPONSE_LINES, depth=RESPONSE_DEPTH, is_sent=False) for one in media]
    return [part for part in _each_once(outlined) if part]


def _each_once(parts: list[str]) -> list[str]:
    """Several media types mostly have one schema."""
    return list(dict.fromkeys(parts))


def _within_limit(content: str) -> str:
    raw = content.encode()
    if len(raw) <= CONTENT_BYTES:
        return content
    head = raw[: CONTENT_BYTES - len(ENDING.encode())].decode(errors="ignore")
    return head.rpartition("\n")[0] + ENDING
