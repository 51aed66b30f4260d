"""Confluence and Notion: what becomes of their exports, and that an import follows them without doubling anything."""

import io
import zipfile
from pathlib import Path

import pytest

from bigmind.core.errors import Forbidden, Invalid
from curation.decisions.forgetting import forget_source
from curation.services.foreign_imports import import_bundle
from curation.services.page_imports import PageChoice
from knowledge.models import Entry, Reference, ReferenceCollection
from knowledge.services.entries import update_entry
from knowledge.transfer.import_receipts import MovedIn
from knowledge.transfer.readers.bundles import bundle_of
from tests.factories import make_actor

from . import products

pytestmark = pytest.mark.django_db


@pytest.fixture
def curator():
    return make_actor(curator=True)


def bring(actor, path: Path, *, name: str = "auto", dry_run: bool = False, **choice) -> MovedIn:
    """Import what a path leads to."""
    return import_bundle(actor, bundle_of(path), name=name, choice=PageChoice(**choice), dry_run=dry_run)


def test_a_space_of_confluence_becomes_a_collection(curator, tmp_path):
    path = products.write(tmp_path / "Confluence-space-export-1234.zip", products.usual_space())

    rehearsed = bring(curator, path, dry_run=True)
    before = Reference.objects.count(), ReferenceCollection.objects.count()
    report = bring(curator, path)

    assert (rehearsed.format, before) == ("confluence", (0, 0))
    assert rehearsed.added == report.added == {"references": 3}
    assert report.refused == []
    collection = ReferenceCollection.objects.get()
    assert (collection.slug, collection.title) == ("engineering-handbook", "Engineering Handbook")
    deploys = Reference.objects.get(key="101")
    assert (deploys.kind, deploys.title, deploys.category, deploys.keywords) == ("guide", "Deploys", "Home", ["ops"])
    assert deploys.related == ["100"]
    assert deploys.source == "101 (by Ada Lovelace, 2024-05-04)"
    assert deploys.content == (
        "# Deploys\n\nRead Home first, then ask\n@Ada Lovelace.\n\n## Roll back\n\n"
        "> **Warning**\n>\n> Never on **Fridays**.\n>\n> ```bash\n> kubectl rollout undo deploy/api\n"
        '> if [[ "$a" < "$b" ]]; then echo "x && y"; fi\n> ```\n\n'
        "| Step | Who |\n| --- | --- |\n| Tag | release \\| manager |\n\n"
        "- [x] Announce it\n- [ ] Watch it\n\n"
        "[picture: flow.png]\nDONE\nsince 2024-05-04 (OPS-17)\n\n**Details**\n\nInside."
    )
    assert Reference.objects.get(key="104").subcategory == "Deploys"
    assert "Left out: 2 earlier versions and drafts, 1 comments." in report.notices
    assert "Macros whose content is not in the export: drawio (1)." in report.notices


def test_the_space_again_changes_what_changed_and_tells_what_is_gone(curator, tmp_path):
    bring(curator, products.write(tmp_path / "a.zip", products.usual_space()))
    changed = products.write(tmp_path / "b.zip", products.usual_space(deploys="<p>New.</p>", without_runbook="yes"))

    same = bring(curator, tmp_path / "a.zip")
    report = bring(curator, changed)
    gone = Reference.objects.current().count()
    removed = bring(curator, changed, removes=True)

    assert (same.added, same.changed, same.unchanged) == ({"references": 0}, {}, {"references": 3})
    assert (report.added, report.changed) == ({"references": 0}, {"references": 1})
    assert report.removed == ["reference engineering-handbook/104"]
    assert (gone, removed.removed) == (3, ["reference engineering-handbook/104"])
    assert set(Reference.objects.current().values_list("key", flat=True)) == {"100", "101"}


def test_an_import_of_documentation_is_for_curators_and_says_the_way_round(tmp_path, settings):
    settings.BIGMIND_MODE = "team"
    member, path = make_actor(), products.write(tmp_path / "a.zip", products.usual_space())

    with pytest.raises(Forbidden) as refused:
        bring(member, path)
    report = bring(member, path, into="kb")

    assert "into `kb`" in refused.value.hint
    assert report.added == {"entries": 3}
    entry = Entry.objects.get(provenance__place="101")
    assert entry.metadata["author"] == "Ada Lovelace"
    assert entry.metadata["updated"] == "2024-05-04T09:30:00+00:00"
    assert entry.tags == ["ops"]


def test_an_entry_that_was_edited_here_stays_and_an_import_is_taken_back(tmp_path):
    actor = make_actor()
    report = bring(actor, products.write(tmp_path / "a.zip", products.usual_space()), into="kb")
    entry = Entry.objects.get(provenance__place="101")
    update_entry(actor, id=entry.pk, content="Mine.")

    second = bring(actor, products.write(tmp_path / "b.zip", products.usual_space(deploys="<p>New.</p>")), into="kb")

    assert second.kept == ["entry 101"]
    assert Entry.objects.get(pk=entry.pk).content == "Mine."
    assert second.agent == report.agent
    assert forget_source(actor, agent=report.agent, dry_run=False).entries == 3
    assert not Entry.objects.exists()


def test_a_space_as_html_is_read_too(curator, tmp_path):
    told = "<tr><th>Key</th><td>ENG</td></tr><tr><th>Name</th><td>Engineering Handbook</td></tr>"
    index = f"<html><body><table>{told}</table></body></html>"
    home = products.CONFLUENCE_HTML.replace("Deploys", "Home")
    files = {"ENG/index.html": index, "ENG/Deploys_101.html": products.CONFLUENCE_HTML, "ENG/Home_100.html": home}
    path = products.write(tmp_path / "Confluence-export.zip", products.packed({**files, "ENG/styles/site.css": "a{}"}))

    report = bring(curator, path)

    assert (report.format, report.added) == ("confluence", {"references": 2})
    deploys = Reference.objects.get(key="101")
    assert deploys.content == (
        "# Deploys\n\nSee Home and [this](https://example.com/x).\n\n```bash\nmake deploy\n  --now\n```"
    )
    assert deploys.source == "101 (by Grace Hopper, 2024-05-04)"
    assert (deploys.collection.slug, deploys.category, deploys.related) == ("engineering-handbook", "Home", ["100"])


@pytest.mark.parametrize("is_nested", [False, True])
def test_a_workspace_of_notion_as_markdown(curator, tmp_path, is_nested):
    files = products.notion_markdown()
    inner = products.packed(files)
    path = products.write(
        tmp_path / "Export-1f2e3d4c.zip",
        products.packed({"ExportBlock-1f2e3d4c-Part-1.zip": inner}) if is_nested else inner,
    )

    report = bring(curator, path)
    again = bring(curator, products.write(tmp_path / "Export-99.zip", products.packed(files)))

    ids = products.NOTION_IDS
    assert (report.format, report.added, report.refused) == ("notion", {"references": 4}, [])
    assert (again.added, again.changed, again.unchanged) == ({"references": 0}, {}, {"references": 4})
    assert ReferenceCollection.objects.get().slug == "handbook"
    deploys = Reference.objects.get(key=ids["Deploys"])
    assert (deploys.title, deploys.category, deploys.keywords) == ("Deploys (how)", "Handbook", ["ops", "release"])
    assert deploys.content.startswith("# Deploys (how)\n\n- Tags: ops, release\n- Created: May 4, 2024 9:30 AM\n")
    assert "Only on **Tuesdays**." in deploys.content
    assert deploys.source == f"https://www.notion.so/{ids['Deploys']} (by Ada Lovelace, 2024-05-04)"
    handbook = Reference.objects.get(key=ids["Handbook"])
    assert handbook.content == "# Handbook\n\nWelcome: read [Deploys (how)] first.\n\n[Tasks]"
    assert handbook.related == [ids["Deploys"]]
    assert "| web, old | 80 |" in Reference.objects.get(title="Ports").content
    assert Reference.objects.get(title="Fix login").content.endswith("The cookie was too large.")


def test_a_page_of_notion_as_html_is_the_same_page(curator, tmp_path):
    files = {f"Handbook {'a' * 31}1/Deploys {'b' * 31}2.html": products.NOTION_HTML, "index.html": "<html></html>"}
    bring(curator, products.write(tmp_path / "a.zip", products.packed(files)))

    deploys = Reference.objects.get(key=products.NOTION_IDS["Deploys"])

    assert deploys.keywords == ["ops"]
    assert deploys.content == (
        "# Deploys\n\n- Tags: ops\n- Created: @May 4, 2024 9:30 AM\n\nOnly on **Tuesdays**.\n\n- [x] Announce\n\n"
        "Handbook\n\n```bash\nmake deploy\n```\n\nMore\n\nInside."
    )


def test_a_choice_for_pages_is_refused_where_there_are_none(tmp_path):
    path = products.write(tmp_path / "mem0.json", [{"id": "1", "memory": "Deploy on Fridays."}])

    with pytest.raises(Invalid, match="is a choice for pages"):
        bring(make_actor(), path, into="kb")
    with pytest.raises(Invalid, match="into must be one of notes, kb, docs"):
        bring(make_actor(), path, into="anywhere")
    with pytest.raises(Invalid, match="collection has up to 50"):
        bring(make_actor(), path, collection="Not A Slug")


BOMB = '<!DOCTYPE x [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;&a;">]><hibernate-generic>&b;</hibernate-generic>'
EXTERNAL = '<!DOCTYPE x [<!ENTITY a SYSTEM "file:///etc/passwd">]><hibernate-generic>&a;</hibernate-generic>'


@pytest.mark.parametrize("entities", [BOMB, EXTERNAL])
def test_xml_with_entities_of_its_own_is_refused(curator, tmp_path, entities):
    with pytest.raises(Invalid, match="declares entities"):
        bring(curator, products.write(tmp_path / "a.zip", products.packed({"entities.xml": entities})))


def test_a_page_nested_without_end_and_an_export_cut_short_do_not_stop_the_others(curator, tmp_path):
    deep = "<div>" * 5_000 + "deep" + "</div>" * 5_000
    report = bring(curator, products.write(tmp_path / "a.zip", products.usual_space(deploys=deep)))
    whole = products.usual_space()
    with zipfile.ZipFile(io.BytesIO(whole)) as archive:
        text = archive.read("entities.xml").decode()
    cut = products.write(tmp_path / "b.zip", products.packed({"entities.xml": text[: text.index("Runbook")]}))
    short = bring(curator, cut)

    assert "nested deeper than 200 levels" in report.refused[0]
    assert report.added == {"references": 2}
    assert "is not well-formed XML; the rest is not read" in short.refused[0]
    assert short.removed == []


def test_archives_within_archives_end_at_the_first(curator, tmp_path):
    inner = products.packed(products.notion_markdown())
    twice = products.packed({"Part-1.zip": products.packed({"Part-1.zip": inner})})
    bomb = products.packed({"Part-1.zip": products.packed({f"x {'a' * 32}.md": b"0" * 50_000_000})})
    climbing = products.packed({"Part-1.zip": products.packed({f"../x {'a' * 32}.md": "x"})})

    with pytest.raises(Invalid, match="looks like nothing"):
        bring(curator, products.write(tmp_path / "twice.zip", twice))
    with pytest.raises(Invalid, match="over 200 times its size"):
        bring(curator, products.write(tmp_path / "bomb.zip", bomb))
    with pytest.raises(Invalid, match="leads out of the archive"):
        bring(curator, products.write(tmp_path / "climbing.zip", climbing))


def test_a_secret_in_a_page_is_screened_on_every_way(curator, tmp_path):
    secret = "<p>The key is ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8</p>"
    path = products.write(tmp_path / "a.zip", products.usual_space(deploys=secret))

    bring(curator, path)
    report = bring(curator, path, into="kb")

    assert "ghp_" not in Reference.objects.get(key="101").content
    assert not Entry.objects.filter(content__contains="ghp_").exists()
    assert any("secret" in line for line in report.refused)
