"""`company_sync`: report to the company server, send what waits, read what it knows, now."""

from dataclasses import asdict
from typing import Any

from bigmind.management.base import OperatorCommand, Refused
from curation.upstream.server import sync_now


class Command(OperatorCommand):
    """Ask the company server (BIGMIND_COMPANY_URL) now.

    It reports, sends proposals that wait, hears decisions and reads what the company knows. Exits 1 when there is none
    or it was not reached; what is known stays, and is asked again.
    """

    changes_memory = True
    examples = ("bigmind company_sync", "bigmind company_sync --json")

    def handle(self, *args: Any, **options: Any) -> None:
        done = sync_now()
        if options["json"]:
            self.print_json(asdict(done))
        elif done.ok:
            kept = done.kept
            self.stdout.write(
                f"{done.server} answered: {done.sent} proposals sent, {done.heard} decisions heard, "
                f"{kept.added} entries added, {kept.changed} changed, {kept.removed} removed."
            )
            if kept.unreadable:
                self.remark(f"{kept.unreadable} entries could not be taken over: is the server newer?")
        if not done.ok:
            raise Refused(f"{done.server}: {done.error}")
