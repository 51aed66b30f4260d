"""The settings in force, and where each comes from."""

from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from pydantic import SecretStr
from pydantic.fields import FieldInfo

from accounts.actor import Actor
from accounts.models import SettingOverride
from bigmind.core.sentences import in_language
from bigmind.environment import environment
from bigmind.environment.listing import (
    GROUPS,
    default_of,
    fields_of,
    in_words,
    title_of,
    variable_of,
)

SOURCES = {"environment": "Environment", "file": "File", "default": "Default"}
TEXT_CHARS = 200


@dataclass(frozen=True)
class ShownSetting:
    """One setting as the page shows it. A secret has no value here, only whether there is one.

    Attributes:
        source: `environment`, `file` or `default`.
        chosen_before: What an admin chose on this page of the version before, and what does not count any more.
    """

    name: str
    title: str
    variable: str
    about: str
    value: str
    source: str
    default: str
    chosen_before: str = ""

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
    chosen = dict(SettingOverride.objects.values_list("name", "value"))
    sought = words.lower().split()
    groups = []
    for title, topic in GROUPS.items():
        shown = [_show(name, field, chosen.get(name)) for name, field in fields_of(topic).items()]
        kept = [one for one in shown if source in ("", one.source) and _has_words(one, title, sought)]
        if kept:
            groups.append(SettingGroup(title, kept))
    return groups


def list_lost_choices() -> list[str]:
    """Return what admins chose on the page of the version before and no variable says, as lines of the environment."""
    rows = SettingOverride.objects.order_by("name").values_list("name", "value")
    return [f"{variable_of(name)}={value}" for name, given in rows if (value := _find_lost(name, given))]


def _find_lost(name: str, chosen: Any) -> str:
    """Return a value that was chosen on the page and is not in force, as it is written in the environment."""
    if chosen is None or name in environment().model_fields_set or chosen == getattr(environment(), name, chosen):
        return ""
    return in_words(chosen)


def _show(name: str, field: FieldInfo, chosen: Any) -> ShownSetting:
    source = _source_of(name)
    return ShownSetting(
        name=name,
        title=title_of(name),
        variable=variable_of(name),
        about=field.description or "",
        value=_in_words(name, getattr(environment(), name), source),
        source=source,
        default="" if (default := default_of(field).strip("`")) == "-" else default,
        chosen_before=_find_lost(name, chosen),
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


def _has_words(shown: ShownSetting, title: str, words: list[str]) -> bool:
    texts = [shown.title, shown.about, title, shown.source_in_words]
    text = " ".join([shown.variable, *texts, *map(in_language, texts)]).lower()
    return all(word in text for word in words)
