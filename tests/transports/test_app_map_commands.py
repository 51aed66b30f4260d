"""App maps on the command line: a folder of YAML out and in, with what a person or a script is told of it."""

import json
from io import StringIO
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command

from knowledge.models import App
from tests.factories import make_user

pytestmark = pytest.mark.django_db
MAPS = Path(__file__).parents[1] / "knowledge" / "app_maps"


def _run(*words: str) -> tuple[str, str]:
    output, remarks = StringIO(), StringIO()
    call_command(*words, stdout=output, stderr=remarks)
    return output.getvalue(), remarks.getvalue()


@pytest.fixture(autouse=True)
def _somebody_owns_the_instance() -> None:
    make_user("root", role="admin")


def test_a_folder_comes_in_with_a_line_for_each_app_and_goes_out_byte_for_byte(tmp_path: Path) -> None:
    told, _ = _run("apps_import", str(MAPS))

    written, _ = _run("apps_export", str(tmp_path / "out"))

    assert [line.split()[0] for line in told.splitlines()] == ["app", "CRM", "Billing", "Imported:"]
    assert told.endswith("Imported: 9 new, 0 changed, 0 known already.\n")
    assert written == f"3 files in {tmp_path / 'out'}.\n"
    assert {path.name: path.read_bytes() for path in (tmp_path / "out").iterdir()} == {
        path.name: path.read_bytes() for path in MAPS.iterdir()
    }


def test_a_dry_run_says_what_would_come_and_stores_nothing() -> None:
    told, _ = _run("apps_import", str(MAPS), "--dry-run")

    assert told.endswith("Would import: 9 new, 0 changed, 0 known already.\n")
    assert not App.objects.exists()


def test_a_script_reads_what_came_and_that_the_second_time_nothing_is_new() -> None:
    first = json.loads(_run("apps_import", str(MAPS), "--json")[0])
    second = json.loads(_run("apps_import", str(MAPS), "--json")[0])

    assert (first["added"], first["updated"]) == (9, 0)
    assert (second["added"], second["updated"], second["unchanged"]) == (0, 0, 9)


def test_a_fault_is_told_in_one_line_with_its_file_and_imports_nothing(tmp_path: Path) -> None:
    (tmp_path / "billing.yaml").write_bytes((MAPS / "billing.yaml").read_bytes())
    (tmp_path / "crm.yaml").write_text("app:\n  name: CRM\n  colour: blue\n")

    with pytest.raises(CommandError, match=r"crm\.yaml, line 3") as refusal:
        _run("apps_import", str(tmp_path))

    assert refusal.value.returncode == 1
    assert not App.objects.exists()


def test_what_is_no_folder_is_refused_both_ways(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_text("")

    for command in ("apps_import", "apps_export"):
        with pytest.raises(CommandError, match="is not a folder"):
            _run(command, str(file))


def test_a_file_of_an_app_that_is_mapped_no_more_stays_and_is_named(tmp_path: Path) -> None:
    _run("apps_import", str(MAPS))
    _run("apps_export", str(tmp_path))
    App.objects.filter(name="Billing").delete()

    _, remarks = _run("apps_export", str(tmp_path))

    assert "billing.yaml is of no app that is mapped now." in remarks
    assert (tmp_path / "billing.yaml").is_file()


def test_nothing_is_written_through_a_link_out_of_the_folder(tmp_path: Path) -> None:
    _run("apps_import", str(MAPS))
    elsewhere, folder = tmp_path / "elsewhere.yaml", tmp_path / "maps"
    elsewhere.write_text("mine")
    folder.mkdir()
    (folder / "crm.yaml").symlink_to(elsewhere)

    with pytest.raises(CommandError, match="is outside maps"):
        _run("apps_export", str(folder))

    assert elsewhere.read_text() == "mine"
