"""Forgetting parts of a map, and remembering which of several places people mean."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated

from django.conf import settings
from django.db import transaction
from django.utils import timezone
from pydantic import Field

from accounts.actor import Actor
from accounts.services.idempotency import forget_kept_replies
from bigmind.core.errors import Conflict, Invalid, NotFound
from bigmind.text.hygiene import echo, fold_name, mention, mention_all
from knowledge.app_maps.argument_types import AmbiguousChoice, AnApp, AnEntity, ATable, AWorkflow, LookedUp
from knowledge.app_maps.finding import app_called, entities_called, entity_of, lock, table_of, take_turn
from knowledge.models import AmbiguousName, App, AppEntity, AppTable, AppWorkflow, Kind
from knowledge.search.passages import erase_passages
from knowledge.shapes.app_maps import DefaultPlaceShape

Chosen = Annotated[AnApp, Field(description="Name or id of the app it means. Omit it to forget the choice.")]


@dataclass(frozen=True)
class ForgottenPart:
    """What was forgotten."""

    what: str
    app: str
    entities: int = 0
    tables: int = 0
    workflows: int = 0


def may_clear(actor: Actor) -> bool:
    """Return whether the actor may forget a table or an app, or have it read again: others rely on what would go."""
    return settings.BIGMIND_MODE == "personal" or "curate" in actor.scopes


def require_may_clear(actor: Actor) -> None:
    """Refuse actors who may not.

    Raises:
        Forbidden: they are no curator, and others share these maps.
    """
    if not may_clear(actor):
        actor.require("curate")


@transaction.atomic
def forget_in_app(
    actor: Actor,
    *,
    app: AnApp,
    entity: AnEntity | None = None,
    table: ATable | None = None,
    workflow: AWorkflow | None = None,
) -> ForgottenPart:
    """Forget one entity or workflow of an app, or a table or the whole app with all that is known of it.

    Call this when something is wrong for good; app_report_failure is for what may only have moved. Everybody shares the
    map: curators forget tables and apps, in personal mode you do. Returns what went.
    """
    if entity and workflow:
        problem = {"field": "workflow", "message": "cannot be given together with entity"}
        raise Invalid("workflow cannot be given together with entity.", problems=[problem])
    held = lock(app_called(app))
    forget_kept_replies(actor.user)
    within = table_of(held, table) if table else None
    if entity:
        found = entity_of(held, entity, within)
        return forget_entity(found)
    if workflow:
        return _forget_workflow(held, workflow, within)
    require_may_clear(actor)
    return forget_table(within) if within else forget_app(held)


@transaction.atomic
def set_default_app(
    actor: Actor, *, name: LookedUp, app: Chosen | None = None, table: ATable | None = None
) -> DefaultPlaceShape:
    """Set which app an ambiguous name means, for everybody from now on.

    Call this when app_resolve said `ambiguous` and the user has chosen. Without `app` the choice is forgotten, and the
    user is asked again. Returns what the name means now.
    """
    if app is None:
        AmbiguousName.objects.filter(look_up=fold_name(name)).update(
            default_app=None, default_table=None, chosen_by=None, chosen_at=None
        )
        return DefaultPlaceShape(name=name, app="", table="", found_in=[])
    take_turn()
    held = lock(app_called(app))
    within = table_of(held, table) if table else None
    places = entities_called(name)
    apps = [entity.table.app for entity in places]
    choice = AmbiguousName.objects.filter(look_up=fold_name(name)).first() or AmbiguousName()
    known = list(choice.found_in.all()) if choice.pk else []
    if held not in (*apps, *known) and not _is_called(name, held):
        raise NotFound(
            f"The map of {mention(held)} has nothing called {echo(name)}.", hint="app_learn stores it first."
        )
    choice.rename(places[0].name if places else name)
    choice.default_app, choice.default_table = held, within
    choice.chosen_by, choice.chosen_at = actor.user, timezone.now()
    choice.save()
    found_in = {one.pk: one for one in (*known, *apps, held)}
    choice.found_in.set(found_in)
    return DefaultPlaceShape(
        name=choice.name,
        app=held.name,
        table=within.name if within else "",
        found_in=[one.name for one in found_in.values()],
    )


def forget_entity(entity: AppEntity) -> ForgottenPart:
    """Forget one row, with what it was found by."""
    app = entity.table.app
    forgotten = ForgottenPart(f"entity {entity.name}", app.name, entities=1)
    # Passages name their source by kind and id alone, so no deletion of a row takes them along.
    erase_passages(Kind.APP_ENTITY, [entity.pk])
    entity.delete()
    note_change(app)
    _settle(entity.look_up, app)
    return forgotten


def forget_table(table: AppTable) -> ForgottenPart:
    """Forget a table with its rows and workflows."""
    app, entities, workflows = table.app, list(table.entities.all()), list(table.workflows.all())
    erase_passages(Kind.APP_ENTITY, [one.pk for one in entities])
    erase_passages(Kind.APP_WORKFLOW, [one.pk for one in workflows])
    erase_passages(Kind.APP_TABLE, [table.pk])
    forgotten = ForgottenPart(f"table {table.name}", app.name, len(entities), 1, len(workflows))
    table.delete()
    note_change(app)
    for look_up in {one.look_up for one in entities}:
        _settle(look_up, app)
    return forgotten


def forget_app(app: App) -> ForgottenPart:
    """Forget an app with all that is known of it. The history of its mending stays."""
    tables, workflows = list(app.tables.all()), list(app.workflows.all())
    entities = list(AppEntity.objects.filter(table__in=tables))
    erase_passages(Kind.APP_ENTITY, [one.pk for one in entities])
    erase_passages(Kind.APP_TABLE, [one.pk for one in tables])
    erase_passages(Kind.APP_WORKFLOW, [one.pk for one in workflows])
    forgotten = ForgottenPart(f"app {app.name}", app.name, len(entities), len(tables), len(workflows))
    app.delete()
    for look_up in {one.look_up for one in entities}:
        _settle(look_up)
    return forgotten


def remember_choices(choices: Sequence[AmbiguousChoice], imported: Mapping[str, App]) -> int:
    """Take over the ambiguous names of a folder, whose places are files; return how many were new or chosen again.

    The files are those of the folder, `imported`; what it does not hold itself is meant by its file here.

    A choice that someone made here is not overwritten by a file.
    """
    changed = 0
    apps = {app.file: app for app in App.objects.all()} | dict(imported)
    for choice in choices:
        row, is_new = AmbiguousName.objects.get_or_create(
            look_up=fold_name(choice.name), defaults={"name": choice.name, "look_up": fold_name(choice.name)}
        )
        before = {app.pk for app in row.found_in.all()}
        row.found_in.add(*(apps[file] for file in (one.partition("/")[0] for one in choice.found_in) if file in apps))
        file, _, table = choice.default.partition("/")
        if row.default_app_id is None and file in apps:
            row.default_app, row.chosen_at = apps[file], timezone.now()
            row.default_table = (
                AppTable.objects.filter(app=apps[file], look_up=fold_name(table)).first() if table else None
            )
            row.save()
            changed += 1
        elif is_new or before != {app.pk for app in row.found_in.all()}:
            changed += 1
    return changed


def _forget_workflow(app: App, name: str, table: AppTable | None) -> ForgottenPart:
    found = AppWorkflow.objects.filter(app=app, look_up=fold_name(name)).select_related("table").order_by("pk")
    if table:
        found = found.filter(table=table)
    if len(found) > 1:
        tables = mention_all(one.table or "none" for one in found)
        raise Conflict(f"{echo(name)} is a workflow of several tables: {tables}.", hint="Say which with `table`.")
    workflow = found.first()
    if workflow is None:
        known = mention_all(app.workflows.order_by("pk").values_list("name", flat=True)[:20])
        hint = f"Known: {known}." if known else "None is known."
        raise NotFound(f"The map of {mention(app)} has no workflow {echo(name)}.", hint=hint)
    erase_passages(Kind.APP_WORKFLOW, [workflow.pk])
    workflow.delete()
    note_change(app)
    return ForgottenPart(f"workflow {workflow.name}", app.name, workflows=1)


def _is_called(name: str, app: App) -> bool:
    """Whether the app itself or a table of it has this name."""
    return fold_name(name) in app.names or app.tables.filter(look_up=fold_name(name)).exists()


def _settle(look_up: str, app: App | None = None) -> None:
    """A name that stands in one place alone is ambiguous no longer."""
    row = AmbiguousName.objects.filter(look_up=look_up).first()
    if row is None:
        return
    # A choice for a place that is gone would send agents there for ever.
    if app and not AppEntity.objects.filter(look_up=look_up, table__app=app).exists():
        row.found_in.remove(app)
        if row.default_app_id == app.pk:
            row.default_app = row.default_table = None
            row.save(update_fields=["default_app", "default_table"])
    places = AppEntity.objects.filter(look_up=look_up).count()
    if places <= 1 and row.found_in.count() <= 1:
        row.delete()


def note_change(app: App) -> None:
    """Count a change of the map, by which anyone who keeps a copy sees that it is old."""
    app.version += 1
    app.save(update_fields=["version"])
