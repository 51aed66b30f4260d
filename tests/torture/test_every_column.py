"""T33: thousands of rows of every kind, with something in every column, go out and come back byte for byte."""

import json
import time
from collections.abc import Callable, Iterable
from datetime import UTC, datetime, timedelta
from io import StringIO
from pathlib import Path

import pytest
from django.core.management import call_command
from django.db.models import Model
from django.utils import timezone

from accounts.actor import Actor
from accounts.models import Profile
from accounts.people.profiles import update_profile
from bigmind.core.operations import carry_out
from bigmind.text.hygiene import digest
from knowledge.app_maps.argument_types import LearntEntity
from knowledge.app_maps.learning import learn_app
from knowledge.models import (
    App,
    Chunk,
    Entry,
    Fact,
    Hypothesis,
    Note,
    Passage,
    Reference,
    ReferenceCollection,
    Session,
    Summary,
)
from knowledge.references.imports import import_references
from knowledge.references.readers.reference_drafts import CommandForm, EndpointForm, Example, Option, ReferenceDraft
from knowledge.transfer.imports import import_memory
from knowledge.transfer.passport import export_memory
from tests.factories import make_actor
from tests.torture.importer import lesson
from tests.torture.scale import ROWS

pytestmark = [pytest.mark.torture, pytest.mark.django_db(transaction=True)]

BEGAN = datetime(2021, 3, 4, 5, 6, 7, 891011, tzinfo=UTC)
OF_AN_APP = 10
IN_A_COLLECTION = 1_000


def test_the_knowledge_base(tmp_path: Path, report: Callable[[str], None]) -> None:
    make_actor(admin=True)
    _fill_entries(make_actor(curator=True))
    before = _exported(tmp_path / "first", "entries")
    columns = list(Entry.objects.order_by("pk").values(*_OF_ENTRIES))
    Entry.objects.all().delete()
    Passage.objects.all().delete()

    began = time.monotonic()
    _run("kb_seed", *map(str, sorted((tmp_path / "first" / "entries").iterdir())))

    report(f"{ROWS} entries came back in {time.monotonic() - began:.1f} s")
    assert list(Entry.objects.order_by("pk").values(*_OF_ENTRIES)) == columns
    assert _exported(tmp_path / "second", "entries") == before


def test_a_memory(report: Callable[[str], None]) -> None:
    actor = make_actor()
    _fill_memory(actor)
    before, document = _memory_of(actor), export_memory(actor).model_dump(mode="json")
    ids = set(Session.objects.values_list("pk", flat=True))
    for model in (Session, Fact, Hypothesis, Note, Profile, Passage):
        model.objects.all().delete()

    began = time.monotonic()
    carry_out(import_memory, actor, {"document": document})

    report(f"{ROWS} of each kind of memory came back in {time.monotonic() - began:.1f} s")
    assert _memory_of(actor) == before
    assert set(Session.objects.values_list("pk", flat=True)) == ids


def test_a_memory_in_an_empty_instance_renames_no_session() -> None:
    ada = make_actor()
    _fill_memory(ada, rows=20)
    document, ids = export_memory(ada).model_dump(mode="json"), set(Session.objects.values_list("pk", flat=True))
    ada.user.delete()
    bea = make_actor()

    carry_out(import_memory, bea, {"document": document})

    assert set(Session.objects.values_list("pk", flat=True)) == ids


def test_documentation(tmp_path: Path, report: Callable[[str], None]) -> None:
    curator = make_actor(admin=True)
    slugs = [f"api-{number}" for number in range(0, ROWS, IN_A_COLLECTION)]
    for place, slug in enumerate(slugs):
        numbers = range(place * IN_A_COLLECTION, min(ROWS, (place + 1) * IN_A_COLLECTION))
        import_references(curator, collection=slug, drafts=[_draft(number) for number in numbers])
    _move_back(Reference, Reference.objects.order_by("key"), "updated_at")
    before = _exported(tmp_path / "first", "references")
    ReferenceCollection.objects.all().delete()

    began = time.monotonic()
    for slug in slugs:
        _run("references_import", str(tmp_path / "first" / "references" / f"{slug}.json"), "--collection", slug)

    report(f"{ROWS} references came back in {time.monotonic() - began:.1f} s")
    assert Reference.objects.count() == ROWS
    assert _exported(tmp_path / "second", "references") == before


def test_app_maps(tmp_path: Path, report: Callable[[str], None]) -> None:
    actor = make_actor(admin=True)
    for app in range(max(1, ROWS // OF_AN_APP)):
        rows = [
            LearntEntity(
                name=f"Client {app}-{row}",
                table=f"Table {row % 3}",
                table_id=f"ta_{app}_{row % 3}",
                row_id=f"ro_{app}_{row}",
                match_field="Name",
                match_value=f"Client {app}-{row}",
            )
            for row in range(OF_AN_APP)
        ]
        learn_app(actor, app=f"App {app}", app_id=f"app_{app}", aliases=[f"the {app}th"], entities=rows)
    before = _exported(tmp_path / "first", "apps")
    App.objects.all().delete()

    began = time.monotonic()
    _run("apps_import", str(tmp_path / "first" / "apps"))

    report(f"{ROWS} rows of app maps came back in {time.monotonic() - began:.1f} s")
    assert _exported(tmp_path / "second", "apps") == before


_OF_ENTRIES = (
    *("id", "content", "digest", "entry_type", "roles", "tags", "project", "source_file", "source_story", "parent_id"),
    *("confidence", "metadata", "created_by_id", "created_at", "updated_at"),
)


def _fill_entries(author: Actor) -> None:
    parents: list[Entry] = []
    rows = []
    for number in range(ROWS):
        text = lesson(number)
        parent = parents[-1] if number % 10 and parents else None
        entry = Entry(
            content=text,
            digest=digest(text),
            entry_type=("summary", "fact", "template")[0 if parent is None else 1 + number % 2],
            roles=["dev", "designer"][: 1 + number % 2],
            tags=[f"t{number % 7}", "007"],
            project=f"depot-{number % 3}",
            source_file=f"plans/{number % 5}/notes.md",
            source_story=f"D-{number // 10}",
            parent=parent,
            confidence=number % 100 / 100,
            metadata={"weight": number, "no": [True, None, "12:30"], "nested": {"a": 0.5}},
            provenance={},
            created_by=author.user,
        )
        parents += [] if parent else [entry]
        rows.append(entry)
    Entry.objects.bulk_create(rows, batch_size=500)
    _move_back(Entry, rows, "created_at", "updated_at")


def _fill_memory(actor: Actor, *, rows: int = ROWS) -> None:
    """Store so many of each kind, as rows: the operations that write them are not what is tried here."""
    update_profile(actor, role="Engineer", preferences="Concise.", pinned_facts=["Uses uv"])
    kept, numbers = {"user": actor.user}, range(rows)
    moments = [BEGAN + timedelta(hours=number) for number in numbers]
    sessions = Session.objects.bulk_create(
        Session(
            **kept,
            project=f"pi-{number % 3}",
            started_at=moment,
            ended_at=moment + timedelta(hours=1),
            one_liner=f"Done {number}",
            topics=[f"t{number % 9}"],
            outcome="Built.",
            importance=1 + number % 10,
            auto_closed=bool(number % 2),
            set_aside_at=moment if number % 4 == 0 else None,
        )
        for number, moment in zip(numbers, moments, strict=True)
    )
    Summary.objects.bulk_create(
        Summary(session=one, summary=f"Told {number}.", key_facts=["One"], code_refs=["a.py:1"])
        for number, one in enumerate(sessions)
    )
    Chunk.objects.bulk_create(
        Chunk(**kept, session=one, role="user", content=f"We chose {number}.", flag_reason="decision", seq=3)
        for number, one in enumerate(sessions)
    )
    facts = Fact.objects.bulk_create(
        Fact(
            **kept,
            fact=lesson(number),
            digest=digest(lesson(number)),
            category="decision",
            confidence=number % 100 / 100,
            project="pi",
            source_session=sessions[number],
            valid_from=moment,
            valid_until=moment + timedelta(days=9_000),
            deprecated_at=moment if number % 5 == 0 else None,
            deprecation_reason="It was not." if number % 5 == 0 else "",
        )
        for number, moment in zip(numbers, moments, strict=True)
    )
    for fact, other in zip(facts[1:], facts, strict=False):
        fact.similar_to = fact.contradicted_by = other
        fact.superseded_by = other if fact.deprecated_at else None
    Fact.objects.bulk_update(facts, ["similar_to", "contradicted_by", "superseded_by"], batch_size=500)
    Hypothesis.objects.bulk_create(
        Hypothesis(
            **kept,
            session=sessions[number],
            hypothesis=f"It is the cache {number}.",
            confidence=0.25,
            status="refuted",
            resolution="It was not.",
            check_on=moment.date(),
            project="pi",
            resolved_at=moment,
            set_aside_at=moment,
        )
        for number, moment in zip(numbers, moments, strict=True)
    )
    Note.objects.bulk_create(
        Note(
            **kept,
            domain=f"email-{number % 5}",
            key=f"k{number}",
            content="Rule",
            project="pi",
            expires_at=timezone.now() + timedelta(days=9),
            set_aside_at=moment,
            updated_at=moment,
        )
        for number, moment in zip(numbers, moments, strict=True)
    )
    for model in (Fact, Chunk, Summary, Hypothesis, Note):
        fields = {field.name for field in model._meta.concrete_fields} & {"created_at", "updated_at"}
        _move_back(model, model.objects.order_by("pk"), *fields)


def _move_back(model: type[Model], rows: Iterable[Model], *fields: str) -> None:
    """Let rows be of another moment each; `update`, for `save` would say that it is now."""
    for number, row in enumerate([*rows]):
        moments = {field: BEGAN + timedelta(hours=number, days=field == "updated_at") for field in fields}
        model.objects.filter(pk=row.pk).update(**moments)


def _draft(number: int) -> ReferenceDraft:
    shared = {
        "key": f"r-{number:05}",
        "category": "Users",
        "subcategory": f"s{number % 4}",
        "title": f"List users {number}",
        "summary": f"Lists the users of depot {number}.",
        "content": lesson(number),
        "keywords": ("users",),
        "aliases": (f"get users {number}",),
        "examples": (Example(code=f"helios users-{number}", description="All of them"),),
        "related": (f"r-{max(0, number - 1):05}",),
        "source": f"console.ts:{number}",
        "version": "4.2",
    }
    if number % 2:
        endpoint = EndpointForm(method="GET", path=f"/users/{number}", responses={"200": {"description": "One user"}})
        return ReferenceDraft(**shared, kind="api", name=f"GET /users/{number}", endpoint=endpoint)
    name = f"helios users-{number}"
    form = CommandForm(name=name, syntax=name, options=(Option(name="--all", short="-a"),))
    return ReferenceDraft(**shared, kind="command", name=name, command=form)


def _memory_of(actor: Actor) -> str:
    """The export of a memory; facts are numbered by their place, for an empty instance numbers its rows itself."""
    document = json.loads(export_memory(actor).model_dump_json(exclude={"exported_at"}))
    places = {fact["id"]: place for place, fact in enumerate(document["facts"])}
    for fact in document["facts"]:
        for name in ("id", "superseded_by", "similar_to", "contradicted_by"):
            fact[name] = places.get(fact[name])
    return json.dumps(document, indent=1)


def _exported(folder: Path, section: str) -> dict[str, str]:
    _run("export", str(folder), "--only", section)
    return {path.relative_to(folder).as_posix(): path.read_text() for path in sorted(folder.rglob("*.*"))}


def _run(*words: str) -> None:
    call_command(*words, stdout=StringIO(), stderr=StringIO())
