"""Revoke a key."""

from typing import Any

from accounts.keys import find_key, revoke_key
from bigmind.management.base import KEY, OperatorCommand
from bigmind.management.people import describe_key


class Command(OperatorCommand):
    """Revoke a key at once, everywhere. What was stored with it stays."""

    examples = ("bigmind key_revoke bm_Xq3fA",)
    arguments = (KEY,)

    def handle(self, *args: Any, **options: Any) -> None:
        key = revoke_key(find_key(options["key"]))
        self.reply(describe_key(key), f"The key {key} opens nothing any more.")
