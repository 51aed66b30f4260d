"""Outgoing proposals: those for the company server, retried until they arrive, and the decisions about them."""

from django.conf import settings
from django.db import transaction
from django.utils import timezone
from pydantic import ValidationError

from accounts.actor import Actor
from bigmind.core.background import after_commit
from bigmind.core.errors import Conflict, NotFound
from bigmind.database.read_only import is_read_only
from curation.argument_types import CompanyEntryId
from curation.notifications.notices import tell_proposer
from curation.shapes.upstream import UpstreamProposal
from curation.upstream.company_client import CompanyWire, TurnedDown
from knowledge.models import UNDECIDED, CompanyEntry, CompanyServer, Dispatch

_STATUS_FIELDS = ("status", "decided_by", "decided_at", "decision_notes")


def company_server() -> CompanyServer | None:
    """Return the configured company server; None if there is none."""
    if not settings.COMPANY_URL:
        return None
    if is_read_only():
        return CompanyServer.objects.filter(url=settings.COMPANY_URL).first()
    return CompanyServer.objects.get_or_create(url=settings.COMPANY_URL)[0]


@transaction.atomic
def send_to_company(actor: Actor, *, entry_id: CompanyEntryId) -> Dispatch:
    """Queue a proposal of the actor for the company server, where a curator decides.

    Raises:
        Conflict: there is no company server, it is on its way already, or it is not approved here.
        NotFound: the actor has no such proposal.
    """
    entry = CompanyEntry.objects.proposed_by(actor.user).filter(pk=entry_id).first()
    if entry is None:
        raise NotFound(f"You have proposed no C{entry_id}.", hint="memory_list_my_proposals shows them.")
    if not entry.is_approved:
        raise Conflict(f"{entry.handle} is {entry.get_status_display().lower()} here.", hint="Approve it first.")
    known = Dispatch.objects.filter(entry=entry).first()
    if known and not known.refused_at:
        raise Conflict(f"{entry.handle} {known.in_words}.")
    if known:
        known.delete()
    dispatch = queue_dispatch(entry)
    if dispatch is None:
        raise Conflict("This BigMind has no company server.", hint="Set BIGMIND_COMPANY_URL and BIGMIND_COMPANY_KEY.")
    return dispatch


def queue_dispatch(entry: CompanyEntry) -> Dispatch | None:
    """Queue a proposal for the company server, once; return None if there is no server.

    Call this in the transaction that stores the proposal, so that neither exists without the other.
    """
    server = company_server()
    if server is None or entry.is_copy:
        return None
    dispatch, _ = Dispatch.objects.get_or_create(entry=entry, defaults={"server": server})
    # A new proposal must not shorten the pause of a server that is unreachable.
    if not server.attempts:
        CompanyServer.objects.filter(pk=server.pk, attempts=0).update(not_before=timezone.now())
    after_commit("curation.tasks.sync_with_company")
    return dispatch


def send_waiting(server: CompanyServer, wire: CompanyWire) -> int:
    """Send the queued proposals, and return how many arrived.

    May be killed at any point: with its idempotency key, a proposal that is sent twice is stored once.

    Raises:
        Away: the server stopped answering; the rest stays in the queue.
    """
    waiting = server.dispatches.to_send().select_related("entry", "server").order_by("created_at", "pk")
    return sum(_send(dispatch, wire) for dispatch in waiting)


def hear_decisions(server: CompanyServer, wire: CompanyWire) -> int:
    """Fetch the decisions about proposals that arrived; return how many proposals have news.

    Raises:
        Away: the server stopped answering.
    """
    mine = {one.upstream_id: one for one in server.dispatches.filter(upstream_id__isnull=False).select_related("entry")}
    awaited = {one.upstream_id for one in mine.values() if one.status in UNDECIDED}
    news = 0
    if not awaited:
        return news
    for item in wire.my_proposals():
        try:
            proposal = UpstreamProposal.model_validate(item)
        except ValidationError:
            continue
        if proposal.id in mine:
            news += _update(mine[proposal.id], proposal)
        awaited.discard(proposal.id)
        if not awaited:
            break
    return news


def _send(dispatch: Dispatch, wire: CompanyWire) -> bool:
    if dispatch.body is None:
        dispatch.body = _body_of(dispatch.entry)
    dispatch.attempts += 1
    # Saved before sending: if the reply is lost, the next try sends the same body with the same key.
    dispatch.save(update_fields=["body", "attempts"])
    try:
        proposal = wire.propose(dispatch.body, key=dispatch.key).entry
    except TurnedDown as refusal:
        return _note_refusal(dispatch, refusal)
    dispatch.sent_at, dispatch.upstream_id, dispatch.error = timezone.now(), proposal.id, ""
    dispatch.status = proposal.status
    dispatch.save(update_fields=["sent_at", "upstream_id", "error", "status"])
    _update(dispatch, proposal)
    return True


def _note_refusal(dispatch: Dispatch, refusal: TurnedDown) -> bool:
    """Record a refusal. A key without permission can be fixed, so those are retried; a refused text is final."""
    dispatch.error = str(refusal)[:1_000]
    if refusal.status in {401, 403, 404}:
        dispatch.save(update_fields=["error"])
        raise refusal
    dispatch.refused_at, dispatch.upstream_id = timezone.now(), refusal.entry_id
    dispatch.save(update_fields=["error", "refused_at", "upstream_id"])
    _notify(dispatch)
    return False


def _body_of(entry: CompanyEntry) -> dict[str, object]:
    """Return what is sent to the company: the proposal, and nothing of the session or memory that it comes from."""
    return {
        "category": entry.category,
        "title": entry.title,
        "content": entry.content,
        "importance": entry.importance,
        "project": entry.project,
        "topics": entry.topics,
        "evidence": entry.evidence,
        "origin": entry.origin,
        # An older server refuses what it does not know.
        **({"anchors": entry.anchors} if entry.anchors else {}),
    }


def _update(dispatch: Dispatch, proposal: UpstreamProposal) -> bool:
    """Store the status of a proposal at the company; return whether it was decided since."""
    known, new = ({name: getattr(one, name) for name in _STATUS_FIELDS} for one in (dispatch, proposal))
    # Two rounds may read the same decision at once, and one of them tells of it.
    if known == new or not Dispatch.objects.filter(pk=dispatch.pk, **known).update(**new, told_at=None):
        return False
    for name, value in new.items():
        setattr(dispatch, name, value)
    is_decided = proposal.decided_at is not None
    if is_decided:
        _notify(dispatch)
    return is_decided


def _notify(dispatch: Dispatch) -> None:
    tell_proposer(dispatch.entry, f"{dispatch.in_words.rstrip('.')}.")
