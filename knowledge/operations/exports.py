"""What is offered to take a memory out and bring one in."""

from bigmind.core.operations import Operation
from bigmind.core.reply_shapes import reply_of
from knowledge.transfer import exports, own_imports, program_formats

OPERATIONS = (
    Operation(
        name="memory_export",
        title="Export the memory",
        call=program_formats.export_memory,
        shape=exports.MemoryDocument,
        route="GET export/",
        toolset="admin",
        template="export.md",
        is_slow=True,
    ),
    Operation(
        name="memory_import",
        title="Import a memory",
        call=own_imports.import_memory,
        shape=reply_of(own_imports.Imported),
        route="POST import/",
        toolset="admin",
        idempotent=True,
        template="imported.md",
        is_slow=True,
    ),
)
