"""List the keys."""

from typing import Any

from accounts.keys import list_keys
from accounts.people.users import find_user
from bigmind.management.base import OperatorCommand, argument
from bigmind.management.people import day_of, describe_key


class Command(OperatorCommand):
    """List keys with their owners, scopes, state and last use, the newest first."""

    examples = ("bigmind key_list", "bigmind key_list --user eric --json")
    arguments = (argument("--user", help="Only the keys of this user (name or id)."),)

    def handle(self, *args: Any, **options: Any) -> None:
        keys = list_keys(find_user(options["user"]) if options["user"] else None)
        if options["json"]:
            self.print_json([describe_key(key) for key in keys])
            return
        self.print_table(
            ("prefix", "user", "label", "scopes", "state", "made", "last used", "by", "ends", "id"),
            (
                (
                    key.prefix,
                    key.user.username if key.user else "-",
                    key.label or "-",
                    ",".join(key.scopes),
                    key.state,
                    day_of(key.created_at),
                    day_of(key.last_used_at),
                    key.last_used_by or "-",
                    day_of(key.ends_at),
                    key.pk,
                )
                for key in keys
            ),
        )
