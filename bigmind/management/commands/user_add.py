"""Add a user."""

import re
from typing import Any

from accounts.models import Role
from accounts.people.users import add_user
from bigmind.management.base import OperatorCommand, argument
from bigmind.management.people import describe_user

_USERNAME = re.compile(r"[\w.@+-]+")


class Command(OperatorCommand):
    """Add a user and print the id, which never changes."""

    examples = (
        "bigmind user_add eric",
        'bigmind user_add "Eric\'s account" --role curator',
        'id=$(bigmind user_add "Build server" --username ci)',
    )
    arguments = (
        argument("name", help="User name, or a description such as “Eric's account”."),
        argument("--username", help="User name to sign in with. Default: made from the name."),
        argument("--role", choices=Role.values, default=Role.MEMBER, help="Default: member."),
    )

    def handle(self, *args: Any, **options: Any) -> None:
        name: str = options["name"]
        username = options["username"] or username_from(name)
        user = add_user(username, display_name="" if name == username else name, role=options["role"])
        self.reply(
            describe_user(user),
            str(user.pk),
            remark=f"Added {user.username} ({user.role}). A key: bigmind key_create {user.username}",
        )


def username_from(name: str) -> str:
    """Return a user name made from a description: “Eric's account” becomes erics-account."""
    if _USERNAME.fullmatch(name):
        return name
    words = re.sub("['\u2019]", "", name).lower()
    return re.sub(r"[^\w.@+-]+", "-", words).strip("-")
