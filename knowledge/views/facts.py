"""Facts: list, read, add, correct."""

from typing import Any

from django import forms
from django.db.models import prefetch_related_objects
from django.forms import model_to_dict
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.views.decorators.http import require_http_methods, require_safe

from accounts.authentication import actor_of
from bigmind.web.forms import OperationForm, TextField, choice, form_data, search_field
from bigmind.web.pages import own_page, tell
from knowledge.models import Fact
from knowledge.services.facts import correct_fact, list_facts, store_fact
from knowledge.views.pages import CATEGORIES, ProjectQuestion, Within, form_page, memory_page, project_field

STORED = "Stored. Every new session will hear of it."
FACTS_SHOWN = 50


class FactQuestion(ProjectQuestion):
    """Narrows the list."""

    text = search_field("Search your facts")
    category = choice(CATEGORIES, blank="Any", required=False)
    as_of = forms.CharField(
        required=False, label="As of", widget=forms.TextInput(attrs={"placeholder": "2026-03-01, March, last Tuesday"})
    )


def day_field(label: str, **kwargs: Any) -> forms.DateTimeField:
    """Return the field for a day."""
    widget = forms.DateInput(attrs={"type": "date"}, format="%Y-%m-%d")
    return forms.DateTimeField(required=False, label=label, widget=widget, **kwargs)


class FactCorrection(OperationForm):
    """Says what is true instead."""

    fact = TextField(rows=3, help_text="One truth, in one sentence.")
    category = choice(CATEGORIES)
    valid_from = day_field("Holds from", help_text="If it is not since it was stored.")
    valid_until = day_field("Ends on", help_text="From this day on it no longer holds.")


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
    shown = get_object_or_404(facts, pk__in=actor.user.ids_of(fact_id))
    form = FactCorrection(form_data(request), initial=model_to_dict(shown, FactCorrection.base_fields))
    corrected = form.carry_out(correct_fact, actor, fact_id=fact_id)
    if corrected:
        tell(request, "Corrected. Your agents will hear the new wording; the old one is set aside.")
        return redirect("memory-fact", corrected.pk)
    return render(request, "knowledge/fact.html", {"fact": shown, "form": form})


@own_page
@require_http_methods(["GET", "HEAD", "POST"])
def new_fact(request: HttpRequest) -> HttpResponse:
    """Add a fact by hand."""
    form = NewFact(form_data(request), initial={"fact": request.GET.get("fact", "")})
    stored = form.carry_out(store_fact, actor_of(request))
    if stored:
        known = "That fact is known already, so it is not stored twice."
        against = ", ".join(f"{one.handle} “{one.excerpt}”" for one in stored.similar if one.contradicts)
        new = f"Stored. It may contradict {against}: archive the one that does not hold." if against else STORED
        tell(request, known if stored.duplicate else new)
        return redirect("memory-fact", stored.fact.pk)
    return form_page(
        request,
        form,
        heading="Add a fact",
        lead="A truth about you or your work that every session to come should know.",
        verb="Store the fact",
        within=Within("Facts", reverse("memory-facts")),
    )
