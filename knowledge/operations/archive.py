"""What is offered about taking things out of sight and back."""

from bigmind.core.operations import Operation
from knowledge.memory import archive as asides
from knowledge.shapes.upkeep import RememberedShape

OPERATIONS = (
    Operation(
        name="memory_set_aside",
        title="Set something aside",
        call=asides.set_aside,
        shape=RememberedShape,
        route="POST set-aside/{kind}/{id}/",
        toolset="memory",
        idempotent=True,
        template="remembered.md",
    ),
    Operation(
        name="memory_restore",
        title="Restore what was set aside",
        call=asides.restore,
        shape=RememberedShape,
        route="POST restore/{kind}/{id}/",
        toolset="memory",
        idempotent=True,
        template="remembered.md",
    ),
)
