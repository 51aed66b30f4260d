"""The page on which an admin says why they have to read a person's private rows."""

from datetime import datetime
from typing import Any
from uuid import UUID

from django import forms
from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.http import url_has_allowed_host_and_scheme
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods

from accounts.authentication import actor_of
from accounts.people.people_administration import find_person
from accounts.services.private_rows import OPEN_FOR, open_private_rows
from bigmind.core.argument_checks import validate_arguments
from bigmind.core.translation import _, gettext_lazy
from bigmind.web.forms import RefusableForm, form_data


class OpeningForm(RefusableForm):
    """Asks why."""

    reason = forms.CharField(
        label=gettext_lazy("Why you have to look"),
        required=False,
        max_length=200,
        widget=forms.TextInput(attrs={"autocomplete": "off"}),
        help_text=gettext_lazy("At least 10 characters. It is recorded in the audit log, and the person reads it."),
    )


@never_cache
@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def private_rows(request: HttpRequest, person_id: UUID) -> HttpResponse:
    """Ask an admin why they have to read a person's rows, and open them for half an hour."""
    actor = actor_of(request)
    owner = find_person(actor, person_id)
    form, back, minutes = OpeningForm(form_data(request)), _back(request), OPEN_FOR.seconds // 60

    def open_rows(typed: dict[str, Any]) -> datetime:
        return open_private_rows(actor, owner, request.session, **validate_arguments(open_private_rows, typed))

    if form.attempt(open_rows):
        message = _("The rows of %(owner)s are open for %(what)s minutes.")
        messages.success(request, message % {"owner": owner, "what": minutes})
        return redirect(back)
    context: dict[str, Any] = {"person": owner, "form": form, "back": back, "minutes": minutes}
    return render(request, "accounts/private_rows.html", context, status=422 if form.is_bound else 200)


def _back(request: HttpRequest) -> str:
    """Return where to go afterwards: a page of the admin site, whatever the address says."""
    address, home = request.GET.get("next", ""), reverse("admin:index")
    safe = url_has_allowed_host_and_scheme(address, allowed_hosts=None) and address.startswith(home)
    return address if safe else home
