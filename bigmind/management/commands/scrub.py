"""`scrub`: remove a secret, an injected phrase or a wrong text everywhere, even when it is found late."""

import sys
from getpass import getpass
from typing import Any

from django.db import connection

from accounts.people.users import find_user
from bigmind.backup.programs import running_database
from bigmind.database.roles import owner, require_owner
from bigmind.management.base import DRY_RUN, YES, OperatorCommand, argument, usage_error
from bigmind.privacy.scrub.notes import as_json, missing_notes, note_of, secret_keys
from bigmind.privacy.scrub.scrubbing import NOT_REACHED, Scrubbed, preview_scrub, scrub_again, scrub_text
from curation.models import Scrub

ALWAYS = ("knowledge_passage", "knowledge_passagevector", "knowledge_cachedvector", "knowledge_receipttext")
"""Tables whose rows are deleted and written again with every text."""


class Command(OperatorCommand):
    """Remove a text from everything that BigMind keeps: rows, history, passages, vectors, replies, logs, caches.

    The text is read from standard input, never from the command line. First it counts the places where the text occurs,
    by kind. A mark with the date and the reason replaces it. A note of keyed hashes is kept in BIGMIND_HOME and in
    every backup there: `bigmind restore` removes the text again.
    """

    examples = (
        "bigmind scrub --dry-run < leaked.txt",
        'bigmind scrub --why "password of the old depot" --yes < leaked.txt',
        'bigmind scrub --user ada --why "not mine to keep"',
        "bigmind scrub --notes > scrubs.json",
    )
    arguments = (
        argument("--why", default="", help="The reason, in a few words; shown in place of the text."),
        argument("--user", default="", help="Only in the private memory of this user. Default: everywhere."),
        argument("--vacuum", action="store_true", help="Rewrite the tables without the old rows; this locks them."),
        argument("--again", action="store_true", help="Apply the notes of BIGMIND_HOME that the database lacks."),
        argument("--notes", action="store_true", help="Only print the notes, for backups kept elsewhere."),
        DRY_RUN,
        YES,
    )
    changes_memory = True

    def handle(self, *args: Any, **options: Any) -> None:
        with running_database():
            if options["notes"]:
                self.stdout.write(as_json([note_of(one) for one in Scrub.objects.order_by("at")]))
                return
            if options["again"]:
                done = scrub_again(missing_notes(), secret_keys())
                self.reply({"scrubs": done}, f"Removed again: {done:,} texts.")
                return
            if not options["dry_run"] and not options["why"]:
                raise usage_error("--why is required: a few words to show in place of the text.")
            if options["vacuum"]:
                require_owner("rewrite the tables")
            self._scrub(_read_text(), options)

    def _scrub(self, text: str, options: dict[str, Any]) -> None:
        whose = find_user(options["user"]) if options["user"] else None
        found = preview_scrub(None, text=text, whose=whose)
        if not options["dry_run"]:
            if not options["json"]:
                self._show(found)
            if not options["yes"]:
                self.ask("This cannot be undone. Type scrub to go on: ", "scrub", otherwise="Nothing was changed.")
            found = scrub_text(None, text=text, why=options["why"], whose=whose)
            if options["vacuum"]:
                _vacuum([*ALWAYS, *found.tables])
        if options["json"]:
            self.print_json(found.as_dict())
        else:
            self._show(found)

    def _show(self, found: Scrubbed) -> None:
        verb = "It stands" if found.dry_run else "It was removed"
        self.stdout.write(f"{verb} in {found.total:,} places{f', of {found.people:,} people' if found.people else ''}.")
        rows = [*found.places.items(), *found.files.items()]
        rows += [("caches, queues and sessions of browsers", found.elsewhere)] if found.elsewhere else []
        self.print_table(("places", "where"), [(f"{count:,}", where) for where, count in rows])
        told = found.open_sessions_told + found.ended_sessions_told
        self.stdout.write(f"Sessions that know it: {told:,}, {found.open_sessions_told:,} of them open.")
        if found.left:
            left = ", ".join(f"{count:,} in {where}" for where, count in found.left.items())
            self.remark(f"Left as it is, because BigMind finds people and rows by it: {left}.")
        if not found.dry_run:
            self.remark("Not reached: " + "; ".join(NOT_REACHED) + ".")


def _read_text() -> str:
    text = getpass("The text to remove (it is not shown): ") if sys.stdin.isatty() else sys.stdin.read()
    # Editors and `echo` end a file with a line break, which is no part of the text.
    return text.strip("\r\n")


def _vacuum(tables: list[str]) -> None:
    """Rewrite the tables, so that their files keep no old rows, and collect column statistics again."""
    with owner().cursor() as cursor:
        cursor.execute("SET statement_timeout TO 0")
        try:
            for name in dict.fromkeys(tables):
                cursor.execute(f"VACUUM (FULL, ANALYZE) {connection.ops.quote_name(name)}")
        finally:
            cursor.execute("RESET statement_timeout")
