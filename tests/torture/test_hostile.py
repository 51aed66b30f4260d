"""T3 over MCP: each hostile value in each argument of each tool, and within the arguments that hold others."""

from collections.abc import Callable
from itertools import islice

import pytest

from tests.embedded.instance import Instance, command
from tests.torture.contenders import first_user
from tests.torture.scale import EACH_HOSTILE_CALL, PATIENCE
from tests.transports.mcp_hostile import hostile_calls, trouble_with
from tests.transports.mcp_wire import Wire

pytestmark = pytest.mark.torture


def test_no_call_is_answered_with_a_fault_of_ours(bigmind: Instance, report: Callable[[str], None]) -> None:
    scopes = "read,write,curate,admin"
    key = command(bigmind.home, "key_create", first_user(bigmind), "--scopes", scopes, "--quiet").stdout.strip()
    wire = Wire(bigmind, key, timeout=PATIENCE)

    made, troubles = 0, []
    for call in islice(hostile_calls(), 0, None, EACH_HOSTILE_CALL):
        made += 1
        troubles += filter(None, [trouble_with(wire, call)])

    report(f"{made} hostile calls, {len(troubles)} of them in trouble")
    assert troubles == []
