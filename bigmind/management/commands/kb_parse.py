"""Turn sources (lessons learned, templates, instruction files, decision records, markdown) into YAML to edit."""

from dataclasses import replace
from pathlib import Path
from typing import Any, get_args

from bigmind.management.base import OperatorCommand, ProgressBar, Refused, argument, usage_error
from knowledge.parsers.entries import SourceEntry
from knowledge.parsers.repositories import place_of
from knowledge.parsers.sources import ParsedSource, RefusedSource, SourceKind, find_sources, in_one, parse, parse_folder
from knowledge.parsers.yaml_files import EntryFile, read_entries, refresh, write_entries, write_entry_file

NAMED = 5
"""How many of the items left out are shown."""


class Command(OperatorCommand):
    """Turn a file or folder into YAML to edit and import with kb_seed. Parsing it again keeps the edits."""

    examples = (
        "bigmind kb_parse LESSONS-LEARNED.md --output lessons.yaml",
        "bigmind kb_parse plans/stories/_templates --kind template --output templates.yaml",
    )
    arguments = (
        argument("source", type=Path, help="The file or folder to read."),
        argument("--output", type=Path, help="The YAML file to write or refresh. Default: standard output."),
        argument(
            "--kind", choices=get_args(SourceKind), help="The kind of source. Default: detected from name and content."
        ),
    )

    def handle(self, *args: Any, **options: Any) -> None:
        source = options["source"]
        if options["json"] and not options["output"]:
            raise usage_error("--json reports what was written: name a file with --output FILE.")
        if source.is_dir():
            read, refused = self._folder(source, options["kind"])
            parsed = EntryFile(in_one(read), kind=options["kind"] or "")
        else:
            read, refused = [parse(source, options["kind"])], []
            parsed = EntryFile(read[0].entries, kind=read[0].kind)
        for notice in (notice for one in read for notice in one.notices):
            self.remark(notice)
        left_out = [text for one in read for text in one.left_out]
        place = place_of(source)
        parsed = replace(parsed, source=str(place), first_commit=place.first_commit)
        if parsed.entries:
            self._write(parsed, options["output"], is_whole=not refused)
        elif not refused:
            raise Refused(f"{source} holds nothing to import: no heading or bullet was understood.")
        if left_out:
            shown = "”, “".join(dict.fromkeys(left_out[:NAMED]))
            self.remark(f"{len(left_out):,} left out because they say nothing: “{shown}”.")
        self._end(refused)

    def _folder(self, folder: Path, kind: SourceKind | None) -> tuple[list[ParsedSource], list[RefusedSource]]:
        bar = ProgressBar(self.stderr, folder.name, len(find_sources(folder)))
        parsed: list[ParsedSource] = []
        refused: list[RefusedSource] = []
        for source in parse_folder(folder, kind):
            if isinstance(source, ParsedSource):
                parsed.append(source)
            else:
                refused.append(source)
            bar.advance()
        bar.clear()
        return parsed, refused

    def _write(self, parsed: EntryFile, output: Path | None, *, is_whole: bool) -> None:
        if output is None:
            self.stdout.write(write_entries(parsed), ending="")
            return
        before = read_entries(output) if output.exists() else EntryFile((), kind=parsed.kind)
        before = replace(before, source=parsed.source, first_commit=parsed.first_commit)
        entries = parsed.entries if is_whole else _with_those_before(parsed, before)
        refreshed = refresh(before, entries)
        write_entry_file(output, refreshed.file)
        said = {"output": output, "entries": len(entries), "changes": str(refreshed.changes), "kept": refreshed.kept}
        self.reply(said, "", remark=f"{output}: {refreshed.changes}.")
        for key in refreshed.kept:
            self.remark(f"{key}: the source changed, and your edit was kept. Look at it.")

    def _end(self, refused: list[RefusedSource]) -> None:
        for source in refused[:-1]:
            self.remark(str(source.error))
        if refused:
            raise Refused(str(refused[-1].error))


def _with_those_before(parsed: EntryFile, before: EntryFile) -> tuple[SourceEntry, ...]:
    """Entries from a file that cannot be read today are not gone from their source."""
    keys = {entry.key for entry in parsed.entries}
    return (*parsed.entries, *(entry for entry in before.entries if entry.key not in keys))
