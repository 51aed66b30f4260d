"""What is offered to look after a memory."""

from bigmind.core.operations import Effect, Operation
from knowledge.capture.chosen_instructions import get_instructions
from knowledge.memory import upkeep
from knowledge.shapes.upkeep import HealthShape, InstructionsShape, ProfilePageShape, PrunedShape

OPERATIONS = (
    Operation(
        name="memory_get_instructions",
        title="Read the guide",
        call=get_instructions,
        shape=InstructionsShape,
        route="GET instructions/",
        toolset="memory",
        with_core=True,
        template="instructions_reply.md",
    ),
    Operation(
        name="memory_get_stats",
        title="Read statistics",
        call=upkeep.get_stats,
        shape=upkeep.Stats,
        route="GET stats/",
        toolset="admin",
        template="stats.md",
    ),
    Operation(
        name="memory_health_check",
        title="Check the memory",
        call=upkeep.check_health,
        shape=HealthShape,
        route="GET health/",
        toolset="admin",
        template="health.md",
    ),
    Operation(
        name="memory_vacuum",
        title="Prune old chunks",
        call=upkeep.vacuum,
        shape=PrunedShape,
        route="POST vacuum/",
        toolset="admin",
        other_effect=Effect.DESTROY,
        idempotent=True,
        template="pruned.md",
        is_slow=True,
    ),
    Operation(
        name="memory_get_profile_url",
        title="Address of the profile page",
        call=upkeep.get_profile_url,
        shape=ProfilePageShape,
        route="GET profile/url/",
        toolset="memory",
        template="profile_page.md",
    ),
    Operation(
        name="memory_open_profile",
        title="Open the profile page",
        call=upkeep.open_profile,
        shape=ProfilePageShape,
        route="POST profile/open/",
        toolset="memory",
        idempotent=True,
        template="profile_page.md",
    ),
)
