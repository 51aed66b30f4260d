"""Facts: list, read, add, correct."""

from datetime import datetime
from typing import Any

from django import forms
from django.db.models import prefetch_related_objects
from django.forms import model_to_dict
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from accounts.actor import Actor
from accounts.authentication import actor_of
from bigmind.core.operations import carry_out
from bigmind.core.translation import _, gettext_lazy
from bigmind.web.forms import OperationForm, TextField, choice, form_data, search_field
from bigmind.web.pages import own_page, tell
from bigmind.web.words import choices_in_words
from knowledge.exposures.exposures import counts_of
from knowledge.memory.facts import correct_fact, list_facts, store_fact
from knowledge.memory.trigger_levels import set_fact_triggers
from knowledge.memory.who_sees_firings import list_own_firings
from knowledge.models import Fact, Kind, TriggerLevel
from knowledge.views.pages import (
    CATEGORIES,
    ProjectQuestion,
    Within,
    anchors_field,
    form_page,
    memory_page,
    project_field,
)
from knowledge.views.triggers import triggers_field

STORED = gettext_lazy("Stored. New sessions will know this.")
FACTS_SHOWN = 50


class FactQuestion(ProjectQuestion):
    """Narrows the list."""

    text = search_field(gettext_lazy("Search your facts"))
    category = choice(CATEGORIES, blank=gettext_lazy("Any"), required=False)
    as_of = forms.CharField(
        required=False,
        label=gettext_lazy("As of"),
        widget=forms.TextInput(attrs={"placeholder": "2026-03-01, March, last Tuesday"}),
    )


class DayField(forms.CharField):
    """A day, which the operation reads: whether it counts from its start or to its end is for the argument to say."""

    def __init__(self, label: str, **kwargs: Any) -> None:
        widget = forms.DateInput(attrs={"type": "date"}, format="%Y-%m-%d")
        super().__init__(required=False, label=label, widget=widget, empty_value=None, **kwargs)

    def prepare_value(self, value: Any) -> Any:
        """Show the day that a moment has where the person is."""
        return timezone.localtime(value) if isinstance(value, datetime) else value


class FactCorrection(OperationForm):
    """Says what is true instead."""

    fact = TextField(rows=3, help_text=gettext_lazy("One fact per entry, as a sentence."))
    category = choice(CATEGORIES)
    valid_from = DayField(gettext_lazy("Valid from"), help_text=gettext_lazy("Leave empty for today."))
    valid_until = DayField(gettext_lazy("Valid until"), help_text=gettext_lazy("The last day on which it is valid."))


class FactTriggers(OperationForm):
    """Says at which acts the fact is shown, and on which code it rests."""

    triggers = triggers_field()
    anchors = anchors_field()


class NewFact(FactCorrection):
    """Says something that every session should know."""

    project = project_field()


@own_page
@require_safe
def facts(request: HttpRequest) -> HttpResponse:
    """List the facts that hold, by category, project or words."""
    actor = actor_of(request)
    form = FactQuestion(request, actor.user)
    page = form.answer(list_facts, actor, limit=FACTS_SHOWN)
    if page:
        prefetch_related_objects(page.items, "source_session")
    return memory_page(request, "knowledge/facts.html", section="memory-facts", form=form, page=page)


@own_page
@require_http_methods(["GET", "HEAD", "POST"])
def fact(request: HttpRequest, fact_id: int) -> HttpResponse:
    """Show one fact with where it comes from, and correct it."""
    actor = actor_of(request)
    facts = Fact.objects.of(actor.user).select_related("source_session", "superseded_by", "contradicted_by")
    # Addresses have the owner's own number of a fact: ids would tell how much others store. Decision 32.
    shown = get_object_or_404(facts, pk__in=actor.user.ids_of(fact_id))
    form = FactCorrection(form_data(request), initial=model_to_dict(shown, FactCorrection.base_fields))
    corrected = form.carry_out(correct_fact, actor, fact_id=fact_id)
    if corrected:
        tell(request, _("Corrected. Your agents will hear the new wording; the old one is set aside."))
        return redirect("memory-fact", corrected.pk)
    return _page(request, actor, shown, form, FactTriggers(initial=model_to_dict(shown, FactTriggers.base_fields)))


def _page(
    request: HttpRequest, actor: Actor, shown: Fact, form: FactCorrection, triggers_form: FactTriggers
) -> HttpResponse:
    context = {
        "fact": shown,
        "form": form,
        "triggers_form": triggers_form,
        "firings": list_own_firings(actor, kind=Kind.FACT, source_id=shown.number, limit=5),
        "choices": choices_in_words(TriggerLevel.choices),
        "counts": counts_of(actor, Kind.FACT, shown.pk),
    }
    return render(request, "knowledge/fact.html", context)


@own_page
@require_POST
def fact_level(request: HttpRequest, fact_id: int) -> HttpResponse:
    """Choose at which acts an own fact is shown, or how far that goes."""
    actor = actor_of(request)
    form = FactTriggers(request.POST)
    if "level" in request.POST:
        changed = carry_out(set_fact_triggers, actor, {"fact_id": fact_id, "level": request.POST["level"]})
    else:
        changed = form.carry_out(set_fact_triggers, actor, fact_id=fact_id)
    if not changed:
        shown = get_object_or_404(Fact.objects.of(actor.user), pk__in=actor.user.ids_of(fact_id))
        correction = FactCorrection(initial=model_to_dict(shown, FactCorrection.base_fields))
        return _page(request, actor, shown, correction, form)
    tell(
        request,
        _("%(get_trigger_level_display)s. Applies to hooks within minutes.")
        % {"get_trigger_level_display": changed.get_trigger_level_display()},
    )
    return redirect("memory-fact", changed.pk)


@own_page
@require_http_methods(["GET", "HEAD", "POST"])
def new_fact(request: HttpRequest) -> HttpResponse:
    """Add a fact by hand."""
    form = NewFact(form_data(request), initial={"fact": request.GET.get("fact", "")})
    stored = form.carry_out(store_fact, actor_of(request))
    if stored:
        known = _("That fact is known already, so it is not stored twice.")
        against = ", ".join(f"{one.handle} “{one.excerpt}”" for one in stored.similar if one.contradicts)
        new = (
            _("Stored. It may conflict with %(against)s. Archive the wrong one.") % {"against": against}
            if against
            else STORED
        )
        tell(request, known if stored.duplicate else new)
        return redirect("memory-fact", stored.fact.pk)
    return form_page(
        request,
        form,
        heading=_("Add a fact"),
        lead=_("A truth about you or your work that every session to come should know."),
        verb=_("Store the fact"),
        within=Within(_("Facts"), reverse("memory-facts")),
    )
