"""The registry of kinds: every kind has a row with all that it needs, and nobody keeps a table beside it."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from django.conf import settings
from django.db import models
from django.urls import reverse
from django.utils.module_loading import import_string

from bigmind.core.export_section import ExportSection
from curation.decisions.forgetting import Forgotten
from knowledge.capture.triggers import _sources
from knowledge.kinds import KIND_OF_WORD, KINDS, LISTED, OWN, erase_own
from knowledge.memory.upkeep import Stats
from knowledge.models import Kind
from knowledge.transfer.exports import MemoryDocument
from knowledge.transfer.parts import MemoryPart
from tests.factories import make_actor
from tests.knowledge.factories import make_chunk, make_fact, make_hypothesis, make_note, make_session

ID = {True: "00000000-0000-0000-0000-000000000001", False: "1"}
MAKERS = {"fact": make_fact, "session": make_session, "chunk": make_chunk, "note": make_note}
MAKERS["hypothesis"] = make_hypothesis


NAMES = set(Kind.values) | {row.word for row in KINDS.values()} | {row.model.__name__ for row in KINDS.values()}
WORDS = re.compile(rf"\b(?:{'|'.join(NAMES | {name.upper() for name in NAMES})})\b")
KNOWN_ELSEWHERE = {"fact", "session", "chunk", "note", "hypothesis"}
WRITTEN_OUT = {
    # What other programs call them, and which fields go to them. A kind that no program knows goes to none.
    "knowledge/transfer/readers/items.py": KNOWN_ELSEWHERE,
    "knowledge/transfer/readers/mcp_memory_service.py": KNOWN_ELSEWHERE - {"chunk"},
}
"""Where four or more kinds are named in one literal, and which these have to be."""


def _is_field(model: type[models.Model], name: str) -> bool:
    return any(field.name == name for field in model._meta.get_fields())


def test_every_kind_has_a_row():
    assert set(KINDS) == set(Kind)


def test_a_kind_is_shared_where_it_has_no_owner():
    assert {kind for kind in Kind if kind.is_shared} == {kind for kind, row in KINDS.items() if row.own is None}


def test_every_model_with_passages_is_in_the_registry():
    written = Path(settings.BASE_DIR, "knowledge").rglob("*.py")
    calls = re.compile(r"(?:index_passages|index_new|Passage)\(\s*(?:kind=)?Kind\.([A-Z_]+)")
    indexed = {name for path in written for name in calls.findall(path.read_text())}

    assert {Kind[name] for name in indexed} == set(KINDS)


@pytest.mark.parametrize("kind", list(Kind))
def test_a_row_has_every_part_that_a_kind_needs(kind):
    row = KINDS[kind]

    assert row.tier
    assert row.word
    assert row.label
    assert row.read_id(ID[isinstance(row.model._meta.pk, models.UUIDField)])
    assert f'id="{row.symbol}"' in Path(settings.BASE_DIR, "static/img/icons.svg").read_text()
    assert _is_field(row.model, row.moment)
    assert not row.tags or row.tags.partition("__")[0] in {field.name for field in row.model._meta.get_fields()}
    assert not row.session or _is_field(row.model, row.session)
    if row.is_searched:
        assert reverse(row.route, args=[row.read_id(ID[row.read_id is not int])])


@pytest.mark.django_db
@pytest.mark.parametrize("kind", list(Kind))
def test_a_row_finds_things_of_its_model(kind):
    row, user = KINDS[kind], make_actor().user

    assert row.visible(user).model is row.model
    assert row.readable(user).model is row.model


@pytest.mark.parametrize("name", OWN)
def test_what_is_ones_own_can_be_archived_and_erased(name):
    own = OWN[name]

    assert all(callable(import_string(path)) for path in (own.lock, own.index, own.erase))
    assert reverse(KINDS[KIND_OF_WORD[name]].list_route)
    assert own.archived_at.endswith("_at")
    assert KINDS[KIND_OF_WORD[name]].plural in Forgotten.model_fields
    assert KINDS[KIND_OF_WORD[name]].plural in Stats.model_fields


@pytest.mark.parametrize("name", LISTED)
def test_what_has_a_list_of_its_own_is_exported_and_on_the_timeline(name):
    row = LISTED[name]

    assert row.own
    part = import_string(row.own.part)
    assert isinstance(part, MemoryPart)
    assert part.model is row.model
    assert row.plural in MemoryDocument.model_fields
    assert row.own.event_title
    assert all(_is_field(row.model, field) for field in row.own.event_title)


@pytest.mark.parametrize("name", OWN.keys() - LISTED.keys())
def test_what_is_part_of_another_kind_is_listed_with_that(name):
    part, whole = (KINDS[KIND_OF_WORD[word]] for word in (name, OWN[name].part_of))

    assert part.list_route == whole.list_route


@pytest.mark.parametrize("kind", [kind for kind, row in KINDS.items() if row.is_shared and row.is_searched])
def test_what_everybody_shares_is_exported(kind):
    assert isinstance(import_string(KINDS[kind].section), ExportSection)


@pytest.mark.django_db
@pytest.mark.parametrize("name", OWN)
def test_erasing_goes_by_the_word_of_the_kind(name, actor):
    thing = MAKERS[name](actor)

    erase_own(actor, name, thing.pk)

    assert not OWN[name].rows(actor.user).exists()


@pytest.mark.django_db
def test_hooks_get_the_triggers_of_every_kind_that_has_some():
    # Whose name is sent, by what the most important come first, and who sets the level differ from kind to kind.
    told = {kind for kind, *_ in _sources(make_actor())}

    assert told == {kind for kind, row in KINDS.items() if _is_field(row.model, "triggers")}


def test_nobody_keeps_a_table_of_kinds_beside_the_registry():
    found = {
        path.relative_to(settings.BASE_DIR).as_posix(): names
        for app in ("accounts", "bigmind", "curation", "knowledge")
        for path in Path(settings.BASE_DIR, app).rglob("*.py")
        if "migrations" not in path.parts and path != Path(settings.BASE_DIR, "knowledge/kinds.py")
        for names in _kinds_in_literals(path.read_text())
    }

    assert found == WRITTEN_OUT


@pytest.mark.parametrize(
    "code",
    [
        '{"fact": 1, "chunk": 2, "note": 3, "hypothesis": 4}',
        "(Kind.FACT, Kind.CHUNK, Kind.NOTE.value, Kind.ENTRY)",
        "[(Fact, 1), (Chunk, 2), (Note, 3), (Entry, 4)]",
        'frozenset({"fact", "chunk", "session", "entry"})',
    ],
)
def test_a_table_of_kinds_is_recognised(code):
    assert list(_kinds_in_literals(code))


def _kinds_in_literals(code: str) -> Iterator[set[str]]:
    """Yield the kinds of each literal that names four or more, as its keys, its members or what its rows begin with."""
    if len({*WORDS.findall(code)}) < 4:
        return  # Parsing takes its time.
    for node in ast.walk(ast.parse(code)):
        keys = node.keys if isinstance(node, ast.Dict) else getattr(node, "elts", [])
        if len(keys) >= 4 and len(names := {_kind_named(key) for key in keys} & NAMES) >= 4:
            yield names


def _kind_named(node: ast.expr | None) -> str:
    match node:
        case ast.Name(id=name):
            return name
        case ast.Constant(value=str() as name) if name.islower():
            return name  # In capitals it is the name of a model, which its package exports.
        case ast.Attribute(value=ast.Attribute() as inner, attr="value"):
            return _kind_named(inner)
        case ast.Attribute(attr=name):
            return name.lower()
        case ast.Tuple(elts=[first, *_]):
            return _kind_named(first)
    return ""
