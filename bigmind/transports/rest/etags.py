"""Conditional requests: a copy that is still good costs nothing, and a stale one overwrites nothing."""

import hashlib
from collections.abc import Callable, Mapping
from typing import Any

from django.db import transaction
from django.utils.http import parse_etags
from rest_framework.request import Request

from accounts.actor import Actor
from accounts.models import KeptReply, User
from bigmind.core.errors import BigMindError, NotFound
from bigmind.core.operations import Operation, carry_out
from bigmind.database.advisory_locks import AdvisoryLock, wait_for_turn
from bigmind.database.rls import rls_scope
from bigmind.gate import Outcome
from bigmind.transports.rest.authentication import actor_of
from bigmind.transports.rest.problems import StaleCopy

_NOTHING = ""


def body_of(value: Any) -> bytes:
    """Return a reply as it is sent."""
    body: bytes = value.model_dump_json().encode()
    return body


def etag_of(body: bytes) -> str:
    """Return the tag of a representation: the same bytes, the same tag."""
    return f'"{hashlib.sha256(body).hexdigest()[:32]}"'


def is_known(request: Request, etag: str) -> bool:
    """Whether the caller has this representation already, as `If-None-Match` says."""
    tags = parse_etags(request.headers.get("If-None-Match", ""))
    return tags == ["*"] or etag in {tag.removeprefix("W/") for tag in tags}


def is_conditional(request: Request) -> bool:
    """Whether a write depends on what is stored now."""
    return "If-Match" in request.headers or "If-None-Match" in request.headers


def write_if_it_holds(
    request: Request, arguments: Mapping[str, Any], write: Callable[[], Outcome], reading: Operation | None
) -> Outcome:
    """Perform a write on condition that `If-Match` and `If-None-Match` hold.

    Conditional writes of one user run one after the other, so that none slips in between the check and the write.

    Args:
        reading: The operation that answers GET on the same path: what it replies now is compared.

    Raises:
        StaleCopy: the condition does not hold.
        BigMindError: as the write does.
    """
    actor = actor_of(request)
    with rls_scope(actor.user.pk), transaction.atomic():
        wait_for_turn(AdvisoryLock.REST_ETAGS, actor.user.pk)
        if not _was_done(request, actor.user):
            _require(request, _etag_now(reading, actor, arguments))
        try:
            return write()
        except BigMindError as error:
            refusal = error
    # Raised out here, so that the usage log keeps its line about the refusal.
    raise refusal


def _was_done(request: Request, user: User) -> bool:
    """Whether this is a second try of a write that succeeded: its own change has made its condition stale."""
    key = request.headers.get("Idempotency-Key")
    return key is not None and KeptReply.objects.filter(user=user, idempotency_key=key).exists()


def _etag_now(reading: Operation | None, actor: Actor, arguments: Mapping[str, Any]) -> str:
    if reading is None:
        return _NOTHING
    shared = {name: value for name, value in arguments.items() if name in reading.arguments.model_fields}
    try:
        return etag_of(body_of(reading.shape.model_validate(carry_out(reading.call, actor, shared))))
    except NotFound:
        return _NOTHING


def _require(request: Request, etag: str) -> None:
    if "If-Match" in request.headers:
        expected = parse_etags(request.headers["If-Match"])
        # Weak tags never match here (RFC 9110, section 13.1.1).
        if not etag or (expected != ["*"] and etag not in expected):
            raise StaleCopy("What you would change is not what you have read: If-Match does not hold.")
    if etag and is_known(request, etag):
        raise StaleCopy("It exists already: If-None-Match does not hold.")
