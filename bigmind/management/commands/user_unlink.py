"""Unlink a key from its user."""

from typing import Any

from accounts.keys import find_key
from accounts.people.users import unlink_key
from bigmind.management.base import KEY, OperatorCommand
from bigmind.management.people import describe_key


class Command(OperatorCommand):
    """Unlink a key from its user. Stored memory stays with the user; the key does not work until it is linked again."""

    examples = ("bigmind user_unlink bm_Xq3fA",)
    arguments = (KEY,)

    def handle(self, *args: Any, **options: Any) -> None:
        key = unlink_key(find_key(options["key"]))
        self.reply(
            describe_key(key),
            f"The key {key} is not linked to any user.",
            remark="It does not work until it is linked again: bigmind user_link <user> <key>",
        )
