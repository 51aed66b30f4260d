"""What is offered to tidy a memory."""

from bigmind.core.operations import Operation
from knowledge.shapes.tidying import TidyingShape
from knowledge.tidying.answers import tidy

OPERATIONS = (
    Operation(
        name="memory_tidy",
        title="Tidy up the memory",
        call=tidy,
        shape=TidyingShape,
        route="POST tidying/",
        toolset="memory",
        template="tidying.md",
        is_slow=True,
    ),
)
