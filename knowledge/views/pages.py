"""What the pages about memory share: their sections, how much is in each, and those that are one form."""

from dataclasses import dataclass
from typing import Any

from django.forms import Form
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse

from accounts.actor import Actor
from accounts.authentication import actor_of
from accounts.models import User
from knowledge.models import Fact, Hypothesis, Note, Session
from knowledge.views.kinds import things_set_aside


@dataclass(frozen=True)
class MemoryTab:
    """One section of the memory: its name, its address, and how much is in it, where that is a number."""

    label: str
    address: str
    count: int | None = None
    is_current: bool = False


@dataclass(frozen=True)
class Within:
    """The page that a page lies within: where its breadcrumb and its Cancel lead."""

    label: str
    address: str


@dataclass(frozen=True)
class Counts:
    """How much of each kind is in view, and how much was set aside."""

    facts: int
    sessions: int
    notes: int
    hypotheses: int
    aside: int

    @property
    def is_empty(self) -> bool:
        """Whether nothing is remembered yet."""
        return not (self.facts or self.sessions or self.notes or self.hypotheses or self.aside)


def memory_page(request: HttpRequest, template: str, *, section: str, **context: Any) -> HttpResponse:
    """Draw a page of the memory, with its sections as tabs."""
    counts = counts_of(actor_of(request))
    sections = _sections(counts, current=section)
    return render(request, template, {"sections": sections, "counts": counts, **context})


def form_page(
    request: HttpRequest, form: Form, *, heading: str, verb: str, within: Within, lead: str = ""
) -> HttpResponse:
    """Draw a page that is one form: what it is for, its fields, the verb on its button, and the way out."""
    context = {"form": form, "heading": heading, "lead": lead, "verb": verb, "within": within}
    return render(request, "knowledge/form.html", context)


def counts_of(actor: Actor) -> Counts:
    """Count what is remembered, in one query for each kind."""
    user = actor.user
    return Counts(
        facts=Fact.objects.of(user).current().count(),
        sessions=Session.objects.of(user).in_view().count(),
        notes=Note.objects.of(user).current().count(),
        hypotheses=Hypothesis.objects.filter(user=user, set_aside_at=None).count(),
        aside=things_set_aside(user).count(),
    )


def projects_of(user: User) -> list[str]:
    """Return the projects that a person's facts and sessions belong to."""
    facts = Fact.objects.of(user).exclude(project="").values_list("project")
    sessions = Session.objects.of(user).exclude(project="").values_list("project")
    return sorted(project for (project,) in facts.union(sessions))


def _sections(counts: Counts, *, current: str) -> list[MemoryTab]:
    rows = (
        ("Overview", "memory", None),
        ("Facts", "memory-facts", counts.facts),
        ("Sessions", "memory-sessions", counts.sessions),
        ("Notes", "memory-notes", counts.notes),
        ("Hypotheses", "memory-hypotheses", counts.hypotheses),
        ("Profile", "memory-profile", None),
        ("Start context", "memory-context", None),
        ("Set aside", "memory-aside", counts.aside),
    )
    return [MemoryTab(label, reverse(route), count, route == current) for label, route, count in rows]
