"""Looking documentation up: the exact thing by any of its names, and never an invention."""

from pathlib import Path

import pytest

from bigmind.core.errors import Forbidden, Invalid, NotFound
from bigmind.core.operations import carry_out
from knowledge.exposures.feedback import give_feedback
from knowledge.indexing.embedding import embed_pending
from knowledge.models import Reference
from knowledge.references.checks import check_command
from knowledge.references.editing import (
    get_api_endpoint,
    get_command,
    get_reference,
    list_commands,
    update_reference,
)
from knowledge.references.imports import import_references
from knowledge.references.readers.console.typescript import generate_from_typescript
from knowledge.references.readers.reference_drafts import CommandForm, Option, ReferenceDraft
from knowledge.references.search import search_knowledge
from tests.factories import make_actor
from tests.knowledge.factories import make_draft, make_reference
from tests.worlds import keep_world

pytestmark = pytest.mark.django_db

USERS_LIST = ReferenceDraft(
    key="cmd-gw-users-list",
    kind="command",
    title="List Google Workspace Users",
    name="helios gw users list",
    category="developer-console",
    subcategory="google-workspace",
    content="Lists all users synced from Google Workspace.\n\n**Syntax:**\n```\nhelios gw users list\n```",
    summary="List all Google Workspace users",
    keywords=("users", "list", "google", "workspace", "directory"),
    aliases=("list google users", "show all users", "get users", "display users"),
    related=("cmd-gw-users-get",),
    command=CommandForm(
        name="helios gw users list",
        syntax="helios gw users list [--format <table|json>]",
        options=(Option(name="--format", short="-f", value="<format>", values=("table", "json")),),
        completeness="complete",
    ),
)
USERS_GET = ReferenceDraft(
    key="cmd-gw-users-get",
    kind="command",
    title="Show a Google Workspace user",
    name="helios gw users get",
    category="developer-console",
    subcategory="google-workspace",
    content="Shows one user by e-mail address.",
    summary="Show one user",
    command=CommandForm(
        name="helios gw users get",
        syntax="helios gw users get <email>",
        arguments=(Option(name="<email>", required=True),),
        completeness="complete",
    ),
)
GROUP = make_draft(
    "helios gw users", command=CommandForm(name="helios gw users", is_group=True, completeness="complete")
)
LOGIN = ReferenceDraft(
    key="login-loop",
    kind="troubleshooting",
    title="People are sent back to the sign-in page",
    content="The clock of the server is wrong, so tokens have expired when they arrive. Set it by NTP.",
    summary="Sign-in loops when the clock is wrong",
)
GROUPS_CREATE = make_draft("helios gw groups create", title="Create a group", summary="Create a group")
ENDPOINTS = [
    make_draft(f"{method} /api/v1{path}", kind="api")
    for method, path in (
        ("GET", "/users"),
        ("POST", "/users"),
        ("GET", "/users/{id}"),
        ("DELETE", "/users/{id}"),
        ("GET", "/users/me"),
        ("GET", "/users/{id}/groups"),
    )
]


@pytest.fixture(scope="module")
def documented(django_db_setup, django_db_blocker):
    """A curator of a BigMind where Helios is documented, made once."""

    def document():
        curator = make_actor(curator=True)
        import_references(
            curator,
            collection="helios",
            drafts=[USERS_LIST, USERS_GET, GROUP, LOGIN, GROUPS_CREATE, *ENDPOINTS],
            completeness={"command": "complete", "api": "complete"},
            base_path="/api/v1",
        )
        return curator

    with keep_world(django_db_blocker, document) as curator:
        yield curator


@pytest.fixture
def actor(documented, db):
    return documented


def names(hits):
    return [hit.reference.key for hit in hits.items]


@pytest.mark.parametrize(
    "asked",
    [
        "helios gw users list",
        "  HELIOS   gw users   LIST ",
        "gw users list",
        "`helios gw users list`",
        "helios gw users-list",
        "$ helios gw users list --format json",
        "'helios gw users list'",
    ],
)
def test_a_command_is_found_by_its_name_however_it_is_typed(actor, asked):
    found = get_command(actor, command=asked)

    assert found.found
    assert found.reference.name == "helios gw users list"
    assert found.matched_on == "exact name"
    assert "helios gw users list" in found.reference.content


@pytest.mark.parametrize("alias", ["get users", "Show all users", "display-users"])
def test_a_command_is_found_by_an_alias(actor, alias):
    found = get_command(actor, command=alias)

    assert found.reference.key == "cmd-gw-users-list"
    assert found.matched_on.startswith("alias")


def test_arguments_do_not_hide_a_command(actor):
    found = get_command(actor, command="helios gw users get ada@example.com --verbose")

    assert found.reference.key == "cmd-gw-users-get"


@pytest.mark.parametrize("asked", ["helios get-users", "helios get users", "helios gw users frobnicate"])
def test_an_invented_command_is_answered_with_nothing_but_the_nearest_real_ones(actor, asked):
    hits = search_knowledge(actor, query=asked)
    found = get_command(actor, command=asked)

    assert hits.items == []
    assert "helios gw users list" in hits.did_you_mean
    assert not found.found
    assert "helios gw users list" in found.did_you_mean
    assert {*hits.did_you_mean, *found.did_you_mean} <= set(Reference.objects.values_list("name", flat=True)) | {
        reference.title for reference in Reference.objects.filter(name="")
    }


def test_options_do_not_blur_which_command_was_meant(actor):
    import_references(actor, collection="helios", drafts=[make_draft("helios key make"), make_draft("helios user add")])

    checked = check_command(actor, command="helios key-mak --user x --user-add y")

    assert checked.nearest[0] == "helios key make"


def test_a_command_comes_before_the_group_that_names_it(actor):
    listed = "Commands: `gw users list`, `gw groups create`, `gw users get`. List, create, show users and groups."
    group = make_draft("helios", summary=listed, content=listed, command=CommandForm(name="helios", is_group=True))
    import_references(actor, collection="helios", drafts=[group, GROUPS_CREATE])
    embed_pending()

    found = search_knowledge(actor, query="create a group")

    assert found.items[0].reference.name == "helios gw groups create"


def test_the_exact_name_is_the_first_result(actor):
    hits = search_knowledge(actor, query="helios gw users list")

    assert names(hits)[0] == "cmd-gw-users-list"
    assert hits.items[0].matched_on == ["exact name"]


@pytest.mark.parametrize("question", ["list all users", "get all users", "show people", "how do I fetch employees?"])
def test_a_command_is_found_in_other_words_that_mean_the_same(actor, question):
    hits = search_knowledge(actor, query=question)

    assert "cmd-gw-users-list" in names(hits)


def test_a_synonym_is_told(actor):
    hits = search_knowledge(actor, query="add teams", type="command")

    assert names(hits)[0] == "helios gw groups create"
    assert any("synonym" in said for said in hits.items[0].matched_on)


def test_a_question_that_begins_with_the_program_is_a_question(actor):
    hits = search_knowledge(actor, query="helios users are sent back to the sign-in page")

    assert "login-loop" in names(hits)


def test_a_question_without_a_word_is_answered(actor):
    embed_pending()

    assert search_knowledge(actor, query="\U000cf76f", collection="helios").fallback is False


def test_nothing_like_it_is_answered_with_nothing(actor):
    hits = search_knowledge(actor, query="zeppelin mooring")

    assert hits.items == []


def test_results_are_narrowed_by_type_category_and_collection(actor):
    import_references(actor, collection="other", drafts=[make_draft("other users list", title="List users")])

    guides = search_knowledge(actor, query="users", type="troubleshooting")
    workspace = search_knowledge(actor, query="list users", category="Google-Workspace")
    other = search_knowledge(actor, query="list users", collection="other")

    assert "cmd-gw-users-list" not in names(guides)
    assert set(names(workspace)) <= {"cmd-gw-users-list", "cmd-gw-users-get"}
    assert names(other) == ["other users list"]


def test_an_unknown_collection_is_named_with_those_there_are(actor):
    with pytest.raises(NotFound, match="helios"):
        search_knowledge(actor, query="users", collection="hellios")


def test_a_collection_has_synonyms_of_its_own(actor):
    import_references(
        actor,
        collection="helios",
        drafts=[make_draft("helios tenants suspend", title="Suspend a tenant")],
        synonyms={"tenant": ["workspace", "organisation"], "suspend": ["freeze"]},
    )

    hits = search_knowledge(actor, query="freeze an organisation")

    assert names(hits)[0] == "helios tenants suspend"


def test_commands_are_listed_by_category(actor):
    everything = list_commands(actor)
    workspace = list_commands(actor, category="google-workspace", limit=1)

    assert everything.total == 4
    assert (workspace.total, workspace.left) == (2, 1)


@pytest.mark.parametrize(
    ("path", "method", "name"),
    [
        ("/api/v1/users/{id}", "get", "GET /api/v1/users/{id}"),
        ("/api/v1/users/123/", "GET", "GET /api/v1/users/{id}"),
        ("/users/:userId", "DELETE", "DELETE /api/v1/users/{id}"),
        ("https://helios.example.com/api/v1/users/<int:pk>?full=1", "GET", "GET /api/v1/users/{id}"),
        ("/API/V1/USERS", "POST", "POST /api/v1/users"),
        ("/users/me", "GET", "GET /api/v1/users/me"),
        ("users/7/groups", None, "GET /api/v1/users/{id}/groups"),
        ("DELETE /users/7", None, "DELETE /api/v1/users/{id}"),
    ],
)
def test_an_endpoint_is_found_however_its_path_is_written(actor, path, method, name):
    found = get_api_endpoint(actor, path=path, method=method and method.upper())

    assert found.found
    assert found.reference.name == name


def test_without_a_method_all_methods_of_a_path_are_told(actor):
    found = get_api_endpoint(actor, path="/users")

    assert found.found
    assert found.reference is None
    assert found.methods == ["GET", "POST"]


@pytest.mark.parametrize("address", ["https://[/api/v1/users", "https://a]b/users"])
def test_an_address_that_cannot_be_taken_apart_is_found_nowhere(actor, address):
    search_knowledge(actor, query=f"GET {address}")

    assert not get_api_endpoint(actor, path=address).found


@pytest.mark.parametrize(("path", "method"), [("/api/v1/usres", None), ("/api/v1/users", "PATCH")])
def test_an_endpoint_that_is_not_there_is_answered_with_the_nearest(actor, path, method):
    found = get_api_endpoint(actor, path=path, method=method)

    assert not found.found
    assert found.did_you_mean[0].endswith("/api/v1/users")


@pytest.mark.parametrize(
    ("command", "verdict"),
    [
        ("helios gw users list", "exists"),
        ("gw users list -f json", "exists"),
        ("helios gw users list --format=table", "exists"),
        ("helios gw users list --help", "exists"),
        ("helios gw users get ada@example.com", "exists"),
        ("GET /api/v1/users/7", "exists"),
        ("helios gw users list --fromat json", "unknown_option"),
        ("helios gw users list --format xml", "unknown_option"),
        ("helios gw users list --format", "unknown_option"),
        ("helios gw users get", "missing_argument"),
        ("helios gw users", "incomplete"),
        ("helios get-users", "does_not_exist"),
        ("Helios GW users list", "does_not_exist"),
        ("helios gw users-list", "does_not_exist"),
        ("get users", "cannot_tell"),
        ("helios gw users list extra", "does_not_exist"),
        ("helios gw users list a@example.com", "unexpected_argument"),
        ("helios gw groups create --anything", "cannot_tell"),
        ("GET /api/v1/usres", "does_not_exist"),
        ("PATCH /api/v1/users", "unknown_method"),
    ],
)
def test_a_command_or_request_is_checked(actor, command, verdict):
    checked = check_command(actor, command=command)

    assert checked.verdict == verdict
    assert checked.exists is (verdict == "exists")
    assert checked.exists or checked.nearest


@pytest.mark.parametrize("line", ["ls -la", "kubectl get pods", "make all"])
def test_of_a_program_that_is_not_documented_nothing_can_be_told(actor, line):
    assert check_command(actor, command=line).verdict == "cannot_tell"


def test_a_wrong_option_is_answered_with_the_nearest(actor):
    checked = check_command(actor, command="helios gw users list --fromat json")

    assert "`--format`" in checked.problems[0]
    assert checked.nearest == ["helios gw users list [--format <table|json>]"]


def test_what_people_say_moves_the_order_a_bounded_amount_and_is_told(actor):
    twins = [make_reference(kind="guide", key=f"twin-{n}", title="Rotate the keys", content="Turn.") for n in (1, 2)]
    before = search_knowledge(actor, query="rotate the keys", type="guide")
    second = before.items[1].reference
    for _ in range(9):
        give_feedback(make_actor(), kind="reference", id=str(second.pk), verdict="useful")

    hits = search_knowledge(actor, query="rotate keys", type="guide")

    assert len(twins) == 2
    assert hits.items[0].reference.pk == second.pk
    assert hits.items[0].feedback == 0.15
    assert any(said.startswith("feedback +0.15") for said in hits.items[0].matched_on)


def test_references_are_found_by_the_search_over_everything(actor):
    from knowledge.recall.semantic_search import semantic_search

    embed_pending()

    hits = semantic_search(actor, query="clock of the server", kinds=["reference"])

    assert hits.items[0].title == "People are sent back to the sign-in page"
    assert hits.items[0].tier == "docs"


def test_a_correction_is_found_at_once(actor):
    reference = Reference.objects.get(key="login-loop")

    update_reference(actor, reference_id=reference.pk, aliases=["redirect carousel"], content="Buy a better clock.")

    hits = search_knowledge(actor, query="redirect carousel")
    assert names(hits)[0] == "login-loop"
    assert get_reference(actor, reference_id=reference.pk).content == "Buy a better clock."
    assert reference.versions.get().text["content"].startswith("The clock of the server")


@pytest.mark.parametrize("field", ["title", "category", "subcategory"])
def test_no_secret_comes_in_by_a_name(actor, field):
    reference = Reference.objects.get(key="login-loop")
    secret = "ghp_" + "aB3dE6gH9jK2mN5pQ8sT1vW4yZ7bC0dF3gH6"

    with pytest.raises(Invalid, match="secret"):
        carry_out(update_reference, actor, {"reference_id": str(reference.pk), field: secret})


def test_members_of_a_team_neither_import_nor_correct(actor, settings):
    settings.BIGMIND_MODE = "team"
    member, reference = make_actor(), Reference.objects.get(key="login-loop")

    with pytest.raises(Forbidden):
        import_references(member, collection="helios", drafts=[])
    with pytest.raises(Forbidden):
        update_reference(member, reference_id=reference.pk, summary="Mine")


def test_whoever_is_alone_imports(settings):
    settings.BIGMIND_MODE = "personal"

    report = import_references(make_actor(scopes=["read", "write"]), collection="mine", drafts=[USERS_LIST])

    assert report.added == 1


@pytest.fixture
def curated(actor):
    """Commands of a program, and beside them a collection of commands that only share plain verbs."""
    curator = make_actor(curator=True)
    plain = [make_draft(name) for name in ("list users", "list groups", "list roles")]
    import_references(curator, collection="plain", drafts=plain)
    both = [make_draft(name) for name in ("get users", "get groups")]
    import_references(curator, collection="verbs", drafts=both)


@pytest.mark.parametrize("query", ["list all users", "get users", "list users", "get all users", "show users"])
def test_a_verb_that_commands_share_makes_no_program(actor, curated, query):
    hits = search_knowledge(actor, query=query)

    assert "cmd-gw-users-list" in names(hits)


def test_a_command_of_a_program_that_is_not_there_is_still_answered_with_the_nearest(actor, curated):
    hits = search_knowledge(actor, query="helios get-users")

    assert hits.items == []
    assert hits.did_you_mean


def test_the_program_of_most_commands_of_a_collection_is_known_without_being_declared(actor):
    drafts = [make_draft(name) for name in ("gw users list", "gw users get", "gw groups list", "status", "help")]
    import_references(make_actor(curator=True), collection="console", drafts=drafts)

    hits = search_knowledge(actor, query="gw users purge")

    assert hits.items == []
    assert hits.did_you_mean[0].startswith("gw users")


def test_an_imported_item_is_named_by_its_title(actor, curator):
    items = [
        {"id": "a", "type": "api", "title": "GET /api/v1/teams", "content": "All teams."},
        {
            "id": "c",
            "type": "command",
            "title": "crm teams get <name>",
            "content": "One team.",
            "examples": [{"description": "One", "code": "crm teams get engineering"}],
        },
    ]

    carry_out(import_references, curator, {"collection": "crm", "drafts": items})

    assert get_api_endpoint(actor, path="/api/v1/teams").found
    assert get_command(actor, command="crm teams get").reference.name == "crm teams get"


def test_while_texts_wait_for_their_vectors_the_nearest_are_shown_as_weak():
    actor = make_actor()
    reference = make_reference(kind="guide", key="on-call", title="List users on call", content="Of one schedule.")

    hits = search_knowledge(actor, query="working tonight in the schedule of Zanzibar")

    assert [(hit.reference, hit.relevance) for hit in hits.items] == [(reference, "weak")]
    assert hits.notice


CONSOLE = Path(__file__).parent / "consoles" / "OperatorConsole.tsx"


@pytest.mark.django_db
def test_a_command_of_a_console_is_found_by_its_other_spelling_and_an_invented_one_is_not(curator):
    drafts = generate_from_typescript(CONSOLE.read_text(), CONSOLE.name).drafts
    import_references(curator, collection="quay", drafts=drafts, source=CONSOLE.name)

    booked = get_command(curator, command="quay moorings book")
    invented = get_command(curator, command="quay list-berths")

    assert booked.reference is not None
    assert booked.reference.name == "quay berths assign"
    assert invented.reference is None
    assert invented.did_you_mean
