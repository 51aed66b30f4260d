"""Obsidian vaults: in as notes, and in once more."""

import zipfile
from pathlib import Path

import pytest

from bigmind.core.errors import Invalid
from curation.decisions.forgetting import forget_source
from curation.services.foreign_imports import import_bundle
from knowledge.memory.notes import set_note
from knowledge.models import Note
from knowledge.parsers.archives import bundle_of
from knowledge.transfer.import_receipts import MovedIn
from knowledge.transfer.own_imports import import_memory
from knowledge.transfer.program_formats import export_memory
from tests.factories import make_actor
from tests.knowledge.factories import make_note

from . import products

pytestmark = pytest.mark.django_db

FILES = {
    "Index.md": "Start at [[Deploys|how we deploy]] and ![[Diagram.png]].\n\n![[Deploys#Rollback]]\n",
    "Work/Deploys.md": (
        "---\ntitle: 'Deploys: how'\ntags:\n  - ops\n  - team/platform\naliases: [Releases, Shipping]\n"
        "created: 2024-03-01T09:30\ncssclasses: wide\n---\n# Deploys\n\nOnly on Tuesdays. #deploy ^rule-1\n\n"
        "## Rollback\n\nSee [[Index]] and [[Work/Log 2024#^b7]].\n\n```sh\n# not-a-tag #neither\n```\n%% a comment %%\n"
    ),
    "Work/Log 2024.md": "\ufeffFirst line\r\nSecond ^b7\r\n",
    "Work/Plan.canvas": '{"nodes":[{"id":"a","type":"text","text":"Plan"}],"edges":[]}',
    "Work/Archive/Deploys.md": "An older one, without a line feed at its end",
    "Broken.md": "---\na: &x [*x]\n---\nThe properties are no plain YAML.\n",
    "Ünï çödé ✅.md": "Tabs\tand trailing spaces   \n\n\n",
    "Daily/2024-05-04.md": "- [ ] call #5 #call\n- [x] done\n",
}


def _vault(folder: Path, files: dict[str, str] | None = None) -> Path:
    for name, text in {**(FILES if files is None else files), ".obsidian/app.json": "{}"}.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text.encode())
    (folder / "Diagram.png").write_bytes(b"\x89PNG")
    (folder / "Empty.md").write_text("")
    return folder


def _zipped(folder: Path, to: Path) -> Path:
    with zipfile.ZipFile(to, "w", zipfile.ZIP_DEFLATED) as archive:
        for path in sorted(folder.rglob("*")):
            if path.is_file():
                archive.write(path, f"{folder.name}/{path.relative_to(folder)}")
    return to


def _text(file: str) -> str:
    return file.removeprefix("\ufeff").replace("\r\n", "\n")


def _bring(actor, path: Path, *, dry_run: bool = False, name: str = "auto", **choice) -> MovedIn:
    return import_bundle(actor, bundle_of(path), name=name, dry_run=dry_run, **choice)


def test_a_vault_comes_in_as_notes_that_say_all_of_it(tmp_path):
    actor, vault = make_actor(), _vault(tmp_path / "Second Brain")

    rehearsed = _bring(actor, vault, dry_run=True)
    stored = Note.objects.count()
    report = _bring(actor, vault)

    assert (rehearsed.format, rehearsed.added, rehearsed.agent, stored) == ("obsidian", {"notes": 8}, None, 0)
    assert (report.added, report.refused) == ({"notes": 8}, [])
    assert "1 empty notes are left out." in report.notices
    assert "1 other files, such as pictures, are no notes and stay where they are." in report.notices
    assert set(Note.objects.values_list("content", flat=True)) == {_text(text) for text in FILES.values()}
    note = Note.objects.get(domain="Work", key="Deploys")
    assert note.created_at.year == 2024
    assert Note.objects.get(key="Index").domain == "Second Brain"


def test_a_zip_of_the_same_vault_downloaded_twice_is_the_same_source(tmp_path):
    actor, vault = make_actor(), _vault(tmp_path / "Brain")
    _bring(actor, vault)

    again = _bring(actor, _zipped(vault, tmp_path / "Brain (1).zip"))

    assert again.added == {"notes": 0}
    assert again.unchanged == {"notes": 8}
    assert again.removed == []


def test_a_second_import_follows_the_file_keeps_an_edit_here_and_tells_what_is_gone(tmp_path):
    actor, vault = make_actor(), _vault(tmp_path / "Brain")
    _bring(actor, vault)
    (vault / "Index.md").write_text("Rewritten there.\n")
    (vault / "Broken.md").write_text("Edited there too.\n")
    (vault / "Daily/2024-05-04.md").unlink()
    (vault / "Work/Archive/Deploys.md").rename(vault / "Work/Archive/Old deploys.md")
    set_note(actor, domain="Brain", key="Broken", content="Edited here.")
    set_note(actor, domain="Work", key="Deploys", content="Only here.")

    report = _bring(actor, vault)
    once_more = _bring(actor, vault)

    assert report.changed == {"notes": 1}
    assert report.kept == ["note Brain/Broken"]
    assert report.removed == ["note Daily/2024-05-04"]
    assert (report.added, once_more.added, once_more.changed, once_more.kept) == ({"notes": 0}, {"notes": 0}, {}, [])
    assert Note.objects.get(key="Index").content == "Rewritten there.\n"
    assert Note.objects.get(key="Broken").content == "Edited here."
    assert Note.objects.get(key="Deploys").content == "Only here."
    assert Note.objects.get(domain="Work/Archive").key == "Old deploys"
    assert Note.objects.filter(domain="Daily", set_aside_at=None).count() == 1

    _bring(actor, vault, removes=True)
    assert Note.objects.get(domain="Daily").set_aside_at


def test_a_file_whose_new_name_reads_the_same_keeps_the_name_of_its_note(tmp_path):
    actor, vault = make_actor(), _vault(tmp_path / "Brain", {"Two  spaces.md": "Said once.\n"})
    _bring(actor, vault)
    (vault / "Two  spaces.md").rename(vault / "Two spaces.md")

    _bring(actor, vault)

    note = Note.objects.get()
    assert (note.key, note.provenance["place"]) == ("Two spaces", "Two spaces.md")


def test_a_long_note_is_divided(tmp_path, actor):
    text = "".join(f"Line {number} of a long note.\n" for number in range(9_000))
    vault = _vault(tmp_path / "Brain", {"Long.md": text})
    _bring(actor, vault)
    number = Note.objects.count()
    (vault / "Long.md").write_text(text[:70_000])

    shorter = _bring(actor, vault)

    assert (number, Note.objects.count()) == (4, 2)
    assert shorter.changed == {"notes": 1}
    assert "".join(Note.objects.order_by("pk").values_list("content", flat=True)) == text[:70_000]


def test_two_vaults_with_one_name_in_them_stay_apart(tmp_path, actor):
    make_note(actor, "Mine.", domain="Work", key="Deploys")
    _bring(actor, _vault(tmp_path / "A"))
    _bring(actor, _vault(tmp_path / "B", {"Work/Deploys.md": "Of B."}))

    contents = dict(Note.objects.filter(domain="Work", key__startswith="Deploys").values_list("key", "content"))

    assert contents["Deploys"] == "Mine."
    assert contents["Deploys (B)"] == "Of B."
    assert len(contents) == 3


def test_an_import_of_a_vault_is_taken_back_in_one_step(tmp_path, actor):
    make_note(actor, "Mine.", domain="own", key="note")
    report = _bring(actor, _vault(tmp_path / "Brain"))

    forgotten = forget_source(actor, agent=report.agent, dry_run=False)

    assert forgotten.notes == 8
    assert list(Note.objects.values_list("content", flat=True)) == ["Mine."]


def test_where_a_note_came_from_survives_an_export(tmp_path):
    ada, bob = make_actor(), make_actor()
    _bring(ada, _vault(tmp_path / "Brain"))
    document = export_memory(ada)

    import_memory(bob, document=document)

    assert _bring(bob, tmp_path / "Brain").added == {"notes": 0}


def test_to_remove_or_replace_is_refused_where_no_files_are_followed(tmp_path):
    path = products.write(tmp_path / "mem0.json", [{"id": "1", "memory": "Deploy on Fridays."}])

    with pytest.raises(Invalid, match="has no files that notes follow"):
        _bring(make_actor(), path, removes=True)


def test_an_archive_within_an_archive_is_not_read(tmp_path):
    inner = products.packed({"conversations.json": "[]"})

    with pytest.raises(Invalid, match="looks like nothing"):
        _bring(make_actor(), products.write(tmp_path / "twice.zip", products.packed({"Part-1.zip": inner})))
