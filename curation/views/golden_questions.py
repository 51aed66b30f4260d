"""The page of golden questions, for curators: what must be found, whether it is, pin, ask now, remove."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from django import forms
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.http import require_http_methods, require_POST

from accounts.actor import Actor
from accounts.authentication import actor_of
from bigmind.core.errors import Invalid, NotFound
from bigmind.core.handles import read_handle
from bigmind.core.operations import carry_out
from bigmind.core.translation import _, format_lazy, gettext_lazy
from bigmind.web.forms import OperationForm, choice, form_data
from bigmind.web.pages import offset_in, own_page, tell
from curation.decisions.golden_questions import (
    LOOKED_AT,
    check_golden_questions,
    items_of,
    list_golden_questions,
    pin_golden_question,
    unpin_golden_question,
)
from curation.models import GoldenQuestion
from knowledge.kinds import KINDS

from .company import sections_for

SHOWN = 50


class PinForm(OperationForm):
    """Pins a question to the item that it must find."""

    question = forms.CharField(label=gettext_lazy("Question"), help_text=gettext_lazy("As people and agents ask it."))
    item = forms.CharField(
        label=gettext_lazy("Must find"),
        help_text=gettext_lazy("A handle such as C12 or entry:1e9e32c7-…, as pages and replies show it."),
    )
    within = choice(
        [
            (
                str(number),
                format_lazy(gettext_lazy("the first {number}"), number=number)
                if number > 1
                else gettext_lazy("the first alone"),
            )
            for number in (1, 3, 5, LOOKED_AT)
        ],
        initial="3",
        label=gettext_lazy("Among"),
    )


@dataclass(frozen=True)
class GoldenRow:
    """A golden question, with what it must find: its name and address, if it is still there."""

    golden: GoldenQuestion
    title: str
    address: str


@own_page
@require_http_methods(["GET", "HEAD", "POST"])
def golden_questions(request: HttpRequest) -> HttpResponse:
    """List the golden questions, the lost ones first; pin another one."""
    actor = actor_of(request)
    actor.require("curate")
    form = PinForm(form_data(request), initial={"item": request.GET.get("item", "")})
    golden = form.attempt(lambda values: _pin(actor, values))
    if golden is not None:
        tell(request, f"Pinned. {_outcome(golden)}")
        return redirect("golden-questions")
    page = list_golden_questions(actor, limit=SHOWN, offset=offset_in(request))
    context = {
        "form": form,
        "page": page,
        "rows": _rows(actor, page.items),
        "lost": GoldenQuestion.objects.lost().count(),
        "sections": sections_for(actor, current="golden-questions"),
    }
    return render(request, "curation/golden_questions.html", context, status=422 if form.errors else 200)


@own_page
@require_POST
def asking(request: HttpRequest) -> HttpResponse:
    check = check_golden_questions(actor_of(request))
    tell(
        request,
        _("%(checked)s asked: %(held)s find what they must, %(lost)s do not.")
        % {"checked": check.checked, "held": check.held, "lost": len(check.lost)},
    )
    return redirect("golden-questions")


@own_page
@require_POST
def unpinning(request: HttpRequest, golden_id: int) -> HttpResponse:
    golden = unpin_golden_question(actor_of(request), golden_id=golden_id)
    tell(request, f"Removed: “{golden.question}”.")
    return redirect("golden-questions")


def _pin(actor: Actor, values: dict[str, Any]) -> GoldenQuestion:
    kind, id = read_handle(values.pop("item")) or ("", "")
    if not kind:
        raise Invalid.of("item", _("is no handle; C12 and entry:1e9e32c7-… are some"))
    try:
        golden: GoldenQuestion = carry_out(pin_golden_question, actor, {**values, "kind": kind, "id": id})
    except NotFound as error:
        raise Invalid.of("item", str(error).rstrip(".").replace(_("There is no"), _("is no"), 1)) from error
    return golden


def _outcome(golden: GoldenQuestion) -> str:
    if golden.is_lost:
        return _("It does not find its item now: see what comes first, and mend that.")
    return _("It finds its item at place %(place)s.") % {"place": golden.place}


def _rows(actor: Actor, questions: Sequence[GoldenQuestion]) -> list[GoldenRow]:
    items = items_of(actor, questions)
    return [_row(golden, items.get(golden.pk)) for golden in questions]


def _row(golden: GoldenQuestion, item: Any) -> GoldenRow:
    if item is None:
        return GoldenRow(golden, "", "")
    kind = KINDS[golden.kind]
    return GoldenRow(golden, kind.title(item), reverse(kind.route, args=[item.pk]))
