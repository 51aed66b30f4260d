"""The page of notices, how often e-mail comes, and whether keyboard shortcuts are on."""

from django import forms
from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.http import require_POST, require_safe

from accounts.actor import Actor
from accounts.authentication import actor_of
from accounts.services.alerts import alerts_of
from bigmind.core.errors import Conflict
from bigmind.core.pages import page_of
from bigmind.web.forms import OperationForm
from bigmind.web.pages import offset_in, own_page, tell, way_back
from curation.models import Frequency
from curation.notifications.digests import subscribe, subscription_of
from curation.notifications.notices import count_unseen, mark_seen, notices_of

KEYS_COOKIE = "bigmind_keys"
ONE_YEAR = 60 * 60 * 24 * 365

NOTICES_SHOWN = 30
ALERTS_SHOWN = 10
FREQUENCIES = {
    Frequency.AT_ONCE: "As soon as something happens",
    Frequency.DAILY: "Once a day at most",
    Frequency.WEEKLY: "Once a week at most",
    Frequency.NEVER: "Never",
}


def keys_are_on(request: HttpRequest) -> bool:
    """Whether the keyboard shortcuts of the queue are on."""
    return request.COOKIES.get(KEYS_COOKIE) != "off"


@own_page
@require_POST
def choose_keys(request: HttpRequest) -> HttpResponse:
    """Turn the keyboard shortcuts on or off, and return to the page."""
    response = way_back(request, otherwise=reverse("curation"))
    if request.POST.get("keys") == "off":
        secure = request.is_secure()
        response.set_cookie(KEYS_COOKIE, "off", max_age=ONE_YEAR, secure=secure, httponly=True, samesite="Lax")
    else:
        response.delete_cookie(KEYS_COOKIE, samesite="Lax")
    return response


class EmailForm(OperationForm):
    """Chooses how often to get e-mail, and where."""

    address = forms.CharField(
        required=False, label="E-mail address", widget=forms.EmailInput(attrs={"autocomplete": "email"})
    )
    frequency = forms.CharField(label="How often", widget=forms.RadioSelect(choices=list(FREQUENCIES.items())))


@own_page
@require_safe
def notices(request: HttpRequest) -> HttpResponse:
    """List your notices, the newest first."""
    return _page(request)


@own_page
@require_POST
def seeing(request: HttpRequest) -> HttpResponse:
    """Mark everything as seen."""
    mark_seen(actor_of(request))
    return redirect("notices")


@own_page
@require_POST
def choosing(request: HttpRequest) -> HttpResponse:
    """Choose how often to get e-mail."""
    if not settings.EMAIL_HOST:
        raise Conflict("This BigMind sends no e-mail.", hint="An admin can set BIGMIND_EMAIL_URL.")
    form = EmailForm(request.POST)
    chosen = form.carry_out(subscribe, actor_of(request))
    if chosen is None:
        return _page(request, form, status=422)
    tell(request, f"E-mail: {FREQUENCIES[chosen.frequency].lower()}.")
    return redirect("notices")


def _page(request: HttpRequest, form: EmailForm | None = None, *, status: int = 200) -> HttpResponse:
    actor = actor_of(request)
    context = {
        "page": page_of(notices_of(actor), limit=NOTICES_SHOWN, offset=offset_in(request)),
        "alerts": alerts_of(actor.user)[:ALERTS_SHOWN],
        "unseen": count_unseen(actor.user),
        "form": form or _email_form_of(actor),
    }
    return render(request, "curation/notices.html", context, status=status)


def _email_form_of(actor: Actor) -> EmailForm | None:
    """Return the form with the current choice; None if no mail server is configured."""
    if not settings.EMAIL_HOST:
        return None
    frequency = subscription_of(actor.user).frequency
    return EmailForm(initial={"address": actor.user.email, "frequency": frequency})
