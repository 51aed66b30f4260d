"""The gate: every operation passes it, whichever transport the call came over.

In this order: scope and toolset of the key, validation, rate limit, idempotency, the call itself, the usage log.
"""

import sys
from collections.abc import Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from functools import cached_property
from time import perf_counter
from typing import Any, Literal

import structlog
from django.conf import settings
from django.db import DatabaseError, InternalError, connection
from django.template.loader import render_to_string
from django.utils import timezone
from pydantic import BaseModel

from accounts.actor import Actor, acts
from accounts.services.calls import record_call
from accounts.services.idempotency import once
from accounts.services.rate_limits import count_against_limit, limit_of
from bigmind.core.after_reply import AFTER_REPLY
from bigmind.core.deadlocks import retry_collisions
from bigmind.core.errors import BigMindError, Invalid, ReadOnly
from bigmind.core.metrics import CALL_SECONDS, CALLS, TOKENS
from bigmind.core.operations import Effect, Operation
from bigmind.core.tracing import current_request_id, describe, span
from bigmind.database.change_notifications import Change
from bigmind.database.read_only import is_read_only, is_refused_write, require_writable
from bigmind.database.replicas import answer_read, note_write
from bigmind.database.rls import rls_scope
from bigmind.observability.logging import tell_once
from bigmind.observability.outages import outage_behind
from bigmind.operations import operation_to_perform
from bigmind.privacy.screening.policy import collect_notices
from bigmind.reply_parts import SHORT_BYTES, parse_part_number, part_of
from bigmind.text.token_counts import count_tokens
from knowledge.capture.policies import require_agents_may_write
from knowledge.conversation.project_names import spell_project

Transport = Literal["mcp", "rest", "command"]
IDEMPOTENCY_KEY_CHARS = 200
PART = "part"
"""The argument by which an agent asks for the next part of a long reply. No operation has one of this name."""

log = structlog.get_logger()


@dataclass(frozen=True)
class Outcome:
    """The reply of an operation.

    Attributes:
        reply: What the operation returned, or its shape.
        replayed: Whether this is the stored reply of an earlier, identical call.
        notices: What the caller should know about what they sent, such as that it holds a secret.
        part: The number of the part of the markdown that an agent reads; None means the whole.
    """

    operation: Operation
    reply: Any
    replayed: bool = False
    notices: tuple[str, ...] = ()
    part: int | None = None

    @cached_property
    def value(self) -> BaseModel:
        return self.operation.shape.model_validate(self.reply)

    def to_data(self) -> dict[str, Any]:
        """The reply as JSON-able data."""
        return self.value.model_dump(mode="json")

    def markdown(self) -> str:
        """The reply as an agent reads it: short markdown.

        Over MCP it costs at most `REPLY_TOKENS`. A longer reply is split, and its part says how to read the next one.
        """
        return self._markdown

    @cached_property
    def _markdown(self) -> str:
        text: str = getattr(self.reply, "as_sent", None) or render_to_string(
            f"agent/{self.operation.template}", {"reply": self.value}, using="agent"
        )
        whole = text.strip() + "\n"
        return whole if self.part is None else _in_parts(self.operation, whole, self.part)


def _in_parts(operation: Operation, text: str, number: int) -> str:
    """Return one part of a reply, with the call that continues it. Clients cut whole long replies at any place."""
    if number == 1 and len(text.encode()) <= SHORT_BYTES:
        return text
    part = part_of(text, number)
    if part is None:
        return f"This reply has no part {number}. Call `{operation.name}` with a smaller part.\n"
    if not part.left:
        return part.text
    return f"{part.text}\n\n{_how_to_go_on(operation, number, part.left)}\n"


def _how_to_go_on(operation: Operation, number: int, left: int) -> str:
    if operation.effect is Effect.READ:
        call = f"call `{operation.name}` with the same arguments and part={number + 1}"
        return f"[Part {number}; {left:,} more characters. To go on, {call}.]"
    return f"[{left:,} more characters of this reply are left out. All that it reports was done.]"


def perform(
    operation: Operation,
    actor: Actor,
    arguments: Mapping[str, Any],
    *,
    transport: Transport,
    idempotency_key: str | None = None,
) -> Outcome:
    """Perform an operation for an actor, as every transport does.

    Args:
        arguments: The arguments as the caller sent them, not validated yet.
        transport: How the call came in. It decides how strict validation is, and whether the reply is split.
        idempotency_key: Gives a retried write a single effect; reads ignore it.

    Raises:
        BigMindError: the actor lacks permission, the arguments are wrong, or the operation refuses.
    """
    if operation.performs_others and transport != "rest":
        # REST has a route for each operation, with the method and the conditions that belong to it.
        operation, arguments = operation_to_perform(operation, arguments)
    started, outcome, seconds, tokens, change = perf_counter(), "error", 0.0, None, None
    traced_as = span(operation.name, transport=transport, request_id=current_request_id())
    # “Yesterday” is a day of the person's.
    with traced_as as traced, timezone.override(actor.user.zone):
        try:
            # Of what is only read nothing is stored, so there is nothing to say of it.
            noticed: AbstractContextManager[list[str]]
            noticed = nullcontext([]) if operation.effect is Effect.READ else collect_notices()
            with noticed as notices, rls_scope(actor.user.pk):
                if transport != "rest":
                    arguments = _without_owner(actor, operation, arguments)
                arguments, part = _without_part(operation, arguments) if transport == "mcp" else (arguments, None)
                performed = retry_collisions(lambda: _perform(operation, actor, arguments, idempotency_key, transport))
                performed = replace(performed, part=part)
            if operation.effect is not Effect.READ:
                note_write(actor.user.pk)
                performed = replace(performed, notices=tuple(dict.fromkeys(notices)))
                change = _change_of(actor, performed)
            outcome, seconds = "ok", perf_counter() - started
            # Only replies over MCP fill an agent's context window.
            tokens = count_tokens(performed.markdown()) if transport == "mcp" else None
        except BigMindError as refusal:
            outcome = refusal.code
            raise
        except InternalError as error:
            # A replica refuses the write only here, when the setting did not announce it.
            if not is_refused_write(error):
                raise
            outcome = ReadOnly.code
            raise ReadOnly from error
        finally:
            describe(traced, failed=outcome == "error", outcome=outcome)
            _record(actor, operation, transport, outcome, seconds or perf_counter() - started, tokens, change)
    return performed


def _without_part(operation: Operation, arguments: Mapping[str, Any]) -> tuple[Mapping[str, Any], int]:
    """Take the part out of the arguments: it concerns how a reply is shown, and no operation knows it."""
    if operation.effect is not Effect.READ or PART not in arguments:
        return arguments, 1
    rest = {name: value for name, value in arguments.items() if name != PART}
    return rest, parse_part_number(arguments[PART])


def _without_owner(actor: Actor, operation: Operation, arguments: Mapping[str, Any]) -> Mapping[str, Any]:
    """Take out what the first designs send along and nobody may choose: whose memory it is, and a file to write here.

    Raises:
        Invalid: `user_id` is not the caller's own. It is never looked up, so that it tells nothing.
    """
    me = actor.user
    named = str(arguments.get("user_id") or "").strip().casefold()
    if named not in {"", "me", "default", str(me.pk), me.username.casefold(), me.display_name.casefold()}:
        hint = "A call is about the person whose key it carries: leave user_id out."
        raise Invalid.of("user_id", "is not yours", hint=hint)
    dropped = {"user_id", "output_path"} if operation.name == "memory_export" else {"user_id"}
    return {name: value for name, value in arguments.items() if name not in dropped}


def _change_of(actor: Actor, performed: Outcome) -> Change | None:
    """Return what a write changed for those who listen; nothing when it was performed before."""
    if performed.replayed:
        return None
    if performed.operation.scope == "curate":
        return Change()
    return Change.of(actor.user.pk, performed.to_data()["domain"] if performed.operation.toolset == "notes" else "")


def _record(
    actor: Actor,
    operation: Operation,
    transport: Transport,
    outcome: str,
    seconds: float,
    tokens: int | None,
    change: Change | None,
) -> None:
    """Count the call and write the usage log. If that fails, the caller still gets the reply of what was stored."""
    CALLS.labels(operation.name, transport, outcome).inc()
    CALL_SECONDS.labels(operation.name).observe(seconds)
    if tokens:
        TOKENS.labels(operation.name).inc(tokens)
    _tell_of(operation, transport, outcome, round(seconds * 1000, 1))
    if is_read_only():
        return
    try:
        record_call(
            actor,
            operation=operation.name,
            transport=transport,
            outcome=outcome,
            milliseconds=round(seconds * 1000, 3),
            tokens=tokens,
            request_id=current_request_id(),
            change=change,
        )
    except DatabaseError as error:
        # Inside a transaction the failed statement has spoilt the write as well, so it must not look successful. What
        # failed by itself says why: often that is what spoilt the transaction.
        if connection.in_atomic_block and outcome == "ok":
            raise
        log.warning("A call was not recorded.", operation=operation.name, error=error)


def _tell_of(operation: Operation, transport: Transport, outcome: str, milliseconds: float) -> None:
    """Log a call that was refused, failed or slow: one line, without arguments and reply."""
    is_slow = milliseconds >= settings.SLOW_MILLISECONDS
    # Who typed a command reads the refusal beside it.
    if not is_slow and (outcome == "ok" or (transport == "command" and outcome != "error")):
        return
    tell = log.warning if is_slow or outcome == "error" else log.info
    words = "A call was slow." if outcome == "ok" else "A call failed." if outcome == "error" else "A call was refused."
    about = {"operation": operation.name, "transport": transport, "outcome": outcome, "milliseconds": milliseconds}
    tell(words, **about, outage=outage_behind(sys.exc_info()[1]))
    tell_once()


def _perform(
    operation: Operation, actor: Actor, arguments: Mapping[str, Any], idempotency_key: str | None, transport: Transport
) -> Outcome:
    actor.require(operation.scope)
    actor.require_toolset(operation.toolsets)
    if operation.effect is not Effect.READ:
        AFTER_REPLY.settle(actor.user.pk)
        require_writable()
        require_agents_may_write(actor)
    # REST is strict: its OpenAPI document says what it accepts, and a program can follow it to the letter.
    accepted = operation.accept(arguments if transport == "rest" else operation.forgive(arguments))
    count_against_limit(actor, per_minute=limit_of(actor))
    if accepted.get("project"):
        accepted = spell_project(actor, accepted)

    def call() -> Any:
        with acts(actor):
            reply = operation.call(actor, **accepted)
        # One that was put in words to fit its budget is read by nothing else over MCP, unless a program asks.
        is_in_words = transport == "mcp" and getattr(reply, "as_sent", None)
        return reply if is_in_words else operation.shape.model_validate(reply)

    if operation.effect is Effect.READ:
        return Outcome(operation, answer_read(actor.user.pk, call))
    if idempotency_key is None:
        return Outcome(operation, call())
    if not 1 <= len(idempotency_key) <= IDEMPOTENCY_KEY_CHARS or not idempotency_key.isprintable():
        raise Invalid.of("Idempotency-Key", f"must be 1 to {IDEMPOTENCY_KEY_CHARS} printable characters")
    reply, replayed = once(
        actor,
        idempotency_key=idempotency_key,
        operation=operation.name,
        arguments=accepted,
        perform=lambda: operation.shape.model_validate(call()).model_dump(mode="json"),
        keeps_reply=operation.effect is not Effect.DESTROY,
    )
    return Outcome(operation, reply, replayed)
