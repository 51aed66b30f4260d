"""Give a user another role."""

from typing import Any

from django.core.management.base import CommandParser

from accounts.models import Role
from accounts.people.users import find_user, set_role
from bigmind.management.base import OperatorCommand
from bigmind.management.people import describe_user


class Command(OperatorCommand):
    """Gives a user another role; the last admin stays one."""

    help = "Give a user another role, from the next request on. The last admin stays one."
    examples = ("bigmind user_role eric curator", "bigmind user_role ada admin --json")

    def add_arguments(self, parser: CommandParser) -> None:
        """Take a user and a role."""
        parser.add_argument("user", help="User name or id.")
        parser.add_argument("role", choices=Role.values, help="What they may do beyond their own memory.")

    def handle(self, *args: Any, **options: Any) -> None:
        """Give it."""
        user = set_role(find_user(options["user"]), options["role"])
        if options["json"]:
            self.print_json(describe_user(user))
        else:
            self.stdout.write(f"{user.username} is {user.get_role_display().lower()} now.")
