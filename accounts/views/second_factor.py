"""One's own second factor: set it up, renew its recovery codes, remove it."""

from collections.abc import Callable
from functools import wraps

from django import forms
from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.cache import never_cache
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from accounts.authentication import actor_of
from accounts.models import User
from accounts.services.alerts import alerts_of
from accounts.sign_in import second_factors as services
from accounts.sign_in.attempts import count_try, forget_tries, guesser_of_code
from accounts.sign_in.sign_ins import end_sign_ins
from bigmind.core.errors import Conflict, Invalid
from bigmind.core.translation import _, gettext_lazy
from bigmind.web.forms import RefusableForm, form_data

ALERTS_SHOWN = 5
_ENROLLING = "second_factor_in_the_making"

CodeAction = Callable[[HttpRequest, User, str], HttpResponse]


class CodeForm(RefusableForm):
    """Asks for a code from the app, or for a recovery code."""

    code = forms.CharField(
        max_length=20,
        help_text=gettext_lazy("Six digits from your app, or one of your recovery codes."),
        error_messages={
            "required": gettext_lazy("Type the code."),
            "max_length": gettext_lazy("A code has at most 20 characters."),
        },
        widget=forms.TextInput(attrs={"autocomplete": "one-time-code", "inputmode": "numeric", "spellcheck": "false"}),
    )


class FirstCodeForm(CodeForm):
    """Asks for the first code and, from users who have one, the password: an unattended browser must not be enough."""

    password = forms.CharField(
        strip=False,
        error_messages={"required": gettext_lazy("Type your password.")},
        widget=forms.PasswordInput(attrs={"autocomplete": "current-password"}),
    )
    field_order = ("code", "password")

    def __init__(self, user: User, sent: object = None) -> None:
        super().__init__(sent)
        self.user = user
        self.fields["code"].help_text = _("The six digits that the app shows now.")
        if not user.has_usable_password():
            del self.fields["password"]

    def clean_password(self) -> str:
        """Refuse a wrong password."""
        password: str = self.cleaned_data["password"]
        if not self.user.check_password(password):
            raise forms.ValidationError(_("That is not your password."))
        return password


@never_cache
@login_required
@require_safe
def second_factor(request: HttpRequest) -> HttpResponse:
    """Show whether signing in asks for a code, and what can be changed about it."""
    return _page(request, actor_of(request).user)


@sensitive_post_parameters()
@never_cache
@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def set_up(request: HttpRequest) -> HttpResponse:
    """Show what an app needs, and set the second factor up with the first code it makes."""
    user = actor_of(request).user
    if services.has_second_factor(user):
        return redirect("second-factor")
    enrolment, kept = services.begin_enrolment(request.session.get(_ENROLLING, ""))
    request.session[_ENROLLING] = kept
    form = FirstCodeForm(user, form_data(request))
    if form.is_bound:
        count_try(guesser_of_code(user), "")
    if codes := form.attempt(lambda typed: services.set_up_second_factor(user, enrolment, code=typed["code"])):
        del request.session[_ENROLLING]
        forget_tries(guesser_of_code(user), "")
        end_sign_ins(user, but=request.session.session_key)
        return render(request, "accounts/second_factor_codes.html", {"codes": codes, "is_first": True})
    context = {"form": form, "enrolment": enrolment, "picture": enrolment.picture(user)}
    return render(request, "accounts/second_factor_set_up.html", context, status=422 if form.is_bound else 200)


def _with_code(act: CodeAction) -> Callable[[HttpRequest], HttpResponse]:
    """Do something to one's second factor for the one who shows it once more; say on its page what cannot be done."""

    @sensitive_post_parameters("code")
    @never_cache
    @login_required
    @require_POST
    @wraps(act)
    def view(request: HttpRequest) -> HttpResponse:
        user, form = actor_of(request).user, CodeForm(request.POST)
        if not form.is_valid():
            return _page(request, user, form, status=422)
        count_try(guesser_of_code(user), "")
        try:
            response = act(request, user, form.cleaned_data["code"])
        except (Invalid, Conflict) as refusal:
            form.refuse(refusal)
            return _page(request, user, form, status=409 if isinstance(refusal, Conflict) else 422)
        forget_tries(guesser_of_code(user), "")
        return response

    return view


@_with_code
def renew(request: HttpRequest, user: User, code: str) -> HttpResponse:
    """Show new recovery codes, once, instead of the old ones."""
    codes = services.renew_recovery_codes(user, code=code)
    return render(request, "accounts/second_factor_codes.html", {"codes": codes})


@_with_code
def remove(request: HttpRequest, user: User, code: str) -> HttpResponse:
    """Ask for no code any more."""
    services.remove_second_factor(user, code=code)
    messages.success(request, _("Your second factor is removed: signing in asks for no code any more."))
    return redirect("second-factor")


def _page(request: HttpRequest, user: User, form: CodeForm | None = None, *, status: int = 200) -> HttpResponse:
    context = {
        "factor": services.second_factor_of(user),
        "is_demanded": services.must_have_second_factor(user),
        "alerts": alerts_of(user).exclude(key__isnull=False)[:ALERTS_SHOWN],
        "form": form or CodeForm(),
    }
    return render(request, "accounts/second_factor.html", context, status=status)
