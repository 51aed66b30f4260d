"""Finding apps, tables and entities by what people call them: name, alias or id, whatever the case and spacing."""

import re
import unicodedata

from django.db import transaction

from bigmind.core.errors import Conflict, NotFound
from bigmind.database.advisory_locks import AdvisoryLock, wait_for_turn
from bigmind.text.hygiene import echo, fold_name, mention, mention_all
from knowledge.app_maps.connectors import connector_called
from knowledge.app_maps.connectors.contract import Connector
from knowledge.app_maps.files.text import file_names
from knowledge.models import App, AppEntity, AppTable
from knowledge.search.language_identification import UNSPACED
from knowledge.search.nearest_names import SUGGEST_FROM, nearest_or

# Thai, Lao, Burmese and Khmer put no spaces between words either.
_RUNS = re.compile(rf"({UNSPACED.pattern}|[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff]+)")


def split_words(text: str) -> list[str]:
    """Return the words of a text in order, in one form; where a script puts no spaces between them, pairs of signs."""
    folded = unicodedata.normalize("NFKC", text).casefold()
    signs = (char if char.isalnum() or unicodedata.category(char)[0] == "M" else " " for char in folded)
    words: list[str] = []
    for at, run in enumerate(_RUNS.split("".join(signs))):
        words += [run[start : start + 2] for start in range(max(1, len(run) - 1))] if at % 2 else run.split()
    return words


def connector_of(app: App, *, is_hurried: bool = False) -> Connector | None:
    """Return the connector that reads this app; None where there is none, or it reads another server.

    Ids mean something on their own server alone. Decision 45.
    """
    return connector_called(app.connector, is_hurried=is_hurried, server=app.server)


def apps_called(name: str) -> list[App]:
    """Return the apps with this id, this name or this alias: those of the first of the three that fits any."""
    if by_id := list(App.objects.filter(app_id=name)):
        return by_id
    folded = fold_name(name)
    if by_name := list(App.objects.filter(look_up=folded)):
        return by_name
    return [app for app in App.objects.exclude(aliases=[]).order_by("pk") if folded in app.names]


def app_called(name: str) -> App:
    """Return the one app that is called so.

    Raises:
        NotFound: there is none; the hint names the nearest.
        Conflict: it is an alias of several.
    """
    found = apps_called(name)
    if len(found) > 1:
        raise Conflict(f"{echo(name)} is another name of {mention_all(found)}.", hint="Say which by its name or id.")
    if not found:
        raise NotFound(f"There is no map of an app called {echo(name)}.", hint=_nearest_hint(name))
    return found[0]


def lock(app: App) -> App:
    """Hold an app until the transaction ends: anyone who changes its map meanwhile waits.

    Raises:
        NotFound: it was forgotten meanwhile.
    """
    locked = App.objects.select_for_update().filter(pk=app.pk).first()
    if locked is None:
        raise NotFound(f"The map of {mention(app)} has been forgotten.", hint="app_list shows those there are.")
    return locked


def lock_app(name: str, app_id: str = "") -> tuple[App, bool]:
    """Return the app with this id or name, made if there is none, held until the transaction ends; and if it is new.

    Anyone who makes, renames or readdresses one takes a turn first: two who learn of the same app at once get the same.
    """
    app = _find_app(name, app_id)
    if not _is_called(app, name, app_id):
        with transaction.atomic():
            take_turn()
            app = _find_app(name, app_id)
            # Another made it meanwhile: give the turn back, so that nobody waits for it while we wait for the app. A
            # lock that was taken within a savepoint ends when that is rolled back.
            transaction.set_rollback(_is_called(app, name, app_id))
    held = App.objects.select_for_update().filter(pk=app.pk).first() if app else None
    if held:
        return held, False
    if app:  # Forgotten meanwhile.
        return lock_app(name, app_id)
    app = App(app_id=app_id, file=file_names([name], ("_index", *App.objects.values_list("file", flat=True)))[name])
    app.rename(name)
    app.save()
    return app, True


def take_turn() -> None:
    """Wait until no one else creates or renames apps. Take this lock before any app's, or two callers deadlock."""
    wait_for_turn(AdvisoryLock.APP_MAPS, "apps")


def _is_called(app: App | None, name: str, app_id: str) -> bool:
    """Whether an app has this name, and this id if there is one."""
    return app is not None and fold_name(name) in app.names and app_id in {"", app.app_id}


def _find_app(name: str, app_id: str) -> App | None:
    return next(iter((apps_called(app_id) if app_id else []) or apps_called(name)), None)


def table_of(app: App, name: str) -> AppTable:
    """Return a table of an app by its name or id.

    Raises:
        NotFound: it is not known; the hint says which are.
    """
    tables = list(app.tables.order_by("pk"))
    for table in tables:
        if table.table_id == name or table.look_up == fold_name(name):
            return table
    known = mention_all(tables[:20])
    raise NotFound(
        f"{mention(app)} has no table {echo(name)}.", hint=f"Known: {known}." if known else "None is known yet."
    )


def entities_called(name: str, *, app: App | None = None, table: AppTable | None = None) -> list[AppEntity]:
    """Return the entities of this name, in the order in which they were learnt."""
    rows = AppEntity.objects.filter(look_up=fold_name(name)).select_related("table__app").order_by("pk")
    if app:
        rows = rows.filter(table__app=app)
    return list(rows.filter(table=table) if table else rows)


def entity_of(app: App, name: str, table: AppTable | None = None) -> AppEntity:
    """Return the one entity of this name in an app.

    Raises:
        NotFound: there is none; the hint names the nearest.
        Conflict: several tables have one.
    """
    found = entities_called(name, app=app, table=table)
    if len(found) > 1:
        raise Conflict(f"{echo(name)} stands in {mention_all(e.table for e in found)}.", hint="Say which with `table`.")
    if not found:
        names = AppEntity.objects.filter(table__app=app).values_list("name", flat=True)[:SUGGEST_FROM]
        hint = nearest_or(name, names, "app_learn stores one.")
        raise NotFound(f"The map of {mention(app)} has no entity {echo(name)}.", hint=hint)
    return found[0]


def _nearest_hint(name: str) -> str:
    names = [one for app in App.objects.all() for one in (app.name, *app.aliases)]
    return nearest_or(name, names, "app_list shows those there are; app_bootstrap brings them in.")
