"""Sessions: list, read, correct, end by hand; and the chunks that were flagged in them."""

from django import forms
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.views.decorators.http import require_http_methods, require_safe

from accounts.authentication import actor_of
from bigmind.core.limits import PAGE_ROWS
from bigmind.core.translation import _, gettext_lazy
from bigmind.database.pagination import page_of
from bigmind.web.forms import Lines, Names, OperationForm, TextField, form_data, search_field
from bigmind.web.pages import offset_in, own_page, tell
from knowledge.context.sessions import correct_session, end_session, list_sessions
from knowledge.conversation.chunks import correct_chunk
from knowledge.exposures.context_receipts import recalls_of, receipt_of
from knowledge.models import Chunk, Session
from knowledge.views.pages import ProjectQuestion, Within, form_page, memory_page, own_thing, project_field

SESSIONS_SHOWN = 50
CHUNKS_SHOWN = 20


class SessionQuestion(ProjectQuestion):
    """Narrows the list."""

    text = search_field(gettext_lazy("Search headlines and outcomes"))
    topic = forms.CharField(required=False)


class SessionEnd(OperationForm):
    """Says what a conversation came to."""

    one_liner = forms.CharField(
        label=gettext_lazy("Headline"), help_text=gettext_lazy("What it was about, in up to 120 characters.")
    )
    outcome = TextField(required=False, rows=2, help_text=gettext_lazy("One sentence: what was decided or built."))
    topics = Names(required=False, help_text=gettext_lazy("A few words, with commas between them."))
    summary = TextField(
        required=False, rows=8, help_text=gettext_lazy("What a later session should know of it, in markdown.")
    )
    key_facts = Lines(required=False, rows=4, label=gettext_lazy("Key facts"), help_text=gettext_lazy("One a line."))
    code_refs = Lines(
        required=False,
        rows=4,
        label=gettext_lazy("Code references"),
        help_text=gettext_lazy("Files, pull requests; one a line."),
    )


class SessionCorrection(SessionEnd):
    """Says it better."""

    project = project_field()
    importance = forms.CharField(
        widget=forms.NumberInput(attrs={"min": 1, "max": 10}), help_text="From 1, low, to 10, critical."
    )


class ChunkCorrection(OperationForm):
    """Says word for word what was said."""

    content = TextField(rows=12)
    flag_reason = TextField(required=False, rows=2, label=gettext_lazy("Why it matters"))


@own_page
@require_safe
def sessions(request: HttpRequest) -> HttpResponse:
    """List the conversations, those in progress included, by topic, project or words."""
    actor = actor_of(request)
    form = SessionQuestion(request, actor.user)
    page = form.answer(list_sessions, actor, limit=SESSIONS_SHOWN)
    return memory_page(request, "knowledge/sessions.html", section="memory-sessions", form=form, page=page)


@own_page
@require_safe
def session(request: HttpRequest, session_id: str) -> HttpResponse:
    """Show one conversation: what came of it, and what was flagged in it."""
    actor = actor_of(request)
    mine = Session.objects.of(actor.user).select_related("summary", "agent")
    shown = get_object_or_404(mine, pk=session_id)
    chunks = shown.chunks.filter(set_aside_at=None).order_by("seq")
    page = page_of(chunks, limit=CHUNKS_SHOWN, offset=offset_in(request))
    facts = shown.facts.filter(deprecated_at=None).order_by("created_at")[:PAGE_ROWS]
    context = {
        "session": shown,
        "page": page,
        "facts": facts,
        "receipt": receipt_of(shown),
        "recalls": recalls_of(shown),
    }
    return render(request, "knowledge/session.html", context)


@own_page
@require_http_methods(["GET", "HEAD", "POST"])
def session_correction(request: HttpRequest, session_id: str) -> HttpResponse:
    """Correct what is kept of a conversation."""
    actor = actor_of(request)
    shown = own_thing(actor, "session", session_id)
    form = SessionCorrection(form_data(request), initial=_initial_of(shown))
    # One in progress has no headline yet, and need not get one.
    form.fields["one_liner"].required = not shown.is_open
    form.fields["one_liner"].empty_value = None  # type: ignore[attr-defined]
    if form.carry_out(correct_session, actor, session_id=str(shown.pk)):
        tell(request, _("The session is corrected."))
        return redirect("memory-session", shown.pk)
    return form_page(
        request, form, heading=_("Correct the session"), verb=_("Save the correction"), within=_within(shown)
    )


@own_page
@require_http_methods(["GET", "HEAD", "POST"])
def session_end(request: HttpRequest, session_id: str) -> HttpResponse:
    """End a conversation that its agent left open."""
    actor = actor_of(request)
    shown = own_thing(actor, "session", session_id)
    form = SessionEnd(form_data(request), initial=_initial_of(shown))
    more = {"session_id": str(shown.pk), "importance": shown.importance}
    if form.carry_out(end_session, actor, **more):
        tell(request, _("Session ended. The next one starts with its headline."))
        return redirect("memory-session", shown.pk)
    return form_page(
        request,
        form,
        heading=_("End the session"),
        lead=_("For a conversation that is over although its agent never said so."),
        verb=_("End the session"),
        within=_within(shown),
    )


@own_page
@require_http_methods(["GET", "HEAD", "POST"])
def chunk(request: HttpRequest, chunk_id: int) -> HttpResponse:
    """Show one chunk, and correct it."""
    actor = actor_of(request)
    shown: Chunk = own_thing(actor, "chunk", chunk_id)
    form = ChunkCorrection(form_data(request), initial={"content": shown.content, "flag_reason": shown.flag_reason})
    if form.carry_out(correct_chunk, actor, chunk_id=shown.pk):
        tell(request, _("The chunk is corrected."))
        return redirect("memory-session", shown.session_id)
    return render(request, "knowledge/chunk.html", {"chunk": shown, "form": form})


def _initial_of(session: Session) -> dict[str, object]:
    line = ("one_liner", "outcome", "topics", "project", "importance")
    values = {name: getattr(session, name) for name in line}
    if narrative := session.narrative:
        values |= {name: getattr(narrative, name) for name in ("summary", "key_facts", "code_refs")}
    return values


def _within(session: Session) -> Within:
    return Within(str(session), reverse("memory-session", args=[session.pk]))
