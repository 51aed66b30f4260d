"""Delete a user and everything they own."""

from typing import Any

from accounts.people.user_deletion import delete_user, in_words, preview_deletion
from accounts.people.users import find_user
from bigmind.management.base import USER, YES, OperatorCommand


class Command(OperatorCommand):
    """Delete a user and everything they own. Shows what will be deleted, and asks first."""

    examples = (
        "bigmind op memory_export --user eric --format json > eric.json",
        "bigmind user_delete eric",
        "bigmind user_delete eric --yes --json",
    )
    arguments = (USER, YES)

    def handle(self, *args: Any, **options: Any) -> None:
        user = find_user(options["user"])
        going = preview_deletion(user)
        if not options["yes"]:
            self.remark(f"This deletes {user.username} for good: {in_words(going)}.")
            self.ask(f"Type {user.username} to go on: ", user.username, otherwise="Nothing was deleted.")
        gone = delete_user(user)
        self.reply({"deleted": gone}, f"Deleted {in_words(gone)}.")
