"""Captured: what hooks read, sent and kept, by client and conversation; forgetting it; how memory is written."""

from django import forms
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from accounts.authentication import actor_of
from bigmind.core.translation import _, gettext_lazy
from bigmind.database.pagination import page_of
from bigmind.web.forms import Lines, OperationForm, form_data
from bigmind.web.pages import offset_in, own_page, tell
from bigmind.web.words import choices_in_words
from knowledge.capture.captures import events_of, list_conversations, read_status
from knowledge.capture.forgetting import exclude_folder, forget_conversation, forget_event, own_conversation
from knowledge.capture.policies import policy_of, set_policy
from knowledge.memory.who_sees_firings import list_own_firings
from knowledge.models import ActRecord, CaptureMode, HookEventName
from knowledge.views.pages import Within, form_page

CONVERSATIONS_SHOWN = 30
EVENTS_SHOWN = 100
MODES_IN_WORDS = {
    CaptureMode.AUTOMATIC: gettext_lazy("By itself: agents store, and what was said is kept"),
    CaptureMode.ASK: gettext_lazy(
        "After asking: agents ask you before they store; nothing that was said is kept by itself"
    ),
    CaptureMode.MANUAL: gettext_lazy("By hand: agents store only what you tell them to; prompts are not kept either"),
    CaptureMode.READ_ONLY: gettext_lazy("Read-only: agents read and search; nothing is stored"),
}


class CaptureSettings(OperationForm):
    """Says how memory is written, and what is kept of conversations."""

    mode = forms.ChoiceField(
        label=gettext_lazy("How memory is written"), choices=list(MODES_IN_WORDS.items()), widget=forms.RadioSelect
    )
    keep_days = forms.CharField(
        label=gettext_lazy("Keep captured conversations for so many days"),
        widget=forms.NumberInput(attrs={"min": 1, "max": 3650}),
        help_text=gettext_lazy("Sessions, facts and what agents flagged stay; what hooks kept goes."),
    )
    acts = forms.TypedChoiceField(
        required=False,
        empty_value=None,
        label=gettext_lazy("Triggers"),
        choices=choices_in_words(ActRecord.choices),
        widget=forms.RadioSelect,
        help_text=gettext_lazy("Of an act only that a trigger fired is kept, and not the command."),
    )
    never_folders = Lines(
        required=False,
        rows=4,
        label=gettext_lazy("Never from these folders"),
        help_text=gettext_lazy("One a line, with all folders below it."),
    )


@own_page
@require_safe
def conversations(request: HttpRequest) -> HttpResponse:
    """List the conversations of all clients, or of one."""
    actor = actor_of(request)
    client = request.GET.get("client", "")[:30]
    page = page_of(list_conversations(actor, client=client), limit=CONVERSATIONS_SHOWN, offset=offset_in(request))
    return render(
        request,
        "knowledge/captured.html",
        {
            "page": page,
            "status": read_status(actor),
            "client": client,
            "mode": _mode_in_words(request),
            "firings": list_own_firings(actor) if not client else (),
        },
    )


@own_page
@require_safe
def conversation(request: HttpRequest, conversation_id: int) -> HttpResponse:
    """Show one conversation: each prompt, what was recalled before it, what was kept after it."""
    actor = actor_of(request)
    shown = own_conversation(actor, conversation_id)
    page = page_of(shown.events.order_by("at", "pk"), limit=EVENTS_SHOWN, offset=offset_in(request))
    prompts = shown.events.filter(event=HookEventName.PROMPT)
    context = {
        "conversation": shown,
        "page": page,
        "events": events_of(actor, shown, page.items),
        "prompts": prompts.count(),
        "answered": prompts.exclude(recalled=[]).count(),
    }
    return render(request, "knowledge/conversation.html", context)


@own_page
@require_http_methods(["GET", "HEAD", "POST"])
def settings(request: HttpRequest) -> HttpResponse:
    """Choose how memory is written."""
    actor = actor_of(request)
    policy = policy_of(actor)
    initial = {
        "mode": policy.mode,
        "keep_days": policy.keep_days,
        "never_folders": policy.never_folders,
        "acts": policy.acts,
    }
    form = CaptureSettings(form_data(request), initial=initial)
    if form.carry_out(set_policy, actor):
        tell(request, _("Saved. Applies from the next event on."))
        return redirect("captured")
    return form_page(
        request,
        form,
        heading=_("How memory is written"),
        lead=_("It holds for all of your agents. An agent may make it stricter, and only you may loosen it."),
        verb=_("Save"),
        within=Within(_("Captured"), reverse("captured")),
    )


@own_page
@require_http_methods(["GET", "HEAD", "POST"])
def forgetting(request: HttpRequest, conversation_id: int) -> HttpResponse:
    actor = actor_of(request)
    shown = own_conversation(actor, conversation_id)
    if request.method == "POST":
        forget_conversation(actor, conversation_id=shown.pk)
        tell(request, _("The conversation is forgotten."))
        return redirect("captured")
    return render(request, "knowledge/captured_forget.html", {"conversation": shown, "folder": ""})


@own_page
@require_POST
def forgetting_event(request: HttpRequest, conversation_id: int, event_id: int) -> HttpResponse:
    """Forget one prompt, with what was kept of it."""
    shown = forget_event(actor_of(request), conversation_id=conversation_id, event_id=event_id)
    tell(request, _("It is forgotten."))
    return redirect("captured-conversation", shown.pk)


@own_page
@require_http_methods(["GET", "HEAD", "POST"])
def excluding(request: HttpRequest, conversation_id: int) -> HttpResponse:
    """Take nothing from the folder of a conversation any more."""
    actor = actor_of(request)
    shown = own_conversation(actor, conversation_id)
    if request.method == "POST":
        folder = exclude_folder(actor, conversation_id=shown.pk)
        tell(
            request,
            _("Nothing is taken from %(folder)s any more, and what was captured there is forgotten.")
            % {"folder": folder},
        )
        return redirect("captured")
    return render(request, "knowledge/captured_forget.html", {"conversation": shown, "folder": shown.folder})


def _mode_in_words(request: HttpRequest) -> str:
    return MODES_IN_WORDS[CaptureMode(policy_of(actor_of(request)).mode)]
