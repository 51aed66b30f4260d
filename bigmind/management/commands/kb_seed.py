"""Import YAML files of entries into the knowledge base."""

from pathlib import Path
from typing import Any

from django.core.management.base import CommandParser

from accounts.actor import Actor
from accounts.services.users import find_user
from bigmind.core.operations import carry_out
from bigmind.management.base import OperatorCommand
from bigmind.management.owner import owner_of_instance
from knowledge.parsers.entries import SourceEntry
from knowledge.parsers.yaml_files import read_entries
from knowledge.services.entries import AddedEntry, add_entry

SENT = ("content", "entry_type", "roles", "tags", "source_file", "source_story", "confidence", "metadata")


class Command(OperatorCommand):
    """Adds what the knowledge base does not know yet; importing twice changes nothing."""

    help = "Import YAML files that kb_parse wrote. What is known already is left alone."
    examples = ("bigmind kb_seed lessons-learned.yaml", "bigmind kb_seed seed-data/*.yaml --user eric --json")

    def add_arguments(self, parser: CommandParser) -> None:
        """Take the files."""
        parser.add_argument("files", nargs="+", type=Path, help="YAML files of entries.")
        parser.add_argument("--user", help="Whose entries they are. Default: the owner of this instance.")

    def handle(self, *args: Any, **options: Any) -> None:
        """Import each file, parents before what belongs to them."""
        actor = Actor.of(find_user(options["user"]) if options["user"] else owner_of_instance())
        report = {}
        for file in options["files"]:
            added = _add_all(actor, read_entries(file).entries)
            new = sum(not one.duplicate for one in added.values())
            report[str(file)] = {"added": new, "known": len(added) - new}
            if not options["json"]:
                self.stdout.write(f"{file}: {new} added, {len(added) - new} known already.")
        if options["json"]:
            self.print_json(report)


def _add_all(actor: Actor, entries: tuple[SourceEntry, ...]) -> dict[str, AddedEntry]:
    by_key, added = {entry.key: entry for entry in entries}, dict[str, AddedEntry]()

    def add(entry: SourceEntry) -> AddedEntry:
        if entry.key not in added:
            # The reader has refused files in which an entry is its own ancestor.
            parent = add(by_key[entry.parent]) if entry.parent in by_key else None
            sent = {name: getattr(entry, name) for name in SENT}
            above = {"parent_id": parent.id} if parent else {}
            added[entry.key] = carry_out(add_entry, actor, {**sent, **above})
        return added[entry.key]

    for entry in entries:
        add(entry)
    return added
