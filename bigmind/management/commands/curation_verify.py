"""`curation_verify`: check that the history of company knowledge was not altered."""

from typing import Any

from bigmind.management.base import OperatorCommand, Refused
from curation.decisions.history import find_broken_seals
from curation.models import Review


class Command(OperatorCommand):
    """Check that no row in the history of company knowledge was changed or removed. Exit code 1: one was."""

    examples = ("bigmind curation_verify", "bigmind curation_verify --json")

    def handle(self, *args: Any, **options: Any) -> None:
        broken = [
            {"entry": f"C{seal.entry_id}", "number": seal.number, "why": seal.why} for seal in find_broken_seals()
        ]
        if options["json"]:
            self.print_json({"checked": Review.objects.count(), "broken": broken})
        else:
            for row in broken:
                self.stdout.write(f"{row['entry']}, row {row['number']}: {row['why']}.")
            self.stdout.write(f"{Review.objects.count()} rows checked, {len(broken)} broken.")
        if broken:
            raise Refused("The history was altered.")
