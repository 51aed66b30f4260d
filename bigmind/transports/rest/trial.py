"""Trying an operation from its page: as the person who is signed in, with the arguments and the reply of REST.

It is not below `/api/`, where nothing asks for a session or a second factor.
"""

import json
from typing import Any

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_http_methods

from accounts.actor import Actor
from bigmind.core.errors import BigMindError, Invalid
from bigmind.core.operations import Effect, Operation
from bigmind.gate import perform
from bigmind.operations import CATALOGUE
from bigmind.transports.rest.examples import SESSION, example_arguments
from bigmind.transports.rest.problems import MalformedBody, problem_of
from bigmind.transports.rest.request_reading import check_body, read_json
from bigmind.web.pages import own_page

SHOWN_CHARS = 50_000
"""How much of a reply a page shows. An export may be megabytes."""


@own_page
@require_http_methods(["GET", "POST"])
def try_operation(request: HttpRequest, name: str) -> HttpResponse:
    """Show the arguments of an operation, perform it when they are sent, and show the reply or the refusal."""
    operation = CATALOGUE.get(name)
    if operation is None:
        raise Http404
    context: dict[str, Any] = {"operation": operation, "destroys": operation.effect is Effect.DESTROY}
    if request.method == "GET":
        return render(request, "api/try.html", context | {"arguments": _pretty(_to_begin_with(operation))})
    sent = request.POST.get("arguments", "").replace("\r\n", "\n")
    try:
        reply, status = _pretty(_perform(operation, request, sent)), 200
    except (BigMindError, MalformedBody) as error:
        refused = problem_of(error)
        reply, status = _pretty(json.loads(refused.content)), refused.status_code
    context |= {"arguments": sent, "reply": reply[:SHOWN_CHARS], "is_cut": len(reply) > SHOWN_CHARS, "status": status}
    return render(request, "api/try.html", context, status=status)


def _perform(operation: Operation, request: HttpRequest, sent: str) -> Any:
    found = read_json(sent.encode(errors="surrogatepass"))
    if not isinstance(found, dict):
        raise MalformedBody("The arguments must be a JSON object, such as {}.")
    if operation.effect is Effect.DESTROY and "sure" not in request.POST:
        raise Invalid.of("sure", "must be ticked: this deletes permanently", hint="Tick the box and send it again.")
    check_body(operation, found)
    assert request.user.is_authenticated
    return perform(operation, Actor.of(request.user), found, transport="rest").to_data()


def _to_begin_with(operation: Operation) -> dict[str, Any]:
    """Return the operation's example, without ids that exist nowhere and may be left out."""
    fields = operation.arguments.model_fields
    arguments = example_arguments(operation)
    return {name: value for name, value in arguments.items() if value != SESSION or fields[name].is_required()}


def _pretty(value: Any) -> str:
    return json.dumps(value, indent=2, ensure_ascii=False)
