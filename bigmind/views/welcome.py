"""The first ten minutes, `/welcome/`: a name, a client, the first memory, what colleagues see; and what comes next."""

from typing import Any

from django import forms
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods

from accounts.actor import Actor
from accounts.authentication import actor_of
from accounts.connecting.offered_clients import find_clients
from accounts.connecting.supported_clients import CLIENTS
from accounts.models import Agent
from accounts.people.sharing import SUGGESTED, default_sections, sharing_of
from bigmind.core.translation import _, format_lazy, gettext_lazy
from bigmind.environment.profile_sections import ProfileSection
from bigmind.web.forms import OperationForm
from bigmind.web.pages import own_page, tell
from knowledge.models import Fact, Session
from knowledge.people.first_steps import change_name, close_first_steps, first_steps_of, share_nothing
from knowledge.people.people_index import change_sharing

from .profile import SECTIONS, card_of_form, in_words

FIRST_WORDS = gettext_lazy(
    "Remember that I prefer small pull requests, under 300 lines. Then tell me what you know about me, and where from."
)


class NameForm(OperationForm):
    """Asks how someone is called."""

    name = forms.CharField(
        label=gettext_lazy("Your name"),
        help_text=gettext_lazy("As colleagues know you. You can change it here at any time."),
        widget=forms.TextInput(attrs={"autocomplete": "name"}),
    )


class VisibleSectionsForm(OperationForm):
    """Asks what colleagues may see of someone; the headlines of sessions are chosen later, one by one."""

    sections = forms.MultipleChoiceField(
        label=gettext_lazy("Colleagues may see"),
        required=False,
        choices=[
            (section.value, format_lazy("{name}: {what}", name=name, what=what))
            for section, (name, what) in SECTIONS.items()
            if section != ProfileSection.HEADLINES
        ],
        widget=forms.CheckboxSelectMultiple,
    )


@own_page
@require_http_methods(["GET", "HEAD", "POST"])
def welcome(request: HttpRequest) -> HttpResponse:
    """Show a newcomer the steps to the first memory, each ticked when it has really happened; take what they send."""
    actor = actor_of(request)
    sent = request.POST.get("do", "")
    named = NameForm(request.POST if sent == "name" else None, initial={"name": actor.user.display_name})
    consent = _consent_form(actor, request, sent)
    if sent == "name" and named.carry_out(change_name, actor):
        return redirect("welcome")
    if sent == "share" and consent.attempt(lambda said: _share(actor, said["sections"])):
        tell(request, _("Shared. You can change it at any time, on your page."))
        return redirect("welcome")
    if sent == "not-now":
        share_nothing(actor)
        tell(request, _("Nothing is shared. You can change it at any time, on your page."))
        return redirect("welcome")
    if sent == "close":
        close_first_steps(actor)
        return redirect("home")
    refused = named.errors or (sent == "share" and consent.errors)
    context = {
        "steps": first_steps_of(actor.user),
        "named": named,
        "consent": consent,
        "card": card_of_form(actor, consent),
        "shown_anyway": in_words(default_sections()),
        **_connection(actor),
    }
    return render(request, "accounts/welcome.html", context, status=422 if refused else 200)


def _connection(actor: Actor) -> dict[str, Any]:
    """What the steps about the client show: which are here, and what has come from one so far."""
    detected = find_clients()
    return {
        "detected": detected,
        "others": [client for client in CLIENTS if client not in detected],
        "agent": Agent.objects.filter(user=actor.user).order_by("-last_seen").first(),
        "session": Session.objects.filter(user=actor.user).order_by("-started_at").first(),
        "memory": Fact.objects.filter(user=actor.user).order_by("-pk").first(),
        "first_words": FIRST_WORDS,
    }


def _consent_form(actor: Actor, request: HttpRequest, sent: str) -> VisibleSectionsForm:
    shared = sharing_of(actor.user)
    sections = shared.sections if shared.is_chosen else {*SUGGESTED, *default_sections()}
    shown = request.POST if sent in {"share", "preview"} else None
    return VisibleSectionsForm(shown, initial={"sections": [section.value for section in sections]})


def _share(actor: Actor, sections: list[str]) -> bool:
    change_sharing(actor, sections=[ProfileSection(name) for name in sections], in_directory=True, session_ids=[])
    return True
