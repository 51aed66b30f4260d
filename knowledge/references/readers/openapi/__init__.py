"""OpenAPI documents, made into a reference for each endpoint."""

from pathlib import Path
from typing import Any

from bigmind.core.errors import Invalid
from knowledge.argument_types import Completeness, ReferenceKind
from knowledge.references.readers.documents import read_document
from knowledge.references.readers.openapi.contents import PARAMETER_PARTS, content_of, examples_of
from knowledge.references.readers.openapi.json_references import ApiDocument
from knowledge.references.readers.openapi.names import Groups, aliases_of, keys_of, keywords_of
from knowledge.references.readers.openapi.operations import (
    ApiEndpoint,
    Body,
    endpoints_of,
    request_of,
    responses_of,
    security_of,
)
from knowledge.references.readers.openapi.schemas import Outlines, Schemas
from knowledge.references.readers.openapi.swagger import as_openapi
from knowledge.references.readers.openapi.values import first_sentence, line, mapping
from knowledge.references.readers.reference_drafts import EndpointForm, Generated, ReferenceDraft
from knowledge.references.readers.registry import STDIN, Source, source_bytes

VERSIONS, SWAGGER = ("3.0", "3.1", "3.2"), "2.0"
TITLE_CHARS, SUMMARY_CHARS = 200, 300


def generate(source: Source) -> Generated:
    """Make a reference of each operation in an OpenAPI 3 or Swagger 2 document, JSON or YAML.

    Raises:
        Invalid: it is no such document.
    """
    return references_of(open_source(source))


def open_source(source: Source) -> ApiDocument:
    """Return the OpenAPI document of a source; of a file, with the files that it refers to."""
    lies = source.fetched is None and source.given != STDIN
    return open_document(source.text, source.name, path=source.path if lies else None)


def open_document(text: str, name: str, path: Path | None = None) -> ApiDocument:
    """Return the OpenAPI document in a text, which lies at `path`.

    Raises:
        Invalid: it is none, or of a version that is not read.
    """
    raw = read_document(text, name)
    if not isinstance(raw, dict) or not {"openapi", "swagger", "swaggerVersion"} & raw.keys():
        raise Invalid(f"{name} is no OpenAPI document: it has no field `openapi`.")
    if line(str(raw.get("swagger")), 20) == SWAGGER:
        document = ApiDocument(raw, name, path=path, limit=source_bytes())
        document.raw = as_openapi(document)
        return document
    version = line(str(raw.get("openapi", raw.get("swagger", raw.get("swaggerVersion")))), 20)
    if "openapi" not in raw or not version.startswith(VERSIONS):
        raise Invalid(
            f"{name} is OpenAPI {version}.", hint=f"Versions {', '.join(VERSIONS)} and Swagger {SWAGGER} are read."
        )
    return ApiDocument(raw, name, path=path, limit=source_bytes())


def references_of(document: ApiDocument) -> Generated:
    """Make a reference of each operation in a document."""
    endpoints = list(endpoints_of(document))
    keys, groups, shared = keys_of(endpoints), Groups(endpoints, document.raw), (Schemas(document), Outlines())
    about = mapping(document.raw.get("info"))
    version = line(about.get("version"), 100)
    drafts = []
    for place, endpoint in enumerate(endpoints):
        related = tuple(keys[other] for other in groups.find_related(place))
        drafts.append(_reference(endpoint, *shared, groups, key=keys[place], related=related, version=version))
    # A schema that cannot be read says nothing about which requests there are.
    state = Completeness.COMPLETE if document.lists_all else Completeness.PARTIAL
    return Generated(
        title=line(about.get("title"), 100),
        drafts=tuple(drafts),
        problems=document.problems,
        completeness={ReferenceKind.API: state},
    )


def _reference(
    endpoint: ApiEndpoint, schemas: Schemas, outlines: Outlines, groups: Groups, **given: Any
) -> ReferenceDraft:
    request, responses = request_of(endpoint, schemas), responses_of(endpoint, schemas)
    category, subcategory = groups.category_of(endpoint)
    title = _title(endpoint)
    return ReferenceDraft(
        kind=ReferenceKind.API,
        title=title,
        category=category,
        subcategory=subcategory,
        summary=first_sentence(endpoint.raw.get("description"), SUMMARY_CHARS) or title,
        content=content_of(endpoint, schemas, outlines, request, responses),
        name=endpoint.name,
        keywords=keywords_of(endpoint),
        aliases=aliases_of(endpoint),
        examples=examples_of(endpoint, request, responses),
        source=f"{endpoint.document.name}{endpoint.where}",
        endpoint=_form(endpoint, schemas, request, responses),
        **given,
    )


def _title(endpoint: ApiEndpoint) -> str:
    described = first_sentence(endpoint.raw.get("description"), TITLE_CHARS)
    named = line(endpoint.raw.get("summary"), TITLE_CHARS) or line(endpoint.of_path.get("summary"), TITLE_CHARS)
    return named or described or line(endpoint.name, TITLE_CHARS)


def _form(endpoint: ApiEndpoint, schemas: Schemas, request: Body | None, responses: dict[str, Body]) -> EndpointForm:
    parameters = []
    for parameter in endpoint.parameters:
        described = {"name": parameter.name, "in": parameter.place, "required": parameter.is_required}
        if description := line(parameter.raw.get("description"), SUMMARY_CHARS):
            described["description"] = description
        schema = schemas.write_out(parameter.schema, endpoint.where, parts=PARAMETER_PARTS)
        parameters.append({**described, "schema": schema})
    return EndpointForm(
        method=endpoint.method,
        path=endpoint.full_path,
        bases=endpoint.bases,
        completeness=Completeness.COMPLETE if endpoint.is_whole else Completeness.PARTIAL,
        operation_id=endpoint.operation_id,
        deprecated=endpoint.is_deprecated,
        parameters=tuple(parameters),
        body=request.as_json() if request else None,
        responses={status: body.as_json() for status, body in responses.items()},
        security=security_of(endpoint),
    )
