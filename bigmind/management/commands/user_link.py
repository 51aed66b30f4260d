"""Link a key to a user."""

from typing import Any

from django.core.management.base import CommandParser

from accounts.keys import find_key
from accounts.people.users import find_user, link_key
from bigmind.management.base import OperatorCommand
from bigmind.management.people import describe_key


class Command(OperatorCommand):
    """Lets a key act for a user from now on; what either has stored stays where it is."""

    help = "Link a key to a user. What either has stored stays where it is."
    examples = (
        "bigmind user_link eric bm_Xq3fA",
        "bigmind user_link eric $(printf %s \"$KEY\" | sha256sum | cut -d' ' -f1)",
    )

    def add_arguments(self, parser: CommandParser) -> None:
        """Take a user and a key."""
        parser.add_argument("user", help="User name or id.")
        parser.add_argument("key", help="The key's id, its SHA-256, or its first 8 characters.")

    def handle(self, *args: Any, **options: Any) -> None:
        """Link them."""
        key = link_key(find_user(options["user"]), find_key(options["key"]))
        if options["json"]:
            self.print_json(describe_key(key))
        else:
            self.stdout.write(f"The key {key} acts for {key.user} now.")
