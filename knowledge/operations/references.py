"""What is offered about documentation."""

from bigmind.core.operations import Operation
from knowledge.references import (
    checks as reference_checks,
)
from knowledge.references import (
    editing as references,
)
from knowledge.references import (
    imports as reference_imports,
)
from knowledge.references import (
    search as reference_search,
)
from knowledge.shapes.references import (
    CheckedShape,
    FoundEndpointShape,
    FoundReferenceShape,
    ImportedReferencesShape,
    ReferenceHitsShape,
    ReferenceInFullShape,
    ReferenceShape,
    ReferencesShape,
)

OPERATIONS = (
    Operation(
        name="search_knowledge",
        title="Search the documentation",
        call=reference_search.search_knowledge,
        shape=ReferenceHitsShape,
        route="GET docs/search/",
        toolset="docs",
        template="reference_hits.md",
        is_slow=True,
    ),
    Operation(
        name="get_command",
        title="Read a command",
        call=references.get_command,
        shape=FoundReferenceShape,
        route="GET docs/command/",
        toolset="docs",
        template="reference_found.md",
    ),
    Operation(
        name="list_commands",
        title="List commands",
        call=references.list_commands,
        shape=ReferencesShape,
        route="GET docs/commands/",
        toolset="docs",
        template="references.md",
    ),
    Operation(
        name="get_api_endpoint",
        title="Read an API endpoint",
        call=references.get_api_endpoint,
        shape=FoundEndpointShape,
        route="GET docs/endpoint/",
        toolset="docs",
        template="endpoint_found.md",
    ),
    Operation(
        name="check_command",
        title="Check a command or a request",
        call=reference_checks.check_command,
        shape=CheckedShape,
        route="GET docs/check/",
        toolset="docs",
        template="reference_checked.md",
    ),
    Operation(
        name="reference_get",
        title="Read an item of documentation",
        call=references.get_reference,
        shape=ReferenceInFullShape,
        route="GET docs/references/{reference_id}/",
        toolset="docs",
        template="reference.md",
    ),
    Operation(
        name="reference_update",
        title="Correct an item of documentation",
        call=references.update_reference,
        shape=ReferenceShape,
        route="PATCH docs/references/{reference_id}/",
        toolset="admin",
        idempotent=True,
        template="reference.md",
    ),
    Operation(
        name="references_import",
        title="Import documentation",
        call=reference_imports.import_references,
        shape=ImportedReferencesShape,
        route="POST docs/import/",
        toolset="admin",
        idempotent=True,
        template="references_imported.md",
        is_slow=True,
    ),
)
