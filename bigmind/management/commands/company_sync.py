"""`company_sync`: sync with the company server now."""

from dataclasses import asdict
from typing import Any

from bigmind.management.base import OperatorCommand, Refused
from curation.upstream.synchronization import sync_now


class Command(OperatorCommand):
    """Sync with the company server (BIGMIND_COMPANY_URL) now: report, send waiting proposals, and fetch decisions and
    company knowledge. Exits 1 when no server is set or it cannot be reached; what was fetched before stays.
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
