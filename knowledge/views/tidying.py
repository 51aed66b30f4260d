"""Tidy up: go through the suggestions one after the other, and take an answer back."""

from typing import Any

from django import forms
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.views.decorators.http import require_http_methods

from accounts.authentication import actor_of
from bigmind.core.errors import Invalid
from bigmind.core.operations import carry_out
from bigmind.core.translation import _
from bigmind.web.forms import OperationForm, form_data
from bigmind.web.pages import own_page, tell
from knowledge.tidying.answers import answers_of, tidy
from knowledge.views.pages import memory_page

SHOWN = 10
ANSWERS_SHOWN = 10
ANSWERED = ("id", "action", "holds", "text")
ONE_STAYS = ("merge", "replace")


class TidyingForm(OperationForm):
    """Answers one suggestion, or takes an answer back."""

    id = forms.CharField(required=False)
    action = forms.CharField(required=False)
    holds = forms.IntegerField(required=False)
    text = forms.CharField(required=False, strip=False)
    undo = forms.CharField(required=False)

    def clean(self) -> None:
        """Ask which one stays: texts that look alike say nothing of which is right, so nothing is chosen in advance."""
        if self.cleaned_data.get("action") in ONE_STAYS and not self.cleaned_data.get("holds"):
            self.add_error("holds", _("Choose which one stays."))


@own_page
@require_http_methods(["GET", "HEAD", "POST"])
def tidying(request: HttpRequest) -> HttpResponse:
    """Show what there is to decide, and what was decided last."""
    actor = actor_of(request)
    form = TidyingForm(form_data(request))
    done = form.attempt(lambda sent: carry_out(tidy, actor, _arguments(sent)))
    if done:
        (answered,) = done.done
        if not answered.error:
            tell(request, answered.says)
            return redirect("memory-tidy")
        form.refuse(Invalid(answered.error))
    open_now = tidy(actor, limit=SHOWN)
    return memory_page(
        request,
        "knowledge/tidying.html",
        section="memory-tidy",
        form=form,
        tidying=open_now,
        left=sum(open_now.left.values()),
        answers=answers_of(actor, limit=ANSWERS_SHOWN),
    )


def _arguments(sent: dict[str, Any]) -> dict[str, Any]:
    if sent["undo"]:
        return {"undo": [sent["undo"]]}
    return {"answers": [{name: sent[name] for name in ANSWERED if sent[name] not in ("", None)}]}
