"""What is offered about hooks: how memory is written, how the hooks do, and forgetting what was captured."""

from bigmind.core.operations import Operation
from knowledge.capture.captures import read_status
from knowledge.capture.forgetting import forget_conversation
from knowledge.capture.policies import set_policy
from knowledge.shapes.capture import CapturePolicyShape, CaptureStatusShape, ConversationShape

OPERATIONS = (
    Operation(
        name="memory_get_capture",
        title="Read how memory is written",
        call=read_status,
        shape=CaptureStatusShape,
        route="GET capture/",
        toolset="memory",
        template="capture.md",
    ),
    Operation(
        name="memory_set_capture",
        title="Set how memory is written",
        call=set_policy,
        shape=CapturePolicyShape,
        route="PATCH capture/",
        toolset="memory",
        idempotent=True,
        template="capture_set.md",
    ),
    Operation(
        name="memory_forget_conversation",
        title="Forget a captured conversation",
        call=forget_conversation,
        shape=ConversationShape,
        route="DELETE captured/{conversation_id}/",
        toolset="memory",
        template="conversation_forgotten.md",
    ),
)
