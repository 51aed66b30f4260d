"""Delete a user with everything they own."""

import sys
from typing import Any

from django.core.management.base import CommandParser

from accounts.people.user_deletion import delete_user, in_words, preview_deletion
from accounts.people.users import find_user
from bigmind.management.base import OperatorCommand, Refused


class Command(OperatorCommand):
    """Deletes a user with everything they own, after showing what that is."""

    help = "Delete a user with everything they own. Says what goes, and asks first."
    examples = (
        "bigmind op memory_export --user eric --format json > eric.json",
        "bigmind user_delete eric",
        "bigmind user_delete eric --yes --json",
    )

    def add_arguments(self, parser: CommandParser) -> None:
        """Take a user, and the answer to the question."""
        parser.add_argument("user", help="User name or id.")
        parser.add_argument("--yes", action="store_true", help="Do not ask.")

    def handle(self, *args: Any, **options: Any) -> None:
        """Ask, and delete."""
        user = find_user(options["user"])
        going = preview_deletion(user)
        if not options["yes"]:
            self.remark(f"This deletes {user.username} for good: {in_words(going)}.")
            self._ask(user.username)
        gone = delete_user(user)
        if options["json"]:
            self.print_json({"deleted": gone})
        else:
            self.stdout.write(f"Deleted {in_words(gone)}.")

    def _ask(self, username: str) -> None:
        if not sys.stdin.isatty():
            raise Refused("Nobody is there to be asked. Say --yes to delete without a question.")
        if input(f"Type {username} to go on: ").strip() != username:
            raise Refused("Nothing was deleted.")
