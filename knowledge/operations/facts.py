"""What is offered about facts."""

from bigmind.core.operations import Operation
from knowledge.memory import facts, trigger_levels
from knowledge.shapes.facts import CorrectedFactShape, FactShape, FactsShape, StoredFactShape

OPERATIONS = (
    Operation(
        name="memory_store_fact",
        title="Store a fact",
        call=facts.store_fact,
        shape=StoredFactShape,
        route="POST facts/",
        toolset="core",
        idempotent=True,
        template="fact_stored.md",
    ),
    Operation(
        name="memory_list_facts",
        title="List facts",
        call=facts.list_facts,
        shape=FactsShape,
        route="GET facts/",
        toolset="core",
        template="facts.md",
    ),
    Operation(
        name="memory_deprecate_fact",
        title="Set a fact aside",
        call=facts.deprecate_fact,
        shape=FactShape,
        route="POST facts/{fact_id}/deprecate/",
        toolset="core",
        template="fact_deprecated.md",
    ),
    Operation(
        name="memory_correct_fact",
        title="Correct a fact",
        call=facts.correct_fact,
        shape=CorrectedFactShape,
        route="POST facts/{fact_id}/correct/",
        toolset="memory",
        in_core=True,
        template="fact_corrected.md",
    ),
    Operation(
        name="memory_set_fact_triggers",
        title="Set the triggers and the code of a fact",
        call=trigger_levels.set_fact_triggers,
        shape=FactShape,
        route="PUT facts/{fact_id}/triggers/",
        toolset="memory",
        idempotent=True,
        template="fact_triggers.md",
    ),
    Operation(
        name="memory_erase_fact",
        title="Erase a fact",
        call=facts.erase_fact,
        shape=FactShape,
        route="DELETE facts/{fact_id}/",
        toolset="memory",
        template="erased.md",
    ),
)
