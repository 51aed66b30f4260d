"""The address that hooks report to: `POST /hooks/<client>/`, with a key, answered as the client's hook prints it."""

import json
from contextlib import suppress
from dataclasses import replace
from typing import Any, cast

from django.conf import settings
from django.core.cache import cache
from django.db import DatabaseError
from django.http import HttpResponse
from django.utils import timezone
from rest_framework.exceptions import APIException
from rest_framework.request import Request
from rest_framework.views import APIView

from accounts.actor import Actor
from accounts.connecting.hook_program import KEPT_CALL, REFUSED
from accounts.services.rate_limits import count_against_limit, limit_of
from bigmind.core.errors import BigMindError, NotFound, ReadOnly, TooMany
from bigmind.core.operations import Effect
from bigmind.database.read_only import is_read_only
from bigmind.database.rls import rls_scope
from bigmind.gate import perform
from bigmind.operations import CATALOGUE
from bigmind.text.hygiene import echo
from bigmind.transports.hooks.dialects import DIALECTS, Dialect, body_of, body_of_arguments, with_settings
from bigmind.transports.hooks.payloads import (
    Payload,
    acts_of,
    asks_for_settings,
    complete_arguments,
    event_of,
    read_kept_call,
    report_of,
)
from bigmind.transports.rest.authentication import KeyAuthentication, RestClient, actor_of
from bigmind.transports.rest.request_reading import StrictJSONParser, check_size
from bigmind.transports.rest.views import JsonOnly
from knowledge.capture.conversations import digest_of_id
from knowledge.capture.events import answer_report, note_health, read_start
from knowledge.capture.firings import keep_firings
from knowledge.capture.policies import policy_of
from knowledge.capture.reports import HookReply, HookReport
from knowledge.capture.triggers import renew_triggers
from knowledge.embeddings.calls import warm_up
from knowledge.models import HookEventName

MODEL_READS = {HookEventName.START, HookEventName.PROMPT}
TOO_MANY, SERVER_ERROR = 429, 500
NEWS_SECONDS = 60 * 60


class HookAuthentication(KeyAuthentication):
    """A key, as REST takes it; the agent is the client that the hook runs in, as it is called over MCP."""

    def client_of_request(self, request: Request) -> RestClient:
        """Return the client of the address."""
        client = request.parser_context["kwargs"]["client"]
        return RestClient(DIALECTS[client].agent if client in DIALECTS else "", "")


class HookView(APIView):
    """Reports of one client."""

    schema = None  # Each client has a dialect of its own, which no document of REST describes; docs/hooks.md does.
    authentication_classes = [HookAuthentication]
    content_negotiation_class = JsonOnly
    parser_classes = [StrictJSONParser]

    def initial(self, request: Request, *args: Any, **kwargs: Any) -> None:
        """Refuse a body that says it is too large before a byte of it is read."""
        super().initial(request, *args, **kwargs)
        length = request.META.get("CONTENT_LENGTH") or "0"
        check_size(int(length) if length.isdecimal() else 0, settings.DATA_UPLOAD_MAX_MEMORY_SIZE)

    def post(self, request: Request, client: str) -> HttpResponse:
        """Answer one event, in the words of the client. An event that nothing is done about is answered `{}`."""
        dialect = DIALECTS.get(client)
        if dialect is None:
            raise NotFound(f"No hooks of {echo(client)} are known.", hint=f"There are: {', '.join(DIALECTS)}.")
        actor, payload = actor_of(request), cast("Payload", request.data)  # the parser accepts nothing else
        actor.require("read")
        actor.require_toolset({"core"})  # that of the context and of the search over everything
        count_against_limit(actor, per_minute=limit_of(actor))
        with timezone.override(actor.user.zone):
            return _answer_to(actor, client, dialect, payload)

    def handle_exception(self, exc: Exception) -> Any:
        """Answer a refusal. A client that sends events by itself shows none of it, so its model reads a line, once."""
        refused = super().handle_exception(exc)
        dialect = DIALECTS.get(self.kwargs["client"])
        if dialect is None or (refused.status_code != TOO_MANY and refused.status_code < SERVER_ERROR):
            return refused
        with suppress(APIException):
            payload = cast("Payload", self.request.data)
            report = report_of(self.kwargs["client"], dialect, payload)
            if report and report.is_direct and report.event in MODEL_READS and _is_news(report, refused.status_code):
                line = REFUSED.format(detail=json.loads(refused.content).get("detail", ""))
                return _response(body_of(dialect, event_of(payload), HookReply(context=line)))
        return refused


def _answer_to(actor: Actor, client: str, dialect: Dialect, payload: Payload) -> HttpResponse:
    if is_read_only():
        return _answer_read_only(actor, client, dialect, payload)
    body = _answer(actor, client, dialect, payload)
    if asks_for_settings(payload):
        with rls_scope(actor.user.pk):
            acts = acts_of(payload)
            if acts is not None:
                keep_firings(actor, client, acts.acts)
            triggers = None if acts is None else renew_triggers(actor, acts.signature)
            body = with_settings(body, policy_of(actor).never_folders, triggers)
    return _response(body)


def _response(body: bytes) -> HttpResponse:
    return HttpResponse(body, "application/json", headers={"Cache-Control": "no-store"})


def _is_news(report: HookReport, status: int) -> bool:
    """Whether the model of a conversation has not read of this refusal within the hour."""
    try:
        return cache.add(f"hooks:refused:{status}:{digest_of_id(report.conversation)}", True, NEWS_SECONDS)
    except Exception:  # noqa: BLE001 - a cache that is away must not keep the model from knowing it
        return True


def _answer_read_only(actor: Actor, client: str, dialect: Dialect, payload: Payload) -> HttpResponse:
    """Answer while nothing can be stored: a start with the context. Other events are refused, and kept by their hook.

    Raises:
        ReadOnly: it is another event.
    """
    report = report_of(client, dialect, payload)
    if report is None or report.event is not HookEventName.START:
        raise ReadOnly
    with rls_scope(actor.user.pk):
        return _response(body_of(dialect, event_of(payload), read_start(actor, report)))


def _carry_out(actor: Actor, client: str, payload: Payload) -> None:
    """Carry out a call that its hook kept while BigMind was away: once, however often it is delivered.

    A refusal is shown on the page Captured, and the call is not kept any longer: it would hold up what waits behind it.
    """
    call = read_kept_call(payload)
    operation = CATALOGUE.get(call.tool)
    if operation is None or operation.effect is not Effect.WRITE or not call.event_id:
        return
    bound = replace(actor, conversation=digest_of_id(call.conversation) if call.conversation else "")
    try:
        perform(operation, bound, call.arguments, transport="mcp", idempotency_key=f"kept:{call.event_id}")
    except (ReadOnly, TooMany):
        raise
    except BigMindError as refusal:
        report = HookReport(client, HookEventName.TOOL, call.conversation)
        with rls_scope(actor.user.pk):
            note_health(actor, report, failure=f"{call.tool}, kept while BigMind was away, was refused: {refusal}")


def _answer(actor: Actor, client: str, dialect: Dialect, payload: Payload) -> bytes:
    if event_of(payload) == KEPT_CALL:
        _carry_out(actor, client, payload)
        return b"{}"
    report = report_of(client, dialect, payload)
    if report is None:
        return b"{}"
    if report.event is HookEventName.START:
        warm_up()  # The first prompt follows in seconds, and its hook waits for a third of one.
    with rls_scope(actor.user.pk):
        reply = _reply_to(actor, report)
    if dialect.completes_arguments and (completed := complete_arguments(report, payload)):
        return body_of_arguments(event_of(payload), completed)
    return body_of(dialect, event_of(payload), reply)


def _reply_to(actor: Actor, report: HookReport) -> HookReply:
    """Return what an event is answered. A failure is shown on Home, and then answered like any other."""
    try:
        return answer_report(actor, report)
    except Exception as error:
        why = str(error) if isinstance(error, BigMindError) else f"{type(error).__name__}: see the log of BigMind."
        # The failure may be that of the database, and is then noted nowhere.
        with suppress(DatabaseError):
            note_health(actor, report, failure=why)
        raise
