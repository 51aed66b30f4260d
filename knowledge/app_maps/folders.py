"""App maps as a folder of YAML files, in and out, without loss."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, Literal

from django.db import transaction
from pydantic import AfterValidator, Field

from accounts.actor import Actor
from bigmind.core.apart import ProcessBudget, perform_apart
from bigmind.core.text import check_content
from knowledge.app_maps.files.archives import unpack
from knowledge.app_maps.files.folders import FILES, MapFolder, parse_maps
from knowledge.app_maps.files.text import INDEX, write_folder, write_index, write_map
from knowledge.app_maps.finding import take_turn
from knowledge.app_maps.forgetting import remember_choices
from knowledge.app_maps.learning import Learnt, merge_map
from knowledge.app_maps.reading import ambiguous_names, map_of
from knowledge.app_maps.vocabulary import AppMap
from knowledge.models import AmbiguousName, App

SMALL_BYTES = 64 * 1024
BUDGET = ProcessBudget()

Layout = Annotated[
    Literal["file", "folder"],
    Field(description="file: a file for each app. folder: a folder for each, a file a table."),
]
MapFiles = Annotated[
    dict[str, Annotated[str, AfterValidator(check_content)]],
    Field(description="Path → YAML: _index.yaml, crm.yaml; or crm/_index.yaml, crm/clients.yaml.", max_length=FILES),
]


@dataclass(frozen=True)
class ExportedMaps:
    """The files of a folder, by their paths."""

    files: dict[str, str]


@dataclass
class ImportedMaps:
    """What an import did: app by app, and what is worth a look."""

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
        """How many were known so already."""
        return sum(one.unchanged for one in self.apps)


def export_maps(actor: Actor, *, layout: Layout = "file") -> ExportedMaps:
    """Export all app maps as YAML files that people can edit: an index, and a file or folder for each app.

    Call this for a backup, to edit by hand, or to move to another BigMind. app_import takes the files back.
    """
    if layout == "file":
        return ExportedMaps(maps_as_files())
    maps, choices = _current_maps(), ambiguous_names()
    defaults = _defaults_within()
    between = [one for one in choices if one.name not in _only_within(maps, defaults)]
    files = {INDEX: write_index(maps, between, folders=True)} if maps else {}
    for known in maps:
        inside = write_folder(known, defaults.get(known.file, {}))
        files |= {f"{known.file}/{path}": text for path, text in inside.items()}
    return ExportedMaps(files)


def maps_as_files() -> dict[str, str]:
    """Return all maps as YAML by path: an index, and a file for each app. Nothing, where nothing is mapped."""
    maps = _current_maps()
    files = {INDEX: write_index(maps, ambiguous_names())} if maps else {}
    return files | {f"{known.file}.yaml": write_map(known) for known in maps}


def _current_maps() -> list[AppMap]:
    return [map_of(app) for app in App.objects.order_by("pk")]


def import_maps(actor: Actor, *, files: MapFiles, dry_run: bool = False) -> ImportedMaps:
    """Import app maps from YAML files, in either layout. They are merged: what others learnt stays.

    Call this with what app_export returned, or with a folder that people keep. Returns what is new, changed and
    known by app; a fault is refused with file and line, and nothing is imported then.
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
        take_turn()
        for app_map in folder.maps:
            imported.apps.append(merge_map(app_map))
            _take_file(app_map)
        imported.choices = remember_choices(folder.choices)
        transaction.set_rollback(dry_run)
    return imported


def _take_file(app_map: AppMap) -> None:
    """Let an app keep the name of the file it came in, so that it goes out under the same."""
    app = App.objects.filter(name=app_map.name).first()
    free = app and app_map.file and not App.objects.filter(file=app_map.file).exclude(pk=app.pk).exists()
    if app and free and app.file != app_map.file:
        app.file = app_map.file
        app.save(update_fields=["file"])


def _defaults_within() -> dict[str, dict[str, str]]:
    """Of each app, by its file: the table that was chosen for names that stand in several of its tables."""
    found: dict[str, dict[str, str]] = {}
    for row in AmbiguousName.objects.exclude(default_table=None).exclude(default_app=None).order_by("pk"):
        app, table = row.default_app, row.default_table
        if app and table:
            found.setdefault(app.file, {})[row.name] = table.name
    return found


def _only_within(maps: list[AppMap], defaults: Mapping[str, Mapping[str, str]]) -> set[str]:
    """The names that are ambiguous within one app alone: its own index says what was chosen."""
    chosen = {name for names in defaults.values() for name in names}
    return {name for name in chosen if sum(any(one.name == name for one in known.entities) for known in maps) < 2}
