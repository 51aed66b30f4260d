"""T17: an instance of thousands of items that is backed up and restored finds the same ten."""

import json
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from accounts.actor import Actor
from accounts.models import User
from bigmind.backup.making import make_backup
from bigmind.backup.restoring import restore_backup
from curation.services.foreign_imports import import_bundle
from knowledge.indexing.embedding import embed_pending
from knowledge.models import Fact
from knowledge.parsers.bundles import bundle_of
from knowledge.recall.semantic_search import semantic_search
from knowledge.transfer.passport import export_memory
from tests.backup.conftest import fresh, on_database  # noqa: F401 - a fixture
from tests.factories import make_actor
from tests.torture.importer import lesson
from tests.torture.scale import ROUND_TRIPPED

pytestmark = [pytest.mark.torture, pytest.mark.django_db(transaction=True)]

QUESTIONS = 100


def test_a_restored_instance_finds_the_same_ten(
    tmp_path: Path,
    report: Callable[[str], None],
    fresh: str,  # noqa: F811
) -> None:
    actor = make_actor()
    _remember(actor, tmp_path)
    while embed_pending():
        pass
    before, told = _top_ten(actor), _told(actor)
    started = time.monotonic()
    backup = make_backup(tmp_path / "backups")
    made = time.monotonic() - started

    with on_database(fresh):
        started = time.monotonic()
        restore_backup(backup.folder)
        took = time.monotonic() - started
        again = Actor.of(User.objects.get(pk=actor.user.pk))

        report(f"{ROUND_TRIPPED} facts: backup of {backup.bytes:,} bytes in {made:.1f} s, restored in {took:.1f} s")
        assert _told(again) == told
        assert _top_ten(again) == before


def _remember(actor: Actor, folder: Path) -> None:
    """Give somebody many facts, by the importer that is fastest."""
    rows = [{"memory": lesson(number), "created_at": "2026-01-24T10:00:00Z"} for number in range(ROUND_TRIPPED)]
    file = folder / "mem0.json"
    file.write_text(json.dumps(rows))
    import_bundle(actor, bundle_of(file), name="mem0")
    assert Fact.objects.of(actor.user).count() == ROUND_TRIPPED


def _told(actor: Actor) -> list[str]:
    """A memory as its document tells it, but for the numbers that rows have here."""
    return sorted(fact.model_dump_json(exclude={"id"}) for fact in export_memory(actor).facts)


def _top_ten(actor: Actor) -> list[list[tuple[str, str]]]:
    step = max(1, ROUND_TRIPPED // QUESTIONS)
    asked = [lesson(number) for number in range(0, step * QUESTIONS, step)]
    return [[(hit.kind, hit.id) for hit in semantic_search(actor, query=text[:500]).items] for text in asked]
