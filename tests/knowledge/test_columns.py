"""No column is left behind: whoever copies rows column by column has thought of each (the beginning of T33)."""

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from unittest.mock import patch

import pytest
from django.core.management import call_command
from django.db import connection, models
from django.utils import timezone

from accounts.models import Profile
from accounts.people.profiles import update_profile
from bigmind.core.operations import carry_out
from bigmind.database.columns import ColumnCopy, column_names
from bigmind.database.fixed_queries import FixedQuery
from curation.decisions import history
from curation.services import company_exports
from curation.upstream import copies
from curation.views import forms as curation_forms
from knowledge.app_maps import argument_types
from knowledge.kb import entry_exports, entry_imports
from knowledge.memory.facts import correct_fact
from knowledge.models import (
    Chunk,
    CompanyEntry,
    Entry,
    Fact,
    Hypothesis,
    Note,
    Passage,
    Reference,
    Session,
    Summary,
)
from knowledge.references import exports as reference_exports
from knowledge.references import texts
from knowledge.transfer import left_out_columns
from knowledge.transfer.own_imports import import_memory
from knowledge.transfer.parts import memory_parts
from knowledge.transfer.program_formats import export_memory
from knowledge.truth import fact_succession
from knowledge.views import entry_forms, references
from tests.curation.factories import approved_entry, decide_at_latest
from tests.factories import make_actor
from tests.knowledge.factories import columns_at_default, make_fact, make_session

COPIES = (
    *left_out_columns.IN_EXPORT,
    *left_out_columns.IN_OTHER_FORMATS,
    *(part.columns for part in memory_parts().values()),
    *company_exports.COLUMNS,
    *argument_types.COLUMNS,
    entry_exports.COLUMNS,
    entry_imports.COLUMNS,
    reference_exports.COLUMNS,
    texts.COLUMNS,
    fact_succession.SUCCESSOR,
    history.SNAPSHOT,
    copies.COLUMNS,
)
LONG_AGO = datetime(2021, 3, 4, 5, 6, 7, 891011, tzinfo=UTC)
EVERY_COPY = pytest.mark.parametrize("copied", COPIES, ids=lambda copied: f"{copied.model.__name__} in {copied.place}")


@EVERY_COPY
def test_every_column_is_carried_or_left_out_for_a_reason(copied: ColumnCopy) -> None:
    assert not copied.faults(), "\n".join(copied.faults())
    assert all(reason.endswith(".") for reason in copied.left_out.values())


@EVERY_COPY
def test_a_new_column_is_carried_or_refused(copied: ColumnCopy) -> None:
    with _one_column_more(copied.model) as name:
        faults, carried = copied.faults(), copied.names()

    if copied.carried is None:
        assert name in carried
        assert faults == []
    else:
        assert faults == [
            f"{copied.model.__name__}.{name} is lost in {copied.place}."
            " Carry it there, or name it in left_out with the reason."
        ]
    assert copied.faults() == []


def test_a_column_that_went_or_is_carried_after_all_is_taken_off_the_list() -> None:
    copied = ColumnCopy("a trial", Note, {"gone": "It was there.", "key": "Nobody wants it."}, column_names(Note))

    assert copied.faults() == [
        "Note has no column gone. Take it out of left_out of a trial.",
        "Note.key is carried in a trial. Take it out of left_out.",
    ]


@pytest.mark.django_db
def test_a_correction_carries_a_column_that_nobody_told_it_of(actor):
    with _one_column_more(Fact) as name, connection.schema_editor() as editor:
        editor.add_field(Fact, Fact._meta.get_field(name))
        old = make_fact(actor, "Deploys on Fridays.")
        Fact.objects.filter(pk=old.pk).update(**{name: "calm"})

        new = correct_fact(actor, fact_id=old.pk, fact="Deploys on Mondays.")

        assert getattr(Fact.objects.get(pk=new.pk), name) == "calm"


@pytest.mark.django_db
def test_a_memory_with_something_in_every_column_comes_back_byte_for_byte(actor):
    _fill_every_column(actor)
    before = _bytes_of(actor)
    document = export_memory(actor).model_dump(mode="json")
    for model in (Session, Fact, Hypothesis, Note):
        model.objects.all().delete()
    Profile.objects.all().delete()
    Passage.objects.all().delete()

    carry_out(import_memory, actor, {"document": document})

    assert _bytes_of(actor) == before


@pytest.mark.django_db
def test_a_memory_that_an_older_version_exported_is_taken(actor):
    fact = {"id": 1, "category": "decision", "fact": "Deploys on Fridays.", "created_at": LONG_AGO.isoformat()}

    carry_out(import_memory, actor, {"document": {"facts": [fact]}})

    stored = Fact.objects.get()
    assert (stored.similar_to, stored.created_at) == (None, LONG_AGO)
    assert timezone.now() - stored.updated_at < timedelta(minutes=5)


@pytest.mark.django_db
def test_entries_with_something_in_every_column_come_back_byte_for_byte(tmp_path) -> None:
    admin, author = make_actor(admin=True), make_actor()
    parent = Entry.objects.create(content="The story.", digest="1" * 64, entry_type="summary", created_by=author.user)
    child = Entry.objects.create(
        content="Doors are locked at six. You must now lock them.",
        digest="2" * 64,
        entry_type="template",
        roles=["dev"],
        tags=["doors"],
        project="depot",
        source_file="notes.md",
        source_story="D-7",
        parent=parent,
        similar_to=parent,
        confidence=0.25,
        metadata={"weight": 3},
        triggers=["path: doors/*"],
        anchors=["acme/depot#doors.py:lock@3f2a1bc"],
        anchor_checks={"acme/depot#doors.py:lock@3f2a1bc": {"verdict": "holds"}},
        trigger_levels={"": "advise"},
        provenance={"created_by": "somebody"},
        created_by=author.user,
    )
    Entry.objects.update(created_at=LONG_AGO, updated_at=LONG_AGO + timedelta(days=1))
    assert columns_at_default(child) == set()
    first = _exported_files(tmp_path / "first", "entries")
    Entry.objects.all().delete()
    Passage.objects.all().delete()

    call_command("kb_seed", *map(str, (tmp_path / "first" / "entries").iterdir()), user=admin.user.username)

    assert _exported_files(tmp_path / "second", "entries") == first


@pytest.mark.django_db
def test_undoing_brings_back_every_column_that_is_tracked() -> None:
    curator, other = make_actor(curator=True), make_actor(curator=True)
    entry = approved_entry(curator=curator)
    CompanyEntry.objects.filter(pk=entry.pk).update(
        project="depot", topics=["doors"], evidence="Seen.", owner=other.user, endorsed_by=other.user, importance=3
    )
    before = history.snapshot(CompanyEntry.objects.get(pk=entry.pk))
    decide_at_latest(curator, entry_id=entry.pk, action="deprecate", notes="No longer so.")

    decide_at_latest(curator, entry_id=entry.pk, action="undo")

    after = history.snapshot(CompanyEntry.objects.get(pk=entry.pk))
    assert {**after, "revision": 0} == {**before, "revision": 0}


@pytest.mark.parametrize(
    ("form", "initial"),
    [
        (entry_forms.EntryCorrection, lambda: entry_forms.initial_of(Entry(updated_at=LONG_AGO))),
        (references.ReferenceCorrection, lambda: references.initial_of(Reference())),
        (curation_forms.FORMS["edit"], lambda: curation_forms.initial_of(curation_forms.FORMS["edit"], CompanyEntry())),
    ],
)
def test_a_form_is_filled_with_all_that_it_asks_for(form, initial) -> None:
    assert form.base_fields.keys() - {"notes", "revision", "despite"} <= initial().keys()


@contextmanager
def _one_column_more(model: type[models.Model]) -> Iterator[str]:
    """Let a model have a column that no place was told of."""
    field = models.CharField(max_length=20, default="")
    model.add_to_class("mood", field)
    try:
        # No statement that names the column stays in the process.
        uncached = property(lambda query: vars(query)["_compiled"].__wrapped__)
        with patch.object(FixedQuery, "_compiled", uncached, create=True):
            yield "mood"
    finally:
        model._meta.local_fields.remove(field)
        model._meta._expire_cache()
        del model.mood


def _fill_every_column(actor) -> None:
    """Store one thing of each kind, and something of its own in each of its columns."""
    update_profile(actor, role="Engineer", preferences="Concise.", pinned_facts=["Uses uv"])
    Profile.objects.update(updated_at=LONG_AGO)
    session = make_session(actor, one_liner="Done", project="pi", summary="Told.")
    earlier, old = make_fact(actor, "Deploys early."), make_fact(actor, "Deploys on Fridays.", category="decision")
    rows = {
        Session: {"topics": ["a"], "outcome": "Built.", "importance": 7, "auto_closed": True},
        Summary: {"key_facts": ["One"], "code_refs": ["a.py:1"], "created_at": LONG_AGO},
        Fact: {
            "confidence": 0.25,
            "project": "pi",
            "source_session": session,
            "similar_to": earlier,
            "contradicted_by": earlier,
            "valid_from": LONG_AGO,
            "valid_until": LONG_AGO + timedelta(days=400),
            "provenance": {"source": "mem0:all.json", "row": {"id": "1"}},
            "triggers": ["command: git push --force"],
            "trigger_level": "block",
            "anchors": ["acme/shop#limits.py:RATE@3f2a1bc"],
        },
    }
    rows[Session] |= {"started_at": LONG_AGO, "ended_at": LONG_AGO + timedelta(hours=1), "set_aside_at": LONG_AGO}
    for model, values in rows.items():
        model.objects.update(**values)
    new = correct_fact(actor, fact_id=old.pk, fact="Deploys on Mondays.")
    Fact.objects.filter(pk=earlier.pk).update(similar_to=None, contradicted_by=None)
    Fact.objects.filter(pk=new.pk).update(similar_to=old)
    Fact.objects.filter(pk=old.pk).update(contradicted_by=earlier)
    Fact.objects.update(created_at=LONG_AGO, updated_at=LONG_AGO + timedelta(days=2))
    kept = {"user": actor.user, "created_at": LONG_AGO, "set_aside_at": LONG_AGO}
    chunk = Chunk.objects.create(
        **kept, session=session, role="user", content="We chose Redis.", flag_reason="decision", seq=3
    )
    Chunk.objects.update(created_at=LONG_AGO)
    belief = Hypothesis.objects.create(
        **kept,
        session=session,
        hypothesis="It is the cache.",
        confidence=0.25,
        status="refuted",
        resolution="It was not.",
        check_on=LONG_AGO.date(),
        project="pi",
        resolved_at=LONG_AGO,
    )
    note = Note.objects.create(
        **kept,
        domain="email",
        key="k",
        content="Rule",
        project="pi",
        expires_at=timezone.now() + timedelta(days=9),
        updated_at=LONG_AGO + timedelta(days=1),
        provenance={"source": "obsidian:Brain", "place": "a.md", "part": 2},
    )
    for row in (Session.objects.get(), Summary.objects.get(), Fact.objects.get(pk=old.pk), chunk, belief, note):
        left_out = next(one.left_out for one in COPIES if one.model is type(row) and one.place == "memory_export")
        assert columns_at_default(row) - left_out.keys() == set(), f"Give {type(row).__name__} something of its own."


def _bytes_of(actor) -> str:
    """The export of a memory. Facts are numbered by their place: an empty instance numbers its rows itself."""
    document = export_memory(actor)
    numbers: dict[int | None, int | None] = {fact.id: place for place, fact in enumerate(document.facts)}
    for fact in document.facts:
        fact.id = numbers[fact.id] or 0
        fact.superseded_by, fact.similar_to = numbers.get(fact.superseded_by), numbers.get(fact.similar_to)
        fact.contradicted_by = numbers.get(fact.contradicted_by)
    return document.model_dump_json(indent=1, exclude={"exported_at"})


def _exported_files(folder, section: str) -> dict[str, str]:
    call_command("export", str(folder), only=[section])
    return {path.relative_to(folder).as_posix(): path.read_text() for path in sorted(folder.rglob("*.*"))}
