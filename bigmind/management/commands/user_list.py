"""List the users."""

from typing import Any

from accounts.people.users import list_users
from bigmind.management.base import OperatorCommand
from bigmind.management.people import day_of, describe_user


class Command(OperatorCommand):
    """List the users with their roles and numbers of working keys."""

    examples = ("bigmind user_list", "bigmind user_list --json")

    def handle(self, *args: Any, **options: Any) -> None:
        users: Any = list_users()  # with the number of keys, which the model does not have
        if options["json"]:
            self.print_json([{**describe_user(user), "usable_keys": user.usable_keys} for user in users])
            return
        self.print_table(
            ("username", "role", "keys", "last seen", "name", "id"),
            (
                (user.username, user.role, user.usable_keys, day_of(user.last_seen), user.display_name or "-", user.pk)
                for user in users
            ),
        )
