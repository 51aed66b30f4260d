"""The settings in force, and changes by an admin while BigMind runs: validated, audited, applied by all processes."""

import asyncio
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from threading import Thread
from typing import Any
from urllib.parse import urlsplit

import psycopg
import structlog
from django.db import connection, transaction
from pydantic import SecretStr, ValidationError
from pydantic.fields import FieldInfo

from accounts.actor import Actor
from accounts.models import SettingOverride
from accounts.services.audit import audit
from accounts.services.known_keys import CHANNEL as OF_KEYS
from accounts.services.known_keys import KNOWN_KEYS
from bigmind.core.errors import Conflict, Invalid, NotFound
from bigmind.core.sentences import in_language
from bigmind.database.change_notifications import listening_parameters
from bigmind.environment import Environment, environment
from bigmind.environment.changeable import live_name
from bigmind.environment.listing import (
    GROUPS,
    choices_of,
    default_of,
    fields_of,
    in_words,
    limits_of,
    title_of,
    variable_of,
)
from bigmind.environment.live_settings import live
from bigmind.text.hygiene import echo

CHANNEL = "bigmind_settings"
LOOK_SECONDS = 2.0
"""How long a change may stay unnoticed where notifications do not come through, such as behind some pools."""
SOURCES = {"environment": "Environment", "file": "File", "page": "This page", "default": "Default"}
TEXT_CHARS = 200

log = structlog.get_logger()


@dataclass(frozen=True)
class ShownSetting:
    """One setting as the page shows it. A secret has no value here, only whether there is one.

    Attributes:
        source: `environment`, `file`, `page` or `default`.
        overridden: What was chosen in the page and does not count, because the environment wins or it is invalid.
    """

    name: str
    title: str
    variable: str
    about: str
    value: str
    source: str
    default: str
    is_live: bool
    choices: list[str]
    least: Any = None
    most: Any = None
    chosen_at: datetime | None = None
    chosen_by: str = ""
    overridden: str = ""

    @property
    def is_changeable(self) -> bool:
        """Whether the page can change it: a variable that is set wins over the page."""
        return self.is_live and self.source in {"page", "default"}

    @property
    def source_in_words(self) -> str:
        """Where the value comes from."""
        return SOURCES[self.source]


@dataclass(frozen=True)
class SettingGroup:
    """The settings of one topic."""

    title: str
    settings: list[ShownSetting]


def list_settings(actor: Actor, *, words: str = "", source: str = "") -> list[SettingGroup]:
    """Return all settings in groups, or those in which all `words` occur and that come from `source`. For admins."""
    actor.require("admin")
    chosen = {row.name: row for row in SettingOverride.objects.select_related("by")}
    sought = words.lower().split()
    groups = []
    for title, topic in GROUPS.items():
        shown = [_show(name, field, chosen.get(name)) for name, field in fields_of(topic).items()]
        kept = [one for one in shown if source in ("", one.source) and _has_words(one, title, sought)]
        if kept:
            groups.append(SettingGroup(title, kept))
    return groups


def get_setting(actor: Actor, name: str) -> ShownSetting:
    """Return one setting. For admins.

    Raises:
        NotFound: there is none of this name.
    """
    actor.require("admin")
    return _show(name, _field(name), SettingOverride.objects.select_related("by").filter(pk=name).first())


@transaction.atomic
def change_setting(actor: Actor, name: str, value: str) -> ShownSetting:
    """Set a setting for all processes, which take it over within two seconds; return it. For admins.

    Raises:
        NotFound: there is no such setting.
        Conflict: it needs a restart, or its variable is set.
        Invalid: it does not take this value.
    """
    before = _require_changeable(actor, name)
    accepted = _validate(name, value)
    SettingOverride.objects.update_or_create(pk=name, defaults={"value": accepted, "by": actor.user})
    audit("setting_changed", setting=name, before=before.value, value=in_words(accepted))
    _tell_all()
    return get_setting(actor, name)


@transaction.atomic
def reset_setting(actor: Actor, name: str) -> ShownSetting:
    """Reset a setting that was changed on the page to its default. For admins.

    Raises:
        NotFound: there is no such setting, or nothing was chosen.
    """
    before = get_setting(actor, name)
    gone, _ = SettingOverride.objects.filter(pk=name).delete()
    if not gone:
        raise NotFound(f"{before.variable} was not changed here.", hint="Look at the list again.")
    _tell_all()
    after = get_setting(actor, name)
    audit("setting_reset", setting=name, before=before.overridden or before.value, value=after.value)
    return after


def load_overrides() -> None:
    """Apply the settings from the page in this process."""
    _take_over(SettingOverride.objects.values_list("name", "value"))


async def follow_overrides() -> None:
    """Take over each change in this process until this is cancelled: at once when told, else within two seconds."""
    past_pool = True
    while True:
        with suppress(psycopg.Error, OSError):
            # The other address is tried next, unless this one connects: then it is the one to come back to.
            parameters, past_pool = listening_parameters(past_pool=past_pool), not past_pool
            async with await psycopg.AsyncConnection.connect(**parameters) as ear:
                past_pool = not past_pool
                await _follow(ear)
        await asyncio.sleep(LOOK_SECONDS)


def follow_in_background() -> None:
    """Take over each change in this process until it ends, from a thread: for processes without an event loop."""
    Thread(target=lambda: asyncio.run(follow_overrides()), name="settings", daemon=True).start()


async def _follow(ear: psycopg.AsyncConnection[Any]) -> None:
    # A replica and some pools let nobody listen; looking again and again does there.
    with suppress(psycopg.Error):
        await ear.execute(f"LISTEN {CHANNEL}")
        await ear.execute(f"LISTEN {OF_KEYS}")
    known = None
    while True:
        # After LISTEN, so that no change falls between, and each time: the notice does not say what changed.
        rows = await (await ear.execute("SELECT name, value FROM accounts_settingoverride")).fetchall()
        if rows != known:
            _take_over(rows)
            known = rows
        async for notice in ear.notifies(timeout=LOOK_SECONDS, stop_after=1):
            if notice.channel == OF_KEYS:
                KNOWN_KEYS.forget()


def _take_over(rows: Iterable[tuple[str, Any]]) -> None:
    live.replace_chosen(dict(_in_force(rows)))


def _in_force(rows: Iterable[tuple[str, Any]]) -> Iterator[tuple[str, Any]]:
    """Yield what counts of the choices, by the names of Django's settings."""
    for name, value in rows:
        field = Environment.model_fields.get(name)
        # The environment wins, so that who deploys by files can rely on them. Decision 52.
        if field is None or not live_name(field) or name in environment().model_fields_set:
            continue
        try:
            yield live_name(field), _validate(name, value)
        except Invalid as error:
            log.warning("A setting that was chosen in the page does not count.", setting=name, error=str(error))


def _tell_all() -> None:
    """Let this process and all others take over the change once it is committed."""
    transaction.on_commit(load_overrides)
    transaction.on_commit(_notify)


def _notify() -> None:
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_notify(%s, '')", [CHANNEL])


def _require_changeable(actor: Actor, name: str) -> ShownSetting:
    found = get_setting(actor, name)
    if not found.is_live:
        raise Conflict(
            f"{found.variable} cannot be changed while BigMind runs.",
            hint="Set the variable in the environment and restart BigMind.",
        )
    if not found.is_changeable:
        raise Conflict(
            f"{found.variable} is set in the environment, which wins over this page.",
            hint="Change it there, or remove it there and restart BigMind to change it here.",
        )
    return found


def _validate(name: str, value: Any) -> Any:
    """Return the value as the environment would have read it: the same rules hold, and are written once.

    Raises:
        Invalid: it is not acceptable. The sentence names the setting and its limits.
    """
    text = value.strip() if isinstance(value, str) else value
    if text == "" or (isinstance(text, str) and len(text) > TEXT_CHARS):
        raise Invalid.of("value", f"must have 1 to {TEXT_CHARS} characters", hint="To go back, use the default.")
    try:
        chosen: dict[str, Any] = {name: text}
        return getattr(Environment(**chosen), name)
    except ValidationError as error:
        field = _field(name)
        (least, most), choices = limits_of(field), choices_of(field)
        if choices:
            expected = f"must be {' or '.join(choices) if len(choices) < 3 else 'one of ' + ', '.join(choices)}"
        elif field.annotation is int and most is not None:
            expected = f"must be a whole number from {least:,} to {most:,}"
        elif field.annotation is int:
            expected = f"must be a whole number, {least or 0:,} or more"
        else:
            expected = str(error.errors()[0]["msg"]).removeprefix("Value error, ")
        raise Invalid.of("value", f"{expected}; this is {echo(str(text)[:40])}") from error


def _field(name: str) -> FieldInfo:
    field = Environment.model_fields.get(name)
    if field is None:
        raise NotFound("There is no such setting.", hint="Search the list of settings.")
    return field


def _show(name: str, field: FieldInfo, override: SettingOverride | None) -> ShownSetting:
    source = _source_of(name)
    counts = override is not None and source == "default" and bool(live_name(field)) and _is_valid(override)
    given = override.value if override and counts else getattr(environment(), name)
    least, most = limits_of(field)
    return ShownSetting(
        name=name,
        title=title_of(name),
        variable=variable_of(name),
        about=field.description or "",
        value=_in_words(name, given, source),
        source="page" if counts else source,
        default="" if (default := default_of(field).strip("`")) == "-" else default,
        is_live=bool(live_name(field)),
        choices=choices_of(field),
        least=least,
        most=most,
        chosen_at=override.at if override else None,
        chosen_by=str(override.by) if override and override.by else "",
        overridden=in_words(override.value) if override and not counts else "",
    )


def _source_of(name: str) -> str:
    own = environment()
    if name in own.model_fields_set:
        return "environment"
    if f"{name}_file" in own.model_fields_set or (name == "secret_key" and not own.secret_key.get_secret_value()):
        return "file"
    return "default"


def _in_words(name: str, value: Any, source: str) -> str:
    """Return a value without what would let anyone in: secrets, and what addresses carry besides the host."""
    if isinstance(value, SecretStr):
        return "set" if value.get_secret_value() or source == "file" else ""
    text = "" if value is None else in_words(value)
    if "://" not in text:
        return text
    parts = urlsplit(text)
    host = parts.netloc.rpartition("@")[2]
    # The path of a webhook is often its password.
    rest = "/…" if name == "webhook_url" and parts.path.strip("/") else parts.path
    return f"{parts.scheme}://{'…@' if '@' in parts.netloc else ''}{host}{rest}{'?…' if parts.query else ''}"


def _is_valid(override: SettingOverride) -> bool:
    with suppress(Invalid):
        _validate(override.name, override.value)
        return True
    return False


def _has_words(shown: ShownSetting, title: str, words: list[str]) -> bool:
    texts = [shown.title, shown.about, title, shown.source_in_words]
    text = " ".join([shown.variable, *texts, *map(in_language, texts)]).lower()
    return all(word in text for word in words)
