"""The page on which an admin says why they have to read a person's private rows."""

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
from bigmind.core.errors import Invalid
from bigmind.core.translation import _, gettext_lazy

from .people import RefusableForm


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
    form, status = OpeningForm(request.POST if request.method == "POST" else None), 200
    back = _back(request)
    if form.is_bound:
        try:
            form.is_valid()
            said = {"reason": form.cleaned_data.get("reason", "")}
            open_private_rows(actor, owner, request.session, **validate_arguments(open_private_rows, said))
        except Invalid as refusal:
            form.refuse(refusal)
            status = 422
        else:
            messages.success(
                request,
                _("The rows of %(owner)s are open for %(what)s minutes.")
                % {"owner": owner, "what": OPEN_FOR.seconds // 60},
            )
            return redirect(back)
    context: dict[str, Any] = {"person": owner, "form": form, "back": back, "minutes": OPEN_FOR.seconds // 60}
    return render(request, "accounts/private_rows.html", context, status=status)


def _back(request: HttpRequest) -> str:
    """Return where to go afterwards: a page of the admin site, whatever the address says."""
    asked, home = request.GET.get("next", ""), reverse("admin:index")
    safe = url_has_allowed_host_and_scheme(asked, allowed_hosts=None) and asked.startswith(home)
    return asked if safe else home
