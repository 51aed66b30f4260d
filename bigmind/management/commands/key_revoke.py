"""Revoke a key."""

from typing import Any

from django.core.management.base import CommandParser

from accounts.keys import find_key, revoke_key
from bigmind.management.base import OperatorCommand
from bigmind.management.people import describe_key


class Command(OperatorCommand):
    """Ends a key now; what was stored with it stays."""

    help = "End a key now, everywhere. What was stored with it stays."
    examples = ("bigmind key_revoke bm_Xq3fA",)

    def add_arguments(self, parser: CommandParser) -> None:
        """Take a key."""
        parser.add_argument("key", help="The key's id, its SHA-256, or its first 8 characters.")

    def handle(self, *args: Any, **options: Any) -> None:
        """Revoke it."""
        key = revoke_key(find_key(options["key"]))
        if options["json"]:
            self.print_json(describe_key(key))
        else:
            self.stdout.write(f"The key {key} opens nothing any more.")
