"""App maps as folders of YAML: the seed's own example, and what is refused."""

import zipfile
from io import BytesIO
from pathlib import Path

import pytest

from bigmind.core.errors import Invalid
from bigmind.core.operations import carry_out
from knowledge.app_maps.argument_types import LearntEntity
from knowledge.app_maps.files.map_folders import parse_maps, read_map_folder
from knowledge.app_maps.import_export import export_maps, import_folder, import_maps, read_maps, read_uploaded_maps
from knowledge.app_maps.learning import learn_app
from knowledge.app_maps.resolving import resolve_name
from knowledge.models import AmbiguousName, App, AppEntity, AppTable, AppWorkflow
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


INDEX = """\
bootstrapped: "2026-02-03"
budibase_url: "https://apps.atelier.example"

apps:
  atelier:
    folder: atelier
    appId: app_9f1c
    aliases: []
    tables:
      chantiers: ta_c1
      Équipes & sous-traitants: ta_e2
      factures: ta_f3
  Stock:
    folder: stock
    appId: app_dev_77
    aliases: [entrepôt, magasin]
    tables:
      factures: ta_s1

defaults:
  Factures: atelier
"""
SITES = """\
table:
  name: chantiers
  tableId: ta_c1
  primaryDisplay: nom

schema:
  fields:
    nom: { type: string, primary: true }
    notes: { type: longform }
    statut: { type: options, values: [ouvert, "clos : archivé"] }
    équipe: { type: link, target: Équipes & sous-traitants }

entities:
  VILLA LES PINS:
    rowId: ro_ta_c1_1
    matchField: nom
    matchValue: VILLA LES PINS
    _lastSeen: "2026-02-03"

workflows:
  add_comment:
    trigger: "add comment/note on [entity]"
    steps: "resolve entity → update_record, append to notes field"
    field: notes
"""
BILLS = """\
table:
  name: factures
  tableId: ta_f3
  primaryDisplay: numéro

workflows:
  add_comment:
    trigger: "add comment on [invoice]"
    steps: "resolve invoice → update_record, append to remarques"
    field: remarques
"""
FILES = {"_index.yaml": INDEX, "atelier/chantiers.yaml": SITES, "atelier/factures.yaml": BILLS}


def _forget_all() -> None:
    App.objects.all().delete()
    AmbiguousName.objects.all().delete()


def test_it_comes_in_and_goes_out_as_a_file_for_each_app_without_loss(actor):
    report = import_maps(actor, files=FILES)

    exported = export_maps(actor).files
    assert report.notes == []
    assert set(exported) == {"_index.yaml", "atelier.yaml", "stock.yaml"}
    assert "    default: atelier\n" in exported["_index.yaml"]
    again = import_maps(actor, files=FILES)
    assert (again.added, again.updated, again.choices) == (0, 0, 0)
    _forget_all()
    import_maps(actor, files=exported)
    assert export_maps(actor).files == exported
    assert import_maps(actor, files=FILES).updated == 0


def test_what_it_says_answers_questions(actor):
    import_maps(actor, files=FILES)

    site = resolve_name(actor, name="Villa les Pins", request="add a comment on Villa les Pins")
    bills = resolve_name(actor, name="factures")

    assert site.place
    assert (site.place.table_id, site.place.row_id) == ("ta_c1", "ro_ta_c1_1")
    assert [(way.name, way.field) for way in site.workflows] == [("add_comment", "notes")]
    assert bills.place
    assert (bills.place.app, bills.place.table_id) == ("atelier", "ta_f3")
    assert AppTable.objects.get(table_id="ta_f3").primary == "numéro"
    assert AppWorkflow.objects.filter(name="add_comment").count() == 2


@pytest.mark.parametrize(
    ("written", "read"),
    [
        ("    tables:\n      chantiers: ta_c1\n", "    tables:\n      - chantiers\n"),
        ('bootstrapped: "2026-02-03"', "bootstrapped: 2026-02-03T09:15:00Z"),
        ("    folder: atelier\n", ""),
        ("  Factures: atelier", "  Factures: entrepôt"),
    ],
)
def test_the_ways_in_which_people_and_agents_write_it_are_read(written: str, read: str) -> None:
    index = INDEX.replace(written, read)
    if read.endswith("- chantiers\n"):
        index = index.replace("      Équipes & sous-traitants: ta_e2\n      factures: ta_f3\n", "      - factures\n")
    assert index != INDEX

    import_maps(make_actor(), files={**FILES, "_index.yaml": index})

    table = AppTable.objects.get(app__name="atelier", name="chantiers")
    assert (table.table_id, table.primary) == ("ta_c1", "nom")
    assert table.entities.get().row_id == "ro_ta_c1_1"


def test_a_file_that_does_not_say_its_table_belongs_to_the_one_it_is_called_after() -> None:
    slug = "atelier/quipes-sous-traitants.yaml"
    fields = "schema:\n  fields:\n    nom: string\n"

    import_maps(make_actor(), files={"_index.yaml": INDEX, slug: fields})

    table = AppTable.objects.get(table_id="ta_e2")
    assert (table.name, table.fields) == ("Équipes & sous-traitants", [{"name": "nom", "type": "string"}])
    assert AppTable.objects.filter(app__name="atelier").count() == 3


def test_the_name_of_the_index_and_the_file_may_differ_where_the_id_is_the_same() -> None:
    import_maps(
        make_actor(), files={"_index.yaml": INDEX.replace("chantiers:", "Sites:"), **dict([*FILES.items()][1:])}
    )

    assert AppTable.objects.filter(table_id="ta_c1").count() == 1


def test_a_default_that_names_no_app_is_told_and_the_rest_comes_in() -> None:
    report = import_maps(make_actor(), files={**FILES, "_index.yaml": INDEX.replace("Factures: atelier", "X: crm")})

    assert report.notes == ["_index.yaml, line 21: “X” means crm, and no app here is that."]
    assert App.objects.count() == 2


def test_names_that_are_one_here_are_told() -> None:
    rows = SITES.replace("workflows:", "  villa-les-pins:\n    rowId: ro_ta_c1_2\n\nworkflows:")

    report = import_maps(make_actor(), files={**FILES, "atelier/chantiers.yaml": rows})

    said = "atelier/chantiers.yaml: “VILLA LES PINS” and “villa-les-pins” are one name here; the second is kept."
    assert report.notes == [said]


@pytest.mark.parametrize(
    ("written", "instead", "refused"),
    [
        (
            "budibase_url: ",
            "budibase_url: https://me:secret@apps.example # ",
            r"_index\.yaml, line \d+: server of the app",
        ),
        ('"2026-02-03"', "some day", r"_index\.yaml, line 1: bootstrapped must be a day"),
        ("appId:", "app_id:", r"_index\.yaml, line 7: the app atelier has “app_id”, which is not known here"),
        ("folder: stock", "folder: ../stock", "is not a path in a folder"),
    ],
)
def test_what_is_wrong_is_refused_and_nothing_is_stored(written: str, instead: str, refused: str) -> None:
    with pytest.raises(Invalid, match=refused):
        import_maps(make_actor(), files={**FILES, "_index.yaml": INDEX.replace(written, instead, 1)})

    assert not App.objects.exists()


def test_the_folder_of_the_skill_is_as_good_as_the_one_in_it(tmp_path: Path) -> None:
    skill = tmp_path / "budibase"
    archive = BytesIO()
    with zipfile.ZipFile(archive, "w") as packed:
        packed.writestr("budibase/SKILL.md", "# Budibase")
        for path, text in FILES.items():
            file = skill / "knowledge" / path
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text)
            packed.writestr(f"budibase/knowledge/{path}", text)
    (skill / "SKILL.md").write_text("# Budibase")

    from_folder = import_folder(read_maps(read_map_folder(skill)))
    from_zip = import_folder(read_uploaded_maps(archive.getvalue(), "budibase.zip"))

    assert (from_folder.added, from_zip.added, from_zip.updated) == (7, 0, 0)


def test_maps_of_several_servers_and_systems_each_keep_their_own(actor):
    import_maps(actor, files=FILES)
    carry_out(learn_app, actor, {"app": "Elsewhere", "workflows": [{"name": "hello", "steps": "say hello"}]})

    exported = export_maps(actor).files
    _forget_all()
    import_maps(actor, files=exported)

    assert export_maps(actor).files == exported
    assert dict(App.objects.values_list("name", "server")) == {
        "atelier": "https://apps.atelier.example",
        "Stock": "https://apps.atelier.example",
        "Elsewhere": "",
    }
    assert AppWorkflow.objects.get(name="hello").table is None


def test_the_folder_with_an_index_for_each_app_that_earlier_versions_wrote_is_read() -> None:
    files = {
        "_index.yaml": "apps:\n  CRM:\n    folder: crm\n    appId: app_1\n",
        "crm/_index.yaml": "app:\n  name: CRM\n  appId: app_1\n\ntables:\n  Clients:\n    file: clients.yaml\n"
        "    tableId: ta_1\n  Leads:\n    file: leads.yaml\n\ndefaults:\n  Elicit: Clients\n\n"
        'workflows:\n  hello:\n    steps: "say hello"\n',
        "crm/clients.yaml": "table:\n  name: Clients\n  tableId: ta_1\n\n"
        "schema:\n  Name: { type: string, primary: true }\n",
    }

    report = import_maps(make_actor(), files=files)

    assert report.notes == ["crm/leads.yaml is not there; of its table the name alone is taken over."]
    assert AppTable.objects.get(name="Clients").primary == "Name"
    assert AmbiguousName.objects.get().default_table == AppTable.objects.get(name="Clients")
    assert AppWorkflow.objects.get().name == "hello"
