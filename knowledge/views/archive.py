"""Out of sight and gone: what was set aside, bringing it back, and erasing for good."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from accounts.actor import Actor
from accounts.authentication import actor_of
from bigmind.core.errors import Conflict
from bigmind.core.operations import carry_out
from bigmind.core.translation import _, gettext_lazy
from bigmind.database.pagination import Page
from bigmind.web.forms import OperationForm, TextField, form_data
from bigmind.web.pages import offset_in, own_page, tell, way_back
from knowledge.kinds import OWN, erase_own
from knowledge.memory.archive import restore, set_aside
from knowledge.views.pages import Within, address_of, form_page, list_route_of, memory_page, own_thing, things_set_aside

ASIDES_SHOWN = 50


@dataclass(frozen=True)
class ArchivedRow:
    """One thing that was set aside."""

    kind: str
    thing: Any
    since: datetime


class ArchiveForm(OperationForm):
    """Says why, for the record."""

    reason = TextField(required=False, rows=2, help_text=gettext_lazy("It stays on record with the fact."))


@own_page
@require_safe
def asides(request: HttpRequest) -> HttpResponse:
    """List everything that was set aside, the latest first."""
    actor = actor_of(request)
    rows, offset = things_set_aside(actor.user), offset_in(request)
    shown = list(rows[offset : offset + ASIDES_SHOWN])
    page = Page(_read(actor, shown), total=rows.count(), limit=ASIDES_SHOWN, offset=offset)
    return memory_page(request, "knowledge/aside.html", section="memory-aside", page=page)


@own_page
@require_http_methods(["GET", "HEAD", "POST"])
def setting_aside(request: HttpRequest, kind: str, thing_id: str) -> HttpResponse:
    """Set one thing aside. A fact keeps the reason, so that page asks for it; the others are one click."""
    actor = actor_of(request)
    thing = own_thing(actor, kind, thing_id)
    form = ArchiveForm(form_data(request))
    if kind != "fact":
        del form.fields["reason"]
    address = address_of(kind, thing.pk)
    if form.attempt(lambda values: _set_aside(actor, kind, thing, values)):
        tell(
            request,
            _("Set aside: “%(thing)s”. Your agents no longer get it.") % {"thing": thing},
            undo=reverse("memory-restore", args=[kind, thing.pk]),
        )
        return way_back(request, otherwise=address)
    return form_page(
        request,
        form,
        heading=_("Set this %(kind)s aside?") % {"kind": kind},
        lead=_("“%(thing)s” will be hidden everywhere and kept on record. You can restore it at any time.")
        % {"thing": thing},
        verb=_("Set it aside"),
        within=Within(kind.capitalize(), address),
    )


@own_page
@require_POST
def restoring(request: HttpRequest, kind: str, thing_id: str) -> HttpResponse:
    """Bring one thing back."""
    actor = actor_of(request)
    thing = own_thing(actor, kind, thing_id)
    try:
        carry_out(restore, actor, {"kind": kind, "id": str(thing.pk)})
        tell(request, f"Restored: “{thing}”.")
    except Conflict as refusal:
        messages.error(request, str(refusal))
    return way_back(request, otherwise=address_of(kind, thing.pk))


@own_page
@require_http_methods(["GET", "HEAD", "POST"])
def erasing(request: HttpRequest, kind: str, thing_id: str) -> HttpResponse:
    """Ask once more, saying what goes; then erase it for good."""
    actor = actor_of(request)
    thing = own_thing(actor, kind, thing_id)
    address = address_of(kind, thing.pk)
    if request.method == "POST":
        list_address = address_of("session", thing.session_id) if kind == "chunk" else reverse(list_route_of(kind))
        erase_own(actor, kind, thing.pk)
        # Without its words: a message is kept in a cookie until it is shown.
        tell(request, _("The %(kind)s was permanently deleted.") % {"kind": kind})
        return way_back(request, otherwise=list_address, gone=address)
    chunks = thing.chunks.count() if kind == "session" else 0
    context = {"word": kind, "thing": thing, "address": address, "chunks": chunks}
    return render(request, "knowledge/erase.html", context)


def _set_aside(actor: Actor, kind: str, thing: Any, values: dict[str, str]) -> Any:
    reason = {"reason": values["reason"]} if values.get("reason") else {}
    return carry_out(set_aside, actor, {"kind": kind, "id": str(thing.pk), **reason})


def _read(actor: Actor, rows: list[dict[str, Any]]) -> list[ArchivedRow]:
    """Read the things themselves, in one query for each kind."""
    things = {
        kind: {str(thing.pk): thing for thing in OWN[kind].rows(actor.user).filter(pk__in=ids)}
        for kind, ids in _ids_by_kind(rows).items()
    }
    found = [(row, things[row["kind"]].get(row["id_text"])) for row in rows]
    return [ArchivedRow(row["kind"], thing, row["since"]) for row, thing in found if thing is not None]


def _ids_by_kind(rows: list[dict[str, Any]]) -> dict[str, list[str]]:
    return {kind: [row["id_text"] for row in rows if row["kind"] == kind] for kind in {row["kind"] for row in rows}}
