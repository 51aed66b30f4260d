"""What agents pay in tokens, by the conservative counter."""

import json

from accounts.actor import Actor
from accounts.models import User
from benchmarks.rows import row
from bigmind.operations import operations_for
from bigmind.text.token_counts import count_tokens
from bigmind.transports.mcp.server import server_instructions
from bigmind.transports.mcp.tools import tool_of
from knowledge.context.start_context import get_context


def measure() -> list[str]:
    """Count the default tool list, the server's instructions and a cold start from a large memory."""
    actor = Actor.of(User.objects.get(username="much"))
    listed = [
        tool.model_dump(by_alias=True, exclude_none=True, mode="json") for tool in map(tool_of, operations_for(actor))
    ]
    tools = count_tokens(json.dumps(listed, ensure_ascii=False, separators=(",", ":")))
    told = count_tokens(server_instructions())
    context = get_context(actor, project="pi", sessions=50).tokens
    return [
        row(
            "`tools/list` on a default connection",
            f"{tools:,} tokens",
            "≤ 3,000",
            f"{len(listed)} tools",
            met=tools <= 3000,
        ),
        row("server instructions", f"{told:,} tokens", "≤ 300", "`initialize`", met=told <= 300),
        row("cold start", f"{context:,} tokens", "≤ 1,300", "10,000 facts, 1,000 sessions", met=context <= 1300),
    ]
