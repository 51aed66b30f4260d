"""The page of settings, for admins: what is in force and where it comes from; and tests of connections."""

from typing import Any

from django import forms
from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_POST, require_safe

from accounts.authentication import actor_of
from accounts.services.settings_in_force import SOURCES, TEXT_CHARS, list_settings
from bigmind.core.translation import gettext_lazy
from bigmind.observability.connection_tests import list_tests, run_test
from bigmind.web.forms import search_field
from bigmind.web.pages import own_page
from bigmind.web.words import choices_in_words


class SettingsFilter(forms.Form):
    """Searches the settings."""

    q = search_field(gettext_lazy("Search the settings"))
    source = forms.CharField(
        required=False,
        label=gettext_lazy("Set by"),
        widget=forms.Select(choices=[("", gettext_lazy("Every source")), *choices_in_words(SOURCES.items())]),
    )

    def __init__(self, request: HttpRequest) -> None:
        super().__init__(request.GET, label_suffix="")


@own_page
@require_safe
def system_settings(request: HttpRequest) -> HttpResponse:
    """List all settings in groups, or those that match a search."""
    actor, form = actor_of(request), SettingsFilter(request)
    actor.require("admin")
    filters = form.cleaned_data if form.is_valid() else {"q": "", "source": ""}
    groups = list_settings(actor, words=filters["q"][:TEXT_CHARS], source=filters["source"])
    context = {
        "form": form,
        "groups": groups,
        "count": sum(len(group.settings) for group in groups),
        "is_filtered": any(filters.values()),
    }
    return render(request, "system/settings.html", context)


@own_page
@require_safe
def connection_tests(request: HttpRequest) -> HttpResponse:
    """List what can be tested."""
    return _tests_page(request)


@own_page
@require_POST
def testing(request: HttpRequest, name: str) -> HttpResponse:
    """Run one test, and show what it saw."""
    return _tests_page(request, ran=name, report=run_test(actor_of(request), name))


def _tests_page(request: HttpRequest, **more: Any) -> HttpResponse:
    context = {"tests": list_tests(actor_of(request)), "sign_in": settings.OIDC_ISSUER, **more}
    return render(request, "system/tests.html", context)
