"""What is offered to tidy a memory."""

from bigmind.core.operations import Operation
from bigmind.core.reply_shapes import reply_of
from knowledge.tidying.answers import Tidying, tidy
from knowledge.tidying.suggestions import SuggestedItem, Suggestion

_SUGGESTION = reply_of(
    Suggestion,
    without=["rows"],
    concern=str,
    says=str,
    items=list[reply_of(SuggestedItem)],  # type: ignore[misc]
    actions=tuple[str, ...],
)

OPERATIONS = (
    Operation(
        name="memory_tidy",
        title="Tidy up the memory",
        call=tidy,
        shape=reply_of(Tidying, {Suggestion: _SUGGESTION}),
        route="POST tidying/",
        toolset="memory",
        template="tidying.md",
        is_slow=True,
    ),
)
