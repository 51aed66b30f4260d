"""Unlink a key from its user."""

from typing import Any

from django.core.management.base import CommandParser

from accounts.keys import find_key
from accounts.people.users import unlink_key
from bigmind.management.base import OperatorCommand
from bigmind.management.people import describe_key


class Command(OperatorCommand):
    """Takes a key from its user; it opens nothing until it is linked again."""

    help = "Unlink a key from its user. What was stored stays with the user; the key opens nothing until it is linked."
    examples = ("bigmind user_unlink bm_Xq3fA",)

    def add_arguments(self, parser: CommandParser) -> None:
        """Take a key."""
        parser.add_argument("key", help="The key's id, its SHA-256, or its first 8 characters.")

    def handle(self, *args: Any, **options: Any) -> None:
        """Unlink it."""
        key = unlink_key(find_key(options["key"]))
        if options["json"]:
            self.print_json(describe_key(key))
            return
        self.stdout.write(f"The key {key} is linked to nobody.")
        self.remark("It opens nothing until it is linked again: bigmind user_link <user> <key>")
