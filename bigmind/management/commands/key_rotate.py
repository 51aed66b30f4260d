"""Rotate a key."""

from datetime import timedelta
from typing import Any

from django.core.management.base import CommandParser

from accounts.keys import DEFAULT_OVERLAP, find_key, rotate_key
from bigmind.management.base import OperatorCommand, usage_error
from bigmind.management.people import describe_key

MOST_HOURS = 24 * 365


class Command(OperatorCommand):
    """Replaces a key by a new one; the old one works on for a while."""

    help = "Replace a key by a new one and print it. The old one works on for the overlap; nothing stored changes."
    examples = ("bigmind key_rotate bm_Xq3fA", "bigmind key_rotate bm_Xq3fA --overlap-hours 0 --json")

    def add_arguments(self, parser: CommandParser) -> None:
        """Take a key, and how long both work."""
        default = DEFAULT_OVERLAP // timedelta(hours=1)
        parser.add_argument("key", help="The key's id, its SHA-256, or its first 8 characters.")
        parser.add_argument(
            "--overlap-hours", type=float, default=default, help=f"Hours the old key works on. Default: {default}."
        )

    def handle(self, *args: Any, **options: Any) -> None:
        """Rotate it."""
        hours: float = options["overlap_hours"]
        if not 0 <= hours <= MOST_HOURS:
            raise usage_error(f"--overlap-hours must be 0 to {MOST_HOURS}.")
        old = find_key(options["key"])
        new = rotate_key(old, overlap=timedelta(hours=hours))
        if options["json"]:
            self.print_json(describe_key(new.key, text=new.text))
            return
        self.stdout.write(new.text)
        self.remark(f"It replaces {old}, which works for {hours:g} more hours. It cannot be shown again.")
