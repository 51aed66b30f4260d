"""What hostile calls over MCP may be answered with: a result, or a refusal that names the field; never a fault."""

import json
from collections.abc import Iterator
from typing import Any

import httpx

from bigmind.core.operations import Operation
from bigmind.operations import CATALOGUE
from tests.transports.hostile import NO_NUMBERS, OUT_OF_PLACE, REFUSED_EVERYWHERE, with_each_place_taken
from tests.transports.mcp_wire import Wire

Call = tuple[str, dict[str, Any], str]
"""The tool, its arguments, and what is wrong with them in words."""
INTERNAL_ERROR = -32603


def hostile_calls() -> Iterator[Call]:
    """Yield a call for each value in each argument of each tool, and within the arguments that hold others."""
    for kind, value in (REFUSED_EVERYWHERE | OUT_OF_PLACE | NO_NUMBERS).items():
        for operation in CATALOGUE.values():
            for name, arguments in with_each_place_taken(operation, value):
                yield operation.name, arguments, f"{kind} in {name}"


def trouble_with(wire: Wire, call: Call) -> str:
    """Send a call; return what is wrong with the answer, or nothing."""
    tool, arguments, told = call
    response = wire.send("tools/call", {"name": tool, "arguments": arguments})
    found = _trouble_with(response, CATALOGUE[tool])
    return f"{tool}, {told}: {found}\n{response.text[:1000]}" if found else ""


def _trouble_with(response: httpx.Response, operation: Operation) -> str:
    if response.status_code != 200:
        return f"status {response.status_code}"
    reply = json.loads(response.text, parse_constant=lambda name: {"no number": name}[""])
    if "error" in reply:
        return "a protocol error, which agents do not see"
    result = reply["result"]
    if not result.get("isError"):
        return "" if result["content"][0]["text"] else "nothing to read"
    return _trouble_with_refusal(result["_meta"].get("error"), operation)


def _trouble_with_refusal(error: dict[str, Any] | None, operation: Operation) -> str:
    """A refusal of the arguments names them; one of the operation itself says what is the matter and what to do."""
    if error is None:
        return "a fault of ours"
    fields = {problem["field"].partition(".")[0] for problem in error.get("problems", [])}
    return "" if fields <= set(operation.arguments.model_fields) else f"strange fields: {fields}"
