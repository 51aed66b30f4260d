"""Pages that import a memory or documentation: a file, a preview of what comes in, the import, and its undo."""

import base64
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django import forms
from django.contrib import messages
from django.contrib.sessions.backends.base import SessionBase
from django.core.files.uploadedfile import UploadedFile
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils import timezone
from django.utils.text import slugify
from django.views.decorators.http import require_http_methods, require_POST

from accounts.actor import Actor
from accounts.authentication import actor_of
from bigmind.core.errors import Conflict, Invalid
from bigmind.core.operations import carry_out
from bigmind.core.sentences import in_language
from bigmind.core.translation import _, format_lazy, gettext_lazy, write_number
from bigmind.web.forms import OperationForm, TextField
from bigmind.web.pages import own_page, tell
from curation.decisions.forgetting import forget_source
from curation.services.foreign_imports import import_own_document, import_reading
from knowledge.kinds import KINDS
from knowledge.parsers.separate_process import perform_apart
from knowledge.references.arguments import MOST_DRAFTS, SLUG_CHARS
from knowledge.references.imports import import_generated, require_documentarian, take_back_import
from knowledge.references.readers.registry import read_uploaded
from knowledge.transfer.import_receipts import MovedIn
from knowledge.transfer.readers.formats import FORMATS, WRITTEN
from knowledge.transfer.readers.uploads import BUDGET, SMALL_BYTES, read_upload
from knowledge.views.pages import memory_page

UPLOAD_BYTES = 16 * 1024 * 1024
MOST = 5_000
KEPT_SECONDS = 60 * 60
SHOWN = 20
PASTED = "pasted text"
_KEPT = "file_to_import"
_DONE = "import_to_take_back"


class _UploadForm(OperationForm):
    """Asks for a file."""

    def clean_document(self) -> tuple[str, bytes] | None:
        """Read the file."""
        file: UploadedFile[bytes] | None = self.cleaned_data["document"]
        if file is None:
            return None
        if file.size is None or file.size > UPLOAD_BYTES:
            raise forms.ValidationError(
                _("The file has %(what)s bytes; the limit is %(UPLOAD_BYTES)s. Use the command for it.")
                % {"what": write_number(file.size or 0), "UPLOAD_BYTES": write_number(UPLOAD_BYTES)}
            )
        return file.name or "upload", file.read()


class ImportForm(_UploadForm):
    """Asks for an export."""

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


class DocumentationForm(_UploadForm):
    """Asks for a source of documentation, and what people call what it documents."""

    document = forms.FileField(
        required=False,
        label=gettext_lazy("File"),
        help_text=gettext_lazy(
            "An OpenAPI or Swagger document, the TypeScript or JavaScript source of a command line, or entries as"
            " BigMind exports them; up to 16 MiB and 1,000 items."
        ),
        widget=forms.FileInput(attrs={"accept": ".json,.yaml,.yml,.ts,.tsx,.mts,.cts,.js,.jsx,.mjs,.cjs"}),
    )
    text = TextField(rows=6, required=False, label=gettext_lazy("Or its text"), help_text=gettext_lazy("JSON or YAML."))
    program = forms.CharField(
        required=False,
        max_length=100,
        label=gettext_lazy("Name of the program or API"),
        help_text=gettext_lazy("Leave empty to use the name that it declares. The same name again is an update."),
    )

    def refuse(self, refusal: Invalid | Conflict) -> None:
        """Say what was refused, and what to do instead."""
        super().refuse(refusal)
        if refusal.hint:
            self.add_error(None, in_language(refusal.hint))

    def clean(self) -> dict[str, Any]:
        """Take the text for a file where none was chosen."""
        choices: dict[str, Any] = super().clean() or self.cleaned_data
        text = choices.pop("text", "")
        if not choices.get("document") and not self.errors:
            if not text:
                raise forms.ValidationError(_("Choose a file, or paste its text."))
            choices["document"] = (PASTED, text.encode())
        return choices


def _bring_in_memory(actor: Actor, choices: dict[str, Any], *, dry_run: bool) -> tuple[MovedIn, dict[str, Any]]:
    name, content = choices["document"]
    upload = read_upload(content, name, most=MOST)
    if upload.reading is None:
        report = import_own_document(actor, upload.document, source=name, dry_run=dry_run)
    else:
        report = import_reading(actor, upload.reading, upload.format, source=upload.name, dry_run=dry_run)
    return report, {"agent": report.agent} if report.agent else {}


def _forget_agent(actor: Actor, done: dict[str, Any]) -> None:
    carry_out(forget_source, actor, {**done, "dry_run": False})


def _bring_in_documentation(actor: Actor, choices: dict[str, Any], *, dry_run: bool) -> tuple[MovedIn, dict[str, Any]]:
    require_documentarian(actor)
    (name, content), program = choices["document"], choices["program"]
    if len(content) <= SMALL_BYTES:
        generated = read_uploaded(content, name, program)
    else:
        generated = perform_apart(f"The file {name}", BUDGET, read_uploaded, content, name, program)
    title = program or generated.title
    slug = slugify(title)[:SLUG_CHARS].strip("-_").replace("_", "-")
    if not slug:
        says = "has no Latin letter or digit, which its address needs" if title else f"is needed: {name} declares none"
        raise Invalid.of("program", says)
    if len(generated.drafts) > MOST_DRAFTS:
        says = f"has {len(generated.drafts):,} items; the limit is {MOST_DRAFTS:,}. Use the command for it"
        raise Invalid.of("document", says)
    # Who confirms has seen in the preview how much of what is there would change.
    imported = import_generated(
        actor, generated, None, collection=slug, source=name, name=title, replaces=not dry_run, dry_run=dry_run
    )
    report = MovedIn("documentation", dry_run)
    added, changed, same = imported.added, imported.changed, imported.unchanged
    report.count("items of documentation", added=added, changed=changed, unchanged=same)
    report.notices.append(_("They go to “%(title)s”.") % {"title": title})
    drafts = {draft.key: draft for draft in generated.drafts}
    for key in imported.keys.get("added", ()):
        report.bring(
            "endpoint" if drafts[key].endpoint else drafts[key].kind.value, drafts[key].name or drafts[key].title
        )
    report.kept += imported.keys.get("drifted", ())
    report.removed += imported.keys.get("removed", ())
    report.refused += [f"{problem.where}: {problem.says}" for problem in generated.problems] + imported.troubles
    return report, {"collection": slug, "source": name}


def _forget_documentation(actor: Actor, done: dict[str, Any]) -> None:
    take_back_import(actor, **{**done, "since": datetime.fromisoformat(done["since"])})


@dataclass(frozen=True)
class _Import:
    """What one of these pages imports.

    Attributes:
        next: The page that shows what came in.
        bring_in: Does the import or rehearses it; returns the report, and what `take_back` needs beside a moment.
    """

    template: str
    next: str
    form: type[_UploadForm]
    bring_in: Callable[..., tuple[MovedIn, dict[str, Any]]]
    take_back: Callable[[Actor, dict[str, Any]], None]


_IMPORTS = {
    "memory-import": _Import("import.html", "memory", ImportForm, _bring_in_memory, _forget_agent),
    "docs-import": _Import(
        "docs_import.html", "docs", DocumentationForm, _bring_in_documentation, _forget_documentation
    ),
}


def _actor_on(request: HttpRequest, page: str) -> Actor:
    """Return who asks, if they may import what this page imports."""
    actor = actor_of(request)
    if page == "docs-import":
        require_documentarian(actor)
    return actor


@own_page
@require_http_methods(["GET", "HEAD", "POST"])
def importing(request: HttpRequest, page: str) -> HttpResponse:
    """Ask for a file and rehearse its import: nothing is stored before that is confirmed."""
    actor, own = _actor_on(request, page), _IMPORTS[page]
    form = own.form(request.POST, request.FILES) if request.method == "POST" else own.form()
    report, _done = form.attempt(lambda choices: own.bring_in(actor, choices, dry_run=True)) or (None, {})
    token = _keep(request, page, form.cleaned_data) if report else ""
    context: dict[str, Any] = {"form": form, "report": report, "rehearsed": _rows(report), "token": token}
    context |= {"written": WRITTEN.values(), "own": page, "confirm": f"{page}-confirm", "shown": SHOWN}
    if page == "memory-import":
        return memory_page(request, f"knowledge/{own.template}", section=page, **context)
    return render(request, f"knowledge/{own.template}", context)


@own_page
@require_POST
def import_confirmed(request: HttpRequest, page: str) -> HttpResponse:
    """Import the file that was rehearsed."""
    actor, own = _actor_on(request, page), _IMPORTS[page]
    kept = _upload_session(request)
    if (kept.get("user"), kept.get("page")) != (str(actor.user.pk), page):
        messages.error(request, _("That document is no longer kept here. Choose the file again."))
        return redirect(page)
    content = zlib.decompress(base64.b64decode(kept["content"]))
    begins = timezone.now()
    choices = {**kept["choices"], "document": (kept["name"], content)}
    report, done = own.bring_in(actor, choices, dry_run=False)
    kept.delete()
    added = [_count_phrase(row["kind"], row["added"]) for row in _rows(report) if row["added"]]
    changed = [f"{_count_phrase(kind, number)} changed" for kind, number in report.changed.items()]
    phrases = ", ".join([*added, *changed])
    says = _("Imported: %(done)s.") % {"done": phrases} if phrases else _("Imported: there was nothing new in it.")
    request.session[_DONE] = {page: {**done, "since": begins.isoformat()}}
    tell(request, says, undo=reverse(f"{page}-undo") if phrases and done else "")
    if report.refused:
        messages.warning(
            request,
            _("%(refused)s items were refused and are not here.") % {"refused": write_number(len(report.refused))}
            if page == "memory-import"
            else _("Not read: %(what)s") % {"what": "; ".join(report.refused[:SHOWN])},
        )
    return redirect(own.next)


@own_page
@require_POST
def take_back(request: HttpRequest, page: str) -> HttpResponse:
    """Take back what the last import of this browser brought."""
    actor = _actor_on(request, page)
    done = (request.session.pop(_DONE, None) or {}).get(page)
    if not done:
        messages.error(request, _("There is no import to take back."))
        return redirect(page)
    _IMPORTS[page].take_back(actor, done)
    tell(request, _("Taken back: what the import added is gone."))
    return redirect(page)


def _keep(request: HttpRequest, page: str, choices: dict[str, Any]) -> str:
    """Keep a file until it is confirmed, an hour at most.

    It gets a session of its own, which is stored where all processes find it; in the person's own session each page
    would read it along. What this browser had kept before goes, and what anybody has not confirmed in its hour.
    """
    aside = type(request.session)()
    aside.clear_expired()
    aside.delete(request.session.get(_KEPT))
    name, content = choices.pop("document")
    aside["user"], aside["name"], aside["page"], aside["choices"] = str(request.user.pk), name, page, choices
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
