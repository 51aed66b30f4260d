"""The page of settings, for admins: what is in force and where it comes from, and changing what needs no restart."""

from typing import Any

from django import forms
from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from accounts.authentication import actor_of
from accounts.services.setting_overrides import (
    SOURCES,
    TEXT_CHARS,
    ShownSetting,
    change_setting,
    get_setting,
    list_settings,
    reset_setting,
)
from accounts.views.confirming import admit_confirmed_admins
from bigmind.core.errors import Conflict, Invalid
from bigmind.core.translation import _, gettext_lazy, write_number
from bigmind.observability.connection_tests import list_tests, run_test
from bigmind.web.forms import OperationForm, search_field
from bigmind.web.pages import own_page, tell
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


class SettingForm(OperationForm):
    """Asks for the value of one setting. Whether it is acceptable is judged by the rules of the environment."""

    value = forms.CharField(max_length=TEXT_CHARS, error_messages={"required": gettext_lazy("Type a value.")})

    def __init__(self, setting: ShownSetting, sent: Any = None) -> None:
        super().__init__(sent, initial={"value": setting.value})
        field = self.fields["value"]
        if setting.choices:
            field.widget = forms.Select(choices=[(choice, choice) for choice in setting.choices])
        elif setting.least is not None:
            field.widget = forms.TextInput(attrs={"inputmode": "numeric"})
            field.help_text = (
                _("A whole number from %(least)s to %(most)s.")
                % {"least": write_number(setting.least), "most": write_number(setting.most)}
                if setting.most is not None
                else _("A whole number, %(least)s or more.") % {"least": write_number(setting.least)}
            )


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
@require_http_methods(["GET", "HEAD", "POST"])
@admit_confirmed_admins
def changing(request: HttpRequest, name: str) -> HttpResponse:
    """Ask for another value of one setting, and set it for all processes."""
    actor = actor_of(request)
    setting = get_setting(actor, name)
    form, status = SettingForm(setting, request.POST if request.method == "POST" else None), 200
    if form.is_bound:
        try:
            if form.is_valid():
                changed = change_setting(actor, name, form.cleaned_data["value"])
                undo = reverse("system-setting-reset", args=[name])
                tell(
                    request,
                    _("%(variable)s is %(value)s now, in all processes within 2 seconds.")
                    % {"variable": changed.variable, "value": changed.value},
                    undo=undo,
                )
                return redirect("system-settings")
        except (Invalid, Conflict) as refusal:
            form.refuse(refusal)
        status = 422
    return render(request, "system/setting.html", {"setting": setting, "form": form}, status=status)


@own_page
@require_POST
@admit_confirmed_admins
def resetting(request: HttpRequest, name: str) -> HttpResponse:
    """Go back to the default."""
    setting = reset_setting(actor_of(request), name)
    tell(
        request,
        _("%(variable)s is back to its default, %(what)s.")
        % {"variable": setting.variable, "what": setting.value or _("empty")},
    )
    return redirect("system-settings")


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
