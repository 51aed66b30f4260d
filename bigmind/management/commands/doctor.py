"""`bigmind doctor`: check everything BigMind depends on, and say what to fix."""

import json
import sys
from argparse import ArgumentParser
from dataclasses import asdict
from typing import Any

from django.core.management.base import BaseCommand

from bigmind.embedded.doctor_checks import Check, CheckStatus, examine
from bigmind.environment import environment
from bigmind.environment.parts import PARTS


class Command(BaseCommand):
    """Print each check as it is done."""

    help = (
        "Check everything BigMind depends on and say what to fix. Exits 0 when all is well, 1 when there is a problem."
    )
    requires_system_checks: list[str] = []

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Add the parts, and the form for scripts."""
        parser.add_argument(
            "--part",
            nargs="+",
            choices=[*PARTS, "all"],
            default=[],
            help="Check what these parts need. Default: those that run here, or all where none does.",
        )
        parser.add_argument("--json", action="store_true", help="Print one JSON object.")

    def handle(self, *args: Any, **options: Any) -> None:
        """Run the checks, print the results, and set the exit code for scripts."""
        checks = []
        parts = PARTS if "all" in options["part"] else options["part"]
        for check in examine(environment(), parts):
            checks.append(check)
            if not options["json"]:
                self._print(check)
        is_well = all(check.status != CheckStatus.PROBLEM for check in checks)
        if options["json"]:
            self.stdout.write(json.dumps({"ok": is_well, "checks": [asdict(check) for check in checks]}, indent=2))
        sys.exit(0 if is_well else 1)

    def _print(self, check: Check) -> None:
        style = {
            CheckStatus.OK: self.style.SUCCESS,
            CheckStatus.WARNING: self.style.WARNING,
            CheckStatus.PROBLEM: self.style.ERROR,
        }
        word = style.get(check.status, str)(f"{check.status:<8}")
        self.stdout.write(f"{word} {check.name:<11} {check.found}")
        if check.advice:
            self.stdout.write(f"{'':<20} → {check.advice}")
