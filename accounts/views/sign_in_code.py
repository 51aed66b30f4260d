"""The second step of signing in: the code from the app, or a recovery code."""

from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.cache import never_cache
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_http_methods

from accounts.models import User
from accounts.sign_in.lockouts import guesser_of_code
from accounts.sign_in.second_factors import check_code
from accounts.sign_in.tries import count_try, forget_tries
from accounts.views.second_factor_forms import CodeForm
from accounts.views.sign_in_completion import sign_in_as, who_waits
from bigmind.core.errors import Conflict, Invalid, TooMany


@sensitive_post_parameters("code")
@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def sign_in_code(request: HttpRequest) -> HttpResponse:
    """Ask for a code, and sign the user in who enters it. A user without a first step is sent back to it."""
    found = who_waits(request)
    if found is None:
        return redirect("sign-in")
    user, waiting = found
    form = CodeForm(request.POST if request.method == "POST" else None)
    if not form.is_bound or not form.is_valid():
        return _page(request, user, form, status=422 if form.is_bound else 200)
    try:
        # Counted per person, not per address: anyone who reaches this page knows the password already.
        count_try(guesser_of_code(user), "")
        check_code(user, form.cleaned_data["code"])
    except (Invalid, Conflict, TooMany) as refusal:
        form.refuse(refusal)
        response = _page(request, user, form, status=429 if isinstance(refusal, TooMany) else 422)
        if isinstance(refusal, TooMany):
            response["Retry-After"] = str(refusal.retry_after)
        return response
    forget_tries(guesser_of_code(user), "")
    sign_in_as(request, user, door=waiting.door)
    return redirect(waiting.wanted)


def _page(request: HttpRequest, user: User, form: CodeForm, *, status: int) -> HttpResponse:
    return render(request, "accounts/sign_in_code.html", {"person": user, "form": form}, status=status)
