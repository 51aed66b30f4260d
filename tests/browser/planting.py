"""A payload in every text field of every model: enumerated, so that a new field is planted or says why it cannot be."""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from django.apps import apps
from django.contrib.postgres.fields import ArrayField
from django.db import connection
from django.db.models import CharField, Field, JSONField, Model, TextField
from django.utils import timezone

OUTSIDE = "http://outside.example"
ENDLESS = "Donaudampfschifffahrtsgesellschaft" * 9
"""A word that no line of a page has room for."""

# `{}` is the number of the field: it tells on a page where the text comes from. A field takes the longest that fits.
PAYLOADS = (
    f'{ENDLESS}"><img src=x onerror=alert({{0}})><script>alert({{0}})</script><svg onload=alert({{0}})>'
    f"[x](javascript:alert({{0}})) ![x]({OUTSIDE}/x.png) <{OUTSIDE}/> {{{{{{{{ 7|add:7 }}}}}}}}",
    "\"><img src=x onerror=alert({0})><script>alert({0})</script><svg onload=alert({0})>'-alert({0})-'"
    f"[x](javascript:alert({{0}})) ![x]({OUTSIDE}/x.png) <{OUTSIDE}/> {{{{{{{{ 7|add:7 }}}}}}}}",
    '"><img src=x onerror=alert({0})><script>alert({0})</script>',
    '"><svg onload=alert({0})>',
    "<svg onload=alert({0})>",
    "<img src=//x.y>",
)
# What a link could be made of.
ADDRESS = 'javascript:alert({0})//"><img src=x onerror=alert({0})>'
SEEN = re.compile(r"alert\((\d+)\)")

MADE_BY_THE_PROGRAM = "the program makes it: hexadecimal, or base64"
IDS = "an id, made by the database or compared with one"
WORDS = "one of the program's own words, which no transport takes from outside"
TOO_SHORT = "too short for anything that would act"
CONSTRAINED = "the database takes known words only"
NAMES = "letters, digits and @.+-_ alone, by a validator that every way in asks"

NOT_PLANTED: dict[str, str] = {
    **dict.fromkeys(("digest", "name_digest", "fingerprint", "seal", "signature", "public_key"), MADE_BY_THE_PROGRAM),
    "source_id": IDS,
    "Passage.language": WORDS,
    "quoted_id": IDS,
    "User.password": "a hash: it signs nobody in otherwise, and no template knows it",
    "User.username": NAMES,
    "ApiKey.prefix": TOO_SHORT,
    "ApiKey.scopes": CONSTRAINED,
    "ApiKey.toolsets": WORDS,
    "AppToken.scopes": CONSTRAINED,
    "Sharing.sections": CONSTRAINED,
    "Subscription.muted": CONSTRAINED,
    "SettingOverride.value": CONSTRAINED,
    "Call.transport": TOO_SHORT,
    "ReferenceName.method": TOO_SHORT,
    "ReferenceCollection.slug": "a part of addresses: letters, digits, - and _",
    "SignIn.address": "where a connection comes from; the kernel says it",
    "SignInTry.address": "where a connection comes from; the kernel says it",
    "ConnectedApp.introduced_from": "where a connection comes from; the kernel says it",
    "Receipt.recalls": "ids of texts and numbers of tokens, which the program alone writes",
    "HookEvent.recalled": "kinds, ids and numbers of tokens, which the program alone writes",
    "HookHealth.last_event": WORDS,
    "TidyingAnswer.key": MADE_BY_THE_PROGRAM,
    "TidyingAnswer.items": IDS,
    "TidyingAnswer.result": IDS,
    "TidyingAnswer.action": WORDS,
    "EmbeddingSpace.name": "names the embedder that the settings choose",
    **dict.fromkeys(("Feedback.kind", "Serving.kind", "Writing.kind", "Firing.kind"), WORDS),
    **dict.fromkeys(("CompanyEntry.source_kind", "CompanyEntry.warnings"), WORDS),
}

# Texts that no service stores without saying when.
WITH_A_MOMENT = {
    "CompanyEntry.decision_notes": ("decided_at",),
    "CompanyServer.error": ("failed_at", "not_before"),
}

# Documents that pages take apart: what every service stores in them.
_TRIGGERS = ("Fact.triggers", "Entry.triggers", "CompanyEntry.triggers")
_ANCHORS = ("Fact.anchors", "Entry.anchors", "CompanyEntry.anchors")
_TEXTS_OF_A_REFERENCE = ("ReferenceDrift.before", "ReferenceDrift.now", "ReferenceVersion.text")
SHAPES: dict[str, Callable[[str], Any]] = {
    **dict.fromkeys(_TRIGGERS, lambda text: [f"prompt: {text}"]),
    **dict.fromkeys(_ANCHORS, lambda text: [f"docs/use.md:command {text}"]),
    "Reference.examples": lambda text: [{"description": text, "code": text}],
    **dict.fromkeys(
        _TEXTS_OF_A_REFERENCE,
        lambda text: {
            **dict.fromkeys(("title", "category", "summary", "content"), text),
            "examples": [{"description": text, "code": text}],
        },
    ),
}


@dataclass(frozen=True)
class Planted:
    """A text field, and what was written into it."""

    model: type[Model]
    field: "Field[Any, Any]"
    number: int

    @property
    def name(self) -> str:
        """Return `Model.field`."""
        return f"{self.model.__name__}.{self.field.name}"

    @property
    def why_not(self) -> str:
        """Return why nothing can be planted here; empty where something must be."""
        if self.field.choices:
            return CONSTRAINED
        return NOT_PLANTED.get(self.name) or NOT_PLANTED.get(self.field.name, "")

    def payload(self, row: int = 0) -> str:
        """Return the longest payload that fits; those of several rows differ, where that can be told apart."""
        room = _room_of(self.field)
        fitting = [
            text.format(self.number) for text in (ADDRESS, *PAYLOADS) if "url" in self.field.name or text != ADDRESS
        ]
        longest = next((text for text in fitting if len(text) + len(str(row)) <= room), "")
        assert longest, f"{self.name} takes {room} characters, too few for a payload: say so in NOT_PLANTED."
        return longest + (str(row) if row else "")

    def value(self, stored: Any, row: int) -> Any:
        """Return what is to stand in the field instead of what stands there."""
        text = self.payload(row)
        if self.name in SHAPES:
            return SHAPES[self.name](text)
        if isinstance(self.field, ArrayField):
            return [text]
        return _with_text(stored, text) if isinstance(self.field, JSONField) else text


def text_fields() -> list[Planted]:
    """Return every text field of our models, each with a number of its own."""
    found = [
        (model, field)
        for label in ("accounts", "knowledge", "curation")
        for model in apps.get_app_config(label).get_models()
        for field in model._meta.concrete_fields
        if isinstance(getattr(field, "base_field", field), (CharField, TextField, JSONField)) and not field.primary_key
    ]
    return [Planted(model, field, 1000 + number) for number, (model, field) in enumerate(found)]


def plant_everywhere() -> None:
    """Write a payload into every field of every row that is there, past services and triggers."""
    _let_histories_be_changed("DISABLE")
    try:
        for planted in text_fields():
            if not planted.why_not:
                _plant(planted)
    finally:
        _let_histories_be_changed("ENABLE")


def fields_with_payloads() -> set[str]:
    """Return the fields in which a payload stands."""
    return {planted.name for planted in text_fields() if not planted.why_not and any(_texts_in(planted))}


def _let_histories_be_changed(verb: str) -> None:
    """Switch the triggers by which some tables only grow. The constraints of the database hold on."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT tgrelid::regclass::text, tgname FROM pg_trigger WHERE tgname LIKE '%only_grow%'")
        for table, trigger in cursor.fetchall():
            cursor.execute(f"ALTER TABLE {table} {verb} TRIGGER {trigger}")


def _plant(planted: Planted) -> None:
    rows = planted.model._base_manager.order_by("pk").values_list("pk", planted.field.name)
    for number, (pk, stored) in enumerate(rows):
        told = {planted.field.name: planted.value(stored, number)}
        told |= dict.fromkeys(WITH_A_MOMENT.get(planted.name, ()), timezone.now())
        planted.model._base_manager.filter(pk=pk).update(**told)


def _texts_in(planted: Planted) -> Iterator[bool]:
    for (stored,) in planted.model._base_manager.values_list(planted.field.name):
        yield planted.payload() in str(stored) or planted.payload() in _unescaped(stored)


def _unescaped(stored: Any) -> str:
    return "".join(_strings(stored))


def _strings(stored: Any) -> Iterator[str]:
    if isinstance(stored, dict):
        for name, value in stored.items():
            yield name
            yield from _strings(value)
    elif isinstance(stored, list):
        for value in stored:
            yield from _strings(value)
    elif isinstance(stored, str):
        yield stored


def _with_text(stored: Any, text: str) -> Any:
    """Put a text in the place of every text in a document, and one more into each object that may hold any."""
    if isinstance(stored, dict):
        return {name: _with_text(value, text) for name, value in stored.items()} or {text: 1}
    if isinstance(stored, list):
        return [_with_text(value, text) for value in stored] or [text]
    if stored is None:
        return {text: text}
    return text if isinstance(stored, str) else stored


def _room_of(field: Any) -> int:
    inner = field.base_field if isinstance(field, ArrayField) else field
    room = int(getattr(inner, "max_length", None) or 10_000)
    # A trigger or an anchor is shorter than its column, and begins with its kind.
    return room - 30 if field.name in {"triggers", "anchors"} else room
