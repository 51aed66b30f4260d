"""The map: projects, topics, company knowledge and people, and how they hang together."""

from collections.abc import Callable

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils.http import urlencode
from django.views.decorators.http import require_safe

from accounts.authentication import actor_of
from bigmind.core.translation import _
from bigmind.web.graphs import Column, Node, draw_graph
from bigmind.web.pages import own_page
from knowledge.services.knowledge_map import KnowledgeMap, MapThing, see_map
from knowledge.views.insights import sections_for


@own_page
@require_safe
def knowledge_map(request: HttpRequest) -> HttpResponse:
    """Show how what is known hangs together, as a picture and as a list."""
    actor = actor_of(request)
    seen = see_map(actor)
    graph = draw_graph(_columns(seen), seen.weights)
    largest = max(seen.topics, key=lambda thing: thing.size, default=None)
    context = {
        "graph": graph,
        "left_out": seen.left_out,
        "largest": largest,
        "sections": sections_for(actor, current="insights-map"),
    }
    return render(request, "knowledge/map.html", context)


def _columns(seen: KnowledgeMap) -> list[Column]:
    return [
        Column(_("Projects"), "project", _nodes(seen.projects, _of_project)),
        Column(_("Topics"), "topic", _nodes(seen.topics, _of_topic)),
        Column(
            _("Company knowledge"), "company", _nodes(seen.entries, lambda one: reverse("company-entry", args=[one.id]))
        ),
        Column(_("People"), "person", _nodes(seen.people, lambda one: reverse("profile", args=[one.id]))),
    ]


def _nodes(things: list[MapThing], address: Callable[[MapThing], str]) -> list[Node]:
    return [Node(thing.key, thing.name, thing.size, address(thing)) for thing in things]


def _of_project(thing: MapThing) -> str:
    """The own part of a project, or what the company knows of it."""
    return f"{reverse('memory-timeline' if thing.is_own else 'company')}?{urlencode({'project': thing.name})}"


def _of_topic(thing: MapThing) -> str:
    """The own sessions about a topic, or the people who share it."""
    return f"{reverse('memory-sessions' if thing.is_own else 'directory')}?{urlencode({'topic': thing.name})}"
