"""The pages of the app maps: what people see of them, and what they may change."""

import io
import zipfile

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from bigmind.core.operations import carry_out
from knowledge.app_maps import import_export
from knowledge.app_maps.files.map_archives import pack
from knowledge.app_maps.healing import report_failure
from knowledge.app_maps.import_export import export_maps
from knowledge.app_maps.learning import learn_app
from knowledge.models import AmbiguousName, App, AppEntity, AppRun, AppTable, AppWorkflow
from knowledge.parsers.separate_process import ProcessBudget
from tests.factories import make_actor

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("in_a_team")]


def _learn(app="CRM", rows=("Elicit",)):
    fields = {"Name": {"type": "string", "primary": True}, "Status": {"type": "options", "values": ["Active"]}}
    told = {
        "app": app,
        "app_id": f"app_{app.lower()}",
        "tables": [{"name": "Clients", "table_id": f"ta_{app.lower()}", "fields": fields}],
        "entities": [
            {"name": name, "table": "Clients", "row_id": f"ro_{n}", "match_field": "Name", "match_value": name}
            for n, name in enumerate(rows)
        ],
        "workflows": [
            {"name": "add_comment", "trigger": "add comment on [entity]", "steps": "update", "field": "Notes"}
        ],
    }
    carry_out(learn_app, make_actor(), told)
    return App.objects.get(name=app)


def test_everybody_sees_what_is_known_and_what_was_mended(browser):
    app = _learn()
    report_failure(make_actor(), app="CRM", failure="row_gone", entity="Elicit", outcome="found", found_id="ro_new")

    index, page = browser.get(reverse("apps")), browser.get(reverse("app-map", args=[app.pk]))

    assert "app_crm" in index.text
    for said in ("Elicit", "ro_new", "Name = Elicit", "add comment on [entity]", "found again", "Active", "YAML"):
        assert said in page.text
    assert "Build anew" not in page.text


def test_what_is_the_matter_with_a_workflow_is_said_in_german(client):
    app, reader = _learn(), make_actor().user
    app.tables.update(gone_fields={"Notes": "Remarks"})
    reader.language = "de"
    reader.save()
    client.force_login(reader)

    page = client.get(reverse("app-map", args=[app.pk])).text

    assert "Er nennt das Feld Notes, das es nicht mehr gibt; vielleicht heißt es jetzt Remarks." in page


def test_a_row_and_a_workflow_are_corrected_and_what_cannot_be_stored_is_said_beside_the_form(browser):
    app = _learn()
    row = reverse("app-map-entity", args=[app.pk, AppEntity.objects.get().pk])

    browser.post(row, {"row_id": "ro_9"})
    told = {"trigger": "note on [entity]", "steps": "open\r\nwrite"}
    browser.post(reverse("app-map-workflow", args=[app.pk, AppWorkflow.objects.get().pk]), told)
    refused = browser.post(row, {"row_id": "x" * 400})

    assert refused.status_code == 200
    assert "Not saved" in refused.text
    assert AppEntity.objects.get().row_id == "ro_9"
    assert (AppWorkflow.objects.get().trigger, AppWorkflow.objects.get().steps) == ("note on [entity]", "open\nwrite")


def test_what_is_emptied_in_the_form_is_cleared_and_what_an_agent_leaves_out_stays(browser):
    app = _learn()

    row = {"row_id": "ro_0", "match_field": "", "match_value": ""}
    browser.post(reverse("app-map-entity", args=[app.pk, AppEntity.objects.get().pk]), row)
    told = {"trigger": "add comment on [entity]", "steps": "", "field": ""}
    browser.post(reverse("app-map-workflow", args=[app.pk, AppWorkflow.objects.get().pk]), told)
    learnt = {"entities": [{"name": "Elicit", "table": "Clients"}], "workflows": [{"name": "add_comment"}]}
    carry_out(learn_app, make_actor(), {"app": "CRM", **learnt})

    entity, workflow = AppEntity.objects.get(), AppWorkflow.objects.get()
    assert (entity.row_id, entity.match_field, entity.match_value) == ("ro_0", "", "")
    assert (workflow.trigger, workflow.steps, workflow.field) == ("add comment on [entity]", "", "")
    assert AppWorkflow.objects.get().app.version == app.version + 2


def test_members_forget_rows_and_curators_tables_and_apps(client):
    app = _learn()
    row = reverse("app-map-forget-part", args=[app.pk, "entity", AppEntity.objects.get().pk])
    table = reverse("app-map-forget-part", args=[app.pk, "table", AppTable.objects.get().pk])
    whole = reverse("app-map-forget", args=[app.pk])

    client.force_login(make_actor().user)
    asked = client.get(row)
    client.post(row)
    refused = [client.post(address).status_code for address in (table, whole)]
    client.force_login(make_actor(curator=True).user)
    client.post(table)
    client.post(whole)

    assert "Forget this entity?" in asked.text
    assert refused == [403, 403]
    assert not App.objects.exists()


@pytest.mark.parametrize("table_id", ["ta_crm", ""])
def test_forgetting_a_table_says_how_many_rows_go_with_it(client, table_id):
    app = _learn(rows=("Elicit", "Acme"))
    AppTable.objects.update(table_id=table_id)
    other = AppTable.objects.create(app=app, name="Orders", look_up="orders")
    AppEntity.objects.create(table=other, name="Another", look_up="another")
    client.force_login(make_actor(curator=True).user)

    page = client.get(reverse("app-map-forget-part", args=[app.pk, "table", app.tables.get(name="Clients").pk]))

    assert "2 rows that agents learnt go with it" in page.text


def test_building_anew_is_asked_about_and_begun_by_curators(client, settings):
    settings.BUDIBASE_URL, settings.BUDIBASE_API_KEY = "http://127.0.0.1:9", "key"
    App.objects.filter(pk=_learn().pk).update(connector="budibase")
    app = App.objects.get()
    address = reverse("app-map-rebuild", args=[app.pk])

    client.force_login(make_actor().user)
    refused = [client.get(address).status_code, client.post(address).status_code]
    client.force_login(make_actor(curator=True).user)
    page = client.get(reverse("app-map", args=[app.pk]))
    asked = client.get(address)
    runs_before = AppRun.objects.count()
    client.post(address)

    assert refused == [403, 403]
    assert f'href="{address}"' in page.text
    assert "Of 1 tables those that are gone are forgotten" in asked.text
    assert runs_before == 0
    assert AppRun.objects.get().purpose == "rebuild"


def test_what_no_connector_reads_is_left_to_an_agent(client):
    app = _learn()
    client.force_login(make_actor(curator=True).user)

    asked = client.get(reverse("app-map-rebuild", args=[app.pk]))
    told = client.post(reverse("app-map-rebuild", args=[app.pk]), follow=True)

    assert "No connector reads this app" in asked.text
    assert "Call get_tables for the app app_crm" in told.text
    assert not AppRun.objects.exists()


def test_an_ambiguous_name_is_settled_and_opened_again(browser):
    _learn()
    _learn("Billing")

    before = browser.get(reverse("apps"))
    browser.post(reverse("apps-default"), {"name": "Elicit", "place": "billing"})
    chosen = AmbiguousName.objects.get().default_app
    browser.post(reverse("apps-default"), {"name": "Elicit", "place": ""})

    assert "ask each time" in before.text
    assert chosen.name == "Billing"
    assert AmbiguousName.objects.get().default_app is None


def test_a_run_is_shown_with_its_progress_stopped_and_resumed(browser, actor):
    run = AppRun.objects.create(purpose="bootstrap", connector="budibase", total=8, done=3, asked_by=actor.user)

    page = browser.get(reverse("apps"))
    browser.post(reverse("apps-run", args=[run.pk]))
    stopped = AppRun.objects.get().state
    browser.post(reverse("apps-run", args=[run.pk]), {"resume": "1"})

    assert 'max="8" value="3"' in page.text
    assert (stopped, AppRun.objects.get().state) == ("cancelled", "waiting")


def test_maps_are_taken_along_as_a_zip_and_brought_in_again(browser, actor):
    _learn()
    before = export_maps(actor).files

    archive = browser.get(reverse("apps-export")).content
    App.objects.all().delete()
    _upload(browser, "maps.zip", archive, mode="rehearse")
    assert not App.objects.exists()
    _upload(browser, "maps.zip", archive, mode="import")

    assert export_maps(actor).files == before


def test_a_large_map_is_read_within_a_budget(browser, monkeypatch):
    entities = "".join(f"  e{number}: {{what: word}}\n" for number in range(50_000))
    monkeypatch.setattr(import_export, "BUDGET", ProcessBudget(megabytes=4))

    page = _upload(browser, "crm.yaml", f"app:\n  name: CRM\nentities:\n{entities}".encode(), mode="rehearse")

    assert "The folder of app maps takes more than" in page.text


def _upload(client, name, raw, mode):
    return client.post(reverse("apps-import"), {"document": SimpleUploadedFile(name, raw), "mode": mode})


def _bomb():
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("crm.yaml", b" " * 60_000_000)
    return buffer.getvalue()


def _link():
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        info = zipfile.ZipInfo("crm.yaml")
        info.external_attr = 0o120777 << 16
        archive.writestr(info, "/etc/passwd")
    return buffer.getvalue()


@pytest.mark.parametrize(
    ("raw", "said"),
    [
        (pack({"../crm.yaml": "app:\n  name: CRM\n"}), "leads out of the archive"),
        (pack({"a/b/c/d.yaml": "app:\n  name: CRM\n"}), "not a path in a folder of app maps"),
        (_bomb(), "over 200 times its size"),
        (_link(), "is a link"),
        (b"PK\x03\x04 broken", "is not a zip archive that can be read"),
        (pack({"crm.yaml": "app: &a\n  name: CRM\n"}), "crm.yaml, line 1: has an alias or anchor"),
    ],
)
def test_a_hostile_zip_is_refused_and_nothing_is_stored(browser, raw, said):
    page = _upload(browser, "maps.zip", raw, mode="import")

    assert said in page.text
    assert not App.objects.exists()


def test_a_search_leads_to_the_map(browser):
    app = _learn()

    page = browser.get("/", {"query": "Elicit row in Clients"})
    led = browser.get(reverse("app-map-of-entity", args=[AppEntity.objects.get().pk]))

    assert reverse("app-map-of-entity", args=[AppEntity.objects.get().pk]) in page.text
    assert led.url == reverse("app-map", args=[app.pk])


def test_the_number_of_queries_does_not_depend_on_how_much_is_known(client):
    client.force_login(make_actor(curator=True).user)
    app = _learn(rows=["Row 1", "Row 2"])
    _learn("Billing", rows=["Row 1"])
    addresses = [reverse("apps"), reverse("app-map", args=[app.pk])]
    few = [_queries(client, address) for address in addresses]
    _learn(rows=[f"Row {number}" for number in range(60)])
    for number in range(10):
        _learn(f"App {number}", rows=["Row 1", "Row 2", "Row 3"])

    many = [_queries(client, address) for address in addresses]

    assert all(later <= before for before, later in zip(few, many, strict=True))
    assert max(many) <= 22


def _queries(client, address):
    with CaptureQueriesContext(connection) as queries:
        assert client.get(address).status_code == 200
    return len(queries)
