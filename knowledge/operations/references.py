"""What is offered about documentation."""

from bigmind.core.operations import Operation
from bigmind.core.reply_shapes import reply_of
from knowledge.models import Reference
from knowledge.references import checks, editing, imports, search
from knowledge.shapes.references import (
    FoundEndpointShape,
    FoundReferenceShape,
    ReferenceInFullShape,
    ReferenceLineShape,
    ReferenceShape,
    ReferencesShape,
)

_IN_BRIEF = {Reference: ReferenceLineShape}

OPERATIONS = (
    Operation(
        name="search_knowledge",
        title="Search the documentation",
        call=search.search_knowledge,
        shape=reply_of(search.ReferenceHits, _IN_BRIEF),
        route="GET docs/search/",
        toolset="docs",
        template="reference_hits.md",
        is_slow=True,
    ),
    Operation(
        name="get_command",
        title="Read a command",
        call=editing.get_command,
        shape=FoundReferenceShape,
        route="GET docs/command/",
        toolset="docs",
        template="reference_found.md",
    ),
    Operation(
        name="list_commands",
        title="List commands",
        call=editing.list_commands,
        shape=ReferencesShape,
        route="GET docs/commands/",
        toolset="docs",
        template="references.md",
    ),
    Operation(
        name="get_api_endpoint",
        title="Read an API endpoint",
        call=editing.get_api_endpoint,
        shape=FoundEndpointShape,
        route="GET docs/endpoint/",
        toolset="docs",
        template="endpoint_found.md",
    ),
    Operation(
        name="check_command",
        title="Check a command or a request",
        call=checks.check_command,
        shape=reply_of(checks.Checked, _IN_BRIEF),
        route="GET docs/check/",
        toolset="docs",
        template="reference_checked.md",
    ),
    Operation(
        name="reference_get",
        title="Read an item of documentation",
        call=editing.get_reference,
        shape=ReferenceInFullShape,
        route="GET docs/references/{reference_id}/",
        toolset="docs",
        template="reference.md",
    ),
    Operation(
        name="reference_update",
        title="Correct an item of documentation",
        call=editing.update_reference,
        shape=ReferenceShape,
        route="PATCH docs/references/{reference_id}/",
        toolset="admin",
        idempotent=True,
        template="reference.md",
    ),
    Operation(
        name="references_import",
        title="Import documentation",
        call=imports.import_references,
        shape=reply_of(imports.ImportedReferences),
        route="POST docs/import/",
        toolset="admin",
        idempotent=True,
        template="references_imported.md",
        is_slow=True,
    ),
)
