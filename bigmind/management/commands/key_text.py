"""Make the text of a key that is not there yet."""

from typing import Any

from accounts.keys import new_key_text
from bigmind.management.base import OperatorCommand


class Command(OperatorCommand):
    """Print the text of a new key, for BIGMIND_INIT_KEY. It opens nothing until an instance starts with it."""

    examples = ("bigmind key_text > init_key",)

    def handle(self, *args: Any, **options: Any) -> None:
        text = new_key_text()
        self.reply({"key": text}, text)
