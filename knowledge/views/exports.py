"""Taking the memory along: download it as one document, and bring one in, after a rehearsal."""

import json
from typing import Any

from django import forms
from django.contrib import messages
from django.contrib.sessions.backends.base import SessionBase
from django.core.files.uploadedfile import UploadedFile
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.utils import timezone
from django.utils.http import content_disposition_header
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from accounts.authentication import actor_of
from bigmind.core.errors import Invalid
from bigmind.core.operations import carry_out
from knowledge.services.exports import export_memory
from knowledge.services.imports import Imported, import_memory
from knowledge.views.forms import OperationForm
from knowledge.views.pages import memory_page, own_page, tell

UPLOAD_BYTES = 4 * 1024 * 1024
KEPT_SECONDS = 60 * 60


class Upload(OperationForm):
    """Asks for a document."""

    document = forms.FileField(
        label="Exported document",
        help_text="A JSON file that BigMind exported, up to 4 MiB.",
        widget=forms.FileInput(attrs={"accept": ".json,application/json"}),
    )

    def clean_document(self) -> Any:
        """Read the file."""
        try:
            return read_document(self.cleaned_data["document"])
        except Invalid as refusal:
            raise forms.ValidationError(refusal.message) from refusal


@own_page
@require_safe
def export(request: HttpRequest) -> HttpResponse:
    """Download everything that is remembered as one JSON document."""
    actor = actor_of(request)
    response = HttpResponse(export_memory(actor).model_dump_json(indent=2), content_type="application/json")
    name = f"bigmind-{actor.user.username}-{timezone.localdate().isoformat()}.json"
    response["Content-Disposition"] = content_disposition_header(as_attachment=True, filename=name) or "attachment"
    return response


@own_page
@require_http_methods(["GET", "HEAD", "POST"])
def importing(request: HttpRequest) -> HttpResponse:
    """Ask for a document and rehearse its import: nothing is stored before that is confirmed."""
    form = Upload(request.POST, request.FILES) if request.method == "POST" else Upload()
    rehearsed = form.carry_out(import_memory, actor_of(request), dry_run=True)
    token = _keep(request, form.cleaned_data["document"]) if rehearsed else ""
    return memory_page(
        request, "knowledge/import.html", section="memory-import", form=form, rehearsed=_rows(rehearsed), token=token
    )


@own_page
@require_POST
def import_confirmed(request: HttpRequest) -> HttpResponse:
    """Import the document that was rehearsed."""
    actor = actor_of(request)
    kept = _kept(request)
    if kept.get("user") != str(actor.user.pk):
        messages.error(request, "That document is no longer kept here. Choose the file again.")
        return redirect("memory-import")
    imported = carry_out(import_memory, actor, {"document": kept["document"]})
    kept.delete()
    added = ", ".join(_counted(row["kind"], row["added"]) for row in _rows(imported) if row["added"])
    tell(request, f"Imported: {added}." if added else "Imported: there was nothing new in it.")
    return redirect("memory")


def read_document(file: "UploadedFile[bytes]") -> Any:
    """Read an uploaded JSON document.

    Raises:
        Invalid: it is too large, or it is not JSON.
    """
    if file.size is None or file.size > UPLOAD_BYTES:
        raise Invalid(f"The file has {file.size or 0:,} bytes; the limit is {UPLOAD_BYTES:,}. Import it in parts.")
    try:
        return json.loads(file.read())
    except (ValueError, RecursionError) as error:
        raise Invalid("The file is not a JSON document. Choose one that BigMind exported.") from error


def _keep(request: HttpRequest, document: Any) -> str:
    """Keep a document until it is confirmed, an hour at most.

    It gets a session of its own, which is stored where all processes find it; in the person's own session each page
    would read it along. Documents that nobody confirmed go when the next one comes.
    """
    aside = type(request.session)()
    aside.clear_expired()
    aside["user"], aside["document"] = str(request.user.pk), document
    aside.set_expiry(KEPT_SECONDS)
    aside.create()
    return str(aside.session_key)


def _kept(request: HttpRequest) -> SessionBase:
    token = request.POST.get("token", "")
    return type(request.session)(token if token.isascii() and token.isalnum() else None)


def _counted(kind: str, number: int) -> str:
    word = kind.removesuffix("s") if kind != "hypotheses" else "hypothesis"
    return f"{number:,} {word if number == 1 else kind}"


def _rows(imported: Imported | None) -> list[dict[str, Any]]:
    """Return what was added and what was known, kind by kind."""
    if imported is None:
        return []
    return [
        {"kind": kind, "added": imported.added.get(kind, 0), "known": imported.known.get(kind, 0)}
        for kind in imported.added
    ]
