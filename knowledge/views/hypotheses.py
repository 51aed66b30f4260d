"""Hypotheses: list by status, read, add, correct, resolve."""

from django import forms
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from accounts.authentication import actor_of
from bigmind.core.translation import _, gettext_lazy
from bigmind.web.forms import OperationForm, TextField, choice, form_data
from bigmind.web.pages import own_page, tell
from knowledge.memory.calibration import track_records
from knowledge.memory.hypotheses import add_hypothesis, correct_hypothesis, list_hypotheses, resolve_hypothesis
from knowledge.models import Hypothesis, Verdict
from knowledge.views.pages import (
    ProjectQuestion,
    Within,
    confidence_field,
    form_page,
    memory_page,
    own_thing,
    project_field,
)

HYPOTHESES_SHOWN = 50
STATUSES = [(status, status.capitalize()) for status in Verdict.values]


class HypothesisQuestion(ProjectQuestion):
    """Narrows the list."""

    status = choice(STATUSES, blank=gettext_lazy("Any"), required=False)
    due = forms.BooleanField(required=False, label=gettext_lazy("Only those to check now"))


class HypothesisCorrection(OperationForm):
    """Puts a belief better."""

    hypothesis = TextField(rows=3, help_text=gettext_lazy("“I believe X because Y.”"))
    confidence = confidence_field(initial="0.7")
    check_in_days = forms.IntegerField(
        required=False,
        label=gettext_lazy("Ask how it turned out after so many days"),
        widget=forms.NumberInput(attrs={"min": 1, "max": 3650}),
        help_text=gettext_lazy("30 if you leave it out."),
    )


class NewHypothesis(HypothesisCorrection):
    """Writes a belief down."""

    project = project_field()


class Verdicts(OperationForm):
    """Says how a belief turned out."""

    status = forms.CharField(label=gettext_lazy("It is"), widget=forms.RadioSelect(choices=STATUSES[1:]))
    resolution = TextField(
        rows=3, label=gettext_lazy("What happened"), help_text=gettext_lazy("What actually happened, and how you know.")
    )


@own_page
@require_safe
def hypotheses(request: HttpRequest) -> HttpResponse:
    """List the beliefs, by status or project, with how often each agent was right."""
    actor = actor_of(request)
    form = HypothesisQuestion(request, actor.user)
    page = form.answer(list_hypotheses, actor, limit=HYPOTHESES_SHOWN)
    return memory_page(
        request,
        "knowledge/hypotheses.html",
        section="memory-hypotheses",
        form=form,
        page=page,
        records=track_records(actor.user),
    )


@own_page
@require_http_methods(["GET", "HEAD", "POST"])
def hypothesis(request: HttpRequest, hypothesis_id: int) -> HttpResponse:
    """Show one belief, and correct it while it is open."""
    actor = actor_of(request)
    shown: Hypothesis = own_thing(actor, "hypothesis", hypothesis_id)
    form = HypothesisCorrection(form_data(request), initial=_initial_of(shown))
    if form.carry_out(correct_hypothesis, actor, hypothesis_id=shown.pk):
        tell(request, _("The hypothesis is corrected."))
        return redirect("memory-hypothesis", shown.pk)
    return _page(request, shown, correction=form, verdict=Verdicts())


@own_page
@require_POST
def hypothesis_verdict(request: HttpRequest, hypothesis_id: int) -> HttpResponse:
    """Say how one belief turned out."""
    actor = actor_of(request)
    shown: Hypothesis = own_thing(actor, "hypothesis", hypothesis_id)
    form = Verdicts(request.POST)
    resolved = form.carry_out(resolve_hypothesis, actor, hypothesis_id=shown.pk)
    if resolved:
        tell(request, _("The hypothesis is %(status)s.") % {"status": resolved.status})
        return redirect("memory-hypothesis", shown.pk)
    return _page(request, shown, correction=HypothesisCorrection(initial=_initial_of(shown)), verdict=form)


@own_page
@require_http_methods(["GET", "HEAD", "POST"])
def new_hypothesis(request: HttpRequest) -> HttpResponse:
    """Write a belief down."""
    form = NewHypothesis(form_data(request))
    added = form.carry_out(add_hypothesis, actor_of(request))
    if added:
        tell(request, _("Written down. Say how it turned out as soon as you know."))
        return redirect("memory-hypothesis", added.pk)
    return form_page(
        request,
        form,
        heading=_("Add a hypothesis"),
        lead=_("A belief that is acted on before it is proven, to be confirmed or refuted."),
        verb=_("Write it down"),
        within=Within(_("Hypotheses"), reverse("memory-hypotheses")),
    )


def _page(
    request: HttpRequest, shown: Hypothesis, *, correction: HypothesisCorrection, verdict: Verdicts
) -> HttpResponse:
    context = {"hypothesis": shown, "correction": correction, "verdict": verdict}
    return render(request, "knowledge/hypothesis.html", context)


def _initial_of(shown: Hypothesis) -> dict[str, object]:
    return {"hypothesis": shown.hypothesis, "confidence": shown.confidence}
