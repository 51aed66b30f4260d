"""Validation: finds what would make the references of a source wrong, contradictory or hard to find."""

import shlex
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from enum import StrEnum

from bigmind.core.limits import CONTENT_BYTES, TITLE_CHARS
from bigmind.text.hygiene import echo
from knowledge.argument_types import ReferenceKind
from knowledge.references.readers.openapi import open_source
from knowledge.references.readers.openapi.operations import NOT_ENDPOINTS, PLACEHOLDER, ApiEndpoint, endpoints_of
from knowledge.references.readers.openapi.values import listing, mapping, text
from knowledge.references.readers.reference_drafts import Generated, ReaderModel, ReferenceDraft
from knowledge.references.readers.registry import Source, generator_for


class Severity(StrEnum):
    """How bad a finding is."""

    ERROR = "error"
    WARNING = "warning"


class DraftFinding(ReaderModel):
    """One problem in a source; `where` is its position."""

    severity: Severity
    where: str
    says: str


def findings_in(source: Source, kind: str = "auto") -> tuple[Generated, list[DraftFinding]]:
    """Return the references of a source, and what is wrong with it.

    Raises:
        Invalid: it cannot be read at all.
    """
    generator = generator_for(source, kind)
    generated = generator.generate(source)
    # Webhooks and callbacks in a document are not a mistake.
    found = [
        (_warning if each.where in NOT_ENDPOINTS else _error)(each.where, each.says) for each in generated.problems
    ]
    if generator.kind == "openapi":
        found += _endpoints(list(endpoints_of(open_source(source))))
    return generated, found


def findings_among(drafts: Sequence[ReferenceDraft]) -> list[DraftFinding]:
    """Return what is wrong with references that are to stand beside one another."""
    found = [finding for draft in drafts for finding in _of_one(draft)]
    found += _twice((draft.key for draft in drafts), "The id {} is used {} times.", Severity.ERROR)
    found += _twice((draft.name for draft in drafts if draft.name), "{} is described {} times.", Severity.ERROR)
    keys = {draft.key for draft in drafts}
    for draft in drafts:
        found += [
            _error(draft.key, f"Related to {key}, which does not exist.") for key in draft.related if key not in keys
        ]
    return found + _find_shared_aliases(drafts)


def _of_one(draft: ReferenceDraft) -> Iterator[DraftFinding]:
    if not draft.summary.strip():
        yield _warning(draft.key, "It has no summary: search results will say little.")
    if not draft.content.strip():
        yield _error(draft.key, "It has no content.")
    if (size := len(draft.content.encode())) > CONTENT_BYTES:
        yield _error(draft.key, f"Its content is {size:,} bytes; the limit is {CONTENT_BYTES:,}.")
    if len(draft.title) > TITLE_CHARS:
        yield _error(draft.key, f"Its title is longer than {TITLE_CHARS} characters.")
    if draft.kind is ReferenceKind.COMMAND:
        yield from _of_command(draft)
    for number, example in enumerate(draft.examples, 1):
        if not example.code.strip():
            yield _error(draft.key, f"Example {number} has no code.")


def _of_command(draft: ReferenceDraft) -> Iterator[DraftFinding]:
    if not draft.name:
        yield _error(draft.key, "The command is neither named nor shown in a code block or example.")
    elif not any(draft.name in shown for shown in (draft.content, *(each.code for each in draft.examples))):
        yield _error(draft.key, f"Neither content nor examples show the command {draft.name}.")
    for number, example in enumerate(draft.examples, 1):
        try:
            shlex.split(example.code)
        except ValueError as error:
            yield _warning(draft.key, f"Example {number} is no command line: {str(error).lower()}.")


def _find_shared_aliases(drafts: Sequence[ReferenceDraft]) -> list[DraftFinding]:
    holders: dict[str, list[str]] = defaultdict(list)
    for draft in drafts:
        for alias in dict.fromkeys(alias.casefold() for alias in draft.aliases):
            holders[alias].append(draft.key)
    return [
        _warning(", ".join(keys[:5]), f"The alias {echo(alias)} stands for {len(keys)} entries.")
        for alias, keys in holders.items()
        if len(keys) > 1
    ]


def _endpoints(endpoints: Sequence[ApiEndpoint]) -> list[DraftFinding]:
    found = [finding for endpoint in endpoints for finding in _of_endpoint(endpoint)]
    identifiers = (endpoint.operation_id for endpoint in endpoints if endpoint.operation_id)
    found += _twice(identifiers, "The operationId {} is used {} times.", Severity.ERROR)
    shapes = (f"{endpoint.method} {PLACEHOLDER.sub('{}', endpoint.path)}" for endpoint in endpoints)
    return found + _twice(shapes, "{} stands {} times, with other names for its parameters.", Severity.WARNING)


def _of_endpoint(endpoint: ApiEndpoint) -> Iterator[DraftFinding]:
    if not mapping(endpoint.raw.get("responses")):
        is_optional = text(endpoint.document.raw.get("openapi")).startswith(("3.1", "3.2"))
        yield (_warning if is_optional else _error)(endpoint.where, "It has no responses.")
    for name in endpoint.undeclared:
        yield _error(endpoint.where, f"The path parameter {name} is not declared.")
    in_path = set(PLACEHOLDER.findall(endpoint.path))
    for parameter in endpoint.parameters:
        if parameter.place == "path" and parameter.name not in in_path:
            yield _error(endpoint.where, f"The path has no place for the parameter {parameter.name}.")
    if not (text(endpoint.raw.get("summary")) or text(endpoint.raw.get("description"))):
        yield _warning(endpoint.where, "It has neither summary nor description.")
    schemes = mapping(mapping(endpoint.document.raw.get("components")).get("securitySchemes"))
    for choice in listing(endpoint.raw.get("security")):
        for name in mapping(choice):
            if name not in schemes:
                yield _error(endpoint.where, f"The security scheme {name} is not defined.")


def _twice(names: Iterable[str], says: str, severity: Severity) -> list[DraftFinding]:
    counts = Counter(names)
    return [
        DraftFinding(severity=severity, where=name, says=says.format(name, count))
        for name, count in counts.items()
        if count > 1
    ]


def _error(where: str, says: str) -> DraftFinding:
    return DraftFinding(severity=Severity.ERROR, where=where, says=says)


def _warning(where: str, says: str) -> DraftFinding:
    return DraftFinding(severity=Severity.WARNING, where=where, says=says)
