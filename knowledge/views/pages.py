"""What the pages about memory share: the words and addresses of each kind, their sections, and their forms."""

from collections import Counter
from dataclasses import dataclass
from typing import Any

from django import forms
from django.db.models import Count, F, QuerySet, TextField, Value
from django.db.models.functions import Cast
from django.forms import Form
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, render
from django.urls import reverse
from django.utils.http import urlencode

from accounts.actor import Actor
from accounts.authentication import actor_of
from accounts.models import User
from bigmind.core.limits import COMPANY_TITLE_CHARS
from bigmind.core.translation import _, gettext_lazy
from bigmind.web.forms import Lines, Question, choice
from bigmind.web.pages import Tab
from bigmind.web.words import word_of
from knowledge.conversation.project_names import projects_of
from knowledge.kinds import KIND_OF_WORD, KINDS, LISTED, OWN, MemoryKind
from knowledge.models import Category

CATEGORIES = [(name, name.capitalize()) for name in Category.values]


def own_thing(actor: Actor, kind: str, id: object) -> Any:
    """Return the actor's thing of this kind with this id. One of someone else's is not found, like none at all.

    Raises:
        Http404: there is none.
    """
    if kind not in OWN:
        raise Http404
    return get_object_or_404(KINDS[KIND_OF_WORD[kind]].of_id(actor.user, str(id)))


def things_set_aside(user: User) -> QuerySet[Any, dict[str, Any]]:
    """Return what a person has set aside, of every kind, the latest first: kind, id, and since when."""
    # One statement, because a page of the latest is cut from all kinds together. Ids are text in it: some are UUIDs.
    first, *others = (_since(own.rows(user), kind, own.archived_at) for kind, own in OWN.items())
    return first.union(*others, all=True).order_by("-since", "kind", "id_text")


def address_of(kind: str, id: object) -> str:
    """Return the address of the page about one thing. A summary is read on the page of its session."""
    return reverse(_kind(kind).route, args=[id])


def word_for(kind: str) -> str:
    """Return what people call this kind."""
    return _kind(kind).word


def list_route_of(kind: str) -> str:
    """Return the page with all of this kind."""
    return _kind(kind).list_route


def label_for(kind: str) -> str:
    """Return what people call all of this kind."""
    return _kind(kind).label


def _kind(kind: str) -> MemoryKind:
    return KINDS[KIND_OF_WORD.get(kind, kind)]


def _since(rows: QuerySet[Any], kind: str, moment: str) -> QuerySet[Any, dict[str, Any]]:
    named = rows.exclude(**{moment: None}).annotate(kind=Value(kind), id_text=Cast("pk", TextField()), since=F(moment))
    rows_of_text: QuerySet[Any, dict[str, Any]] = named.values("kind", "id_text", "since")
    return rows_of_text


@dataclass(frozen=True)
class Within:
    """The page that a page lies within: where its breadcrumb and its Cancel lead."""

    label: str
    address: str


@dataclass(frozen=True)
class AnswerDrafts:
    """Where a draft of the answer to a question begins: as an entry of the knowledge base, or as a proposal."""

    write: str
    propose: str


def answer_drafts(question: str) -> AnswerDrafts:
    """Return where its answer is written."""
    entry, proposal = {"content": f"# {question}\n\n", "entry_type": "fact"}, {"title": question[:COMPANY_TITLE_CHARS]}
    return AnswerDrafts(
        f"{reverse('kb-new')}?{urlencode(entry)}", f"{reverse('company-propose')}?{urlencode(proposal)}"
    )


@dataclass(frozen=True)
class Counts:
    """How much of each kind is in view, by its word, and how much was set aside."""

    in_view: dict[str, int]
    aside: int

    @property
    def is_empty(self) -> bool:
        """Whether nothing is remembered yet."""
        return not (any(self.in_view.values()) or self.aside)


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
    """Count what is remembered, in one query."""
    user = actor.user
    counted = [_number_of(word, row.visible(user)) for word, row in LISTED.items()]
    counted += [_number_of("aside", own.rows(user).exclude(**{own.archived_at: None})) for own in OWN.values()]
    numbers = Counter[str]()
    for name, number in counted[0].union(*counted[1:], all=True):
        numbers[name] += number
    return Counts({word: numbers[word] for word in LISTED}, numbers["aside"])


def _number_of(name: str, rows: QuerySet[Any]) -> QuerySet[Any]:
    named = rows.order_by().select_related(None).annotate(counted=Value(name, output_field=TextField()))
    counted: QuerySet[Any] = named.values_list("counted").annotate(Count("pk"))
    return counted


def _sections(counts: Counts, *, current: str) -> list[Tab]:
    rows = (
        (_("Overview"), "memory", None),
        *((word_of(row.label), row.list_route, counts.in_view[word]) for word, row in LISTED.items()),
        (_("Timeline"), "memory-timeline", None),
        (_("Profile"), "memory-profile", None),
        (_("Start context"), "memory-context", None),
        (_("Tidy up"), "memory-tidy", None),
        (_("Set aside"), "memory-aside", counts.aside),
    )
    return [Tab(label, reverse(route), count, route == current) for label, route, count in rows]


class ProjectQuestion(Question):
    """A question that can be narrowed to one of the person's projects."""

    def __init__(self, request: HttpRequest, user: User) -> None:
        super().__init__(request.GET)
        names = {*projects_of(user), request.GET.get("project", "").strip()} - {""}
        named = [(name, name) for name in sorted(names)]
        self.fields["project"] = choice(named, blank=_("Any"), required=False, label=_("Project"))


def project_field() -> forms.CharField:
    return forms.CharField(required=False, help_text=gettext_lazy("The repository or product it belongs to."))


def anchors_field() -> forms.Field:
    help_text = gettext_lazy("One in each line: acme/shop#src/limits.py:RateLimiter.allow. Changes of it are reported.")
    return Lines(rows=2, required=False, label=gettext_lazy("The code it rests on"), help_text=help_text)


def confidence_field(**kwargs: Any) -> forms.CharField:
    widget = forms.NumberInput(attrs={"min": 0, "max": 1, "step": 0.05, "inputmode": "decimal"})
    return forms.CharField(widget=widget, help_text=gettext_lazy("How sure you are, from 0 to 1."), **kwargs)
