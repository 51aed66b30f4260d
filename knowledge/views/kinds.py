"""Things of any kind, as pages speak of them: their words, their addresses, whose they are, what is archived."""

from typing import Any

from django.core.exceptions import ValidationError
from django.db.models import F, QuerySet, TextField, Value
from django.db.models.functions import Cast
from django.http import Http404
from django.shortcuts import get_object_or_404
from django.urls import reverse

from accounts.actor import Actor
from accounts.models import User
from knowledge.kinds import KIND_OF_WORD, KINDS, OWN, MemoryKind


def own_thing(actor: Actor, kind: str, id: object) -> Any:
    """Return the actor's thing of this kind with this id. One of somebody else's is not found, like none at all.

    Raises:
        Http404: there is none.
    """
    if kind not in OWN:
        raise Http404
    try:
        return get_object_or_404(OWN[kind].rows(actor.user), pk=id)
    except (ValueError, ValidationError) as error:
        raise Http404 from error


def things_set_aside(user: User) -> QuerySet[Any, dict[str, Any]]:
    """Return what a person has set aside, of every kind, the latest first: kind, id, and since when."""
    first, *others = (_since(own.rows(user), kind, own.archived_at) for kind, own in OWN.items())
    return first.union(*others, all=True).order_by("-since", "kind", "id_text")


def address_of(kind: str, id: object) -> str:
    """Return the address of the page about one thing. A summary is read on the page of its session."""
    return reverse(_kind(kind).route, args=[id])


def word_for(kind: str) -> str:
    """Return what people call this kind."""
    return _kind(kind).word


def _kind(kind: str) -> MemoryKind:
    return KINDS[KIND_OF_WORD.get(kind, kind)]


def _since(rows: QuerySet[Any], kind: str, moment: str) -> QuerySet[Any, dict[str, Any]]:
    named = rows.exclude(**{moment: None}).annotate(kind=Value(kind), id_text=Cast("pk", TextField()), since=F(moment))
    rows_of_text: QuerySet[Any, dict[str, Any]] = named.values("kind", "id_text", "since")
    return rows_of_text
