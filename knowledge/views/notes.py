"""Notes: list by domain, read, add, edit, rename."""

from typing import Any
from unicodedata import normalize

from django import forms
from django.db import transaction
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.views.decorators.http import require_http_methods, require_safe

from accounts.actor import Actor
from accounts.authentication import actor_of
from bigmind.core.argument_checks import validate_arguments
from bigmind.core.translation import _, gettext_lazy
from bigmind.web.forms import OperationForm, Question, TextField, choice, form_data
from bigmind.web.pages import own_page, tell
from knowledge.memory.notes import get_notes, note_domains, rename_note, set_note
from knowledge.models import Note
from knowledge.views.pages import Within, form_page, memory_page, own_thing, project_field

NOTES_SHOWN = 50
MINUTES = "%Y-%m-%dT%H:%M"


class NoteQuestion(Question):
    """Narrows the list."""

    def __init__(self, request: HttpRequest, domains: dict[str, int]) -> None:
        super().__init__(request.GET)
        names = {*domains, request.GET.get("domain", "").strip()} - {""}
        counted = [(name, f"{name} ({domains.get(name, 0)})") for name in sorted(names)]
        self.fields["domain"] = choice(counted, blank=_("Any"), required=False, label=_("Domain"))


class NoteForm(OperationForm):
    """Says what holds in an area, under a name it is found by."""

    domain = forms.CharField(help_text=gettext_lazy("The area: email, calendar, general."))
    key = forms.CharField(help_text=gettext_lazy("Its name within the area, such as dymon-packages."))
    content = TextField(rows=8, help_text=gettext_lazy("In plain words or markdown."))
    expires_at = forms.DateTimeField(
        required=False,
        label=gettext_lazy("Expires"),
        widget=forms.DateTimeInput(attrs={"type": "datetime-local"}, format=MINUTES),
    )
    project = project_field()


@own_page
@require_safe
def notes(request: HttpRequest) -> HttpResponse:
    """List the notes, of one domain or all."""
    actor = actor_of(request)
    form = NoteQuestion(request, note_domains(actor))
    page = form.answer(get_notes, actor, limit=NOTES_SHOWN)
    return memory_page(request, "knowledge/notes.html", section="memory-notes", form=form, page=page)


@own_page
@require_safe
def note(request: HttpRequest, note_id: int) -> HttpResponse:
    return render(request, "knowledge/note.html", {"note": own_thing(actor_of(request), "note", note_id)})


@own_page
@require_http_methods(["GET", "HEAD", "POST"])
def new_note(request: HttpRequest) -> HttpResponse:
    """Add a note. One that is there already is edited on its own page, never written over by mistake."""
    actor = actor_of(request)
    form = NoteForm(form_data(request), initial={"domain": request.GET.get("domain", "")})
    if form.is_valid() and _is_taken(actor, **form.cleaned_data):
        form.add_error("key", _("There is a note of this name in the domain already."))
    note = form.carry_out(set_note, actor)
    if note:
        tell(request, _("The note %(note)s is kept.") % {"note": note})
        return redirect("memory-note", note.pk)
    within = Within(_("Notes"), reverse("memory-notes"))
    return form_page(request, form, heading=_("Add a note"), verb=_("Keep the note"), within=within)


@own_page
@require_http_methods(["GET", "HEAD", "POST"])
def note_correction(request: HttpRequest, note_id: int) -> HttpResponse:
    """Edit a note, or move it to another domain or key."""
    actor = actor_of(request)
    shown = get_object_or_404(Note.objects.of(actor.user).current(), pk__in=actor.user.ids_of(note_id))
    form = NoteForm(form_data(request), initial={name: getattr(shown, name) for name in NoteForm.base_fields})
    edited = form.attempt(lambda values: _edit(actor, shown, values))
    if edited:
        tell(request, _("The note %(edited)s is kept.") % {"edited": edited})
        return redirect("memory-note", edited.pk)
    within = Within(str(shown), reverse("memory-note", args=[shown.pk]))
    return form_page(request, form, heading=_("Edit the note"), verb=_("Keep the note"), within=within)


@transaction.atomic
def _edit(actor: Actor, note: Note, values: dict[str, Any]) -> Note:
    """Rename and rewrite, both or neither. The rules of writing come first: they name the fields of the form."""
    arguments = validate_arguments(set_note, values)
    rename_note(actor, domain=note.domain, key=note.key, new_domain=arguments["domain"], new_key=arguments["key"])
    return set_note(actor, **arguments)


def _is_taken(actor: Actor, *, domain: str, key: str, **_: Any) -> bool:
    address = {"domain": normalize("NFC", domain), "key": normalize("NFC", key)}
    return Note.objects.of(actor.user).filter(**address).exclude(pk__in=Note.objects.expired()).exists()
