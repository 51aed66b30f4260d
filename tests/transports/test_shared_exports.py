"""T17, small: what everybody shares goes out as files and comes into an empty instance without loss."""

import json
from io import StringIO
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command
from django.db import connection

from bigmind.core.errors import Conflict
from curation.decisions.history import find_broken_seals
from curation.models import Comment, Review
from knowledge.app_maps.argument_types import LearntEntity
from knowledge.app_maps.learning import learn_app
from knowledge.kb.entries import add_entry
from knowledge.models import App, CompanyEntry, Entry, Passage, ReferenceCollection
from knowledge.references.imports import import_references
from knowledge.references.readers.reference_drafts import CommandForm, EndpointForm, Example, Option
from tests.curation.factories import approved_entry, decide_at_latest, propose
from tests.factories import make_actor
from tests.knowledge.factories import make_draft, make_session

pytestmark = pytest.mark.django_db

LESSONS = """\
source: notes.md
entries:
- key: story
  content: "The story: of the depot.\\n\\nWith a paragraph.  \\nAnd an odd end "
  entry_type: summary
  project: depot
- key: story/doors
  content: Doors are locked at six.
  tags: [doors, "no"]
  parent: story
  confidence: 0.8
  metadata: {weight: 3, "007": [true, null]}
"""


def _run(*words: str) -> str:
    output = StringIO()
    call_command(*words, stdout=output, stderr=output)
    return output.getvalue()


def _files(folder: Path) -> dict[str, str]:
    return {path.relative_to(folder).as_posix(): path.read_text() for path in sorted(folder.rglob("*.*"))}


def test_the_knowledge_base_comes_back_as_it_went(tmp_path):
    admin = make_actor(admin=True)
    (tmp_path / "notes.yaml").write_text(LESSONS)
    _run("kb_seed", str(tmp_path / "notes.yaml"))
    seeded = Entry.objects.get(content="Doors are locked at six.")
    add_entry(admin, content="Said by an agent.", entry_type="fact", tags=["a"], roles=["dev"], parent_id=seeded.pk)
    add_entry(admin, content="Another, without a source.", entry_type="template")
    _run("export", str(tmp_path / "first"), "--only", "entries")
    Entry.objects.all().delete()
    Passage.objects.filter(kind="entry").delete()

    _run("kb_seed", *map(str, (tmp_path / "first" / "entries").iterdir()))
    _run("export", str(tmp_path / "second"), "--only", "entries")

    assert Entry.objects.count() == 4
    assert Entry.objects.get(content="Said by an agent.").parent.content == "Doors are locked at six."
    assert Entry.objects.get(entry_type="summary").project == "depot"
    assert _files(tmp_path / "first") == _files(tmp_path / "second")


def test_company_knowledge_comes_back_with_its_history_and_goes_on(tmp_path):
    admin, curator = make_actor(admin=True), make_actor(curator=True)
    entry = approved_entry(curator=curator)
    waiting = propose()
    decide_at_latest(curator, entry_id=entry.pk, action="deprecate", notes="No longer so.")
    Comment.objects.create(entry=waiting, by=curator.user, text="Why?")
    _run("export", str(tmp_path / "first"), "--only", "company")
    _forget_company_knowledge()

    file = str(tmp_path / "first" / "company" / "company.json")
    _run("company_import", file, "--keep-approvals", "--user", admin.user.username)
    _run("export", str(tmp_path / "second"), "--only", "company")

    first, second = (
        json.loads((tmp_path / name / "company" / "company.json").read_text()) for name in ("first", "second")
    )
    assert first["entries"] == second["entries"]
    assert list(find_broken_seals()) == []
    assert propose().pk > waiting.pk
    assert Review.objects.filter(entry=entry).last().notes == "No longer so."
    told = set(Passage.objects.filter(kind="company").values_list("source_id", flat=True))
    assert told == {str(one.pk) for one in CompanyEntry.objects.approved()}


def test_what_was_approved_elsewhere_waits_for_a_curator_here(tmp_path):
    admin, curator = make_actor(admin=True), make_actor(curator=True)
    entry = approved_entry(curator=curator)
    _run("export", str(tmp_path / "out"), "--only", "company")
    _forget_company_knowledge()

    _run("company_import", str(tmp_path / "out" / "company" / "company.json"), "--user", admin.user.username)

    imported = CompanyEntry.objects.get(pk=entry.pk)
    assert (imported.status, imported.verified_at, imported.decided_by) == ("pending", None, None)
    assert not Passage.objects.filter(kind="company").exists()
    assert list(find_broken_seals()) == []
    with pytest.raises(Conflict, match="no decision"):
        decide_at_latest(curator, entry_id=entry.pk, action="undo")


def test_company_knowledge_is_not_mixed_and_a_changed_history_is_refused(tmp_path):
    make_actor(admin=True)
    approved_entry()
    _run("export", str(tmp_path / "out"), "--only", "company")
    file = tmp_path / "out" / "company" / "company.json"

    with pytest.raises(CommandError, match="company knowledge here already"):
        _run("company_import", str(file))
    _forget_company_knowledge()
    told = json.loads(file.read_text())
    told["entries"][0]["reviews"][0]["notes"] = "Never said."
    file.write_text(json.dumps(told))
    with pytest.raises(CommandError, match="it is not what was written"):
        _run("company_import", str(file))

    assert not CompanyEntry.objects.exists()


def test_a_folder_that_is_there_is_left_alone(tmp_path):
    with pytest.raises(CommandError, match="Name a folder that does not exist yet"):
        _run("export", str(tmp_path))


def _forget_company_knowledge() -> None:
    """Empty the tables as another instance has them; the history itself refuses to be deleted."""
    with connection.cursor() as cursor:
        cursor.execute("SET CONSTRAINTS ALL IMMEDIATE")
        cursor.execute("SET LOCAL session_replication_role = replica")
        cursor.execute("TRUNCATE knowledge_companyentry CASCADE")
        cursor.execute("SET LOCAL session_replication_role = origin")
    Passage.objects.filter(kind="company").delete()


def test_documentation_comes_back_as_it_went(tmp_path):
    curator = make_actor(admin=True)
    form = CommandForm(
        name="helios users list", syntax="helios users list", options=(Option(name="--all", short="-a"),)
    )
    endpoint = EndpointForm(method="GET", path="/users/{id}", responses={"200": {"description": "One user"}})
    drafts = [
        make_draft("helios users list", command=form, aliases=("get users",), examples=(Example(code="helios users"),)),
        make_draft("GET /users/{id}", kind="api", endpoint=endpoint),
    ]
    import_references(curator, collection="helios", drafts=drafts)
    _run("export", str(tmp_path / "first"), "--only", "references")
    ReferenceCollection.objects.all().delete()
    file = str(tmp_path / "first" / "references" / "helios.json")

    said = _run("references_import", file, "--collection", "helios", "--user", curator.user.username)
    again = _run("references_import", file, "--collection", "helios", "--user", curator.user.username)
    _run("export", str(tmp_path / "second"), "--only", "references")

    assert "2 added" in said
    assert "2 unchanged" in again
    assert _files(tmp_path / "first") == _files(tmp_path / "second")


def test_app_maps_come_back_as_they_went(tmp_path):
    row = LearntEntity(name="Elicit", table="Clients", row_id="ro_1", match_field="Name", match_value="Elicit")
    learn_app(make_actor(admin=True), app="CRM", entities=[row])
    _run("export", str(tmp_path / "first"), "--only", "apps")
    App.objects.all().delete()

    _run("apps_import", str(tmp_path / "first" / "apps"))
    _run("export", str(tmp_path / "second"), "--only", "apps")

    assert set(_files(tmp_path / "first")) == {"apps/_index.yaml", "apps/crm.yaml"}
    assert _files(tmp_path / "first") == _files(tmp_path / "second")


def test_company_knowledge_keeps_its_session_and_leaves_copies_to_the_company_server(tmp_path):
    admin, proposer = make_actor(admin=True), make_actor()
    entry, given_way = propose(proposer), propose(proposer)
    session = make_session(proposer)
    copy = CompanyEntry.objects.create(
        category="standard", title="Deploys", content="Blue-green.", digest="1", is_copy=True, status="approved"
    )
    CompanyEntry.objects.filter(pk=entry.pk).update(source_session=session)
    CompanyEntry.objects.filter(pk=given_way.pk).update(superseded_by=copy)
    _run("export", str(tmp_path / "out"), "--only", "company")
    _forget_company_knowledge()

    _run("company_import", str(tmp_path / "out" / "company" / "company.json"), "--user", admin.user.username)

    assert CompanyEntry.objects.get(pk=entry.pk).source_session == session
    assert CompanyEntry.objects.get(pk=given_way.pk).superseded_by is None
    assert CompanyEntry.objects.count() == 2
