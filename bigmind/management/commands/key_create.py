"""Create a key for a user."""

from datetime import timedelta
from typing import Any

from django.utils import timezone

from accounts.keys import DEFAULT_SCOPES, create_key
from accounts.models import SCOPES
from accounts.people.users import find_user
from bigmind.management.base import USER, OperatorCommand, argument, usage_error
from bigmind.management.people import describe_key
from bigmind.toolsets import TOOLSETS

MOST_DAYS = 36_500


class Command(OperatorCommand):
    """Create a key for a user and print it. It is shown only now and stored nowhere."""

    examples = (
        "bigmind key_create eric --label laptop",
        "bigmind key_create eric --scopes read --toolsets core,notes --expires-days 30",
        "export BIGMIND_API_KEY=$(bigmind key_create ci --label build --quiet)",
    )
    arguments = (
        USER,
        argument("--label", default="", help="A label to recognise the key by, such as the name of a machine."),
        argument("--scopes", default=",".join(DEFAULT_SCOPES), help=f"Some of {','.join(SCOPES)}."),
        argument("--toolsets", default="", help=f"Some of {','.join(TOOLSETS)}. Default: all."),
        argument("--expires-days", type=int, help="Days after which the key expires. Default: never."),
        argument("--per-minute", type=int, help="Operations allowed per minute. Default: BIGMIND_RATE_LIMIT."),
        argument("--quiet", action="store_true", help="Print the key and nothing else."),
    )

    def handle(self, *args: Any, **options: Any) -> None:
        days = options["expires_days"]
        if days is not None and not 1 <= days <= MOST_DAYS:
            raise usage_error(f"--expires-days must be 1 to {MOST_DAYS}.")
        new = create_key(
            find_user(options["user"]),
            label=options["label"],
            scopes=_names(options["scopes"]),
            toolsets=_check_toolsets(options["toolsets"]),
            expires_at=timezone.now() + timedelta(days=days) if days else None,
            per_minute=options["per_minute"],
        )
        if options["json"]:
            self.print_json(describe_key(new.key, text=new.text))
            return
        self.stdout.write(new.text)
        if not options["quiet"]:
            self.remark(f"A key of {new.key.user} for {', '.join(new.key.scopes)}. It cannot be shown again.")


def _names(listed: str) -> list[str]:
    return [name.strip() for name in listed.split(",") if name.strip()]


def _check_toolsets(listed: str) -> list[str]:
    unknown = sorted(set(_names(listed)) - set(TOOLSETS))
    if unknown:
        raise usage_error(f"There is no toolset {', '.join(unknown)}. There are: {', '.join(TOOLSETS)}.")
    return _names(listed)
