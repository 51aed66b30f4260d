"""`reindex`: find what is stored but missing from the index, and add it."""

from typing import Any

from bigmind.backup.programs import running_database
from bigmind.management.base import DRY_RUN, OperatorCommand, Refused
from knowledge.indexing.index_gaps import find_gaps, mend_gaps
from knowledge.kinds import KINDS


class Command(OperatorCommand):
    """Find what is stored but missing from the search index, and add it: passages, their words, their vectors. The
    scheduler does the same every hour. Exit code 1: something is still missing.
    """

    examples = ("bigmind reindex --dry-run", "bigmind reindex", "bigmind reindex --json")
    arguments = (DRY_RUN,)

    def handle(self, *args: Any, **options: Any) -> None:
        with running_database():
            found = find_gaps()
            mended = 0 if options["dry_run"] or not found else mend_gaps()
            left = find_gaps() if mended else found
        document = {
            "found": [vars(one) for one in found],
            "mended": mended,
            "left": sum(one.count for one in left),
        }
        lines = [f"{one.count:,} {one.label}: {KINDS[one.kind].label.lower()}" for one in found]
        summary = f"Mended {mended:,}." if mended else "The index is complete." if not found else "Nothing was changed."
        self.reply(document, "\n".join([*lines, summary]))
        if left:
            raise Refused(f"{sum(one.count for one in left):,} are missing in the index.")
