"""One's own password: set the first one, or change it."""

from typing import Any

from django.conf import settings
from django.contrib import messages
from django.contrib.auth import update_session_auth_hash
from django.contrib.auth.decorators import login_required
from django.contrib.auth.forms import PasswordChangeForm, SetPasswordForm
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.cache import never_cache
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_http_methods

from accounts.authentication import actor_of
from accounts.models import User
from accounts.sign_in.attempts import count_try, forget_tries, guesser
from accounts.sign_in.passwords import may_use_password
from accounts.sign_in.sign_ins import end_sign_ins
from bigmind.core.errors import Conflict
from bigmind.core.translation import _, gettext_lazy

HINT = gettext_lazy("At least 12 characters; not a common word, and not much like your name.")


@sensitive_post_parameters()
@never_cache
@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def password(request: HttpRequest) -> HttpResponse:
    """Set or change the password of the signed-in user; their other browsers are signed out."""
    user = actor_of(request).user
    if not may_use_password(user):
        raise Conflict(
            _("Passwords are switched off here."),
            hint=_("You sign in with %(OIDC_NAME)s.") % {"OIDC_NAME": settings.OIDC_NAME},
        )
    if request.method != "POST":
        return _form(request, _form_for(user))
    # A user at a browser that was left open must not be able to guess on.
    count_try(guesser(user), "")
    form = _form_for(user, request.POST)
    if not form.is_valid():
        return _form(request, form, status=422)
    forget_tries(guesser(user), "")
    form.save()
    update_session_auth_hash(request, user)
    end_sign_ins(user, but=request.session.session_key)
    messages.success(request, _("Your password is saved. Browsers other than this one are signed out."))
    return redirect("profile", user.username)


def _form_for(user: User, sent: Any = None) -> "SetPasswordForm[User]":
    form = PasswordChangeForm(user, sent) if user.has_usable_password() else SetPasswordForm(user, sent)
    first, second = form.fields["new_password1"], form.fields["new_password2"]
    first.label, first.help_text = _("New password"), HINT
    second.label, second.help_text = _("New password again"), ""
    if "old_password" in form.fields:
        form.fields["old_password"].label = _("Current password")
    return form


def _form(request: HttpRequest, form: "SetPasswordForm[User]", *, status: int = 200) -> HttpResponse:
    return render(request, "accounts/password.html", {"form": form}, status=status)
