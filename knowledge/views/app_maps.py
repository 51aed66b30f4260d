"""The pages of the app maps that everybody here shares: read, correct, forget, rebuild, take along."""

from collections.abc import Mapping, Sequence
from typing import Any, Literal

from django import forms
from django.contrib import messages
from django.forms import model_to_dict
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils.http import content_disposition_header
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from accounts.authentication import actor_of
from bigmind.core.errors import Conflict, Forbidden, Invalid
from bigmind.core.limits import IMPORT_BYTES
from bigmind.core.operations import carry_out
from bigmind.core.sentences import in_language
from bigmind.core.translation import _, gettext_lazy, write_number
from bigmind.database.pagination import Page, page_of
from bigmind.web.forms import OperationForm, TextField, choice, form_data
from bigmind.web.pages import offset_in, own_page, tell
from knowledge.app_maps.argument_types import AmbiguousChoice
from knowledge.app_maps.connectors import available_connectors
from knowledge.app_maps.files.map_archives import pack
from knowledge.app_maps.finding import connector_of
from knowledge.app_maps.forgetting import forget_in_app, may_clear, require_may_clear, set_default_app
from knowledge.app_maps.import_export import export_maps, import_folder, read_uploaded_maps
from knowledge.app_maps.learning import correct_app
from knowledge.app_maps.reading import fields_of, get_app, list_apps, select_by_risk
from knowledge.app_maps.runs import bootstrap_apps, cancel_run, rebuild_app, resume_run
from knowledge.app_maps.schema_changes import problems_in
from knowledge.models import UNFINISHED, App, AppEntity, AppRun, AppTable, AppWorkflow

ENTITIES_SHOWN = 50
HEALINGS_SHOWN = 20
RUNS_SHOWN = 5


class EntityForm(OperationForm):
    """Says where a row is."""

    row_id = forms.CharField(required=False, label=gettext_lazy("Row id"))
    match_field = forms.CharField(
        required=False, label=gettext_lazy("Field it is found by"), help_text=gettext_lazy("Such as Name.")
    )
    match_value = forms.CharField(required=False, label=gettext_lazy("Content of that field"))


class WorkflowForm(OperationForm):
    """Says how something is done."""

    trigger = forms.CharField(required=False, help_text=gettext_lazy("What people ask for; names stand in [brackets]."))
    steps = TextField(required=False)
    field = forms.CharField(
        required=False, label=gettext_lazy("Field"), help_text=gettext_lazy("The field it is about.")
    )


class AppMapUploadForm(OperationForm):
    """Asks for a zip, or for one YAML file."""

    document = forms.FileField(
        label=gettext_lazy("Zip or YAML file"),
        help_text=gettext_lazy("A zip of _index.yaml and its files, or the YAML file of one app, up to 4 MiB."),
        widget=forms.FileInput(attrs={"accept": ".zip,.yaml,.yml"}),
    )
    mode = choice(
        [("rehearse", gettext_lazy("Only say what it would do")), ("import", gettext_lazy("Import it"))],
        label=gettext_lazy("What to do"),
    )

    def clean_document(self) -> Any:
        """Read the file."""
        file = self.cleaned_data["document"]
        try:
            if file.size > IMPORT_BYTES:
                raise Invalid(
                    _("The file has %(size)s bytes; the limit is %(UPLOAD_BYTES)s.")
                    % {"size": write_number(file.size), "UPLOAD_BYTES": write_number(IMPORT_BYTES)}
                )
            return read_uploaded_maps(file.read(), file.name)
        except Invalid as refusal:
            raise forms.ValidationError(in_language(refusal.message)) from refusal


@own_page
@require_safe
def export(request: HttpRequest) -> HttpResponse:
    """Download all app maps as a zip of YAML files."""
    response = HttpResponse(pack(export_maps(actor_of(request)).files), content_type="application/zip")
    name = content_disposition_header(as_attachment=True, filename="app-maps.zip")
    response["Content-Disposition"] = name or "attachment"
    return response


@own_page
@require_http_methods(["GET", "HEAD", "POST"])
def importing(request: HttpRequest) -> HttpResponse:
    """Ask for a zip; say what importing it would do, or do it."""
    form = AppMapUploadForm(request.POST, request.FILES) if request.method == "POST" else AppMapUploadForm()
    is_rehearsal = request.POST.get("mode") != "import"
    report = form.attempt(lambda data: import_folder(data["document"], dry_run=is_rehearsal))
    if report and not is_rehearsal:
        tell(
            request,
            _("Imported: %(added)s new, %(updated)s changed, %(unchanged)s known already.")
            % {"added": report.added, "updated": report.updated, "unchanged": report.unchanged},
        )
        return redirect("apps")
    return render(request, "knowledge/app_map_import.html", {"form": form, "report": report})


@own_page
@require_safe
def apps(request: HttpRequest) -> HttpResponse:
    """Show the apps that are mapped, the names that stand in several, and what is being read."""
    actor = actor_of(request)
    risk: Literal["flagged"] | None = "flagged" if request.GET.get("risk") == "flagged" else None
    index = list_apps(actor, limit=50, offset=offset_in(request), risk=risk)
    known = {one.name: one for one in App.objects.filter(name__in=[one.name for one in index.items])}
    context = {
        "rows": [{"app": one, "pk": known[one.name].pk, "thing": known[one.name]} for one in index.items],
        "risk": risk,
        "is_flagged": bool(risk) or select_by_risk("flagged").exists(),
        "page": Page(index.items, index.total, index.limit, index.offset),
        "choices": _choices(index.ambiguous),
        "runs": AppRun.objects.select_related("app", "asked_by").order_by("-created_at")[:RUNS_SHOWN],
        "is_running": bool(index.running),
        "unfinished": UNFINISHED,
        "connectors": available_connectors(),
    }
    return render(request, "knowledge/app_maps.html", context)


@own_page
@require_safe
def app(request: HttpRequest, app_id: int) -> HttpResponse:
    """Show what is known of one app, and what was mended in it."""
    actor = actor_of(request)
    shown = get_object_or_404(App, pk=app_id)
    entities = AppEntity.objects.filter(table__app=shown).select_related("table").order_by("-last_seen", "-pk")
    context = {
        "app": shown,
        "tables": [{"table": one, "fields": fields_of(one)} for one in shown.tables.order_by("pk")],
        "page": page_of(entities, limit=ENTITIES_SHOWN, offset=offset_in(request)),
        "workflows": _workflows(shown),
        "healings": shown.healings.select_related("user", "agent").order_by("-at", "-pk")[:HEALINGS_SHOWN],
        "runs": shown.runs.filter(state__in=UNFINISHED),
        "may_clear": may_clear(actor),
        "map": get_app(actor, app=shown.app_id or shown.name),
    }
    return render(request, "knowledge/app_map.html", context)


@own_page
@require_safe
def open_part(request: HttpRequest, kind: str, part_id: int) -> HttpResponse:
    """Turn to the map that a search found something of."""
    if kind == "table":
        return redirect("app-map", get_object_or_404(AppTable, pk=part_id).app_id)
    if kind == "workflow":
        return redirect("app-map", get_object_or_404(AppWorkflow, pk=part_id).app_id)
    return redirect("app-map", get_object_or_404(AppEntity.objects.select_related("table"), pk=part_id).table.app_id)


@own_page
@require_http_methods(["GET", "HEAD", "POST"])
def entity_edit(request: HttpRequest, app_id: int, entity_id: int) -> HttpResponse:
    """Correct where a row is, and what it is found by."""
    shown = get_object_or_404(App, pk=app_id)
    entity = get_object_or_404(AppEntity, pk=entity_id, table__app=shown)
    table = {"table": entity.table.name, "table_id": entity.table.table_id}
    return _correct(request, shown, entity, EntityForm, part="entities", table=table)


@own_page
@require_http_methods(["GET", "HEAD", "POST"])
def workflow_edit(request: HttpRequest, app_id: int, workflow_id: int) -> HttpResponse:
    """Correct what people ask for, and how it is done."""
    shown = get_object_or_404(App, pk=app_id)
    workflow = get_object_or_404(AppWorkflow, pk=workflow_id, app=shown)
    table = {"table": workflow.table.name if workflow.table else ""}
    return _correct(request, shown, workflow, WorkflowForm, part="workflows", table=table)


def _correct(
    request: HttpRequest,
    shown: App,
    thing: AppEntity | AppWorkflow,
    form_class: type[OperationForm],
    *,
    part: str,
    table: dict[str, str],
) -> HttpResponse:
    """Correct a row or a workflow; `part` is the argument that has those of its kind, `table` where it belongs."""
    actor, sent = actor_of(request), {"app": shown.name, "app_id": shown.app_id}
    form = form_class(form_data(request), initial=model_to_dict(thing, form_class.base_fields))
    learnt = form.attempt(
        lambda values: carry_out(correct_app, actor, {**sent, part: [{**values, **table, "name": thing.name}]})
    )
    if learnt:
        tell(request, f"Saved: {thing.name}.")
        return redirect("app-map", shown.pk)
    context = {"form": form, "app": shown, "heading": f"Correct {thing.name}"}
    return render(request, "knowledge/app_map_form.html", context)


@own_page
@require_http_methods(["GET", "HEAD", "POST"])
def forgetting(request: HttpRequest, app_id: int, part: str = "app", part_id: int = 0) -> HttpResponse:
    """Ask once more, saying what goes; then forget it."""
    actor, shown = actor_of(request), get_object_or_404(App, pk=app_id)
    # The operation refuses it as well, but only after people have read what would go and confirmed it.
    if part in {"app", "table"} and not may_clear(actor):
        raise Forbidden(_("Others rely on this map."), hint=_("Ask a curator to forget tables and apps."))
    named = _arguments_naming(shown, part, part_id)
    if request.method == "POST":
        forgotten = forget_in_app(actor, app=shown.app_id or shown.name, **named)
        tell(request, f"Forgotten: {forgotten.what}.")
        return redirect("apps") if part == "app" else redirect("app-map", shown.pk)
    context = {
        "app": shown,
        "kind": part,
        "named": list(named.values())[-1] if named else shown.name,
        **_counts(shown, table_id=part_id if part == "table" else None),
    }
    return render(request, "knowledge/app_forget.html", context)


@own_page
@require_http_methods(["GET", "HEAD", "POST"])
def rebuilding(request: HttpRequest, app_id: int) -> HttpResponse:
    """Ask once more, saying what may go; then let the map be rebuilt in the background."""
    actor, shown = actor_of(request), get_object_or_404(App, pk=app_id)
    require_may_clear(actor)
    if request.method != "POST":
        context = {"app": shown, "can_rebuild": connector_of(shown) is not None, **_counts(shown)}
        return render(request, "knowledge/app_rebuild.html", context)
    begun = rebuild_app(actor, app=shown.app_id or shown.name)
    if begun.run:
        tell(request, _("%(shown)s is being read again. You can use its map meanwhile.") % {"shown": shown})
    else:
        messages.info(
            request,
            _("No connector reads %(shown)s. An agent can: %(next_step)s")
            % {"shown": shown, "next_step": begun.next_step},
        )
    return redirect("app-map", shown.pk)


@own_page
@require_POST
def bringing_in(request: HttpRequest) -> HttpResponse:
    """Let a connector read which apps and tables there are."""
    bootstrap_apps(actor_of(request), connector=request.POST.get("connector", ""))
    tell(request, _("Apps and tables are being read. What has been read can be used at once."))
    return redirect("apps")


@own_page
@require_POST
def stopping(request: HttpRequest, run_id: int) -> HttpResponse:
    """Stop a run, or go on with one."""
    change, message = (
        (resume_run, _("It goes on where it was.")) if "resume" in request.POST else (cancel_run, _("Stopped."))
    )
    change(actor_of(request), run_id=run_id)
    tell(request, message)
    return redirect("apps")


@own_page
@require_POST
def choosing(request: HttpRequest) -> HttpResponse:
    """Remember which app is meant by a name, or ask again."""
    name, file = request.POST.get("name", ""), request.POST.get("place", "")
    place, _slash, table = file.partition("/")
    chosen = App.objects.filter(file=place).first() if place else None
    try:
        default = {"app": chosen.app_id or chosen.name, **({"table": table} if table else {})} if chosen else {}
        carry_out(set_default_app, actor_of(request), {"name": name, **default})
    except (Invalid, Conflict) as refusal:
        messages.error(request, str(refusal))
        return redirect("apps")
    tell(
        request,
        _("“%(name)s” means %(chosen)s from now on.") % {"name": name, "chosen": chosen}
        if chosen
        else _("Agents will ask again which “%(name)s” is meant.") % {"name": name},
    )
    return redirect("apps")


def _choices(choices: Sequence[AmbiguousChoice]) -> list[dict[str, Any]]:
    """The names that stand in several places, each with what the places are called."""
    names = dict(App.objects.values_list("file", "name"))
    return [{"choice": one, "places": [(place, _place(place, names)) for place in one.found_in]} for one in choices]


def _place(place: str, names: Mapping[str, str]) -> str:
    file, _, table = place.partition("/")
    return " › ".join(part for part in (names.get(file, file), table) if part)


def _arguments_naming(shown: App, kind: str, part_id: int) -> dict[str, str]:
    """What the operation gets about what goes."""
    if kind == "entity":
        entity = get_object_or_404(AppEntity, pk=part_id, table__app=shown)
        return {"table": entity.table.table_id or entity.table.name, "entity": entity.name}
    if kind == "table":
        table = get_object_or_404(AppTable, pk=part_id, app=shown)
        return {"table": table.table_id or table.name}
    if kind == "workflow":
        workflow = get_object_or_404(AppWorkflow.objects.select_related("table"), pk=part_id, app=shown)
        return {**({"table": workflow.table.name} if workflow.table else {}), "workflow": workflow.name}
    return {}


def _workflows(shown: App) -> list[dict[str, Any]]:
    """The workflows of an app, each with what is wrong with it."""
    problems = problems_in(shown)
    workflows = shown.workflows.select_related("table").order_by("pk")
    return [{"workflow": one, "problem": problems.get(one.pk, "")} for one in workflows]


def _counts(shown: App, *, table_id: int | None = None) -> dict[str, Any]:
    entities = AppEntity.objects.filter(table__app=shown)
    if table_id is not None:
        entities = entities.filter(table=table_id)
    return {"entities": entities.count(), "tables": shown.tables.count()}
