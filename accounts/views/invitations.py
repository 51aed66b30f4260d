"""Invitations: an admin makes one, and the person with its link joins."""

from django.conf import settings
from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.text import slugify
from django.views.decorators.cache import never_cache
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_http_methods, require_POST

from accounts.authentication import actor_of
from accounts.models import Invitation, Role
from accounts.people.invitations import accept_invitation, invite, open_invitation, revoke_invitation
from accounts.people.users import fresh_username
from accounts.services.mail import mail_invitation
from accounts.sign_in.attempts import count_guess
from accounts.views.confirming import admit_confirmed_admins
from accounts.views.people import InvitationForm, JoinForm
from accounts.views.sign_in import sign_in_as
from bigmind.core.errors import NotFound
from bigmind.core.translation import _
from bigmind.web.forms import form_data


@never_cache
@login_required
@require_http_methods(["GET", "HEAD", "POST"])
@admit_confirmed_admins
def invite_person(request: HttpRequest) -> HttpResponse:
    """Ask whom to invite; then show the link, once, and say whether it was sent."""
    actor = actor_of(request)
    form = InvitationForm(form_data(request), initial={"role": Role.MEMBER})
    if new := form.attempt(lambda typed: invite(actor, **typed)):
        context = {"invitation": new.invitation, "url": new.url, "sent": mail_invitation(new)}
        return render(request, "accounts/invitation_made.html", context)
    return render(request, "accounts/invite.html", {"form": form}, status=422 if form.is_bound else 200)


@never_cache
@login_required
@require_POST
def revoke(request: HttpRequest, invitation_id: int) -> HttpResponse:
    """End an invitation."""
    invitation = revoke_invitation(actor_of(request), invitation_id=invitation_id)
    messages.success(
        request,
        _("The invitation of %(invitation)s is revoked: its link opens nothing any more.") % {"invitation": invitation},
    )
    return redirect("people")


@sensitive_post_parameters("password", "again")
@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def join(request: HttpRequest, token: str) -> HttpResponse:
    """Ask the person with the link for a name and a password, and sign them in."""
    invitation = open_invitation(token)
    if invitation is None:
        return _answer_gone(request, token)
    if settings.PASSWORDS_ONLY_FOR:
        return _join_by_provider(request, invitation)
    form = JoinForm(form_data(request), initial=_suggest_names(invitation))
    chosen = ("username", "display_name", "password")
    try:
        user = form.attempt(lambda typed: accept_invitation(token, **{name: typed[name] for name in chosen}))
    except NotFound:
        return _answer_gone(request, token)
    if user is not None:
        sign_in_as(request, user, method="invitation")
        messages.success(request, f"Welcome, {user}.")
        return redirect("welcome")
    context = {"form": form, "invitation": invitation}
    return render(request, "accounts/join.html", context, status=422 if form.is_bound else 200)


def _suggest_names(invitation: Invitation) -> dict[str, str]:
    stem = invitation.email.partition("@")[0] or slugify(invitation.name)
    return {"display_name": invitation.name, "username": fresh_username(stem) if stem else ""}


def _join_by_provider(request: HttpRequest, invitation: Invitation) -> HttpResponse:
    """Say how a user joins where passwords are switched off: the invitation counts at the company's own sign-in."""
    status = 409 if request.method == "POST" else 200
    return render(request, "accounts/join_by_provider.html", {"invitation": invitation}, status=status)


def _answer_gone(request: HttpRequest, token: str) -> HttpResponse:
    count_guess(token, request.META.get("REMOTE_ADDR", ""))
    return render(request, "accounts/invitation_gone.html", status=410)
