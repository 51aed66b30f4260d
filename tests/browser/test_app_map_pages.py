"""The pages of the app maps in a browser: for everyone, in both schemes, on a phone, without scripts."""

import pytest
from django.urls import reverse
from playwright.sync_api import Page

from bigmind.core.operations import carry_out
from knowledge.app_maps.healing import report_failure
from knowledge.app_maps.learning import learn_app
from knowledge.models import App, AppEntity, AppRun, AppTable, AppWorkflow
from tests.browser.axe import findings
from tests.browser.conftest import Visits
from tests.factories import make_actor

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]


def _learn(app: str, row: str) -> None:
    told = {
        "app": app,
        "app_id": f"id {app}"[:200],
        "aliases": [f"also {app}"[:90]],
        "tables": [
            {"name": "Clients", "table_id": f"ta {app}"[:200], "fields": {"Name": {"type": "string", "primary": True}}}
        ],
        "entities": [{"name": row, "table": "Clients", "row_id": row, "match_field": "Name", "match_value": row}],
        "workflows": [{"name": row, "trigger": f"on [{row}]", "steps": row, "field": "Notes"}],
    }
    carry_out(learn_app, make_actor(), told)


def _addresses() -> list[str]:
    app = App.objects.order_by("pk").first()
    assert app is not None
    entity, table = AppEntity.objects.filter(table__app=app).get(), AppTable.objects.filter(app=app).get()
    workflow = AppWorkflow.objects.get(app=app)
    return [
        reverse("apps"),
        reverse("app-map", args=[app.pk]),
        reverse("app-map-entity", args=[app.pk, entity.pk]),
        reverse("app-map-workflow", args=[app.pk, workflow.pk]),
        reverse("app-map-forget", args=[app.pk]),
        reverse("app-map-rebuild", args=[app.pk]),
        reverse("app-map-forget-part", args=[app.pk, "table", table.pk]),
        reverse("app-map-forget-part", args=[app.pk, "entity", entity.pk]),
        reverse("apps-import"),
    ]


def _look_at(page: Page, address: str) -> list[str]:
    """What axe finds in both schemes at both widths, and whether the page scrolls sideways."""
    page.goto(address)
    return findings(page)


def test_every_page_is_usable_by_everyone(visits: Visits) -> None:
    _learn("CRM", "Elicit")
    _learn("Billing", "Elicit")
    app = App.objects.order_by("pk").first()
    assert app is not None
    report_failure(make_actor(), app=app.app_id, failure="row_gone", entity="Elicit", outcome="found", found_id="ro_n")
    AppRun.objects.create(purpose="bootstrap", connector="budibase", total=8, done=3, state="running")
    AppRun.objects.create(purpose="rebuild", connector="budibase", app=app, state="failed", error="Elicit")
    page = visits.by(make_actor(curator=True).user)

    found = [finding for address in _addresses() for finding in _look_at(page, address)]

    assert found == []


def test_an_empty_page_is_usable_by_everyone(visits: Visits) -> None:
    page = visits.by(make_actor().user)

    assert _look_at(page, reverse("apps")) == []


def test_a_name_is_settled_and_a_row_corrected_without_scripts(visits: Visits) -> None:
    _learn("CRM", "Elicit")
    _learn("Billing", "Elicit")
    page = visits.by(make_actor().user, javascript=False)

    page.goto(reverse("apps"))
    page.get_by_label("“Elicit” means the one in").select_option("Billing")
    page.get_by_role("button", name="Remember").click()
    settled = page.get_by_label("“Elicit” means the one in").input_value()
    page.get_by_role("link", name="CRM", exact=True).click()
    page.get_by_role("link", name="Correct Elicit").first.click()
    page.get_by_label("Row id").fill("ro_9")
    page.get_by_role("button", name="Save").click()

    assert settled == "billing"
    assert AppEntity.objects.get(table__app__name="CRM").row_id == "ro_9"
