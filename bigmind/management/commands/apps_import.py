"""Import a folder of app maps: `_index.yaml` with a file or a folder for each app."""

from dataclasses import asdict
from pathlib import Path
from typing import Any

from bigmind.management.base import DRY_RUN, OperatorCommand, argument
from knowledge.app_maps.files.map_folders import parse_maps, read_map_folder
from knowledge.app_maps.import_export import import_folder


class Command(OperatorCommand):
    """Import app maps from a folder of YAML. They are merged with what is there. Errors name the file and line."""

    examples = ("bigmind apps_import knowledge --dry-run", "bigmind apps_import knowledge --json")
    arguments = (argument("folder", type=Path, help="The folder with _index.yaml."), DRY_RUN)

    def handle(self, *args: Any, **options: Any) -> None:
        report = import_folder(parse_maps(read_map_folder(options["folder"])), dry_run=options["dry_run"])
        for note in report.notes:
            self.remark(note)
        if options["json"]:
            counts = {name: getattr(report, name) for name in ("added", "updated", "unchanged")}
            self.print_json({**asdict(report), **counts})
            return
        done = "Would import" if report.dry_run else "Imported"
        rows = [(one.app, len(one.added), len(one.updated), one.unchanged) for one in report.apps]
        self.print_table(("app", "new", "changed", "known"), rows)
        self.stdout.write(f"{done}: {report.added} new, {report.updated} changed, {report.unchanged} known already.")
