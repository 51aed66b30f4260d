"""What the pages about memory share: who may see them, their sections, and the way back."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import wraps
from typing import Any

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.forms import Form
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.http import url_has_allowed_host_and_scheme
from django.views.decorators.cache import never_cache

from accounts.actor import Actor
from accounts.authentication import actor_of
from accounts.models import User
from bigmind.core.errors import NotFound
from knowledge.models import Fact, Hypothesis, Note, Session
from knowledge.views.kinds import things_set_aside

View = Callable[..., HttpResponse]


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


def own_page(view: View) -> View:
    """Make a view a page about the memory of whoever is signed in.

    It is kept in no cache, and what is not theirs is answered like what does not exist.
    """

    @wraps(view)
    def page(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        try:
            return view(request, *args, **kwargs)
        except NotFound as error:
            raise Http404 from error

    return never_cache(login_required(page))


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


def offset_in(request: HttpRequest) -> int:
    """Return where in a list the page begins: what the address says, or 0 when that is no number."""
    said = request.GET.get("offset", "")
    return int(said) if said.isdecimal() and len(said) < 10 else 0


def way_back(request: HttpRequest, *, otherwise: str, gone: str = "") -> HttpResponse:
    """Turn back to the page that `next` names, if it is one of ours and not the page of what is gone."""
    target = request.POST.get("next") or request.GET.get("next", "")
    secure = request.is_secure()
    is_ours = url_has_allowed_host_and_scheme(target, allowed_hosts={request.get_host()}, require_https=secure)
    return redirect(target if is_ours and target != gone else otherwise)


def tell(request: HttpRequest, text: str, *, undo: str = "") -> None:
    """Say on the next page what was done; `undo` is the address whose button takes it back."""
    messages.success(request, text, extra_tags=undo)


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
