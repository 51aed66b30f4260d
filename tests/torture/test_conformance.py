"""The official conformance suite of MCP, every scenario that a revision requires, against `bigmind up`."""

import pytest

from tests.torture import conformance
from tests.torture.proxies import adding_a_header

pytestmark = pytest.mark.torture


@pytest.fixture(scope="module", autouse=True)
def _suite() -> None:
    conformance.install()


@pytest.mark.parametrize("revision", ["2025-11-25", "2026-07-28"])
def test_every_scenario_that_applies_passes(bigmind, revision, tmp_path, report):
    exceptions = conformance.not_ours()

    with adding_a_header(bigmind.url, "Authorization", f"Bearer {bigmind.key}") as url:
        checks = conformance.run(f"{url}/mcp", revision, tmp_path)

    failed = [check for check in checks if check.status == "FAILURE"]
    scenarios, failing = {check.scenario for check in checks}, {check.scenario for check in failed}
    listed = {name for one in exceptions for name in one.scenarios} & scenarios
    passed = sum(check.status == "SUCCESS" for check in checks)
    warned = sum(check.status == "WARNING" for check in checks)
    report(
        f"{revision}: {len(scenarios)} scenarios, {len(scenarios - failing)} without a failure, {len(listed)} that do "
        f"not apply; {passed} checks passed, {len(failed)} failed there, {warned} warned"
    )
    assert [check.line for check in failed if not any(one.covers(check) for one in exceptions)] == []
    assert listed - failing == set(), "These are said not to apply, but nothing in them fails."
