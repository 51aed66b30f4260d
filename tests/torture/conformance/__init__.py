"""The official conformance suite of MCP: getting it, running it, and reading what it found."""

import json
import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

import pytest
import yaml

HERE = Path(__file__).parent
INSTALLED = HERE.parents[2] / ".make" / "conformance"
SUITE = INSTALLED / "node_modules/@modelcontextprotocol/conformance/dist/index.js"
PATIENCE = 600


@dataclass(frozen=True)
class Check:
    """One check of a scenario."""

    scenario: str
    name: str
    status: str
    message: str

    @property
    def line(self) -> str:
        """Return it as the report of a failure tells it."""
        return f"{self.scenario}: {self.name}: {self.message}"


@dataclass(frozen=True)
class NotOurs:
    """Scenarios that do not apply, and what their checks say then."""

    why: str
    because: str
    scenarios: frozenset[str]

    def covers(self, check: Check) -> bool:
        """Whether a failed check failed for this reason."""
        return check.scenario in self.scenarios and re.search(self.because, check.message) is not None


def not_ours() -> list[NotOurs]:
    """Return what `expected.yaml` says does not apply."""
    listed = yaml.safe_load((HERE / "expected.yaml").read_text())
    return [NotOurs(one["why"], one["because"], frozenset(one["scenarios"])) for one in listed]


def install() -> None:
    """Get the suite and its Node.js once; without npm the test is skipped, but not where it must run."""
    INSTALLED.mkdir(parents=True, exist_ok=True)
    lock = HERE / "package-lock.json"
    if SUITE.exists() and (INSTALLED / lock.name).read_text() == lock.read_text():
        return
    for part in (lock, HERE / "package.json"):
        shutil.copy(part, INSTALLED)
    npm = shutil.which("npm")
    if npm is None:
        _go_without("npm is not installed, so the conformance suite of MCP cannot be had.")
    done = subprocess.run([npm, "ci", "--no-audit", "--no-fund"], cwd=INSTALLED, capture_output=True, check=False)
    if done.returncode:
        _go_without("The conformance suite of MCP could not be downloaded.")


def _go_without(reason: str) -> NoReturn:
    if os.environ.get("CI"):
        pytest.fail(reason)
    pytest.skip(reason)


def run(url: str, revision: str, folder: Path) -> list[Check]:
    """Run every scenario that a revision requires against a server; return all checks."""
    command = [_node(), str(SUITE), "server", "--url", url, "--requirements", revision, "-o", str(folder)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=PATIENCE)
    checks = list(_checks_in(folder))
    assert checks, f"The suite did not run:\n{done.stdout}\n{done.stderr}"
    return checks


def _node() -> str:
    """Return the Node.js of the installed packages: the suite needs 22, and machines have older ones."""
    return next((str(found) for found in INSTALLED.glob("node_modules/node-*-*/bin/node")), "node")


def _checks_in(folder: Path) -> Iterator[Check]:
    for found in sorted(folder.glob("server-*/checks.json")):
        # Folders are named server-<scenario>-<moment>.
        scenario = re.sub(r"^server-(.+)-\d{4}-\d\d-\d\dT.*$", r"\1", found.parent.name)
        for check in json.loads(found.read_text()):
            yield _check(scenario, check)


def _check(scenario: str, told: dict[str, Any]) -> Check:
    return Check(scenario, told["id"], told["status"], told.get("errorMessage") or "")
