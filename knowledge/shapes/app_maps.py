"""Replies about app maps."""

from datetime import datetime
from typing import Any, Literal

from pydantic import Field

from bigmind.database.pagination import ListShape
from knowledge.shapes.base import Shape


class RunShape(Shape):
    """A background read of an outside system, and its progress."""

    id: int
    purpose: str
    connector: str
    state: str
    total: int
    done: int
    error: str
    created_at: datetime
    finished_at: datetime | None


class AppLineShape(Shape):
    """One app, with how much is known of it."""

    name: str
    app_id: str
    aliases: list[str]
    connector: str
    tables: int
    entities: int
    workflows: int
    version: int
    bootstrapped_at: datetime | None
    reported_gone_at: datetime | None


class AmbiguousNameShape(Shape):
    """A name with several meanings."""

    name: str
    found_in: list[str]
    default: str = Field(description="Its default meaning; empty: ask the user.")


class AppIndexShape(ListShape[AppLineShape]):
    """The apps there are."""

    yaml: str = Field(description="The same, as `_index.yaml`.")
    ambiguous: list[AmbiguousNameShape]
    running: list[RunShape]
    next_step: str = Field(description="If there is nothing yet: how to begin.")


class AppMapShape(Shape):
    """The map of one app."""

    app: str
    app_id: str
    version: int
    yaml: str
    entities_left_out: int
    fields_left_out: int = Field(description="Tables whose schema did not fit.")
    tables_left_out: int
    workflows_left_out: int
    reported_gone_at: datetime | None


class PlaceShape(Shape):
    """One thing a name may mean."""

    kind: str
    name: str
    app: str
    app_id: str
    table: str
    table_id: str
    row_id: str
    match_field: str
    match_value: str
    last_seen: datetime | None
    reported_gone_at: datetime | None
    values: dict[str, str] = Field(description="Where rows have one name: what tells this one apart.")


class WayShape(Shape):
    """One workflow."""

    name: str
    trigger: str
    steps: str
    field: str
    fits: bool = Field(description="Whether it fits the request, and works as described.")
    problem: str = Field(description="Why it does not work as described, such as a removed field; else empty.")


class ResolvedShape(Shape):
    """What a name means."""

    status: Literal["resolved", "ambiguous", "unknown"]
    name: str
    next_step: str
    place: PlaceShape | None
    fields: dict[str, dict[str, Any]] = Field(description="The schema of the table.")
    workflows: list[WayShape]
    candidates: list[PlaceShape]
    did_you_mean: list[str]
    looked_in: list[str] = Field(description="Tables that a connector just searched for it.")


class LearntShape(Shape):
    """What changed in the map of one app."""

    app: str
    app_id: str
    version: int
    is_new: bool
    added: list[str]
    updated: list[str]
    unchanged: int


class BegunShape(Shape):
    """What was imported, or the run that does it."""

    status: str
    next_step: str
    run: RunShape | None
    apps: list[LearntShape]


class DefaultPlaceShape(Shape):
    """What a name means from now on."""

    name: str
    app: str
    table: str
    found_in: list[str]


class MendedShape(Shape):
    """Result of a report."""

    status: Literal["healed", "unchanged", "next_step", "choose", "forgotten", "reported"]
    next_step: str
    place: PlaceShape | None
    fields: dict[str, dict[str, Any]]
    candidates: list[dict[str, str]]
    workflows: list[WayShape] = Field(description="Those that used removed fields: fixed, or with a problem.")


class ForgottenInAppShape(Shape):
    """What was forgotten."""

    what: str
    app: str
    entities: int
    tables: int
    workflows: int


class ExportedMapsShape(Shape):
    """The files of a folder."""

    files: dict[str, str]


class ImportedMapsShape(Shape):
    """What an import did."""

    dry_run: bool
    added: int
    updated: int
    unchanged: int
    choices: int
    apps: list[LearntShape]
    notes: list[str]
