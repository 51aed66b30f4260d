"""The kinds of things that are remembered, as pages speak of them: their words, their addresses, whose they are."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from django.core.exceptions import ValidationError
from django.db.models import F, QuerySet, TextField, Value
from django.db.models.functions import Cast
from django.http import Http404
from django.shortcuts import get_object_or_404
from django.urls import reverse

from accounts.actor import Actor
from accounts.models import User
from knowledge.models import Chunk, Fact, Hypothesis, Note, Session


@dataclass(frozen=True)
class KindPages:
    """One kind: what people call it, the pages of one and of all, and which are a person's own."""

    word: str
    route: str
    list_route: str
    own: Callable[[User], QuerySet[Any]]


KINDS = {
    "fact": KindPages("fact", "memory-fact", "memory-facts", lambda user: Fact.objects.of(user)),
    "session": KindPages("session", "memory-session", "memory-sessions", lambda user: Session.objects.of(user)),
    "chunk": KindPages(
        "chunk",
        "memory-chunk",
        "memory-sessions",
        lambda user: Chunk.objects.filter(user=user).select_related("session"),
    ),
    "note": KindPages("note", "memory-note", "memory-notes", lambda user: Note.objects.of(user)),
    "hypothesis": KindPages(
        "hypothesis", "memory-hypothesis", "memory-hypotheses", lambda user: Hypothesis.objects.filter(user=user)
    ),
}


def own_thing(actor: Actor, kind: str, id: object) -> Any:
    """Return the actor's thing of this kind with this id. One of somebody else's is not found, like none at all.

    Raises:
        Http404: there is none.
    """
    if kind not in KINDS:
        raise Http404
    try:
        return get_object_or_404(KINDS[kind].own(actor.user), pk=id)
    except (ValueError, ValidationError) as error:
        raise Http404 from error


def things_set_aside(user: User) -> QuerySet[Any, dict[str, Any]]:
    """Return what a person has set aside, of every kind, the latest first: kind, id, and since when."""
    facts = _since(Fact.objects.of(user), "fact", "deprecated_at")
    others = [_since(KINDS[kind].own(user), kind, "set_aside_at") for kind in KINDS if kind != "fact"]
    return facts.union(*others, all=True).order_by("-since", "kind", "id_text")


def address_of(kind: str, id: object) -> str:
    """Return the address of the page about one thing. A summary is read on the page of its session."""
    return reverse(_kind(kind).route, args=[id])


def word_for(kind: str) -> str:
    """Return what people call this kind."""
    return _kind(kind).word


def _kind(kind: str) -> KindPages:
    return KINDS["session" if kind == "summary" else kind]


def _since(rows: QuerySet[Any], kind: str, moment: str) -> QuerySet[Any, dict[str, Any]]:
    named = rows.exclude(**{moment: None}).annotate(kind=Value(kind), id_text=Cast("pk", TextField()), since=F(moment))
    rows_of_text: QuerySet[Any, dict[str, Any]] = named.values("kind", "id_text", "since")
    return rows_of_text
