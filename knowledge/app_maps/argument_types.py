"""Arguments of the operations about app maps, and an app map as it travels: learnt, imported, exported."""

import re
from collections.abc import Mapping, Sequence
from datetime import date
from typing import Annotated, Any
from urllib.parse import urlsplit

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, FiniteFloat

from bigmind.core.argument_types import SharedLongText, SharedTags
from bigmind.core.limits import TITLE_CHARS
from bigmind.database.columns import ColumnCopy
from bigmind.privacy.screening.policy import NoSecrets, refuse_secrets_in_json
from bigmind.text.hygiene import check_content, clean_name, echo
from knowledge.models.app_maps import ID_CHARS, SERVER_CHARS, AmbiguousName, App, AppEntity, AppTable, AppWorkflow

TABLES, ENTITIES, WORKFLOWS, FIELDS, APPS = 500, 2_000, 200, 500, 200
VALUE_CHARS = 500
_ATTRIBUTE = re.compile(r"[A-Za-z_][A-Za-z0-9_-]{0,49}")
ATTRIBUTES = ("type", "primary", "values", "target", "display")
"""What is known of a field, in the order in which it is written."""

FieldValue = str | bool | int | FiniteFloat | list[str]


def _join_steps(steps: Any) -> Any:
    return " -> ".join(steps) if isinstance(steps, list) and all(isinstance(step, str) for step in steps) else steps


def check_fields(fields: dict[str, dict[str, FieldValue]]) -> dict[str, dict[str, FieldValue]]:
    """Return the fields of a schema with clean names and values of a decent size.

    Raises:
        ValueError: naming the field that is wrong.
    """
    if len(fields) > FIELDS:
        raise ValueError(f"has {len(fields):,} fields; the limit is {FIELDS}")
    return {_clean(name, "a field"): _check_field(name, known) for name, known in fields.items()}


def _check_field(name: str, known: dict[str, FieldValue]) -> dict[str, FieldValue]:
    for attribute in known:
        if attribute == "name" or not _ATTRIBUTE.fullmatch(attribute):
            raise ValueError(f"says {echo(attribute)} of the field {echo(name)}; letters, digits, - and _ name it")
    return in_order({attribute: _clean_value(value, name) for attribute, value in known.items()})


def in_order(known: Mapping[str, Any]) -> dict[str, Any]:
    """Return the attributes of a field as they are written: the database keeps objects in an order of its own."""
    first = [name for name in ATTRIBUTES if name in known]
    return {name: known[name] for name in (*first, *sorted(known.keys() - {"name", *first}))}


def _clean_value(value: FieldValue, field: str) -> FieldValue:
    if isinstance(value, str):
        return _clean(value, f"the field {echo(field)}", VALUE_CHARS, may_be_empty=True)
    if isinstance(value, list):
        if len(value) > FIELDS:
            raise ValueError(f"has {len(value):,} values in the field {echo(field)}; the limit is {FIELDS}")
        return [_clean(one, f"the field {echo(field)}", VALUE_CHARS) for one in value]
    return value


def _clean(text: str, what: str, limit: int = TITLE_CHARS, *, may_be_empty: bool = False) -> str:
    try:
        cleaned = clean_name(text)
    except ValueError as error:
        raise ValueError(f"names {what} that {error}") from error
    if not cleaned and not may_be_empty:
        raise ValueError(f"has an empty text for {what}")
    if len(cleaned) > limit:
        raise ValueError(f"has {len(cleaned):,} characters for {what}; the limit is {limit}")
    return cleaned


def check_address(address: str) -> str:
    """Return the address of a server as it is compared: without a slash at its end.

    Raises:
        ValueError: it is none of the web, or carries a name, a password or a query.
    """
    try:
        parts = urlsplit(address)
    except ValueError as error:
        raise ValueError("must look like https://budibase.example.com") from error
    if address and (parts.scheme not in {"http", "https"} or not parts.hostname or "@" in parts.netloc or parts.query):
        raise ValueError("must look like https://budibase.example.com, without name, password or query")
    return address.rstrip("/")


LookedUp = Annotated[
    str,
    Field(max_length=TITLE_CHARS),
    AfterValidator(clean_name),
    Field(min_length=1, max_length=TITLE_CHARS, description="Name of an entity, table or app; case does not matter."),
]
AnApp = Annotated[
    str,
    Field(max_length=ID_CHARS),
    AfterValidator(clean_name),
    Field(min_length=1, max_length=ID_CHARS, description="Name, alias or id of the app."),
]
ATable = Annotated[
    str,
    Field(max_length=ID_CHARS),
    AfterValidator(clean_name),
    Field(min_length=1, max_length=ID_CHARS, description="Name or id of the table."),
]
AnEntity = Annotated[LookedUp, Field(description="Name of the entity.")]
AWorkflow = Annotated[LookedUp, Field(description="Name of the workflow.")]
NewName = Annotated[
    str,
    Field(max_length=TITLE_CHARS),
    AfterValidator(clean_name),
    NoSecrets,
    Field(min_length=1, max_length=TITLE_CHARS),
]
NewNameOrNone = Annotated[str, Field(max_length=TITLE_CHARS), AfterValidator(clean_name), NoSecrets]
OutsideId = Annotated[
    str, Field(max_length=ID_CHARS), AfterValidator(clean_name), NoSecrets, Field(max_length=ID_CHARS)
]
MatchValue = Annotated[
    str, Field(max_length=VALUE_CHARS), AfterValidator(clean_name), NoSecrets, Field(max_length=VALUE_CHARS)
]
Fields = Annotated[
    dict[str, dict[str, FieldValue]],
    AfterValidator(check_fields),
    AfterValidator(refuse_secrets_in_json),
    Field(
        description="Field → what is known: type, primary, values, target (of a link), display.",
        examples=[{"Name": {"type": "string", "primary": True}}],
    ),
]
Aliases = Annotated[SharedTags, Field(description="Other names people use.", examples=[["client management"]])]
Request = Annotated[
    str,
    AfterValidator(check_content),
    Field(max_length=2_000, description="What the user asked for, in their words: picks the workflow."),
]
ConnectorName = Annotated[
    str,
    AfterValidator(clean_name),
    Field(max_length=50, description="Name of a configured connector, such as budibase."),
]


Server = Annotated[
    str,
    Field(max_length=SERVER_CHARS),
    AfterValidator(clean_name),
    NoSecrets,
    AfterValidator(check_address),
    Field(description="Address that the ids belong to, such as https://budibase.example.com."),
]


class _Learnt(BaseModel):
    model_config = ConfigDict(extra="forbid")


class LearntTable(_Learnt):
    """One table."""

    name: NewName
    table_id: OutsideId = ""
    fields: Fields = {}


class LearntEntity(_Learnt):
    """One row that people name."""

    name: NewName
    table: NewName
    table_id: OutsideId = ""
    row_id: OutsideId = ""
    match_field: NewNameOrNone = ""
    match_value: MatchValue = ""


class LearntWorkflow(_Learnt):
    """One thing people ask for, and the steps that do it."""

    name: NewName
    trigger: Annotated[SharedLongText, Field(max_length=500)] = ""
    steps: Annotated[SharedLongText, BeforeValidator(_join_steps), Field(max_length=4_000)] = ""
    field: NewNameOrNone = ""
    table: NewNameOrNone = ""


class DiscoveredAppIn(_Learnt):
    """One app that was discovered, with the names and ids of its tables."""

    name: NewName
    app_id: OutsideId = ""
    aliases: Aliases = []
    tables: Annotated[list[LearntTable], Field(max_length=TABLES)] = []


class StoredEntity(LearntEntity):
    """An entity as a file has it."""

    last_seen: date | None = None


class AppMap(_Learnt):
    """All that is known of one app."""

    name: NewName
    app_id: OutsideId = ""
    aliases: Aliases = []
    connector: ConnectorName = ""
    server: Server = ""
    bootstrapped_at: date | None = None
    file: NewNameOrNone = ""
    tables: list[LearntTable] = []
    entities: list[StoredEntity | LearntEntity] = []
    workflows: list[LearntWorkflow] = []


def read_reported_map(
    name: str,
    *,
    app_id: str = "",
    aliases: Sequence[str] | None = None,
    connector: str = "",
    server: str = "",
    bootstrapped_at: date | None = None,
    file: str = "",
    tables: Sequence[LearntTable] | None = None,
    entities: Sequence[LearntEntity] | None = None,
    workflows: Sequence[LearntWorkflow] | None = None,
) -> AppMap:
    """Return an app map of parts that have been checked already."""
    return AppMap.model_construct(
        name=name,
        app_id=app_id,
        aliases=list(aliases or ()),
        connector=connector,
        server=server,
        bootstrapped_at=bootstrapped_at,
        file=file,
        tables=list(tables or ()),
        entities=list(entities or ()),
        workflows=list(workflows or ()),
    )


class AmbiguousChoice(_Learnt):
    """A name that stands in several apps, and the choice that was made. Places are files: `crm`, or `crm/Clients`."""

    name: NewName
    found_in: Annotated[list[NewName], Field(max_length=APPS)] = []
    default: NewNameOrNone = ""


_NUMBER = "Names tell maps and what is in them apart."
_LOOK_UP = "It follows from the name."
_SIGNS = "They follow from the texts."
_SEEN = "It is when it was used here: what is imported counts as used now."
_THERE = "What is told is there: a report that it is gone ends with that."
COLUMNS = (
    ColumnCopy(
        "an app map",
        App,
        {
            "id": _NUMBER,
            "look_up": _LOOK_UP,
            "signs": _SIGNS,
            "last_seen": _SEEN,
            "version": "It counts the changes made here.",
            "reported_gone_at": _THERE,
            "created_at": "It is when it became known here.",
        },
        AppMap.model_fields,
    ),
    ColumnCopy(
        "an app map",
        AppTable,
        {
            "id": _NUMBER,
            "look_up": _LOOK_UP,
            "signs": _SIGNS,
            "last_seen": _SEEN,
            "app": "A table stands in its map.",
            "gone_fields": "It tells what workflows name that the schema here has lost.",
            "reported_gone_at": _THERE,
        },
        LearntTable.model_fields,
    ),
    ColumnCopy(
        "an app map", AppEntity, {"id": _NUMBER, "look_up": _LOOK_UP, "signs": _SIGNS}, StoredEntity.model_fields
    ),
    ColumnCopy(
        "an app map",
        AppWorkflow,
        {
            "id": _NUMBER,
            "look_up": _LOOK_UP,
            "signs": _SIGNS,
            "last_seen": _SEEN,
            "app": "A workflow stands in its map.",
        },
        LearntWorkflow.model_fields,
    ),
    ColumnCopy(
        "the index of app maps",
        AmbiguousName,
        {
            "id": _NUMBER,
            "look_up": _LOOK_UP,
            "last_seen": _SEEN,
            "default_app": "It is the first part of `default`.",
            "default_table": "It is the second part of `default`.",
            "chosen_by": "It is one of the people here.",
            "chosen_at": "It is when it was chosen here.",
        },
        AmbiguousChoice.model_fields,
    ),
)

Tables = Annotated[list[LearntTable], Field(max_length=TABLES, description="Tables, with what is known of them.")]
Entities = Annotated[list[LearntEntity], Field(max_length=ENTITIES, description="Rows, by the name people use.")]
Workflows = Annotated[
    list[LearntWorkflow], Field(max_length=WORKFLOWS, description="What people ask for, and how it is done.")
]
