"""Slack: which threads of an export are worth keeping, and what they become."""

from pathlib import Path

import pytest

from curation.services.foreign_imports import import_bundle
from curation.services.page_imports import PageChoice
from knowledge.lessons.fixes import fix_in
from knowledge.models import Entry, Note
from knowledge.transfer.readers.bundles import bundle_of
from tests.factories import make_actor

from . import products

pytestmark = pytest.mark.django_db


def _bring(actor, path: Path, **choice):
    return import_bundle(actor, bundle_of(path), choice=PageChoice(**choice))


@pytest.fixture
def export(tmp_path) -> Path:
    return products.write(tmp_path / "Acme Slack export May 1 2024 - May 31 2024.zip", products.slack())


def test_a_question_that_was_answered_becomes_an_entry(export):
    report = _bring(make_actor(), export)

    assert (report.format, report.added, report.refused) == ("slack", {"entries": 1}, [])
    entry = Entry.objects.get()
    assert entry.content == (
        "# Does anyone know why deploys of the api fail with exit code 137?\n\n"
        "## Problem\n\nAda L, 2024-05-01 in #ops:\n\n"
        "Does anyone know why deploys of the api fail with exit code 137?\n**Only** on *staging*, see "
        "[the log](https://ci.example.com/1?a=1&b=2).\n```\nif a < b && c: <@U1>\n```\n\n"
        "## Solution\n\nGrace Hopper, 2024-05-02:\n\nThe pod runs out of memory: set `resources.limits.memory` to 1Gi, "
        "ask @Ada L in #ops if > 1Gi.\n\nAda L said that it worked."
    )
    assert "resources.limits.memory" in fix_in(entry.content)
    assert (entry.tags, entry.confidence, entry.entry_type) == (["ops"], 0.6, "fact")
    assert entry.metadata["author"] == "Ada L"
    assert entry.source_file == "https://slack.com/app_redirect?team=T1&channel=C1&message_ts=1714550400.000100"
    assert entry.provenance["source"] == "slack:T1"


def test_what_is_left_out_is_counted_and_private_channels_stay_private(export):
    actor = make_actor()
    report = _bring(actor, export, into="notes")

    left = report.notices[-1]
    assert "1 questions that nobody answered" in left
    assert "1 threads that ask nothing" in left
    assert "1 threads that a program began" in left
    assert "1 threads whose first message is not in the export" in left
    assert "3 days of private channels and direct messages" in left
    assert Note.objects.count() == 1
    assert "salary" not in Note.objects.get().content


def test_the_next_export_adds_what_was_answered_since_and_forgets_nothing(export, tmp_path):
    actor = make_actor()
    _bring(actor, export)
    later = products.write(tmp_path / "Acme Slack export Jun 1 2024 - Jun 30 2024.zip", products.slack(later=True))

    report = _bring(actor, later)
    again = _bring(actor, export)

    assert (report.added, report.removed) == ({"entries": 1}, [])
    assert (again.added, again.changed, again.unchanged) == ({"entries": 0}, {}, {"entries": 1})
    assert Entry.objects.count() == 2


def test_an_edited_answer_changes_the_entry(export, tmp_path):
    actor = make_actor()
    _bring(actor, export)
    edited = products.write(tmp_path / "again.zip", products.slack(answer="It runs out of memory: use 2Gi, not less."))

    report = _bring(actor, edited)

    assert (report.added, report.changed) == ({"entries": 0}, {"entries": 1})
    assert "use 2Gi" in Entry.objects.get().content


@pytest.mark.parametrize(
    "day",
    [b"[", b"{}", b'[7, null, {"thread_ts": 5}, {"thread_ts": "x", "ts": "x"}]', b"[" * 60_000, b"\xff"],
)
def test_a_day_that_cannot_be_read_does_not_stop_the_others(tmp_path, day):
    path = products.write(tmp_path / "a.zip", products.slack(more={"ops/2024-05-09.json": day}))

    report = _bring(make_actor(), path)

    assert report.added == {"entries": 1}
    assert all("2024-05-09" in line for line in report.refused)
