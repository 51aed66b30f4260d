"""Two vaults, wikis or folders of notes with one name are two sources, and nothing of one becomes the other."""

import io
import shutil
import zipfile
from pathlib import Path

import pytest

from accounts.actor import Actor
from curation.services.foreign_imports import import_bundle
from knowledge.kb.import_consent import WouldReplace
from knowledge.models import Note
from knowledge.parsers.archives import Archive, Folder
from knowledge.transfer.import_receipts import MovedIn
from tests.factories import make_actor
from tests.knowledge.test_source_identity import git

pytestmark = pytest.mark.django_db

OF_WORK = {
    "Deploying.md": "# Deploying\n\nThe depot is deployed on Tuesdays, after the night shift has confirmed.",
    "Orders.md": "# Orders\n\nOrders over 500 euros need two approvals.",
}
OF_HOME = {
    "Deploying.md": "# Deploying\n\nThe greenhouse sensors are flashed over USB; hold the left button.",
    "Tomatoes.md": "# Tomatoes\n\nWater them every second morning.",
}


def make_vault(folder: Path, files: dict[str, str]) -> Path:
    """Write a vault called `notes` into a folder, and return it."""
    vault = folder / "notes"
    (vault / ".obsidian").mkdir(parents=True)
    (vault / ".obsidian" / "app.json").write_text("{}")
    for name, text in files.items():
        (vault / name).write_text(text)
    return vault


def bring_in(actor: Actor, vault: Path, **choice: bool) -> MovedIn:
    """Import a vault from its folder."""
    return import_bundle(actor, Folder(vault), name="obsidian", **choice)


def bring_in_packed(actor: Actor, vault: Path, **choice: bool) -> MovedIn:
    """Import a vault as the archive that somebody made of it."""
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        for path in sorted(vault.rglob("*.*")):
            if path.is_file():
                archive.write(path, path.relative_to(vault.parent))
    return import_bundle(actor, Archive(file, "notes.zip"), name="obsidian", **choice)


def texts() -> list[str]:
    """Return what is stored, in order."""
    return sorted(Note.objects.values_list("content", flat=True))


def store_as_before(source: str = "obsidian:notes") -> None:
    """Make what is stored look as an earlier version stored it: under the bare name of the folder."""
    for row in Note.objects.all():
        row.provenance = {**row.provenance, "source": source}
        row.save()


def test_the_second_vault_of_a_name_changes_nothing_of_the_first(tmp_path, actor):
    work, home = make_vault(tmp_path / "work", OF_WORK), make_vault(tmp_path / "home", OF_HOME)
    bring_in(actor, work)
    first = texts()

    done = bring_in(actor, home, removes=True)
    again = bring_in(actor, work, removes=True)

    assert not done.removed
    assert set(first) < set(texts())
    assert len(texts()) == 4
    assert not any((*again.added.values(), *again.changed.values(), *again.removed))


def test_what_came_in_under_the_bare_name_is_found_again_and_not_doubled(tmp_path, actor):
    work = make_vault(tmp_path / "work", OF_WORK)
    bring_in(actor, work)
    store_as_before()
    before = texts()

    done = bring_in(actor, work)
    (work / "Orders.md").write_text("# Orders\n\nOrders over 900 euros need two approvals.")
    edited = bring_in(actor, work)

    assert not any((*done.added.values(), *done.changed.values()))
    assert sum(edited.changed.values()) == 1
    assert len(texts()) == len(before)


def test_what_another_folder_brought_under_the_bare_name_stays(tmp_path, actor):
    bring_in(actor, make_vault(tmp_path / "work", OF_WORK))
    store_as_before()
    before = texts()

    bring_in(actor, make_vault(tmp_path / "home", OF_HOME), removes=True)

    assert set(before) < set(texts())


def test_an_archive_of_that_name_asks_before_it_changes_any_page(tmp_path, actor):
    bring_in_packed(actor, make_vault(tmp_path / "work", OF_WORK))
    before, home = texts(), make_vault(tmp_path / "home", OF_HOME)

    with pytest.raises(WouldReplace, match="brought by another source"):
        bring_in_packed(actor, home)
    assert texts() == before

    bring_in_packed(actor, home, replaces=True)
    assert OF_HOME["Deploying.md"].rpartition("\n")[2] in " ".join(texts())


def test_an_archive_that_was_edited_since_is_followed_without_a_question(tmp_path: Path) -> None:
    actor, work = make_actor(), make_vault(tmp_path / "work", OF_WORK)
    bring_in_packed(actor, work)
    for name, text in OF_WORK.items():
        (work / name).write_text(f"{text} Since June.")

    done = bring_in_packed(actor, work)

    assert done.changed["notes"] == 2


def test_an_archive_of_a_folder_that_is_here_is_that_folder(tmp_path: Path) -> None:
    actor, work = make_actor(), make_vault(tmp_path / "work", OF_WORK)
    bring_in(actor, work)
    before = texts()

    bring_in_packed(actor, work)

    assert texts() == before


def test_a_vault_that_was_moved_is_the_same_one(tmp_path, actor):
    files = OF_WORK | {f"Day {number}.md": f"# Day {number}\n\nIt rained {number} times." for number in range(4)}
    bring_in(actor, make_vault(tmp_path / "work", files))
    shutil.move(tmp_path / "work", tmp_path / "elsewhere")

    done = bring_in(actor, tmp_path / "elsewhere" / "notes")

    assert (done.added["notes"], done.unchanged["notes"]) == (0, 6)
    assert Note.objects.count() == 6


def test_a_copy_that_became_another_vault_asks(tmp_path, actor):
    files = {f"Day {number}.md": f"# Day {number}\n\nIt rained {number} times." for number in range(8)}
    bring_in(actor, make_vault(tmp_path / "template", files))
    copy = make_vault(tmp_path / "copy", files | {"Day 1.md": OF_HOME["Deploying.md"]})

    with pytest.raises(WouldReplace):
        bring_in(actor, copy)


def test_the_folder_above_a_vault_leads_to_the_same_one(tmp_path: Path) -> None:
    actor, work = make_actor(), make_vault(tmp_path / "work", OF_WORK)
    bring_in(actor, work)

    done = bring_in(actor, work.parent)

    assert (done.added["notes"], done.unchanged["notes"]) == (0, 2)


def test_a_clone_elsewhere_is_the_same_vault(tmp_path: Path) -> None:
    actor, work = make_actor(), make_vault(tmp_path / "work", OF_WORK)
    git(work, "init", "-q")
    git(work, "remote", "add", "origin", "git@example.com:acme/notes.git")
    git(work, "add", ".")
    git(work, "commit", "-qm", "Begin")
    bring_in(actor, work)
    clone = Path(shutil.copytree(work, tmp_path / "clone"))
    (clone / "Orders.md").write_text("# Orders\n\nEvery order needs one approval, and one more above 900 euros.")

    done = bring_in(actor, clone)

    assert (done.added["notes"], done.changed["notes"]) == (0, 1)


def test_taking_back_one_vault_leaves_the_other(tmp_path, actor):
    work = bring_in(actor, make_vault(tmp_path / "work", OF_WORK))
    home = bring_in(actor, make_vault(tmp_path / "home", OF_HOME))

    assert work.agent != home.agent
