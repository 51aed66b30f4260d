"""Projects: one name for each, however it is spelled, and no fact belongs to one in silence."""

import pytest

from bigmind.gate import perform
from bigmind.operations import CATALOGUE
from knowledge.models import Fact, Session
from tests.factories import make_actor

pytestmark = pytest.mark.django_db


@pytest.fixture
def actor():
    return make_actor(scopes={"read", "write"})


def _do(actor, operation, **arguments):
    return perform(CATALOGUE[operation], actor, arguments, transport="mcp")


@pytest.mark.parametrize("spelled", ["freight-api", "Freight API", "FREIGHT_API", "freightapi"])
def test_a_project_is_one_however_it_is_spelled(actor, spelled):
    _do(actor, "memory_start_session", project="Freight-API")

    _do(actor, "memory_start_session", project=spelled)

    assert list(Session.objects.values_list("project", flat=True)) == ["Freight-API", "Freight-API"]
    assert _do(actor, "memory_list_sessions", project=spelled).to_data()["total"] == 2


def test_a_project_that_is_nearly_another_is_asked_about(actor):
    _do(actor, "memory_start_session", project="freight-api")

    outcome = _do(actor, "memory_start_session", project="frieght-api")

    assert outcome.notices == ("frieght-api is a new project. Did you mean freight-api?",)


def test_a_fact_about_the_work_belongs_to_the_project_of_its_session_and_the_reply_says_so(actor):
    _do(actor, "memory_start_session", project="freight-api")

    reply = _do(actor, "memory_store_fact", category="codebase", fact="The tests need REDIS_URL.").markdown()

    assert Fact.objects.get().project == "freight-api"
    assert "project freight-api" in reply
