"""Create a sign-in link."""

from typing import Any

from django.conf import settings

from accounts.sign_in.links import LIFETIME, make_sign_in_link
from bigmind.management.base import OperatorCommand, argument
from bigmind.management.people import actor_for


class Command(OperatorCommand):
    """Print a one-time sign-in link. Only the newest link of a user works."""

    examples = ("bigmind sign_in_link", "bigmind sign_in_link eric --json")
    arguments = (argument("user", nargs="?", help="User name or id. Default: the first admin."),)

    def handle(self, *args: Any, **options: Any) -> None:
        user = actor_for(options["user"]).user
        url = f"{settings.PUBLIC_URL}/sign-in/{make_sign_in_link(user)}/"
        self.reply(
            {"user": user.username, "url": url},
            url,
            remark=f"Signs {user} in, once, within {LIFETIME.total_seconds() / 3600:.0f} hours.",
        )
