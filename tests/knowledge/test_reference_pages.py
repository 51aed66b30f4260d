"""Documentation as people see it: browsed, searched, read, corrected, decided about."""

import pytest
from django.urls import reverse

from knowledge.models import Feedback, Reference, ReferenceCollection, ReferenceDrift
from knowledge.references.editing import get_command, update_reference
from knowledge.references.imports import import_references
from knowledge.references.readers.reference_drafts import CommandForm, Example, Option
from tests.factories import make_agent, make_user
from tests.knowledge.factories import make_draft

pytestmark = pytest.mark.django_db


@pytest.fixture
def reader(client):
    """A member who reads."""
    client.force_login(make_user("ada"))
    return client


def users_list(**told):
    form = CommandForm(
        name="helios gw users list",
        syntax="helios gw users list [--format <f>]",
        options=(
            Option(name="--format", short="-f", value="<f>", values=("table", "json"), description="How it looks"),
        ),
    )
    return make_draft(
        "helios gw users list",
        **{
            "title": "List users",
            "summary": "Lists all users",
            "content": "Lists **all** users.",
            "category": "google-workspace",
            "aliases": ("get users",),
            "examples": (Example(description="All of them", code="helios gw users list -f json", output="[]"),),
            "related": ("helios gw users get",),
            "command": form,
            **told,
        },
    )


def run(curator, *drafts, **told):
    return import_references(
        curator, collection="helios", title="Helios", drafts=list(drafts), source="console", complete=True, **told
    )


@pytest.fixture
def helios(curator):
    """The documentation of Helios."""
    others = [make_draft("helios gw users get"), make_draft("GET /api/v1/users", kind="api")]
    run(curator, users_list(), *others, make_draft(kind="guide", key="start", title="Getting started"), version="2.4")
    return ReferenceCollection.objects.get()


def correct(curator, **told):
    reference = Reference.objects.get(key="helios gw users list")
    return update_reference(curator, reference_id=reference.pk, **told)


def test_the_collections_are_listed_with_what_they_hold(reader, helios):
    page = reader.get(reverse("docs"))

    for shown in (
        "Helios",
        "4 items",
        "2 commands",
        "1 endpoint",
        "version 2.4",
        reverse("docs-collection", args=["helios"]),
    ):
        assert shown in page.text


def test_a_question_is_answered_with_what_it_matched_on(reader, helios):
    page = reader.get(reverse("docs"), {"query": "get users"})

    assert "helios gw users list" in page.text
    assert "matched on alias “get users”" in page.text


def test_a_collection_is_browsed_by_kind_and_category(reader, helios):
    address = reverse("docs-collection", args=["helios"])

    everything, commands = reader.get(address), reader.get(address, {"type": "command"})
    category = reader.get(address, {"category": "google-workspace"})

    assert len(everything.context["page"].items) == 4
    assert len(commands.context["page"].items) == 2
    assert [one.name for one in category.context["page"].items] == ["helios gw users list"]


def test_a_reference_is_read_with_its_options_examples_and_relations(reader, helios, settings):
    settings.BIGMIND_MODE = "team"

    page = reader.get(reverse("reference", args=[Reference.objects.get(key="helios gw users list").pk]))

    for shown in (
        "<h1>List users</h1>",
        "Lists <strong>all</strong> users",
        "<code>helios gw users list -f json</code>",
        "<code>--format</code>",
        "table, json",
        "Also called",
        "helios gw users get",
    ):
        assert shown in page.text
    assert "Edit" not in page.text


def test_feedback_is_noted_and_told(reader, helios):
    reference = Reference.objects.get(key="start")

    page = reader.post(
        reverse("reference-feedback", args=[reference.pk]), {"verdict": "useful", "note": ""}, follow=True
    )

    assert Feedback.objects.get().verdict == "useful"
    assert "You said" in page.text
    assert "So far by 0.03 (1 × useful)" in page.text


def test_a_curator_corrects_and_the_earlier_text_is_kept(client, curator, helios):
    client.force_login(curator.user)
    reference = Reference.objects.get(key="helios gw users list")
    address = reverse("reference-edit", args=[reference.pk])
    form = client.get(address).context["form"].initial
    sent = {**form, "aliases": "get users, all users", "keywords": "", "content": "Lists users.\n\nNewest first."}

    client.post(address, sent)

    versions = client.get(reverse("reference-versions", args=[reference.pk]))
    reference.refresh_from_db()
    assert reference.aliases == ["get users", "all users"]
    assert get_command(curator, command="all users").reference == reference
    assert "Newest first." in versions.text
    assert "Lists **all** users." in versions.text


def test_of_two_who_correct_at_once_the_second_is_told(client, curator, helios):
    client.force_login(curator.user)
    address = reverse("reference-edit", args=[Reference.objects.get(key="helios gw users list").pk])
    form = client.get(address).context["form"].initial
    correct(curator, summary="Somebody was faster")

    page = client.post(address, {**form, "aliases": "", "keywords": "", "summary": "Mine"})

    assert page.status_code == 409
    assert "Somebody was faster" in page.text
    assert "Save mine instead" in page.text


def test_members_of_a_team_neither_edit_nor_decide(reader, curator, helios, settings):
    settings.BIGMIND_MODE = "team"
    correct(curator, summary="Mine")
    run(curator, users_list(summary="Theirs"))
    edit = reader.get(reverse("reference-edit", args=[Reference.objects.get(key="helios gw users list").pk]))
    decide = reader.get(reverse("reference-decision", args=[ReferenceDrift.objects.get().pk]))

    assert (edit.status_code, decide.status_code) == (403, 403)


@pytest.fixture
def drift(curator, helios):
    """A correction whose source says something new since."""
    correct(curator, summary="Mine")
    run(
        curator,
        users_list(summary="Theirs"),
        make_draft("helios gw users get"),
        make_draft("GET /api/v1/users", kind="api"),
        make_draft(kind="guide", key="start", title="Getting started"),
    )
    return ReferenceDrift.objects.get()


@pytest.mark.parametrize(("decision", "stands"), [("mine", "Mine"), ("new", "Theirs")])
def test_a_drift_is_decided_once_and_the_next_import_does_not_ask_again(client, curator, drift, decision, stands):
    client.force_login(curator.user)
    address = reverse("reference-decision", args=[drift.pk])
    shown = client.get(address)

    client.post(address, {"decision": decision})

    again = run(curator, users_list(summary="Theirs"))
    reference = Reference.objects.get(key="helios gw users list")
    assert "Mine" in shown.text
    assert "Theirs" in shown.text
    assert reference.summary == stands
    assert bool(reference.edited_at) is (decision == "mine")
    assert (again.unchanged, again.drifted) == (1, 0)
    assert client.get(address).status_code == 404


def test_a_drift_is_decided_by_writing_what_is_right(client, curator, drift):
    client.force_login(curator.user)
    address = reverse("reference-decision", args=[drift.pk])
    form = client.get(address).context["form"].initial

    client.post(address, {**form, "aliases": "", "keywords": "", "summary": "Both", "decision": "edited"})

    drift.refresh_from_db()
    assert drift.reference.summary == "Both"
    assert drift.decision == "edited"


def test_coverage_tells_what_was_looked_up_of_three_others_only(client, curator, helios, settings):
    settings.BIGMIND_MODE = "team"
    client.force_login(curator.user)
    others = [make_agent(make_user(), "codex") for _ in range(3)]

    def asked() -> str:
        page = client.get(reverse("docs-coverage", args=["helios"])).text
        return page[page.index('id="asked"') : page.index('id="there"')]

    nobody = asked()
    for agent in (make_agent(curator.user, "claude-code"), *others[:2], others[0]):
        get_command(agent, command="helios gw users list")
    two = asked()
    get_command(others[2], command="helios gw users list")

    assert "0 of " in nobody
    assert two == nobody
    assert "1 of " in asked()
    assert "5 times" in asked()


def test_coverage_tells_what_is_missing_and_what_is_asked(client, curator, drift, settings):
    settings.BIGMIND_MODE = "personal"
    agent = make_agent(curator.user, "claude-code")
    get_command(agent, command="helios gw users list")
    client.force_login(curator.user)

    page = client.get(reverse("docs-coverage", args=["helios"]))

    for shown in (
        "Endpoints without a summary: 1",
        "Endpoints without an example: 1",
        "Commands without a description: 1",
        "says something new",
        "1 of 4 were given to an agent",
        "1 time",
    ):
        assert shown in page.text


@pytest.mark.parametrize("route", ["docs", "docs-collection", "docs-coverage"])
def test_a_page_takes_the_same_queries_however_much_there_is(client, curator, django_assert_max_num_queries, route):
    run(curator, *(make_draft(f"helios things do{number}") for number in range(40)))
    client.force_login(curator.user)
    address = reverse(route, args=[] if route == "docs" else ["helios"])
    client.get(address)

    with django_assert_max_num_queries(26):
        assert client.get(address).status_code == 200


def test_what_is_not_there_is_not_found(reader, helios):
    for address in (
        "/docs/nothing/",
        "/docs/nothing/coverage/",
        "/docs/references/7b0c9f7e-2f7d-4a56-9d1e-3c2b1a098765/",
    ):
        assert reader.get(address).status_code == 404
