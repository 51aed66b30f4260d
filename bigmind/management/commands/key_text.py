"""Generate a key for an instance that has not started yet."""

from typing import Any

from accounts.keys import new_key_text
from bigmind.management.base import OperatorCommand


class Command(OperatorCommand):
    """Print the text of a new key for BIGMIND_INIT_KEY. It works once an instance has started with it."""

    examples = ("bigmind key_text > init_key",)

    def handle(self, *args: Any, **options: Any) -> None:
        text = new_key_text()
        self.reply({"key": text}, text)
