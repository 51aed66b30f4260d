"""App maps: what is learnt, resolved, cut to size, mended and forgotten, and who may."""

from datetime import timedelta

import pytest
from django.utils import timezone

from bigmind.core.errors import Conflict, Forbidden, Invalid, NotFound
from bigmind.core.operations import carry_out
from knowledge.app_maps.forgetting import forget_in_app, set_default_app
from knowledge.app_maps.healing import report_failure
from knowledge.app_maps.learning import learn_app
from knowledge.app_maps.reading import MAP_BYTES, get_app, list_apps
from knowledge.app_maps.resolving import resolve_name
from knowledge.app_maps.runs import bootstrap_apps, rebuild_app
from knowledge.models import AmbiguousName, App, AppEntity, AppTable, Healing, Passage
from tests.factories import make_actor
from tests.lock_waits import at_once, meanwhile

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("in_a_team")]
FIELDS = {"Name": {"type": "string", "primary": True}, "Status": {"type": "options", "values": ["Active", "Lead"]}}


def _row(name, row_id="ro_1", table="Clients", **more):
    return {"name": name, "table": table, "row_id": row_id, "match_field": "Name", "match_value": name, **more}


def _learn(actor=None, app="CRM", **told):
    return carry_out(learn_app, actor or make_actor(), {"app": app, "app_id": f"app_{app.lower()}", **told})


def _crm(**told):
    tables = [{"name": "Clients", "table_id": "ta_1", "fields": FIELDS}]
    return _learn(tables=tables, entities=[_row("Elicit")], **told)


def test_names_that_differ_by_a_sign_are_two():
    _learn(entities=[_row("C", "ro_c"), _row("C++", "ro_cpp"), _row("C#", "ro_cs")])

    assert resolve_name(make_actor(), name="c++").place.row_id == "ro_cpp"


def test_an_unknown_name_says_what_looks_like_it_and_never_invents():
    _crm()

    unknown = resolve_name(make_actor(), name="Elicitt")

    assert (unknown.status, unknown.place, unknown.did_you_mean) == ("unknown", None, ["Elicit"])


def test_an_unknown_app_says_how_to_bring_it_in():
    _crm()

    unknown = resolve_name(make_actor(), name="Elicit", app="Billing")

    assert unknown.status == "unknown"
    assert "discover_apps (1 call)" in unknown.next_step


def test_a_known_row_without_an_id_is_found_with_one_call():
    _learn(entities=[_row("Elicit", "", table_id="ta_1")])

    known = resolve_name(make_actor(), name="Elicit")

    assert "query_records in Clients (ta_1) of CRM (app_crm) where Name = Elicit (1 call)" in known.next_step


@pytest.mark.parametrize(
    ("request_", "expected"),
    [
        ("Add a comment on Elicit", "add_comment"),
        ("leave a note on Elicit please, add it", "add_comment"),
        ("mark Elicit as Active", "change_status"),
        ("associate Elicit to Website", "link_project"),
    ],
)
def test_the_words_of_a_request_pick_the_workflow(request_, expected):
    _crm(
        workflows=[
            {"name": "add_comment", "trigger": "add comment/note on [entity]", "field": "Notes"},
            {"name": "change_status", "trigger": "mark [entity] as [status]", "field": "Status"},
            {"name": "link_project", "trigger": "link/associate [entity] to [project]", "field": "Projects"},
        ]
    )

    ways = resolve_name(make_actor(), name="Elicit", request=request_).workflows

    assert [(way.name, way.fits) for way in ways] == [(expected, True)]


def test_a_request_that_fits_no_workflow_is_shown_all():
    _crm(workflows=[{"name": "add_comment", "trigger": "add comment"}, {"name": "archive", "trigger": "archive [x]"}])

    ways = resolve_name(make_actor(), name="Elicit", request="what is their phone number?").workflows

    assert [(way.name, way.fits) for way in ways] == [("add_comment", False), ("archive", False)]


def test_a_name_in_two_tables_of_one_app_is_ambiguous_until_somebody_chooses(actor):
    _learn(entities=[_row("Elicit"), _row("Elicit", "ro_2", table="Leads")])

    before = resolve_name(actor, name="Elicit")
    set_default_app(actor, name="elicit", app="CRM", table="Leads")

    assert [one.table for one in before.candidates] == ["Clients", "Leads"]
    assert resolve_name(actor, name="Elicit").place.row_id == "ro_2"


def test_a_choice_can_be_taken_back_and_ends_with_the_place(actor):
    _crm()
    _learn(app="Billing", entities=[_row("Elicit", "ro_2", table="Customers")])
    set_default_app(actor, name="Elicit", app="Billing")

    set_default_app(actor, name="Elicit")
    assert resolve_name(actor, name="Elicit").status == "ambiguous"
    set_default_app(actor, name="Elicit", app="Billing")
    forget_in_app(actor, app="Billing", entity="Elicit")

    assert resolve_name(actor, name="Elicit").place.app == "CRM"
    assert not AmbiguousName.objects.exists()


def test_a_choice_of_an_app_that_has_no_such_name_is_refused():
    _crm()
    _learn(app="Billing", entities=[])

    with pytest.raises(NotFound, match="Billing has nothing called"):
        set_default_app(make_actor(), name="Elicit", app="Billing")


def test_what_is_used_moves_up_and_what_was_not_leaves_the_map_first(actor):
    _learn(entities=[_row(f"Client {number:03}", f"ro_{number:03}") for number in range(100)])
    AppEntity.objects.update(last_seen=timezone.now() - timedelta(days=30))

    resolve_name(actor, name="Client 007")
    read = get_app(actor, app="CRM")

    assert len(read.yaml.encode()) <= MAP_BYTES
    assert "Client 007:" in read.yaml
    assert f"# left out: {read.entities_left_out} entities." in read.yaml
    assert read.yaml.count("    rowId:") == 100 - read.entities_left_out
    assert resolve_name(actor, name="Client 050").place.row_id == "ro_050"


def test_a_map_of_schemas_and_workflows_alone_keeps_to_its_size_too():
    long = "é" * 190
    fields = {f"{long}{number}": {"type": "options", "values": [long, long]} for number in range(10)}
    tables = [{"name": f"{long}{number}", "table_id": f"ta_{number}", "fields": fields} for number in range(20)]
    workflows = [{"name": f"{long}{number}", "trigger": long, "steps": long * 5} for number in range(20)]
    _learn(tables=tables, workflows=workflows)

    read = get_app(make_actor(), app="CRM", max_bytes=1000)

    assert len(read.yaml.encode()) <= 1000
    assert read.tables_left_out + read.fields_left_out > 0


def test_one_table_of_a_map_can_be_read():
    _learn(
        tables=[{"name": "Clients", "fields": FIELDS}, {"name": "Projects"}],
        entities=[_row("Elicit"), _row("Website", table="Projects")],
        workflows=[{"name": "change_status", "trigger": "mark", "field": "Status"}],
    )

    text = get_app(make_actor(), app="CRM", table="clients").yaml

    assert "Elicit" in text
    assert "change_status" in text
    assert "Projects" not in text


def test_new_fields_follow_and_known_ones_keep_what_is_not_told():
    _crm()

    _learn(tables=[{"name": "Clients", "fields": {"Status": {"type": "options"}, "VAT": {"type": "string"}}}])

    assert [one["name"] for one in AppTable.objects.get().fields] == ["Name", "Status", "VAT"]
    assert AppTable.objects.get().fields[1]["values"] == ["Active", "Lead"]


def test_a_table_and_an_app_that_were_renamed_outside_keep_their_map():
    _crm()

    carry_out(
        learn_app,
        make_actor(),
        {"app": "Sales", "app_id": "app_crm", "tables": [{"name": "Customers", "table_id": "ta_1"}]},
    )

    found = resolve_name(make_actor(), name="Elicit")
    assert (found.place.app, found.place.table) == ("Sales", "Customers")
    assert resolve_name(make_actor(), name="crm").place.app == "Sales"


def test_secrets_are_refused_in_what_everybody_reads():
    with pytest.raises(Invalid, match="secret"):
        _learn(
            workflows=[{"name": "pay", "steps": "password = 'kX9-vQ2!mZ7_pL4w'; api_key=sk-proj-9fK2mX7vQ1zL5wR8tY3u"}]
        )


@pytest.mark.parametrize(
    "fields",
    [
        {"a\0b": {"type": "string"}},
        {"Name": {"type": "x" * 600}},
        {"Name": {"na me": "x"}},
        {"Name": {"length": float("inf")}},
        {f"f{number}": {} for number in range(501)},
    ],
)
def test_a_schema_that_cannot_be_stored_is_refused_by_the_name_of_its_field(fields):
    with pytest.raises(Invalid) as refusal:
        _learn(tables=[{"name": "Clients", "fields": fields}])

    assert refusal.value.message.startswith("tables.0.fields")


def test_a_member_forgets_rows_and_workflows_and_a_curator_tables_and_apps():
    member, curator = make_actor(), make_actor(curator=True)
    _crm(workflows=[{"name": "add_comment"}])

    forget_in_app(member, app="CRM", entity="elicit")
    forget_in_app(member, app="CRM", workflow="Add Comment")
    for told in ({}, {"table": "Clients"}):
        with pytest.raises(Forbidden):
            forget_in_app(member, app="CRM", **told)
    forget_in_app(curator, app="CRM", table="Clients")
    forget_in_app(curator, app="CRM")

    assert not App.objects.exists()
    assert not Passage.objects.filter(kind__startswith="app_").exists()


def _report(failure, **told):
    return carry_out(report_failure, make_actor(), {"app": "CRM", "failure": failure, **told})


def test_a_row_that_moved_is_found_by_its_field_and_healed_for_all():
    _crm()

    told = _report("row_gone", entity="Elicit", failed_id="ro_1")
    healed = _report("row_gone", entity="Elicit", outcome="found", found_id="ro_new", failed_id="ro_1")
    late = _report("row_gone", entity="Elicit", failed_id="ro_1", outcome="not_found")

    assert (told.status, "Query Clients (ta_1) by Name = Elicit (1 call)" in told.next_step) == ("next_step", True)
    assert (healed.status, late.status, late.place.row_id) == ("healed", "healed", "ro_new")
    assert resolve_name(make_actor(), name="Elicit").place.row_id == "ro_new"
    assert Healing.objects.get().found == "row id ro_new"


def test_agents_who_met_one_moved_row_are_all_sent_to_where_it_is():
    _crm()
    _report("row_gone", entity="Elicit", failed_id="ro_1", outcome="found", found_id="ro_new")

    others = [
        _report("row_gone", entity="Elicit", **told)
        for told in (
            {"failed_id": "ro_1"},
            {"failed_id": "ro_1", "outcome": "found", "found_id": "ro_guess"},
            {"failed_id": "ro_1", "outcome": "not_found"},
            {"outcome": "not_found"},
        )
    ]

    assert [(one.status, one.place.row_id) for one in others] == [("healed", "ro_new")] * 4
    assert _report("row_gone", entity="Elicit", failed_id="ro_new", outcome="not_found").status == "forgotten"


@pytest.mark.parametrize(
    ("failure", "named", "ids"),
    [("table_gone", {"table": "Clients"}, ("ta_1", "ta_new")), ("app_gone", {}, ("app_crm", "app_new"))],
)
def test_agents_who_met_one_moved_table_or_app_are_all_sent_to_where_it_is(settings, failure, named, ids):
    settings.BIGMIND_MODE = "personal"
    _crm()
    _report(failure, **named, failed_id=ids[0], outcome="found", found_id=ids[1])

    others = [
        _report(failure, **named, **told)
        for told in ({"failed_id": ids[0]}, {"failed_id": ids[0], "outcome": "not_found"}, {"outcome": "not_found"})
    ]

    assert [one.status for one in others] == ["healed"] * 3
    assert {one.place.table_id or one.place.app_id for one in others} == {ids[1]}
    assert AppEntity.objects.filter(name="Elicit").exists()


@pytest.mark.django_db(transaction=True)
def test_five_agents_who_report_one_row_at_once_get_one_answer():
    _crm()

    def report(number):
        told = {"outcome": "not_found"} if number % 2 else {"outcome": "found", "found_id": "ro_new"}
        return _report("row_gone", entity="Elicit", failed_id="ro_1", **told)

    replies = at_once(report, range(5))

    # Whoever came first decides; nobody is told the opposite, and nothing is forgotten that was found.
    assert len({(one.status, one.place.row_id if one.place else "") for one in replies}) == 1
    assert AppEntity.objects.exists() == (replies[0].status == "healed")


def test_two_apps_of_one_name_that_an_agent_brings_in_are_two():
    apps = [{"name": "CRM", "app_id": id, "tables": [{"name": "Clients", "table_id": f"ta_{id}"}]} for id in "ab"]

    for _ in range(2):
        carry_out(bootstrap_apps, make_actor(), {"apps": apps})

    assert sorted(App.objects.values_list("app_id", "name")) == [("a", "CRM"), ("b", "CRM (b)")]


@pytest.mark.parametrize(
    ("trigger", "request_"),
    [
        ("给[客户]添加评论", "请给 Elicit 添加评论"),
        ("［顧客］にコメントを追加", "Elicit にコメントを追加して"),
        ("добавить комментарий к [клиент]", "Добавить комментарий к Elicit: звонил"),
        ("เพิ่มความคิดเห็นให้ [ลูกค้า]", "ช่วยเพิ่มความคิดเห็นให้ Elicit"),
        ("[ग्राहक] पर टिप्पणी जोड़ें", "Elicit पर टिप्पणी जोड़ें"),
        ("أضف تعليقا على {client}", "أضف تعليقا على Elicit من فضلك"),
        ("füge Kommentar hinzu／schreibe Notiz zu <Kunde>", "Füge Kommentar hinzu zu Elicit"),
        ("προσθήκη σχολίου", "Προσθήκη σχολίου στο Elicit"),
    ],
)
def test_a_trigger_is_found_in_any_script(trigger, request_):
    _crm(
        workflows=[
            {"name": "comment", "trigger": trigger, "steps": "update_record"},
            {"name": "status", "trigger": "mark [entity] as [status]", "steps": "update_record"},
        ]
    )

    found = resolve_name(make_actor(), name="Elicit", request=request_)

    assert [(one.name, one.fits) for one in found.workflows] == [("comment", True)]


def test_a_row_that_was_deleted_is_forgotten():
    _crm()

    reports = [_report("row_gone", entity="Elicit", outcome=outcome) for outcome in ("not_found", None)]

    assert [report.status for report in reports] == ["forgotten", "forgotten"]
    assert resolve_name(make_actor(), name="Elicit").status == "unknown"
    assert not AppEntity.objects.exists()


def test_a_schema_that_changed_is_read_again_and_overwritten():
    _crm(workflows=[{"name": "change_status", "trigger": "mark [entity]", "field": "Status"}])
    fields = {"Name": {"type": "string", "primary": True}, "Remarks": {"type": "longform"}}

    told = _report("schema_changed", table="Clients")
    _report("schema_changed", table="Clients", outcome="found", fields=fields)

    assert "get_table_schema for Clients (ta_1) (1 call)" in told.next_step
    assert [one["name"] for one in AppTable.objects.get().fields] == ["Name", "Remarks"]
    assert Healing.objects.get().found == "new fields Remarks; gone Status; workflows to look at change_status"


def test_an_app_with_a_new_id_is_found_by_its_name_and_one_that_is_gone_forgotten_where_one_person_uses_it(settings):
    settings.BIGMIND_MODE = "personal"
    _crm()

    told = _report("app_gone")
    _report("app_gone", outcome="found", found_id="app_new")
    found = resolve_name(make_actor(), name="Elicit").place.app_id
    gone = _report("app_gone", outcome="not_found", failed_id="app_new")

    assert ("discover_apps (1 call)" in told.next_step, found, gone.status) == (True, "app_new", "forgotten")
    assert not App.objects.exists()


def test_a_member_who_finds_a_table_gone_warns_others_and_deletes_nothing():
    _crm()

    told = report_failure(make_actor(), app="CRM", failure="table_gone", table="Clients", outcome="not_found")

    assert told.status == "reported"
    assert "reported gone" in resolve_name(make_actor(), name="Elicit").next_step
    _crm()
    assert "reported gone" not in resolve_name(make_actor(), name="Elicit").next_step
    assert Healing.objects.get().outcome == "reported"


def test_a_row_without_a_field_to_find_it_by_is_looked_for_by_the_primary_field():
    _crm()
    AppEntity.objects.update(match_field="", match_value="")

    told = report_failure(make_actor(), app="CRM", failure="row_gone", entity="Elicit")

    assert "Query Clients (ta_1) by Name = Elicit (1 call)" in told.next_step


def test_a_map_is_built_anew_from_what_an_agent_found():
    _crm()
    _learn(tables=[{"name": "Old", "table_id": "ta_9"}], entities=[_row("Ghost", table="Old")])
    curator = make_actor(curator=True)

    told = rebuild_app(curator, app="CRM")
    carry_out(rebuild_app, curator, {"app": "CRM", "tables": [{"name": "Clients", "table_id": "ta_1"}]})

    assert "get_tables for the app app_crm (1 call)" in told.next_step
    assert list(AppEntity.objects.values_list("name", flat=True)) == ["Elicit"]
    with pytest.raises(Forbidden):
        rebuild_app(make_actor(), app="CRM", tables=[])


def test_bringing_in_needs_a_connector_or_apps():
    for told in ({}, {"connector": "budibase", "apps": [{"name": "CRM"}]}):
        with pytest.raises(Invalid, match="connector or apps is required"):
            carry_out(bootstrap_apps, make_actor(), told)
    with pytest.raises(Conflict, match="No budibase server is configured"):
        bootstrap_apps(make_actor(), connector="budibase")


def test_an_alias_of_two_apps_is_asked_about():
    _learn(app="CRM", aliases=["main"])
    _learn(app="Billing", aliases=["main"])

    assert resolve_name(make_actor(), name="x", app="main").status == "ambiguous"
    with pytest.raises(Conflict, match="another name of CRM, Billing"):
        get_app(make_actor(), app="main")


def test_the_index_takes_the_same_number_of_queries_however_many_apps_there_are(django_assert_num_queries, actor):
    for number in range(20):
        _learn(app=f"App {number}", entities=[_row("Elicit")])

    with django_assert_num_queries(6):
        index = list_apps(actor)

    assert index.total == 20
    assert index.ambiguous[0].found_in[:2] == ["app-0", "app-1"]


@pytest.mark.django_db(transaction=True)
def test_an_id_that_another_app_gets_meanwhile_is_refused_in_words():
    _learn(app="CRM")
    told = {"app": "CRM", "failure": "app_gone", "outcome": "found", "found_id": "app_new"}

    with pytest.raises(Invalid, match="is the id of “Sales”"):
        meanwhile(
            lambda: carry_out(learn_app, make_actor(), {"app": "Sales", "app_id": "app_new"}),
            lambda: carry_out(report_failure, make_actor(), told),
        )
