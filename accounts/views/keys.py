"""Keys: list, create, rotate and revoke them."""

import re
from collections.abc import Collection, Mapping
from dataclasses import asdict
from datetime import datetime, timedelta
from typing import Any
from urllib.parse import urlencode
from uuid import UUID

from django import forms
from django.conf import settings
from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseBase, JsonResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET, require_http_methods, require_safe

from accounts.actor import Actor
from accounts.authentication import actor_of
from accounts.connecting.instruction_files import rules_in_file
from accounts.connecting.offered_clients import make_server_config, ways_in
from accounts.connecting.supported_clients import client_called
from accounts.keys import (
    DEFAULT_SCOPES,
    KEYS_END_SOON,
    MOST_PER_MINUTE,
    NewKey,
    create_key,
    digest_of,
    keys_ending_soon,
    list_keys,
    revoke_key,
    rotate_key,
)
from accounts.models import ApiKey
from accounts.oauth.app_tokens import oauth_address
from accounts.services.agents import arrival_of
from bigmind.core.errors import Conflict
from bigmind.core.sentences import in_language
from bigmind.core.translation import _, gettext_lazy, write_number
from bigmind.database.pagination import page_of
from bigmind.text.hygiene import clean_name
from bigmind.web.forms import LabelledForm, form_data
from bigmind.web.pages import is_own_address, offset_in

SCOPES = {
    "read": gettext_lazy("read: recall what is remembered"),
    "write": gettext_lazy("write: remember, correct, set aside and erase"),
    "curate": gettext_lazy("curate: decide what becomes company knowledge"),
    "admin": gettext_lazy("admin: manage users, keys and this instance"),
}
LIFETIMES = {"30": "30 days", "90": "90 days", "365": "a year", "": gettext_lazy("as long as it is not revoked")}
OVERLAPS = {
    "0": gettext_lazy("stops working at once"),
    "1": gettext_lazy("works for an hour more"),
    "24": gettext_lazy("works for 24 hours more"),
    "168": gettext_lazy("works for 7 days more"),
}

COOKIE = "bigmind_new_key"
WAITS_SECONDS = 300

KEYS_ON_A_PAGE = 50
TOOLSET_NAMES = re.compile(r"[a-z_]+(,[a-z_]+)*")


def _toolsets_field() -> forms.MultipleChoiceField:
    return forms.MultipleChoiceField(
        label=gettext_lazy("Limit it to these toolsets"),
        required=False,
        widget=forms.CheckboxSelectMultiple,
        help_text=gettext_lazy("Tick none, and it is not limited."),
    )


class KeyForm(LabelledForm):
    """Asks what a new key is for, and what it may do."""

    label = forms.CharField(
        max_length=200,
        help_text=gettext_lazy("What you will know it by, such as the agent and the machine: “Cursor on atlas”."),
        error_messages={"required": gettext_lazy("Say what you will know it by.")},
    )
    scopes = forms.MultipleChoiceField(
        label=gettext_lazy("Permissions"),
        widget=forms.CheckboxSelectMultiple,
        error_messages={"required": gettext_lazy("Tick at least one: a key that may do nothing opens nothing.")},
    )
    toolsets = _toolsets_field()
    lifetime = forms.ChoiceField(
        label=gettext_lazy("It works for"), required=False, choices=list(LIFETIMES.items()), widget=forms.RadioSelect
    )

    per_minute = forms.IntegerField(label=gettext_lazy("Rate limit (per minute)"), required=False, min_value=1)

    def __init__(self, *args: Any, actor: Actor, toolsets: Mapping[str, str], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._most = _most_per_minute(actor)
        self.fields["per_minute"].help_text = _about_limits(self._most)
        _offer(self, "scopes", {name: words for name, words in SCOPES.items() if name in actor.scopes})
        _offer(self, "toolsets", {name: f"{name}: {purpose}" for name, purpose in toolsets.items()})

    def clean_label(self) -> str:
        """Refuse what cannot be read in a list."""
        try:
            return clean_name(self.cleaned_data["label"])
        except ValueError as error:
            raise forms.ValidationError(_("The label %(error)s.") % {"error": in_language(str(error))}) from error

    def clean_per_minute(self) -> int | None:
        """Refuse a limit above what this person may give."""
        limit: int | None = self.cleaned_data["per_minute"]
        if limit is not None and limit > self._most:
            raise forms.ValidationError(
                _("Give 1 to %(most)s, or nothing. %(limit)s was given.")
                % {"most": write_number(self._most), "limit": write_number(limit)}
            )
        return limit


class ConsentForm(LabelledForm):
    """Asks what an app may do: all that it asks for and the person may do themselves, unless they take some away."""

    scopes = forms.MultipleChoiceField(
        label=gettext_lazy("Permissions"),
        widget=forms.CheckboxSelectMultiple,
        error_messages={"required": gettext_lazy("Tick at least one, or refuse.")},
    )
    toolsets = _toolsets_field()

    def __init__(
        self, *args: Any, actor: Actor, asked: Collection[str], toolsets: Mapping[str, str], **kwargs: Any
    ) -> None:
        super().__init__(*args, **kwargs)
        offered = {name: words for name, words in SCOPES.items() if name in actor.scopes and name in asked}
        _offer(self, "scopes", offered)
        _offer(self, "toolsets", {name: f"{name}: {purpose}" for name, purpose in toolsets.items()})
        self.initial["scopes"] = list(offered)

    @property
    def can_permit(self) -> bool:
        """Whether there is anything to permit."""
        field = self.fields["scopes"]
        assert isinstance(field, forms.MultipleChoiceField)
        return bool(field.choices)


class RotateForm(LabelledForm):
    """Asks how long the old key works on."""

    overlap = forms.ChoiceField(
        label=gettext_lazy("The old key"),
        choices=list(OVERLAPS.items()),
        widget=forms.RadioSelect,
        error_messages={"required": gettext_lazy("Choose how long the old key works on.")},
    )


def _offer(form: forms.Form, name: str, choices: Mapping[str, str]) -> None:
    field = form.fields[name]
    assert isinstance(field, forms.MultipleChoiceField)
    field.choices = list(choices.items())


def _most_per_minute(actor: Actor) -> int:
    """Only admins let a key do more than the limit of this BigMind: else it would be none."""
    return MOST_PER_MINUTE if actor.user.is_admin else settings.RATE_LIMIT_PER_MINUTE or MOST_PER_MINUTE


def _about_limits(most: int) -> str:
    everybodys = (
        write_number(settings.RATE_LIMIT_PER_MINUTE) if settings.RATE_LIMIT_PER_MINUTE else _("as many as it likes")
    )
    return _("Leave it empty, and it may perform %(everybodys)s. %(most)s at most.") % {
        "everybodys": everybodys,
        "most": write_number(most),
    }


def default_lifetime() -> str:
    """Return how long a key works unless a user says otherwise: at home until it is revoked, at work 90 days."""
    return "" if settings.BIGMIND_MODE == "personal" else "90"


def ends_after(lifetime: str) -> datetime | None:
    """Return when a key made now ends, for one of the lifetimes."""
    return timezone.now() + timedelta(days=int(lifetime)) if lifetime else None


def hand_over(new: NewKey, **chosen: str) -> HttpResponse:
    """Turn to the page that shows a new key once, with what was chosen for its snippets."""
    page = _page_of(new.key)
    query = urlencode({name: value for name, value in chosen.items() if value}, safe=",")
    response = redirect(f"{page}?{query}" if query else page)
    # Not in the session, whose rows are in the database: the text of a key is stored nowhere here.
    response.set_cookie(
        COOKIE,
        new.text,
        max_age=WAITS_SECONDS,
        path=page,
        secure=settings.SESSION_COOKIE_SECURE,
        httponly=True,
        samesite="Strict",
    )
    return response


def reveal_key(request: HttpRequest, key: ApiKey) -> str:
    """Return the text of this key if it was handed over just now, else an empty text.

    Only the key's own text counts, so a cookie from elsewhere cannot show a key that is not this person's.
    """
    text = request.COOKIES.get(COOKIE, "")
    return text if digest_of(text) == key.digest else ""


def end_handover(response: HttpResponseBase, key: ApiKey) -> None:
    """Remove the text from the browser: it has been shown."""
    response.delete_cookie(COOKIE, path=_page_of(key), samesite="Strict")


def _page_of(key: ApiKey) -> str:
    return reverse("key-new", args=[key.pk])


@never_cache
@login_required
@require_safe
def keys(request: HttpRequest) -> HttpResponse:
    """List one's keys: those that work, those that have ended, those of connected apps, or, for admins, everyone's."""
    actor, show = actor_of(request), request.GET.get("show", "")
    if show == "everyone" and not actor.user.is_admin:
        raise PermissionDenied(_("Only admins see the keys of others."))
    mine = list_keys(actor.user)
    own, apps = mine.of_people(), mine.of_apps()
    working, ended = own.usable(), own.exclude(pk__in=ApiKey.objects.usable())
    shown = {"ended": ended, "apps": apps, "everyone": list_keys()}.get(show, working)
    context = {
        "show": show,
        "page": page_of(shown, limit=KEYS_ON_A_PAGE, offset=offset_in(request)),
        "counts": {"working": working.count(), "ended": ended.count(), "apps": apps.usable().count()},
        "ending": keys_ending_soon(actor.user),
        "soon": timezone.now() + KEYS_END_SOON,
        "oauth_address": oauth_address() if settings.OAUTH else "",
    }
    return render(request, "accounts/keys.html", context)


@never_cache
@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def create(request: HttpRequest, toolsets: Mapping[str, str]) -> HttpResponse:
    """Create an API key and turn to the page that shows it. `toolsets` are those there are, each with its purpose."""
    actor, initial = actor_of(request), {"scopes": DEFAULT_SCOPES, "lifetime": default_lifetime()}
    form = KeyForm(form_data(request), initial=initial, actor=actor, toolsets=toolsets)
    if not form.is_valid():
        return render(request, "accounts/key_create.html", {"form": form}, status=422 if form.is_bound else 200)
    asked = form.cleaned_data
    made = create_key(
        actor.user,
        label=asked["label"],
        scopes=asked["scopes"],
        toolsets=asked["toolsets"],
        expires_at=ends_after(asked["lifetime"]),
        per_minute=asked["per_minute"],
    )
    return hand_over(made)


@never_cache
@login_required
@require_GET
def new(request: HttpRequest, key_id: UUID) -> HttpResponse:
    """Show a key that was just made, once; afterwards, whether an agent has used it."""
    key = _own_key(request, key_id)
    text = reveal_key(request, key)
    asked = request.GET.get("toolsets", "")
    # They become part of a command that is pasted into a terminal, so nothing else may stand there.
    toolsets = key.toolsets or (asked.split(",") if TOOLSET_NAMES.fullmatch(asked) else [])
    chosen, back = client_called(request.GET.get("client", "")), request.GET.get("next", "")
    context = {
        "key": key,
        "text": text,
        "ways_in": [
            way for way in ways_in(make_server_config(key=text, toolsets=toolsets)) if chosen in (None, way[0])
        ],
        "chosen": chosen,
        "back": back if is_own_address(request, back) else "",
        "rules": rules_in_file(),
        "arrival": arrival_of(key),
    }
    response = render(request, "accounts/key_new.html", context)
    end_handover(response, key)
    return response


@never_cache
@login_required
@require_safe
def arrival(request: HttpRequest, key_id: UUID) -> HttpResponse:
    """Tell the page of a new key whether an agent has come in with it: asked every two seconds, so it is small."""
    return JsonResponse(asdict(arrival_of(_own_key(request, key_id))))


@never_cache
@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def rotate(request: HttpRequest, key_id: UUID) -> HttpResponse:
    """Replace a key by a new one with the same rights; ask how long the old one works on."""
    key = _own_key(request, key_id)
    form = RotateForm(form_data(request), initial={"overlap": "24"})
    if not form.is_valid():
        status = 422 if form.is_bound else 200
        return render(request, "accounts/key_rotate.html", {"key": key, "form": form}, status=status)
    try:
        successor = rotate_key(key, overlap=timedelta(hours=int(form.cleaned_data["overlap"])))
    except Conflict as refusal:
        key.refresh_from_db()
        return render(request, "accounts/key_rotate.html", {"key": key, "refusal": refusal}, status=409)
    return hand_over(successor)


@never_cache
@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def revoke(request: HttpRequest, key_id: UUID) -> HttpResponse:
    """Revoke a key, after asking. Admins may revoke anyone's."""
    actor = actor_of(request)
    key = list_keys(None if actor.user.is_admin else actor.user).filter(pk=key_id).first()
    if key is None:
        raise Http404
    back = reverse("keys") + ("?show=everyone" if key.user != actor.user else "?show=apps" if key.app else "")
    noun = "app" if key.app else "key"
    if request.method != "POST":
        return render(request, "accounts/key_revoke.html", {"key": key, "back": back, "verb": f"Revoke the {noun}"})
    revoke_key(key)
    messages.success(
        request,
        _("The %(noun)s “%(key)s” is revoked and opens nothing any more. What was stored stays.")
        % {"noun": noun, "key": key},
    )
    return redirect(back)


def _own_key(request: HttpRequest, key_id: UUID) -> ApiKey:
    """Return a key of the signed-in user. Someone else's answers like one that does not exist, to admins too."""
    key = list_keys(actor_of(request).user).filter(pk=key_id).first()
    if key is None:
        raise Http404
    return key
