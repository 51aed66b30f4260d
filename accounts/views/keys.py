"""Keys: see them, make one, rotate one, revoke one."""

import re
from collections.abc import Mapping
from dataclasses import asdict
from datetime import timedelta
from uuid import UUID

from django.conf import settings
from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.core.exceptions import PermissionDenied
from django.db.models import QuerySet
from django.http import Http404, HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET, require_http_methods, require_safe

from accounts.authentication import actor_of
from accounts.connecting.clients import client_called, door, ways_in
from accounts.connecting.rules import RULES
from accounts.keys.keys import (
    DEFAULT_SCOPES,
    KEYS_END_SOON,
    create_key,
    keys_ending_soon,
    list_keys,
    revoke_key,
    rotate_key,
)
from accounts.models import ApiKey
from accounts.oauth.app_tokens import oauth_address
from accounts.services.onboarding import arrival_of
from accounts.views.key_forms import KeyForm, RotateForm, default_lifetime, ends_after
from accounts.views.key_reveal import end_handover, hand_over, reveal_key
from bigmind.core.errors import Conflict
from bigmind.core.pages import page_of

KEYS_ON_A_PAGE = 50
MOST_KEYS = 10**9
TOOLSET_NAMES = re.compile(r"[a-z_]+(,[a-z_]+)*")


@never_cache
@login_required
@require_safe
def keys(request: HttpRequest) -> HttpResponse:
    """List one's keys: those that work, those that have ended, those of connected apps, or, for admins, everyone's."""
    actor, show = actor_of(request), request.GET.get("show", "")
    if show == "everyone" and not actor.user.is_admin:
        raise PermissionDenied("Only admins see the keys of others.")
    mine = list_keys(actor.user)
    own, apps = mine.filter(app=None), mine.exclude(app=None).select_related("app")
    working, ended = own.filter(pk__in=_usable()), own.exclude(pk__in=_usable())
    shown = {"ended": ended, "apps": apps, "everyone": list_keys()}.get(show, working)
    offset = request.GET.get("offset", "")
    context = {
        "show": show,
        "page": page_of(shown, limit=KEYS_ON_A_PAGE, offset=min(int(offset), MOST_KEYS) if offset.isdecimal() else 0),
        "counts": {"working": working.count(), "ended": ended.count(), "apps": apps.filter(pk__in=_usable()).count()},
        "ending": keys_ending_soon(actor.user),
        "soon": timezone.now() + KEYS_END_SOON,
        "oauth_address": oauth_address() if settings.OAUTH else "",
    }
    return render(request, "accounts/keys.html", context)


@never_cache
@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def create(request: HttpRequest, toolsets: Mapping[str, str]) -> HttpResponse:
    """Make a key and turn to the page that shows it. `toolsets` are those there are, each with its purpose."""
    actor = actor_of(request)
    if request.method != "POST":
        initial = {"scopes": DEFAULT_SCOPES, "lifetime": default_lifetime()}
        return _key_form(request, KeyForm(initial=initial, actor=actor, toolsets=toolsets))
    form = KeyForm(request.POST, actor=actor, toolsets=toolsets)
    if not form.is_valid():
        return _key_form(request, form, status=422)
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
    context = {
        "key": key,
        "text": text,
        "ways_in": ways_in(door(key=text, toolsets=toolsets)),
        "chosen": client_called(request.GET.get("client", "")),
        "rules": RULES,
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
    form = RotateForm(request.POST) if request.method == "POST" else RotateForm(initial={"overlap": "24"})
    if not form.is_bound or not form.is_valid():
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
    """End a key now, after asking. Admins may end anyone's."""
    actor = actor_of(request)
    key = list_keys(None if actor.user.is_admin else actor.user).filter(pk=key_id).first()
    if key is None:
        raise Http404
    back = reverse("keys") + ("?show=everyone" if key.user != actor.user else "?show=apps" if key.app else "")
    noun = "app" if key.app else "key"
    if request.method != "POST":
        return render(request, "accounts/key_revoke.html", {"key": key, "back": back, "verb": f"Revoke the {noun}"})
    revoke_key(key)
    messages.success(request, f"The {noun} “{key}” is revoked and opens nothing any more. What was stored stays.")
    return redirect(back)


def _key_form(request: HttpRequest, form: KeyForm, *, status: int = 200) -> HttpResponse:
    return render(request, "accounts/key_create.html", {"form": form}, status=status)


def _own_key(request: HttpRequest, key_id: UUID) -> ApiKey:
    """Return a key of the signed-in user. Someone else's answers like one that does not exist, to admins too."""
    key = list_keys(actor_of(request).user).filter(pk=key_id).first()
    if key is None:
        raise Http404
    return key


def _usable() -> QuerySet[ApiKey]:
    return ApiKey.objects.usable()
