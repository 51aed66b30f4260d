"""Looking for a row that no map knows: in which tables it may be, and asking the connector there, within a budget."""

from collections import Counter
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from math import log1p
from time import monotonic
from typing import NamedTuple

from django.conf import settings
from django.db.models import Count
from pydantic import ValidationError
from rapidfuzz import fuzz, process

from accounts.actor import Actor
from bigmind.text.hygiene import fold_name
from knowledge.app_maps.argument_types import LearntEntity, read_reported_map
from knowledge.app_maps.connectors.contract import Connector, ConnectorError, DiscoveredRow, RequestRefusedError
from knowledge.app_maps.finding import connector_of, split_words
from knowledge.app_maps.forgetting import may_clear
from knowledge.app_maps.learning import merge_map
from knowledge.models import AmbiguousName, App, AppEntity, AppTable, AppWorkflow

CALLS, SECONDS = 6, 6.0
"""The budget for finding one row while someone is waiting, and with the limits of the outside system. Decision 45."""
ROWS_EACH = 5
LIVES = 1.0
"""What it counts at most that rows of a table were asked for: less than any word."""
TABLES_RANKED = 2_000
NAMES_COMPARED = 5_000
WORD_ALIKE, NAME_ALIKE = 85.0, 80.0
"""Of 100: how alike two words are to be one (`clients`, `client`), and two names to be of one kind."""
SHORTEST_WORD = 3
_SHORT_TEXTS = {"string", "text", "singlelinetext", "email", "formula"}


class RankedTable(NamedTuple):
    """A table that a row may be in. `is_likely`: more speaks for it than that other rows of it were asked for."""

    table: AppTable
    is_likely: bool


@dataclass
class RowSearch:
    """The result of looking for a row.

    Attributes:
        looked_in: The tables that were asked, in order.
        rows: The rows of this name, each with its table.
        near: What rows are called whose name begins alike.
        errors: Why a system could not be asked.
        calls: How many questions were put to outside systems.
    """

    looked_in: list[AppTable] = field(default_factory=list)
    rows: list[tuple[AppTable, DiscoveredRow]] = field(default_factory=list)
    near: list[str] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)
    calls: int = 0


def may_look_up(actor: Actor) -> bool:
    """Return whether the connector is asked for rows in the name of this actor: its key may see more than they do."""
    return may_clear(actor) or settings.CONNECTOR_LOOKUPS == "everyone"


def rank_tables(name: str, request: str, scope: App | None) -> list[RankedTable]:
    """Return the tables that a row of this name may be in, the likeliest first; none for which nothing speaks.

    What speaks for a table: words of the request in its name, its app, its fields or a workflow of it; rows of it that
    people asked for; names among them like this one; and an app that someone chose for this name.
    """
    tables = list(
        AppTable.objects.filter(reported_gone_at=None, **({"app": scope} if scope else {}))
        .select_related("app")
        .annotate(known=Count("entities"))
        .order_by("-last_seen", "pk")[:TABLES_RANKED]
    )
    rest = _words(request) - _words(name)
    alike, chosen = _tables_of_names_like(name), _app_of_choice(name)
    ways = _tables_of_ways(rest, {table.app_id for table in tables})
    scores: dict[int, float] = {}
    for table in tables:
        fields = set().union(*(_words(str(one["name"])) for one in table.fields))
        scores[table.pk] = (
            3 * _overlap(request, rest, table.name)
            + 2 * max(_overlap(request, rest, one) for one in (table.app.name, *table.app.aliases))
            + min(len(rest & fields), 2)
            + 2 * (table.pk in alike)
            + 2 * (table.pk in ways)
            + 3 * (table.app_id == chosen)
            + min(log1p(getattr(table, "known", 0)) / 4, LIVES)
        )
    likely = tables if scope and len(tables) <= CALLS else [table for table in tables if scores[table.pk] > 0]
    ranked = (RankedTable(table, scope is not None or scores[table.pk] > LIVES) for table in likely)
    return sorted(ranked, key=lambda one: -scores[one.table.pk])


def look_up(name: str, tables: Sequence[AppTable]) -> RowSearch:
    """Ask the connectors for rows of this name in these tables, in order, for as long as the budget lasts."""
    search, until = RowSearch(), monotonic() + SECONDS
    connectors: dict[int, Connector | None] = {}
    for table in tables:
        if search.calls >= CALLS or monotonic() > until:
            break
        app = table.app
        if app.pk not in connectors:
            connectors[app.pk] = connector_of(app, is_hurried=True)
        connector, called = connectors[app.pk], name_field(table)
        if connector and called and table.table_id and app.app_id:
            _look_in(table, called, name, connector, search)
            # What does not answer once would take the rest of the time with each further try.
            if search.errors:
                connectors[app.pk] = None
    return search


def learn_rows(search: RowSearch) -> None:
    """Add the rows that were found to the maps; none where two share their table and name, so that people choose."""
    if max(Counter(table.pk for table, _ in search.rows).values(), default=0) > 1:
        return
    for table, row in search.rows:
        called = name_field(table)
        name = str(row.values.get(called, ""))
        with suppress(ValidationError):  # A name that no map may hold, such as one with a secret in it.
            one = LearntEntity(
                name=name,
                table=table.name,
                table_id=table.table_id,
                row_id=row.row_id,
                match_field=called,
                match_value=name,
            )
            merge_map(read_reported_map(table.app.name, app_id=table.app.app_id, entities=[one]))


def name_field(table: AppTable) -> str:
    """Return the field that rows of a table are called by: the primary one, else the first of a short text."""
    texts = (str(one["name"]) for one in table.fields if str(one.get("type", "")).lower() in _SHORT_TEXTS)
    return table.primary or next(texts, "")


def values_of(row: DiscoveredRow, table: AppTable) -> dict[str, str]:
    """Return a few short values by which people tell rows of one name apart."""
    named = [str(one["name"]) for one in table.fields][:6] or list(row.values)[:6]
    shown = {name: row.values[name] for name in named if isinstance(row.values.get(name), str | int | float)}
    return {name: str(value)[:80] for name, value in shown.items()}


def _look_in(table: AppTable, called: str, name: str, connector: Connector, search: RowSearch) -> None:
    search.calls += 1
    try:
        rows = connector.find_rows(table.app.app_id, table.table_id, called, name, limit=ROWS_EACH, loosely=True)
    except RequestRefusedError:
        return  # This table cannot be searched that way; the others can.
    except ConnectorError as error:
        search.errors.append(str(error))
        return
    search.looked_in.append(table)
    for row in rows:
        value = str(row.values.get(called) or "")
        if fold_name(value) == fold_name(name):
            search.rows.append((table, row))
        elif value:
            search.near.append(value)


def _words(text: str) -> set[str]:
    return {word for word in split_words(text) if len(word) >= SHORTEST_WORD or not word.isascii()}


def _overlap(request: str, rest: set[str], name: str) -> float:
    """How much of a name is among the words that were said, 0 to 1: in the singular or the plural alike."""
    # `R&D` has no word that is long enough to tell.
    phrase, request_words = (" ".join(split_words(text)) for text in (name, request))
    if phrase and f" {phrase} " in f" {request_words} ":
        return 1.0
    words = _words(name)
    best = (process.extractOne(word, rest, scorer=fuzz.ratio, score_cutoff=WORD_ALIKE) for word in words)
    return sum(one is not None for one in best) / len(words) if words else 0.0


def _tables_of_names_like(name: str) -> set[int]:
    """The tables of known rows whose names are like this one: `ACME Ltd` stands where `Acme Inc` does."""
    rows = list(AppEntity.objects.order_by("-last_seen").values_list("name", "table_id")[:NAMES_COMPARED])
    # The newest only: each name costs a comparison, and someone is waiting.
    names = [one.casefold() for one, _ in rows]
    near = process.extract(name.casefold(), names, scorer=fuzz.token_set_ratio, score_cutoff=NAME_ALIKE)
    return {rows[place][1] for _, _, place in near}


def _app_of_choice(name: str) -> int | None:
    """The app that someone chose for this name, where the row itself has been forgotten."""
    return AmbiguousName.objects.filter(look_up=fold_name(name)).values_list("default_app_id", flat=True).first()


def _tables_of_ways(rest: set[str], apps: Iterable[int]) -> set[int]:
    """The tables of workflows that the request seems to ask for."""
    ways = AppWorkflow.objects.filter(app_id__in=apps).exclude(table=None).values_list("table_id", "trigger")
    return {table for table, trigger in ways if table and len(rest & _words(trigger)) >= 2}
