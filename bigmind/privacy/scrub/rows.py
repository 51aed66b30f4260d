"""Finding and replacing a text in the rows of every table: also in a column that is added later."""

import json
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cache
from itertools import chain
from typing import Any

from django.apps import apps
from django.contrib.postgres.fields import ArrayField
from django.contrib.sessions.backends.db import SessionStore
from django.contrib.sessions.models import Session as BrowserSession
from django.db import IntegrityError, connection, transaction
from django.db.models import CharField, Field, JSONField, Model, TextField
from django.utils import translation
from psycopg import sql

from accounts.models import AuditEvent, ErasureReport, KeptReply, User
from accounts.models.audit import REMOVED
from accounts.services.erasure_reports import sign_document
from bigmind.database.batches import in_batches
from bigmind.database.rls import token_of
from bigmind.privacy.masking import PrivateModel
from bigmind.text.hygiene import digest, texts_in
from curation.models import Review, Scrub
from knowledge.models import CompanyEntry, Passage

from .matching import SEPARATOR, Needle, letters_of, may_stand_in, replace_in

READ_AT_ONCE = 2_000
APPS = ("accounts", "knowledge", "curation", "admin")
GROWING = (Review, AuditEvent, ErasureReport)

BY_HAND = "by it people and programs are found: change it where it is kept"
COMPUTED = "BigMind computes it; it is computed again with the text"
IDS = "ids and words of BigMind's own"
ENCRYPTED = "it is kept encrypted, or as a hash"
KEPT: dict[str, str] = {
    **dict.fromkeys(("User.username", "User.email"), BY_HAND),
    **dict.fromkeys(("digest", "name_digest", "fingerprint", "seal", "signature", "public_key"), COMPUTED),
    "AuditHead.last": COMPUTED,
    **dict.fromkeys(
        ("source_id", "quoted_id", "source_kind", "Passage.language", "Call.operation", "Call.transport"), IDS
    ),
    "AuditEvent.event": IDS,
    **dict.fromkeys(("User.password", "Webhook.secret", "Webhook.old_secret"), ENCRYPTED),
    **dict.fromkeys(("Scrub.salt", "Scrub.check_value", "Scrub.needles"), "keyed hashes alone"),
}
"""Text columns in which nothing is replaced, by `Model.field` or by field, each with the reason."""


@dataclass(frozen=True)
class Mark:
    """What stands in place of a text: that something was removed, when, and why."""

    full: str
    short: str = "[removed]"


@dataclass
class Place:
    """One row in which the text stands: how often, and in which columns."""

    model: type[Model]
    pk: Any
    values: dict[str, Any]
    times: int


@dataclass
class Rows:
    """What was found or replaced: how many places of each kind, and the things and people they belong to."""

    counts: Counter[str] = field(default_factory=Counter)
    left: Counter[str] = field(default_factory=Counter)
    things: set[tuple[type[Model], Any]] = field(default_factory=set)
    passages: set[tuple[str, str]] = field(default_factory=set)
    owners: Counter[Any] = field(default_factory=Counter)
    tables: set[str] = field(default_factory=set)


def text_columns(model: type[Model]) -> "list[Field[Any, Any]]":
    columns = [one for one in model._meta.concrete_fields if _is_text(one) and not one.primary_key]
    return [one for one in columns if not _inner(one).choices]


def why_kept(model: type[Model], name: str) -> str:
    """Return why nothing is replaced in a column; empty where it is."""
    return KEPT.get(f"{model.__name__}.{name}") or KEPT.get(name, "")


def models_to_scrub(whose: User | None) -> "list[type[Model]]":
    """Return the models whose rows are looked at: all, or what may belong to one user alone."""
    models = [model for label in APPS for model in apps.get_app_config(label).get_models()]
    return [one for one in models if not whose or (issubclass(one, PrivateModel) and one is not Scrub)]


def find_places(needles: Sequence[Needle], *, whose: User | None) -> Iterator[Place]:
    """Yield every row in which the text stands, as it is stored."""
    for model in models_to_scrub(whose):
        columns = text_columns(model)
        if columns:
            yield from _in_model(model, columns, needles, whose)


def _in_model(
    model: type[Model], columns: "Sequence[Field[Any, Any]]", needles: Sequence[Needle], whose: User | None
) -> Iterator[Place]:
    # No manager of the model's own: it may leave rows out.
    rows = model._base_manager.all()
    if whose and issubclass(model, PrivateModel):
        rows = rows.filter(**{model.owned_by: whose})
    names = [one.attname for one in columns]
    for some in in_batches(rows.values_list("pk", *names), READ_AT_ONCE):
        # Compared together first: most rows have nothing.
        if not may_stand_in(letters_of(SEPARATOR.join(_join(row[1:]) for row in some)), needles):
            continue
        for pk, *values in some:
            times = sum(_times(value, needles) for value in values)
            if times:
                yield Place(model, pk, dict(zip(names, values, strict=True)), times)


def replace_places(found: Sequence[Place], needles: Sequence[Needle], mark: Mark) -> None:
    """Put the mark in the place of the text in these rows. The passages of things are not among them."""
    reviews = {place.pk for place in found if place.model is Review}
    sealed = _find_intact(reviews)
    for place in found:
        _write(place, needles, mark)
    _seal_again(reviews, sealed)


def _kind_of(model: type[Model]) -> str:
    """Return what people call rows of a model: in English, because it is kept and signed. Pages translate it."""
    with translation.override(None):
        return str(model._meta.verbose_name_plural)


def note_places(found: Sequence[Place], needles: Sequence[Needle]) -> Rows:
    """Count places by what people call them, and gather what they belong to."""
    rows = Rows()
    for place in found:
        kept = [name for name in place.values if why_kept(place.model, name)]
        left = sum(_times(place.values[name], needles) for name in kept)
        label = _kind_of(place.model)
        rows.left[label] += left
        if place.times == left:
            continue
        rows.tables.add(place.model._meta.db_table)
        if place.model is Passage:
            passage = Passage.objects.only("kind", "source_id").get(pk=place.pk)
            rows.passages.add((passage.kind, passage.source_id))
        else:
            rows.things.add((place.model, place.pk))
        rows.counts[label] += place.times - left
        if owner := _owner_of(place):
            rows.owners[owner] += place.times - left
    # Drops the kinds of which nothing is left.
    rows.left += Counter()
    return rows


def replace_in_browser_sessions(needles: Sequence[Needle], mark: Mark, *, dry_run: bool) -> int:
    """Replace it in the sessions of browsers, which are compressed; return in how many it stands."""
    found = 0
    for row in chain.from_iterable(in_batches(BrowserSession.objects.all(), READ_AT_ONCE)):
        kept, times = _replace(row.get_decoded(), needles, mark.full)
        found += bool(times)
        if times and not dry_run:
            row.session_data = SessionStore().encode(kept)
            row.save(update_fields=["session_data"])
    return found


@cache
def _is_text(column: "Field[Any, Any]") -> bool:
    return isinstance(_inner(column), (CharField, TextField, JSONField))


def _inner(column: "Field[Any, Any]") -> "Field[Any, Any]":
    return column.base_field if isinstance(column, ArrayField) else column


def _join(values: Sequence[Any]) -> str:
    return SEPARATOR.join(one for value in values for one in texts_in(value))


def _times(value: Any, needles: Sequence[Needle]) -> int:
    return sum(replace_in(text, needles, "")[1] for text in texts_in(value)) if value else 0


def _replace(value: Any, needles: Sequence[Needle], mark: str) -> tuple[Any, int]:
    """Return a document with a mark in each place of the text, also in the names of its fields."""
    if isinstance(value, str):
        return replace_in(value, needles, mark)
    if isinstance(value, list):
        pairs = [_replace(one, needles, mark) for one in value]
        return [one for one, _ in pairs], sum(times for _, times in pairs)
    if isinstance(value, dict):
        kept, found = {}, 0
        for name, one in value.items():
            new_name, in_name = _replace(name, needles, mark)
            new, times = _replace(one, needles, mark)
            kept[new_name] = new
            found += in_name + times
        return kept, found
    return value, 0


def _owner_of(place: Place) -> Any:
    model = place.model
    if not issubclass(model, PrivateModel):
        return None
    return model._base_manager.filter(pk=place.pk).values_list(model.owned_by, flat=True).first()


def _write(place: Place, needles: Sequence[Needle], mark: Mark) -> None:
    if place.model is Passage:
        return  # They are written again, from the things they are pieces of.
    changes = {
        one.attname: _new_value(one, place.values[one.attname], needles, mark)
        for one in text_columns(place.model)
        if not why_kept(place.model, one.name) and _times(place.values[one.attname], needles)
    }
    if not changes:
        return
    if place.model in GROWING:
        _write_history(place, changes)
        return
    if place.model is KeptReply:
        changes["reply"] = None  # What is left of it would answer a call that was another one.
    changes |= _digests(place, changes) | _vectors(place.model)
    rows = place.model._base_manager.filter(pk=place.pk)
    try:
        with transaction.atomic():
            rows.update(**changes)
    except IntegrityError:
        # Two rows whose texts may not be the same had the text and nothing else: the number keeps them apart.
        apart = {name: _tell_apart(place, name, value) for name, value in changes.items()}
        with suppress(IntegrityError), transaction.atomic():  # What cannot be replaced is counted as left.
            rows.update(**{**apart, **_digests(place, apart)})


def _new_value(column: "Field[Any, Any]", value: Any, needles: Sequence[Needle], mark: Mark) -> Any:
    if column.model is Review and isinstance(value, dict):
        # As in the columns of the entry, or its history would end with another text than its own.
        rooms = {name: _room_in_entry(name) for name in value}
        return {_fit(name, needles, mark, None): _fit(one, needles, mark, rooms[name]) for name, one in value.items()}
    return _fit(value, needles, mark, getattr(_inner(column), "max_length", None))


def _fit(value: Any, needles: Sequence[Needle], mark: Mark, room: int | None) -> Any:
    """Return a value with the most telling mark that fits into its column."""
    for one in (mark.full, mark.short, ""):
        new, times = _replace(value, needles, one)
        if not times or room is None or all(len(text) <= room for text in texts_in(new)):
            return new
    return new


@cache
def _room_in_entry(name: str) -> int | None:
    columns = {one.attname: one for one in CompanyEntry._meta.concrete_fields}
    return getattr(_inner(columns[name]), "max_length", None) if name in columns else None


def _tell_apart(place: Place, name: str, value: Any) -> Any:
    if not isinstance(value, str):
        return value
    column = next(one for one in text_columns(place.model) if one.attname == name)
    number, room = f" {place.pk}", getattr(column, "max_length", None)
    return (value[: room - len(number)] if room else value) + number


def _digests(place: Place, changes: dict[str, Any]) -> dict[str, str]:
    """Return the digests of the row that were of a text which changes: they would let it be recognised."""
    names = {one.attname for one in place.model._meta.concrete_fields if one.name in {"digest", "name_digest"}}
    made = {digest(place.values[name]): digest(value) for name, value in changes.items() if isinstance(value, str)}
    stored = place.model._base_manager.filter(pk=place.pk).values(*names).first() if names else {}
    return {name: made[value] for name, value in (stored or {}).items() if value in made}


@cache
def _vectors(model: type[Model]) -> dict[str, None]:
    """Return the columns of a row that were computed from its text, empty: what it said could be guessed by them."""
    computed = {"vector", "titled_vector", "tokens", "space"}
    names = {one.attname for one in model._meta.concrete_fields if one.name in computed and one.null}
    return dict.fromkeys(names if "vector" in names else ())


def _write_history(place: Place, changes: dict[str, Any]) -> None:
    if place.model is AuditEvent and "details" in changes:
        event = AuditEvent.objects.get(pk=place.pk)
        before = AuditEvent.objects.filter(number=event.number - 1).first()
        event.details = changes["details"]
        seal = event.removal_seal(before.seal if before else "")
        changes["details"] = {**changes["details"], REMOVED: seal}
    if place.model is ErasureReport and "document" in changes:
        changes |= sign_document(changes["document"])
    _scrub_row(place.model, place.pk, changes)


def _scrub_row(model: type[Model], pk: Any, changes: dict[str, Any]) -> None:
    """Change a row of a table that only grows, by the function of the database that alone may."""
    with connection.cursor() as cursor:
        # The token is for this session alone, which the client cannot know behind a pool. Decision 58.
        cursor.execute("SELECT pg_backend_pid()")
        (session,) = cursor.fetchone()
        cursor.execute("SELECT set_config('bigmind.scrubs', %s, true)", [token_of("scrub", session)])
        table = sql.Identifier("public", model._meta.db_table).as_string()
        cursor.execute("SELECT bigmind_scrub_row(%s::regclass, %s, %s::jsonb)", [table, pk, json.dumps(changes)])
        cursor.execute("SELECT set_config('bigmind.scrubs', '', true)")


def _find_intact(changed: set[int]) -> dict[int, bool]:
    """Return which rows of the histories that change are sealed as they were written."""
    rows, previous, last = dict[int, bool](), "", 0
    for review in _histories(changed):
        previous = previous if review.entry_id == last else ""
        rows[review.pk] = review.seal == review.seal_after(previous)
        previous, last = review.seal, review.entry_id
    return rows


def _seal_again(changed: set[int], sealed: dict[int, bool]) -> None:
    """Seal histories again from the first row that changed: anyone who has one can check it without a key.

    What was forged before stays as it is, and is found as before.
    """
    previous, last = "", 0
    for review in _histories(changed):
        previous = previous if review.entry_id == last else ""
        seal = review.seal_after(previous) if sealed[review.pk] else review.seal
        if seal != review.seal:
            _scrub_row(Review, review.pk, {"seal": seal})
        previous, last = seal, review.entry_id


def _histories(changed: set[int]) -> list[Review]:
    entries = Review.objects.filter(pk__in=changed).values("entry")
    return list(Review.objects.filter(entry__in=entries).order_by("entry_id", "number"))
