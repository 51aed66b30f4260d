"""The registry of kinds: every kind has a row with all that it needs, and nobody keeps a table beside it."""

import re
from pathlib import Path
from typing import get_args

import pytest
from django.conf import settings
from django.db import models
from django.urls import reverse
from django.utils.module_loading import import_string

from knowledge.kinds import KINDS, OWN, erase_own
from knowledge.models import Kind
from knowledge.services.archive import KindName
from knowledge.services.feedback import RecalledKind
from knowledge.services.semantic import AnyKind
from tests.factories import make_actor
from tests.knowledge.factories import make_chunk, make_fact, make_hypothesis, make_note, make_session

ID = {True: "00000000-0000-0000-0000-000000000001", False: "1"}
MAKERS = {"fact": make_fact, "session": make_session, "chunk": make_chunk, "note": make_note}
MAKERS["hypothesis"] = make_hypothesis


def _names(annotated) -> set[str]:
    """The strings that a `Literal` allows, wherever it stands in an annotation."""
    parts = get_args(annotated)
    return {part for part in parts if isinstance(part, str)} | {name for part in parts for name in _names(part)}


def _is_field(model: type[models.Model], name: str) -> bool:
    return any(field.name == name for field in model._meta.get_fields())


def test_every_kind_has_a_row():
    assert set(KINDS) == set(Kind)


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
    assert reverse(own.list_route)
    assert own.archived_at.endswith("_at")


@pytest.mark.django_db
@pytest.mark.parametrize("name", OWN)
def test_erasing_goes_by_the_word_of_the_kind(name):
    actor = make_actor()
    thing = MAKERS[name](actor)

    erase_own(actor, name, thing.pk)

    assert not OWN[name].rows(actor.user).exists()


def test_operations_take_the_kinds_of_the_registry():
    assert _names(AnyKind) == {kind.value for kind in Kind if KINDS[kind].is_searched}
    assert _names(KindName) == set(OWN)
    assert _names(RecalledKind) == {kind.value for kind in Kind if KINDS[kind].takes_feedback}
