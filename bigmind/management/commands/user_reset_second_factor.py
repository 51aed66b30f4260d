"""Reset a user's second factor."""

from typing import Any

from accounts.people.users import find_user
from accounts.sign_in.second_factors import forget_second_factor
from bigmind.management.base import USER, OperatorCommand
from bigmind.management.people import describe_user


class Command(OperatorCommand):
    """Reset a user's second factor when phone and recovery codes are lost. They are signed out and notified."""

    examples = ("bigmind user_reset_second_factor ada", "bigmind user_reset_second_factor ada --json")
    arguments = (USER,)

    def handle(self, *args: Any, **options: Any) -> None:
        user = find_user(options["user"])
        forget_second_factor(user)
        self.reply(describe_user(user), f"{user.username} signs in without a code now.")
