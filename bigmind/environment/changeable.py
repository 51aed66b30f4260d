"""Which settings an admin may change while BigMind runs: those that every use reads again, and that guard no page.

The mark stands at each field, in the files beside this one.
"""

from pydantic.config import JsonDict
from pydantic.fields import FieldInfo


def changeable(name: str) -> JsonDict:
    """Mark a field as one that takes effect at once, under this name of Django's settings.

    Whatever reads it asks `bigmind.environment.live_settings.live`, each time.
    """
    return {"live": name}


def live_name(field: FieldInfo) -> str:
    """Return under which name a setting is read live; nothing for one that needs a restart."""
    marks = field.json_schema_extra
    return str(marks.get("live", "")) if isinstance(marks, dict) else ""
