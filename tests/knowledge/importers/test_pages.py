"""Pages of other products: what they become, for whom, and that an import follows them without doubling anything."""

from pathlib import Path

import pytest

from bigmind.core.errors import Forbidden, Invalid
from curation.decisions.forgetting import forget_source
from curation.services.foreign_imports import import_bundle
from curation.services.page_imports import PageChoice
from knowledge.kb.entries import update_entry
from knowledge.models import Entry, Reference
from knowledge.transfer.import_receipts import MovedIn
from knowledge.transfer.readers.bundles import bundle_of
from tests.factories import make_actor

from . import products

pytestmark = pytest.mark.django_db

PAGES = {
    "Handbook/.obsidian/app.json": "{}",
    "Handbook/Home.md": "# Home\n\nWelcome.\n",
    "Handbook/Deploys.md": "---\nauthor: Ada Lovelace\ntags: [ops]\nmodified: 2024-05-04\n---\nNever on Fridays.\n",
    "Handbook/Runbook.md": "Restart it.\n",
}


@pytest.fixture
def curator():
    return make_actor(curator=True)


def pages(path: Path, **changed: str) -> Path:
    """Write an archive of the pages, and return its path."""
    return products.write(
        path, products.packed(PAGES | {f"Handbook/{name}.md": text for name, text in changed.items()})
    )


def bring(actor, path: Path, **choice) -> MovedIn:
    """Import what a path leads to."""
    return import_bundle(actor, bundle_of(path), name="auto", choice=PageChoice(**choice))


def test_an_import_of_documentation_is_for_curators_and_says_the_way_round(tmp_path, settings):
    settings.BIGMIND_MODE = "team"
    member, path = make_actor(), pages(tmp_path / "a.zip")

    with pytest.raises(Forbidden) as refused:
        bring(member, path, into="docs")
    report = bring(member, path, into="kb")

    assert "into `kb`" in refused.value.hint
    assert report.added == {"entries": 3}
    entry = Entry.objects.get(provenance__place="Deploys.md")
    assert (entry.metadata["author"], entry.tags) == ("Ada Lovelace", ["ops"])
    assert entry.metadata["updated"].startswith("2024-05-04")


def test_an_entry_that_was_edited_here_stays_and_an_import_is_taken_back(tmp_path):
    actor = make_actor()
    report = bring(actor, pages(tmp_path / "a.zip"), into="kb")
    entry = Entry.objects.get(provenance__place="Deploys.md")
    update_entry(actor, id=entry.pk, content="Mine.")

    second = bring(actor, pages(tmp_path / "b.zip", Deploys="Never on Mondays.\n"), into="kb")

    assert second.kept == ["entry Deploys.md"]
    assert Entry.objects.get(pk=entry.pk).content == "Mine."
    assert second.agent == report.agent
    assert forget_source(actor, agent=report.agent, dry_run=False).entries == 3
    assert not Entry.objects.exists()


def test_a_choice_for_pages_is_refused_where_there_are_none(tmp_path):
    path = products.write(tmp_path / "mem0.json", [{"id": "1", "memory": "Deploy on Fridays."}])

    with pytest.raises(Invalid, match="is a choice for pages"):
        bring(make_actor(), path, into="kb")
    with pytest.raises(Invalid, match="into must be one of notes, kb, docs"):
        bring(make_actor(), path, into="anywhere")
    with pytest.raises(Invalid, match="collection has up to 50"):
        bring(make_actor(), path, collection="Not A Slug")


def test_an_archive_within_an_archive_is_not_read(curator, tmp_path):
    inner = products.packed({"conversations.json": "[]"})

    with pytest.raises(Invalid, match="looks like nothing"):
        bring(curator, products.write(tmp_path / "twice.zip", products.packed({"Part-1.zip": inner})))


def test_a_secret_in_a_page_is_screened_on_every_way(curator, tmp_path):
    path = pages(tmp_path / "a.zip", Deploys="The key is ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8\n")

    bring(curator, path, into="docs")
    report = bring(curator, path, into="kb")

    assert not Reference.objects.filter(content__contains="ghp_").exists()
    assert not Entry.objects.filter(content__contains="ghp_").exists()
    assert any("secret" in line for line in report.refused)
