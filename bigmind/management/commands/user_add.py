"""Add a user."""

import re
from typing import Any

from django.core.management.base import CommandParser

from accounts.models import Role
from accounts.people.users import add_user
from bigmind.management.base import OperatorCommand
from bigmind.management.people import describe_user

_USERNAME = re.compile(r"[\w.@+-]+")


class Command(OperatorCommand):
    """Adds a user and prints the id, which never changes."""

    help = "Add a user and print the id, which never changes."
    examples = (
        "bigmind user_add eric",
        'bigmind user_add "Eric\'s account" --role curator',
        'id=$(bigmind user_add "Build server" --username ci)',
    )

    def add_arguments(self, parser: CommandParser) -> None:
        """Take a name or a description."""
        parser.add_argument("name", help="User name, or a description such as “Eric's account”.")
        parser.add_argument("--username", help="User name to sign in with. Default: made from the name.")
        parser.add_argument("--role", choices=Role.values, default=Role.MEMBER, help="Default: member.")

    def handle(self, *args: Any, **options: Any) -> None:
        """Add the user."""
        name: str = options["name"]
        username = options["username"] or username_from(name)
        user = add_user(username, display_name="" if name == username else name, role=options["role"])
        if options["json"]:
            self.print_json(describe_user(user))
            return
        self.stdout.write(str(user.pk))
        self.remark(f"Added {user.username} ({user.role}). A key: bigmind key_create {user.username}")


def username_from(name: str) -> str:
    """Return a user name made from a description: “Eric's account” becomes erics-account."""
    if _USERNAME.fullmatch(name):
        return name
    words = re.sub("['\u2019]", "", name).lower()
    return re.sub(r"[^\w.@+-]+", "-", words).strip("-")
