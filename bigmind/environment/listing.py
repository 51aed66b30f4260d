"""The settings as people read them: which there are, in groups, what each takes, and what it is when nobody sets it."""

from pathlib import Path
from typing import Any, Literal, get_args, get_origin

from pydantic import SecretStr
from pydantic.fields import FieldInfo
from pydantic_core import PydanticUndefined

from bigmind.environment import PREFIX, Environment
from bigmind.environment.company import Company
from bigmind.environment.features import Embedding, Features
from bigmind.environment.instance import Capacity, InstanceSettings, ObservabilitySettings, Rules
from bigmind.environment.notifications import NotificationSettings
from bigmind.environment.people import FirstUser, SignInSettings
from bigmind.environment.storage import BackupSettings, Storage

GROUPS: dict[str, type] = {
    "Rules for everyone": Rules,
    "Sign-in": SignInSettings,
    "Mail and webhooks": NotificationSettings,
    "Search, apps and profiles": Features,
    "Embeddings": Embedding,
    "Storage and retention": Storage,
    "Backups": BackupSettings,
    "Logs and metrics": ObservabilitySettings,
    "Capacity": Capacity,
    "Addresses": InstanceSettings,
    "Company server": Company,
    "First user": FirstUser,
}
"""Every topic of the settings, in the order of the page, by what to call it."""
_ACRONYMS = {word.lower(): word for word in ("URL", "ID", "API", "MCP", "HSTS", "HTTP", "OTLP", "OAuth")} | {
    "ms": "milliseconds",
    "dir": "folder",
    "mfa": "two-factor authentication",
    "oidc": "single sign-on:",
    "budibase": "Budibase",
    "redis": "Redis",
}


def variable_of(name: str) -> str:
    """Return the variable that sets a setting."""
    return PREFIX + name.upper()


def title_of(name: str) -> str:
    """Return the name of a setting in words: “Rate limit”, “Single sign-on: client ID”."""
    words = " ".join(_ACRONYMS.get(word, word) for word in name.split("_"))
    return words[:1].upper() + words[1:]


def fields_of(topic: type) -> dict[str, FieldInfo]:
    """Return the settings of one topic, without those that it has from another."""
    return {name: Environment.model_fields[name] for name in topic.__annotations__ if name in Environment.model_fields}


def kind_of(field: FieldInfo) -> str:
    """Return what a setting takes, in words."""
    kind: Any = field.annotation
    if kind == bool | None:
        kind = bool
    if get_origin(kind) is Literal:
        return ", ".join(f"`{choice}`" for choice in get_args(kind))
    if kind is int:
        low, high = limits_of(field)
        return "whole number" + (
            f", {low} to {high}" if high is not None else f", {low} or more" if low is not None else ""
        )
    return {bool: "`true` or `false`", SecretStr: "text, kept out of logs", Path: "folder"}.get(kind, "text")


def limits_of(field: FieldInfo) -> tuple[Any, Any]:
    """Return the least and the greatest number that a setting takes; None for no limit."""
    limits = {type(limit).__name__: limit for limit in field.metadata}
    return getattr(limits.get("Ge"), "ge", None), getattr(limits.get("Le"), "le", None)


def default_of(field: FieldInfo) -> str:
    """Return what a setting is when nobody sets it, in words."""
    if field.default_factory is not None:
        return "`~/.bigmind`"
    if field.default in ("", None, PydanticUndefined) or isinstance(field.default, SecretStr):
        return "-"
    return f"`{in_words(field.default)}`"


def in_words(value: object) -> str:
    """Return a value as it is written in the environment."""
    return str(value).lower() if isinstance(value, bool) else str(value)
