"""Bringing a memory in: BigMind's own export or that of another program, stored after a rehearsal."""

import base64
import zlib
from typing import Any

from django import forms
from django.contrib import messages
from django.contrib.sessions.backends.base import SessionBase
from django.core.files.uploadedfile import UploadedFile
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.http import require_http_methods, require_POST

from accounts.actor import Actor
from accounts.authentication import actor_of
from bigmind.core.operations import carry_out
from bigmind.core.translation import _, format_lazy, gettext_lazy, write_number
from bigmind.web.forms import OperationForm
from bigmind.web.pages import own_page, tell
from curation.decisions.forgetting import forget_source
from curation.services.foreign_imports import import_own_document, import_reading
from knowledge.kinds import KINDS
from knowledge.transfer.import_receipts import MovedIn
from knowledge.transfer.readers.formats import FORMATS, WRITTEN
from knowledge.transfer.readers.uploads import read_upload
from knowledge.views.pages import memory_page

UPLOAD_BYTES = 16 * 1024 * 1024
MOST = 5_000
KEPT_SECONDS = 60 * 60
SHOWN = 20
_KEPT = "file_to_import"
_DONE = "import_to_take_back"


class ImportForm(OperationForm):
    """Asks for a file."""

    document = forms.FileField(
        label=gettext_lazy("Exported document"),
        help_text=format_lazy(
            gettext_lazy(
                "What BigMind exported, or the memory of another program: one file or a zip archive, up to"
                " 16 MiB and 5,000 items; the command takes more. The file itself tells which: {formats}."
            ),
            formats=", ".join(one.title for one in FORMATS),
        ),
        widget=forms.FileInput(attrs={"accept": ".json,.jsonl,.zip,.md,.txt,.db,application/json,application/zip"}),
    )

    def clean_document(self) -> tuple[str, bytes]:
        """Read the file."""
        file: UploadedFile[bytes] = self.cleaned_data["document"]
        if file.size is None or file.size > UPLOAD_BYTES:
            raise forms.ValidationError(
                _("The file has %(what)s bytes; the limit is %(UPLOAD_BYTES)s. Use the command for it.")
                % {"what": write_number(file.size or 0), "UPLOAD_BYTES": write_number(UPLOAD_BYTES)}
            )
        return file.name or "upload", file.read()


@own_page
@require_http_methods(["GET", "HEAD", "POST"])
def importing(request: HttpRequest) -> HttpResponse:
    """Ask for a file and rehearse its import: nothing is stored before that is confirmed."""
    actor = actor_of(request)
    form = ImportForm(request.POST, request.FILES) if request.method == "POST" else ImportForm()
    report = form.attempt(lambda choices: _bring_in(actor, *choices["document"], dry_run=True))
    token = _keep(request, form.cleaned_data) if report else ""
    context = {"form": form, "report": report, "rehearsed": _rows(report), "token": token, "written": WRITTEN.values()}
    return memory_page(request, "knowledge/import.html", section="memory-import", shown=SHOWN, **context)


@own_page
@require_POST
def import_confirmed(request: HttpRequest) -> HttpResponse:
    """Import the file that was rehearsed."""
    actor = actor_of(request)
    kept = _upload_session(request)
    if kept.get("user") != str(actor.user.pk):
        messages.error(request, _("That document is no longer kept here. Choose the file again."))
        return redirect("memory-import")
    content = zlib.decompress(base64.b64decode(kept["content"]))
    begins = timezone.now()
    report = _bring_in(actor, kept["name"], content, dry_run=False)
    kept.delete()
    added = [_count_phrase(row["kind"], row["added"]) for row in _rows(report) if row["added"]]
    changed = [f"{_count_phrase(kind, number)} changed" for kind, number in report.changed.items()]
    done = ", ".join([*added, *changed])
    says = _("Imported: %(done)s.") % {"done": done} if done else _("Imported: there was nothing new in it.")
    request.session[_DONE] = {"agent": report.agent, "since": begins.isoformat()}
    tell(request, says, undo=reverse("memory-import-undo") if added and report.agent else "")
    if report.refused:
        messages.warning(
            request,
            _("%(refused)s items were refused and are not here.") % {"refused": write_number(len(report.refused))},
        )
    return redirect("memory")


@own_page
@require_POST
def take_back_import(request: HttpRequest) -> HttpResponse:
    """Take back what the last import of this browser added."""
    done = request.session.pop(_DONE, None) or {}
    if not done.get("agent"):
        messages.error(request, _("There is no import to take back."))
        return redirect("memory-import")
    carry_out(forget_source, actor_of(request), {**done, "dry_run": False})
    tell(request, _("Taken back: what the import added is gone."))
    return redirect("memory-import")


def _bring_in(actor: Actor, name: str, content: bytes, *, dry_run: bool) -> MovedIn:
    upload = read_upload(content, name, most=MOST)
    if upload.reading is None:
        return import_own_document(actor, upload.document, dry_run=dry_run)
    return import_reading(actor, upload.reading, upload.format, source=upload.name, dry_run=dry_run)


def _keep(request: HttpRequest, choices: dict[str, Any]) -> str:
    """Keep a file until it is confirmed, an hour at most.

    It gets a session of its own, which is stored where all processes find it; in the person's own session each page
    would read it along. What this browser had kept before goes, and what anybody has not confirmed in its hour.
    """
    aside = type(request.session)()
    aside.clear_expired()
    aside.delete(request.session.get(_KEPT))
    name, content = choices["document"]
    aside["user"], aside["name"] = str(request.user.pk), name
    aside["content"] = base64.b64encode(zlib.compress(content)).decode()
    aside.set_expiry(KEPT_SECONDS)
    aside.create()
    request.session[_KEPT] = aside.session_key
    return str(aside.session_key)


def _upload_session(request: HttpRequest) -> SessionBase:
    token = request.POST.get("token", "")
    return type(request.session)(token if token.isascii() and token.isalnum() else None)


def _count_phrase(kind: str, number: int) -> str:
    words = {row.label.lower(): row.word for row in KINDS.values()}
    return f"{number:,} {words.get(kind, kind.removesuffix('s')) if number == 1 else kind}"


def _rows(report: MovedIn | None) -> list[dict[str, Any]]:
    """Return what was added and what is here, kind by kind."""
    if report is None:
        return []
    return [
        {
            "kind": kind,
            "added": added,
            "changed": report.changed.get(kind, 0),
            "known": report.unchanged.get(kind, 0),
        }
        for kind, added in report.added.items()
    ]
