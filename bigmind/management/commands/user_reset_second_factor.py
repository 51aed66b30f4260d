"""Reset the second factor of a user."""

from typing import Any

from django.core.management.base import CommandParser

from accounts.people.users import find_user
from accounts.sign_in.second_factors import forget_second_factor
from bigmind.management.base import OperatorCommand
from bigmind.management.people import describe_user


class Command(OperatorCommand):
    """Resets the second factor of a user who has lost both phone and recovery codes."""

    help = "Reset a user's second factor when phone and recovery codes are lost. They are signed out and notified."
    examples = ("bigmind user_reset_second_factor ada", "bigmind user_reset_second_factor ada --json")

    def add_arguments(self, parser: CommandParser) -> None:
        """Take a user."""
        parser.add_argument("user", help="User name or id.")

    def handle(self, *args: Any, **options: Any) -> None:
        """Take it."""
        user = find_user(options["user"])
        forget_second_factor(user)
        if options["json"]:
            self.print_json(describe_user(user))
        else:
            self.stdout.write(f"{user.username} signs in without a code now.")
