"""Schemathesis on the OpenAPI document of a running BigMind: what it sends, and what it found."""

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

CONFIGURATION = Path(__file__).with_name("schemathesis.toml")
REFUSALS = Path(__file__).with_name("refusals.py")
PATIENCE = 3 * 60 * 60


@dataclass(frozen=True)
class Found:
    """How many cases were sent to how many operations, and what was wrong with which of them."""

    operations: int
    cases: int
    failures: list[str]
    printed: str


def fuzz(url: str, key: str, folder: Path, *options: str) -> Found:
    """Send data that fits the document, and data that does not, to every operation; always the same for one seed."""
    report = folder / "report.json"
    told = [f"{url}/api/v1/openapi.json", "--url", url, "--header", f"Authorization: Bearer {key}"]
    fixed = [
        "--seed", "1", "--no-shrink", "--continue-on-failure", "--warnings", "off", "--suppress-health-check", "all",
    ]  # fmt: skip
    written = ["--report", "json", "--report-json-path", str(report)]
    command = [*_program(), "--config-file", str(CONFIGURATION), "run", *told, *fixed, *written, *options]
    with_ours = {**os.environ, "SCHEMATHESIS_HOOKS": str(REFUSALS)}
    done = subprocess.run(
        command, cwd=folder, env=with_ours, capture_output=True, text=True, check=False, timeout=PATIENCE
    )
    assert report.exists(), f"Schemathesis did not come to its end:\n{done.stdout}\n{done.stderr}"
    return _found(json.loads(report.read_text()), done.stdout)


def _program() -> list[str]:
    return [sys.executable, "-c", "from schemathesis.cli import schemathesis; schemathesis()"]


def _found(report: dict[str, Any], printed: str) -> Found:
    failures = [
        f"{operation}: {failure['title']}"
        for failure in report["failures"]
        for operation in failure["operations"] or ["the run"]
    ]
    errors = [str(error) for error in report["errors"]]
    assert report["complete"], printed
    return Found(report["operations"]["tested"], report["test_cases"]["generated"], failures + errors, printed)
