"""Change a user's role."""

from typing import Any

from accounts.models import Role
from accounts.people.users import find_user, set_role
from bigmind.management.base import USER, OperatorCommand, argument
from bigmind.management.people import describe_user


class Command(OperatorCommand):
    """Change a user's role, from the next request on. The last admin stays an admin."""

    examples = ("bigmind user_role eric curator", "bigmind user_role ada admin --json")
    arguments = (USER, argument("role", choices=Role.values, help="The new role."))

    def handle(self, *args: Any, **options: Any) -> None:
        user = set_role(find_user(options["user"]), options["role"])
        self.reply(describe_user(user), f"{user.username} is {user.get_role_display().lower()} now.")
