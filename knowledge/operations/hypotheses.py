"""What is offered about hypotheses."""

from bigmind.core.operations import Operation
from knowledge.memory import hypotheses
from knowledge.shapes.hypotheses import HypothesesShape, HypothesisShape

OPERATIONS = (
    Operation(
        name="memory_correct_hypothesis",
        title="Correct a hypothesis",
        call=hypotheses.correct_hypothesis,
        shape=HypothesisShape,
        route="PATCH hypotheses/{hypothesis_id}/",
        toolset="memory",
        idempotent=True,
        template="hypothesis.md",
    ),
    Operation(
        name="memory_add_hypothesis",
        title="Add a hypothesis",
        call=hypotheses.add_hypothesis,
        shape=HypothesisShape,
        route="POST hypotheses/",
        toolset="memory",
        template="hypothesis.md",
    ),
    Operation(
        name="memory_resolve_hypothesis",
        title="Resolve a hypothesis",
        call=hypotheses.resolve_hypothesis,
        shape=HypothesisShape,
        route="POST hypotheses/{hypothesis_id}/resolve/",
        toolset="memory",
        template="hypothesis.md",
    ),
    Operation(
        name="memory_list_hypotheses",
        title="List hypotheses",
        call=hypotheses.list_hypotheses,
        shape=HypothesesShape,
        route="GET hypotheses/",
        toolset="memory",
        template="hypotheses.md",
    ),
    Operation(
        name="memory_erase_hypothesis",
        title="Erase a hypothesis",
        call=hypotheses.erase_hypothesis,
        shape=HypothesisShape,
        route="DELETE hypotheses/{hypothesis_id}/",
        toolset="memory",
        template="erased.md",
    ),
)
