"""`bigmind up`: run BigMind on this machine."""

import json
import sys
from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand

from bigmind.core.full_disk import LineWriter
from bigmind.embedded.home import CannotStart
from bigmind.embedded.up import bring_up
from bigmind.environment import environment
from bigmind.environment.parts import PARTS


class Command(BaseCommand):
    """Start the database, the web server, the worker and the scheduler, and keep them running."""

    help = "Run BigMind: database, web, worker and scheduler, until Ctrl-C. The data stays in BIGMIND_HOME."
    _prints_json = False
    # The checks of the project run after the database has started, not before.
    requires_system_checks: list[str] = []

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Add the option for the parts to run, for BigMind on several machines."""
        parser.add_argument(
            "--only",
            nargs="+",
            choices=PARTS,
            default=PARTS,
            metavar="PART",
            help=f"Run only these parts: {', '.join(PARTS)}. For several machines on one database and one Redis.",
        )
        parser.add_argument("--json", action="store_true", help="Report events as JSON, one object per line.")

    def handle(self, *args: Any, **options: Any) -> None:
        """Run until a signal stops it; exit with 1 and one sentence when BigMind cannot start."""
        self._prints_json = options["json"]
        self._lines = LineWriter()
        try:
            bring_up(environment(), options["only"], self._say)
        except CannotStart as refusal:
            self._say(str(refusal))
            sys.exit(1)

    def _say(self, sentence: str) -> None:
        self._lines.write(json.dumps({"bigmind": sentence}) if self._prints_json else f"bigmind: {sentence}")
