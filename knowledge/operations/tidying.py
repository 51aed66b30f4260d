"""What is offered to tidy a memory."""

from bigmind.core.operations import Operation
from bigmind.core.reply_shapes import reply_of
from knowledge.shapes.tidying import SuggestionShape
from knowledge.tidying.answers import Tidying, tidy
from knowledge.tidying.suggestions import Suggestion

OPERATIONS = (
    Operation(
        name="memory_tidy",
        title="Tidy up the memory",
        call=tidy,
        shape=reply_of(Tidying, {Suggestion: SuggestionShape}),
        route="POST tidying/",
        toolset="memory",
        template="tidying.md",
        is_slow=True,
    ),
)
