"""Link a key to a user."""

from typing import Any

from accounts.keys import find_key
from accounts.people.users import find_user, link_key
from bigmind.management.base import KEY, USER, OperatorCommand
from bigmind.management.people import describe_key


class Command(OperatorCommand):
    """Link a key to a user. What was stored with either stays where it is."""

    examples = (
        "bigmind user_link eric bm_Xq3fA",
        "bigmind user_link eric $(printf %s \"$KEY\" | sha256sum | cut -d' ' -f1)",
    )
    arguments = (USER, KEY)

    def handle(self, *args: Any, **options: Any) -> None:
        key = link_key(find_user(options["user"]), find_key(options["key"]))
        self.reply(describe_key(key), f"The key {key} acts for {key.user} now.")
