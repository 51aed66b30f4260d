"""Import YAML files of entries into the knowledge base."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from accounts.actor import Actor
from bigmind.core.errors import Invalid
from bigmind.management.base import DRY_RUN, REPLACE, YES, OperatorCommand, ProgressBar, Refused, argument
from bigmind.management.people import actor_for
from knowledge.kb.entry_sources import Reimport, delete_removed, import_source
from knowledge.kb.import_consent import WouldReplace
from knowledge.parsers.entries import SourceEntry
from knowledge.parsers.repositories import SourcePlace, place_of, read_place
from knowledge.parsers.yaml_files import EntryFile, read_what_can_be


@dataclass
class _Source:
    """What the given files say about one source."""

    place: SourcePlace | str
    files: list[str] = field(default_factory=list)
    entries: dict[str, SourceEntry] = field(default_factory=dict)
    refused: list[str] = field(default_factory=list)


class Command(OperatorCommand):
    """Import YAML files written by kb_parse or by hand. Reports what was added, changed, removed and unchanged; nothing
    is deleted unless you ask for it. A row that cannot be accepted is reported, and the rest is imported.
    """

    examples = (
        "bigmind kb_seed lessons-learned.yaml",
        "bigmind kb_seed seed-data/*.yaml --dry-run",
        "bigmind kb_seed lessons-learned.yaml --remove-missing --yes --json",
    )
    arguments = (
        argument("files", nargs="+", type=Path, help="YAML files of entries."),
        argument("--user", help="The user who owns the entries. Default: the owner of this instance."),
        DRY_RUN,
        argument(
            "--remove-missing", action="store_true", help="Delete entries that the source no longer has. Asks first."
        ),
        YES,
        REPLACE,
    )

    def handle(self, *args: Any, **options: Any) -> None:
        actor = actor_for(options["user"])
        sources, unread = _read(options["files"])
        reports = {name: self._import(actor, source, options) for name, source in sources.items()}
        if not options["json"]:
            for name, report in reports.items():
                self._tell(", ".join(sources[name].files), report)
        removes = options["remove_missing"] and not options["dry_run"]
        deleted = self._remove(actor, sources, reports, options) if removes else 0
        if options["json"]:
            self.print_json(_document(sources, reports, unread, deleted, dry_run=options["dry_run"]))
        self._end(unread, reports)

    def _import(self, actor: Actor, source: _Source, options: Mapping[str, Any]) -> Reimport:
        replaces = options["replace"]
        try:
            report = self._try(actor, source, options["dry_run"], replaces=replaces)
        except WouldReplace as error:
            if not self.agrees(error.message):
                return Reimport(refused=[*source.refused, str(error)])
            report = self._try(actor, source, options["dry_run"], replaces=True)
        report.refused[:0] = source.refused
        if source.refused:
            # The entry that seems to be missing may be in a row that cannot be read.
            report.removed = {}
        return report

    def _try(self, actor: Actor, source: _Source, dry_run: bool, *, replaces: bool) -> Reimport:
        entries = list(source.entries.values())
        bar = ProgressBar(self.stderr, str(source.place), len(entries))
        try:
            return import_source(actor, source.place, entries, dry_run=dry_run, replaces=replaces, progress=bar.advance)
        finally:
            bar.clear()

    def _tell(self, files: str, report: Reimport) -> None:
        self.stdout.write(f"{files}: {report}.")
        if report.asks:
            self.remark(report.asks)
        lists = {"changed": report.changed, "removed": list(report.removed), "edited here, look at it": report.kept}
        for what, keys in lists.items():
            self.print_some([f"  {what}: {key}" for key in keys], self.stdout.write)

    def _remove(
        self,
        actor: Actor,
        sources: Mapping[str, _Source],
        reports: Mapping[str, Reimport],
        options: Mapping[str, Any],
    ) -> int:
        going = sum(len(report.removed) for report in reports.values())
        if not going:
            return 0
        if not options["yes"]:
            question = f"Delete {going} entries that their sources no longer have? Type yes to go on: "
            self.ask(question, "yes", otherwise="Nothing was deleted; new entries were imported.")
        # A person who was asked has seen how many there are; `--yes` alone may come from a script that never looks.
        replaces = options["replace"] or not options["yes"]
        deleted = 0
        for name, report in reports.items():
            try:
                deleted += delete_removed(actor, sources[name].place, report, replaces=replaces)
            except WouldReplace as error:
                report.refused.append(str(error))
        return deleted

    def _end(self, unread: list[str], reports: Mapping[str, Reimport]) -> None:
        refused = [*unread, *(line for report in reports.values() for line in report.refused)]
        for line in refused[:-1]:
            self.remark(line)
        if refused:
            rest = f"{len(refused)} refused; the rest was imported." if reports else "Nothing was imported."
            raise Refused(f"{refused[-1]}\n{rest}")


def _read(files: list[Path]) -> tuple[dict[str, _Source], list[str]]:
    """Read the files, grouped by source: one source may be split over two files."""
    sources: dict[str, _Source] = {}
    unread: list[str] = []
    for file in files:
        try:
            read = read_what_can_be(file)
        except Invalid as error:
            unread.append(str(error))
            continue
        place = _place(file, read.file)
        source = sources.setdefault(str(place), _Source(place))
        source.files.append(str(file))
        source.refused += read.refused
        for entry in read.file.entries:
            if entry.key in source.entries:
                source.refused.append(f"{file.name}: key “{entry.key}” stands in another file of this source too.")
            else:
                source.entries[entry.key] = entry
    return sources, unread


def _place(path: Path, file: EntryFile) -> SourcePlace | str:
    """Return the source of a file: as it says, if no other can have that name; else in the repository it lies in."""
    if "://" in file.source or (file.source and file.entries and all(entry.id for entry in file.entries)):
        return file.source  # An address, or an export, which names its sources as they are stored.
    here, told = place_of(path), read_place(file.source)
    if told is None:
        return here.beside(file.source) if file.source else here
    if told.repository == here.repository:
        return here.beside(told.path)
    return replace(told, first_commit=file.first_commit)


def _document(
    sources: Mapping[str, _Source], reports: Mapping[str, Reimport], unread: list[str], deleted: int, *, dry_run: bool
) -> dict[str, Any]:
    rows = [{"source": name, "files": sources[name].files, **vars(report)} for name, report in reports.items()]
    return {"dry_run": dry_run, "sources": rows, "unread": unread, "deleted": deleted}
