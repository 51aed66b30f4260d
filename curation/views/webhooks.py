"""Webhooks, for admins: which there are, their events, secrets shown once, tests, and what was sent to each."""

from typing import Any

from django import forms
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from accounts.authentication import actor_of
from accounts.services.audit import audit
from accounts.services.connection_tests import count_test
from accounts.views.confirming import admit_confirmed_admins
from bigmind.core.translation import _, gettext_lazy
from bigmind.web.forms import OperationForm, form_data
from bigmind.web.pages import own_page, tell
from curation.models import Delivery, Webhook
from curation.notifications.webhook_requests import DeliveryFailed, environment_webhook
from curation.notifications.webhooks import (
    EVENTS,
    NAME_CHARS,
    URL_CHARS,
    NewSecret,
    TriedWebhook,
    add_webhook,
    change_webhook,
    get_webhook,
    list_webhooks,
    remove_webhook,
    rotate_webhook_secret,
    target_of,
    try_webhook,
)

DELIVERIES_SHOWN = 20


class WebhookForm(OperationForm):
    """Asks where to send what."""

    name = forms.CharField(max_length=NAME_CHARS, help_text=gettext_lazy("How you recognise it."))
    url = forms.CharField(
        label=gettext_lazy("Address"),
        max_length=URL_CHARS,
        help_text=gettext_lazy("Such as https://hooks.example.com/bigmind. Addresses in private networks are refused."),
        widget=forms.TextInput(attrs={"inputmode": "url", "spellcheck": "false"}),
    )
    events = forms.MultipleChoiceField(
        choices=list(EVENTS.items()),
        widget=forms.CheckboxSelectMultiple,
        error_messages={"required": gettext_lazy("Choose at least one event.")},
    )
    is_on = forms.BooleanField(label=gettext_lazy("On"), required=False, initial=True)


@own_page
@require_safe
def webhooks(request: HttpRequest) -> HttpResponse:
    """List the webhooks, with the one of the environment."""
    actor = actor_of(request)
    context = {"webhooks": list_webhooks(actor), "environment": environment_webhook()}
    return render(request, "curation/webhooks.html", context)


@own_page
@require_http_methods(["GET", "HEAD", "POST"])
@admit_confirmed_admins
def adding(request: HttpRequest) -> HttpResponse:
    """Ask for a webhook, add it, and show its secret once."""
    form = WebhookForm(form_data(request), initial={"events": [one for one in EVENTS if one.startswith("company.")]})
    del form.fields["is_on"]
    if made := form.attempt(lambda asked: add_webhook(actor_of(request), **asked)):
        return _secret_page(request, made)
    return render(request, "curation/webhook_new.html", {"form": form}, status=422 if form.is_bound else 200)


@own_page
@require_http_methods(["GET", "HEAD", "POST"])
def webhook(request: HttpRequest, webhook_id: int) -> HttpResponse:
    """Show one webhook with what was sent to it; change it on a POST."""
    if request.method == "POST":
        return _change(request, webhook_id)
    return _webhook_page(request, get_webhook(actor_of(request), webhook_id))


@admit_confirmed_admins
def _change(request: HttpRequest, webhook_id: int) -> HttpResponse:
    actor, form = actor_of(request), WebhookForm(request.POST)
    found = get_webhook(actor, webhook_id)
    if changed := form.attempt(lambda asked: change_webhook(actor, webhook_id, **asked)):
        tell(request, _("%(name)s is saved.") % {"name": changed.name})
        return redirect("webhook", webhook_id)
    return _webhook_page(request, found, form=form, status=422)


@own_page
@require_POST
def testing(request: HttpRequest, webhook_id: int) -> HttpResponse:
    """Send a test message, and show status and answer."""
    actor = actor_of(request)
    found = get_webhook(actor, webhook_id)
    count_test(actor)
    try:
        tried = try_webhook(target_of(found))
    except DeliveryFailed as error:
        tried = TriedWebhook(False, str(error))
    audit(
        "connection_tested",
        what=f"the webhook {found.name}",
        result="it worked" if tried.ok else "it failed",
    )
    return _webhook_page(request, found, tried=tried)


@own_page
@require_POST
@admit_confirmed_admins
def rotating(request: HttpRequest, webhook_id: int) -> HttpResponse:
    """Give it a new secret, and show it once."""
    return _secret_page(request, rotate_webhook_secret(actor_of(request), webhook_id))


@own_page
@require_POST
@admit_confirmed_admins
def removing(request: HttpRequest, webhook_id: int) -> HttpResponse:
    name = remove_webhook(actor_of(request), webhook_id)
    tell(request, _("The webhook %(name)s is removed.") % {"name": name})
    return redirect("webhooks")


def _secret_page(request: HttpRequest, new: NewSecret) -> HttpResponse:
    return render(request, "curation/webhook_secret.html", {"webhook": new.webhook, "secret": new.secret})


def _webhook_page(
    request: HttpRequest, found: Webhook, *, form: WebhookForm | None = None, status: int = 200, **more: Any
) -> HttpResponse:
    sent = Delivery.objects.filter(webhook=found).order_by("-created_at", "pk")
    initial = {name: getattr(found, name) for name in WebhookForm.base_fields}
    context = {
        "webhook": found,
        "form": form or WebhookForm(initial=initial),
        "deliveries": sent[:DELIVERIES_SHOWN],
        **more,
    }
    return render(request, "curation/webhook.html", context, status=status)
