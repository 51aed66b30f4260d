"""App maps as folders of YAML: the seed's own example, and what is refused."""

from pathlib import Path

import pytest

from bigmind.core.errors import Invalid
from knowledge.app_maps.argument_types import LearntEntity
from knowledge.app_maps.files.map_folders import parse_maps, read_map_folder
from knowledge.app_maps.import_export import export_maps, import_folder, import_maps
from knowledge.app_maps.learning import learn_app
from knowledge.models import AmbiguousName, App, AppEntity
from tests.factories import make_actor, make_key

pytestmark = pytest.mark.django_db
SEED = Path(__file__).parent / "app_maps"


def _seed() -> dict[str, str]:
    return {path.name: path.read_text() for path in sorted(SEED.iterdir())}


def test_the_example_of_the_seed_comes_in_and_goes_out_unchanged(actor):
    import_folder(parse_maps(read_map_folder(SEED)))

    assert export_maps(actor).files == _seed()


def test_importing_twice_changes_nothing(actor):
    import_maps(actor, files=_seed())

    second = import_maps(actor, files=_seed())

    assert (second.added, second.updated, second.choices) == (0, 0, 0)
    assert export_maps(actor).files == _seed()


def test_a_folder_may_hold_more_apps_than_one_call_may_learn():
    apps = "".join(f"  App {number}:\n    appId: app_{number}\n" for number in range(300))

    assert len(parse_maps({"_index.yaml": f"apps:\n{apps}".encode()}).maps) == 300


def test_a_dry_run_says_what_would_come_and_stores_nothing():
    report = import_maps(make_actor(), files=_seed(), dry_run=True)

    assert report.added == 9
    assert not App.objects.exists()


def test_names_that_yaml_would_take_for_something_else_survive(actor):
    odd = [
        "yes",
        "007",
        "1.5",
        "- x",
        "a: b",
        "#1",
        "{x}",
        "2026-02-03",
        "Ölçü & Søn",
        "null",
        "“q”",
        "tab's",
        "😀 Ltd",
    ]
    learn_app(actor, app="CRM: [main]", entities=[_row(name, f"ro_{number}") for number, name in enumerate(odd)])
    before = export_maps(actor).files
    App.objects.all().delete()

    import_maps(actor, files=before)

    assert export_maps(actor).files == before
    assert list(AppEntity.objects.order_by("pk").values_list("name", flat=True)) == odd


def test_the_same_name_in_two_tables_of_an_app_survives(actor):
    learn_app(actor, app="CRM", entities=[_row("Elicit", "ro_1"), _row("Elicit", "ro_2", table="Projects")])
    before = export_maps(actor).files
    App.objects.all().delete()

    import_maps(actor, files=before)

    assert "  Elicit (Projects):\n    name: Elicit\n" in before["crm.yaml"]
    assert export_maps(actor).files == before


def _row(name, row_id, table="Clients"):
    return LearntEntity(name=name, table=table, row_id=row_id, match_field="Name", match_value=name)


HOSTILE = {
    "an alias": ("app:\n  name: &a CRM\n  appId: *a\n", "crm.yaml, line 2: has an alias or anchor"),
    "a tag": ("app:\n  name: !!python/object:os.system x\n", "crm.yaml, line 2: has a tag"),
    "an unknown section": ("app:\n  name: CRM\nsecrets: {}\n", "crm.yaml, line 3: the file has “secrets”"),
    "an unknown member": (
        "app:\n  name: CRM\nentities:\n  Elicit:\n    table: Clients\n    rowid: ro_1\n",
        "crm.yaml, line 6: the entity Elicit has “rowid”",
    ),
    "an entity without a table": (
        "app:\n  name: CRM\nentities:\n  Elicit:\n    rowId: ro_1\n",
        "crm.yaml, line 5: table of the entity Elicit must have at least 1 character",
    ),
    "a day that is none": (
        "app:\n  name: CRM\nentities:\n  Elicit:\n    table: Clients\n    _lastSeen: 2026-02-31\n",
        "crm.yaml, line 6: _lastSeen of the entity Elicit",
    ),
    "a key twice": ("app:\n  name: CRM\n  name: Billing\n", "crm.yaml, line 3: has the key “name” twice"),
    "too deep": ("app:\n  name: " + "[" * 80 + "]" * 80, "crm.yaml, line 2: is nested deeper"),
}


@pytest.mark.parametrize("what", HOSTILE)
def test_what_is_wrong_is_refused_with_file_and_line_and_nothing_is_stored(what):
    text, said = HOSTILE[what]

    with pytest.raises(Invalid) as refusal:
        import_maps(make_actor(), files={"crm.yaml": text})

    assert said in refusal.value.message
    assert not App.objects.exists()


def test_a_secret_is_refused_with_file_and_line():
    text = f"app:\n  name: CRM\nworkflows:\n  pay:\n    steps: log in with {make_key().text}\n"

    with pytest.raises(Invalid, match=r"crm\.yaml, line 5: steps of the workflow pay holds what looks like a secret"):
        import_maps(make_actor(), files={"crm.yaml": text})


@pytest.mark.parametrize("path", ["../crm.yaml", "/etc/passwd", "a/b/c.yaml", "a/../b.yaml", "", ".hidden.yaml"])
def test_a_path_that_leads_elsewhere_is_refused(path):
    with pytest.raises(Invalid, match=r"not a path in a folder"):
        import_maps(make_actor(), files={path: "app:\n  name: CRM\n"})


@pytest.mark.parametrize("file", ["../../secret.yaml", "/etc/passwd", "sub/crm.yaml"])
def test_an_index_that_names_a_file_elsewhere_is_refused(file):
    index = f"apps:\n  CRM:\n    file: {file}\n"

    with pytest.raises(Invalid, match=r"_index\.yaml, line 3: file of the app CRM"):
        import_maps(make_actor(), files={"_index.yaml": index})


def test_links_and_what_is_no_folder_are_refused(tmp_path):
    (tmp_path / "maps").mkdir()
    (tmp_path / "outside.yaml").write_text("app:\n  name: CRM\n")
    (tmp_path / "maps" / "crm.yaml").symlink_to(tmp_path / "outside.yaml")

    for folder in (tmp_path / "maps", tmp_path / "outside.yaml"):
        with pytest.raises(Invalid, match=r"is a link|is not a folder"):
            read_map_folder(folder)


def test_a_file_that_the_index_names_and_that_is_missing_is_told():
    report = import_maps(make_actor(), files={"_index.yaml": _seed()["_index.yaml"], "crm.yaml": _seed()["crm.yaml"]})

    assert report.notes == ["billing.yaml: the index names it, and it is not there; the app alone is taken over."]
    assert App.objects.count() == 2


def test_a_choice_made_here_is_not_overwritten_by_a_file(actor):
    import_maps(actor, files=_seed())
    AmbiguousName.objects.update(default_app=App.objects.get(name="Billing"))

    import_maps(actor, files=_seed())

    assert AmbiguousName.objects.get().default_app.name == "Billing"
