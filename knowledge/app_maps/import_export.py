"""App maps as a folder of YAML files, in and out, without loss."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated

from django.db import transaction
from pydantic import AfterValidator, Field

from accounts.actor import Actor
from bigmind.core.export_section import ExportSection
from bigmind.text.hygiene import check_content
from knowledge.app_maps.argument_types import AppMap
from knowledge.app_maps.connectors import connector_at
from knowledge.app_maps.files.map_archives import unpack
from knowledge.app_maps.files.map_folders import FILES, MapFolder, parse_maps
from knowledge.app_maps.files.text import INDEX, write_index, write_map
from knowledge.app_maps.finding import take_turn
from knowledge.app_maps.forgetting import remember_choices
from knowledge.app_maps.learning import Learnt, merge_map
from knowledge.app_maps.reading import ambiguous_names, map_of
from knowledge.models import App
from knowledge.parsers.separate_process import ProcessBudget, perform_apart

SMALL_BYTES = 64 * 1024
BUDGET = ProcessBudget()

MapFiles = Annotated[
    dict[str, Annotated[str, AfterValidator(check_content)]],
    Field(description="Path → YAML: _index.yaml, crm.yaml; or crm/_index.yaml, crm/clients.yaml.", max_length=FILES),
]


@dataclass(frozen=True)
class ExportedMaps:
    """The files of a folder."""

    files: dict[str, str]


@dataclass
class ImportedMaps:
    """What an import did."""

    dry_run: bool
    apps: list[Learnt] = field(default_factory=list)
    choices: int = 0
    notes: list[str] = field(default_factory=list)

    @property
    def added(self) -> int:
        """How many tables, entities and workflows are new."""
        return sum(len(one.added) for one in self.apps)

    @property
    def updated(self) -> int:
        """How many changed."""
        return sum(len(one.updated) for one in self.apps)

    @property
    def unchanged(self) -> int:
        """How many were already known."""
        return sum(one.unchanged for one in self.apps)


def export_maps(actor: Actor) -> ExportedMaps:
    """Export all app maps as YAML files that people can edit: an index, and a file for each app.

    Call this for a backup, to edit by hand, or to move to another BigMind. app_import takes the files back.
    """
    return ExportedMaps(maps_as_files())


def maps_as_files() -> dict[str, str]:
    """Return all maps as YAML by path: an index, and a file for each app. Nothing, where nothing is mapped."""
    maps = [map_of(app) for app in App.objects.order_by("pk")]
    files = {INDEX: write_index(maps, ambiguous_names())} if maps else {}
    return files | {f"{known.file}.yaml": write_map(known) for known in maps}


def import_maps(actor: Actor, *, files: MapFiles, dry_run: bool = False) -> ImportedMaps:
    """Import app maps from YAML files. They are merged: what others learnt stays.

    Call this with what app_export returned, or with a folder that people keep. Returns what is new, changed and known
    per app. An error is refused with file and line; then nothing is imported.
    """
    return import_folder(read_maps({path: text.encode() for path, text in files.items()}), dry_run=dry_run)


def read_maps(files: Mapping[str, bytes]) -> MapFolder:
    """Read app maps from YAML files; large ones in a process that is killed if they take too much.

    Raises:
        Invalid: a file cannot be read, says something that an app map has no place for, or takes too much to read.
    """
    if sum(map(len, files.values())) <= SMALL_BYTES:
        return parse_maps(files)
    return perform_apart("The folder of app maps", BUDGET, parse_maps, dict(files))


def read_uploaded_maps(raw: bytes, name: str) -> MapFolder:
    """Read app maps from a zip, or from the YAML file of one app, in a process of their own if they are large.

    Raises:
        Invalid: as read_maps.
    """
    return read_maps(unpack(raw) if raw.startswith(b"PK") else {name: raw})


def import_folder(folder: MapFolder, *, dry_run: bool = False) -> ImportedMaps:
    """Merge what a folder holds, all or nothing; with `dry_run`, say what that would do."""
    imported = ImportedMaps(dry_run, notes=list(folder.notes))
    with transaction.atomic():
        # Once for all: `lock_app` would take it while the locks of earlier apps are held, and two imports may deadlock.
        take_turn()
        apps = {}
        for app_map in folder.maps:
            imported.apps.append(merge_map(_with_connector(app_map)))
            apps[app_map.file] = _take_file(imported.apps[-1], app_map.file)
        imported.choices = remember_choices(folder.choices, apps)
        transaction.set_rollback(dry_run)
    return imported


def _with_connector(app_map: AppMap) -> AppMap:
    """Let the connector of this instance read an app of the server that it reads."""
    connector = app_map.connector or connector_at(app_map.server)
    return app_map.model_copy(update={"connector": connector})


def _take_file(learnt: Learnt, file: str) -> App:
    """Let an app keep the name of the file it was imported from, for exports. Return the app."""
    app = App.objects.get(name=learnt.app)
    if file and app.file != file and not App.objects.filter(file=file).exclude(pk=app.pk).exists():
        app.file = file
        app.save(update_fields=["file"])
    return app


def _write_files(folder: Path) -> int:
    """An index, and a YAML file for each app."""
    files = maps_as_files()
    for path, text in files.items():
        (folder / path).write_text(text)
    return max(0, len(files) - 1)


SECTION = ExportSection("apps", "app maps", _write_files, "bigmind apps_import apps")
