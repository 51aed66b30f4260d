"""The page of notices, how often e-mail comes, and whether keyboard shortcuts are on."""

from django import forms
from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.http import require_POST, require_safe

from accounts.authentication import actor_of
from accounts.models import User
from accounts.models.people import list_zones
from accounts.people.locale import choose_locale
from accounts.services.alerts import alerts_of
from bigmind.core.errors import Conflict
from bigmind.core.translation import _, gettext_lazy
from bigmind.database.pagination import page_of
from bigmind.web.forms import OperationForm
from bigmind.web.pages import ONE_YEAR, offset_in, own_page, tell, way_back
from curation.models import Frequency, NoticeReason, Subscription
from curation.notifications.notices import choose_reasons, count_unseen, mark_seen, notices_of
from curation.services.digests import subscribe, subscription_of

KEYS_COOKIE = "bigmind_keys"

NOTICES_SHOWN = 30
ALERTS_SHOWN = 10
FREQUENCIES = {
    Frequency.AT_ONCE: gettext_lazy("As soon as something happens"),
    Frequency.DAILY: gettext_lazy("Once a day at most"),
    Frequency.WEEKLY: gettext_lazy("Once a week at most"),
    Frequency.NEVER: gettext_lazy("Never"),
}


_LANGUAGES = [("", gettext_lazy("Same as browser")), *settings.LANGUAGES]
_ZONES = [("", gettext_lazy("Server default")), *((name, name) for name in sorted(list_zones()))]

REASONS = {
    NoticeReason.PROPOSED: gettext_lazy("What I proposed"),
    NoticeReason.OWNED: gettext_lazy("What I own"),
    NoticeReason.COMMENTED: gettext_lazy("What I commented on"),
}


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
        required=False, label=gettext_lazy("E-mail address"), widget=forms.EmailInput(attrs={"autocomplete": "email"})
    )
    frequency = forms.CharField(
        label=gettext_lazy("How often"), widget=forms.RadioSelect(choices=list(FREQUENCIES.items()))
    )


class LocaleForm(OperationForm):
    """Chooses the language and the time zone of pages and mails."""

    language = forms.CharField(
        required=False,
        label=gettext_lazy("Your language"),
        widget=forms.Select(choices=_LANGUAGES),
        help_text=gettext_lazy("Of pages and mails. What agents read stays English."),
    )
    time_zone = forms.CharField(
        required=False,
        label=gettext_lazy("Your time zone"),
        widget=forms.Select(choices=_ZONES),
        help_text=gettext_lazy("Used for all times."),
    )


class ReasonForm(OperationForm):
    """Chooses of what one wants to hear."""

    reasons = forms.MultipleChoiceField(
        required=False,
        label=gettext_lazy("Notify me about"),
        choices=list(REASONS.items()),
        widget=forms.CheckboxSelectMultiple,
    )


@own_page
@require_safe
def notices(request: HttpRequest) -> HttpResponse:
    """List your notices, the newest first."""
    return _page(request)


@own_page
@require_POST
def seeing(request: HttpRequest) -> HttpResponse:
    mark_seen(actor_of(request))
    return redirect("notices")


@own_page
@require_POST
def choosing(request: HttpRequest) -> HttpResponse:
    """Choose of what to hear, how often to get e-mail, or language and time zone."""
    if "about" in request.POST:
        return _choose_reasons(request)
    if "locale" in request.POST:
        return _choose_locale(request)
    if not settings.EMAIL_HOST:
        raise Conflict(_("This BigMind sends no e-mail."), hint=_("An admin can set BIGMIND_EMAIL_URL."))
    form = EmailForm(request.POST)
    chosen = form.carry_out(subscribe, actor_of(request))
    if chosen is None:
        return _page(request, form, status=422)
    tell(request, f"E-mail: {FREQUENCIES[chosen.frequency].lower()}.")
    return redirect("notices")


def _choose_reasons(request: HttpRequest) -> HttpResponse:
    form = ReasonForm(request.POST)
    if form.carry_out(choose_reasons, actor_of(request)) is None:
        return _page(request, reasons=form, status=422)
    tell(request, _("Saved. Applies from now on."))
    return redirect("notices")


def _choose_locale(request: HttpRequest) -> HttpResponse:
    form = LocaleForm(request.POST)
    if form.carry_out(choose_locale, actor_of(request)) is None:
        return _page(request, locale=form, status=422)
    tell(request, _("Saved."))
    return redirect("notices")


def _page(
    request: HttpRequest,
    form: EmailForm | None = None,
    *,
    reasons: ReasonForm | None = None,
    locale: LocaleForm | None = None,
    status: int = 200,
) -> HttpResponse:
    actor = actor_of(request)
    subscription = subscription_of(actor.user)
    context = {
        "page": page_of(notices_of(actor), limit=NOTICES_SHOWN, offset=offset_in(request)),
        "alerts": alerts_of(actor.user)[:ALERTS_SHOWN],
        "unseen": count_unseen(actor.user),
        "form": form or _email_form_of(subscription),
        "reasons": reasons
        or ReasonForm(initial={"reasons": [one for one in REASONS if one not in subscription.muted]}),
        "locale": locale or _locale_form_of(request, actor.user),
    }
    return render(request, "curation/notices.html", context, status=status)


def _email_form_of(subscription: Subscription) -> EmailForm | None:
    """Return the form with the current choice; None if no mail server is configured."""
    if not settings.EMAIL_HOST:
        return None
    return EmailForm(initial={"address": subscription.user.email, "frequency": subscription.frequency})


def _locale_form_of(request: HttpRequest, user: User) -> LocaleForm:
    return LocaleForm(initial={"language": user.language, "time_zone": user.time_zone or user.browser_zone})
