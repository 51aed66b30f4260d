"""Make the text of a key that is not there yet."""

from typing import Any

from accounts.keys import new_key_text
from bigmind.management.base import OperatorCommand


class Command(OperatorCommand):
    """Prints the text of a new key, for BIGMIND_INIT_KEY. It opens nothing until an instance starts with it."""

    help = "Print the text of a new key, for BIGMIND_INIT_KEY. It opens nothing until an instance starts with it."
    examples = ("bigmind key_text > init_key",)

    def handle(self, *args: Any, **options: Any) -> None:
        """Make it."""
        text = new_key_text()
        if options["json"]:
            self.print_json({"key": text})
        else:
            self.stdout.write(text)
