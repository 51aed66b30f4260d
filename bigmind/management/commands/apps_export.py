"""Write all app maps into a folder of YAML files that people edit."""

from pathlib import Path
from typing import Any

from accounts.actor import Actor
from bigmind.management.base import OperatorCommand, Refused, argument
from bigmind.management.people import owner_of_instance
from knowledge.app_maps.files.map_folders import files_in
from knowledge.app_maps.import_export import export_maps
from knowledge.parsers.reading import refuse_outside, replace_text


class Command(OperatorCommand):
    """Export all app maps as YAML: an index, and a file for each app."""

    examples = ("bigmind apps_export knowledge",)
    arguments = (argument("folder", type=Path, help="The folder for the files. It is created if missing."),)

    def handle(self, *args: Any, **options: Any) -> None:
        folder: Path = options["folder"]
        if folder.is_symlink() or (folder.exists() and not folder.is_dir()):
            raise Refused(f"{folder} is not a folder.")
        files = export_maps(Actor.of(owner_of_instance())).files
        for path, text in files.items():
            _write(folder, folder / path, text)
        others = [path.relative_to(folder).as_posix() for path in files_in(folder)] if folder.is_dir() else []
        for path in others:
            if path not in files:
                self.remark(f"{path} is of no app that is mapped now. Delete it, or an import brings it back.")
        self.reply({"files": sorted(files)}, f"{len(files)} files in {folder}.")


def _write(folder: Path, path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    refuse_outside(path, folder)
    replace_text(path, text)
