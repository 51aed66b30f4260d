"""Rotate a key."""

from datetime import timedelta
from typing import Any

from accounts.keys import DEFAULT_OVERLAP, find_key, rotate_key
from bigmind.management.base import KEY, OperatorCommand, argument, usage_error
from bigmind.management.people import describe_key

HOURS = DEFAULT_OVERLAP // timedelta(hours=1)
MOST_HOURS = 24 * 365


class Command(OperatorCommand):
    """Replace a key with a new one and print it. The old key works until the overlap ends; nothing stored changes."""

    arguments = (
        KEY,
        argument(
            "--overlap-hours",
            type=float,
            default=HOURS,
            help=f"Hours until the old key stops working. Default: {HOURS}.",
        ),
    )
    examples = ("bigmind key_rotate bm_Xq3fA", "bigmind key_rotate bm_Xq3fA --overlap-hours 0 --json")

    def handle(self, *args: Any, **options: Any) -> None:
        hours: float = options["overlap_hours"]
        if not 0 <= hours <= MOST_HOURS:
            raise usage_error(f"--overlap-hours must be 0 to {MOST_HOURS}.")
        old = find_key(options["key"])
        new = rotate_key(old, overlap=timedelta(hours=hours))
        self.reply(
            describe_key(new.key, text=new.text),
            new.text,
            remark=f"It replaces {old}, which works for {hours:g} more hours. It cannot be shown again.",
        )
