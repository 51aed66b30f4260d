"""Anchors: knowledge that rests on code, and what a check of a repository found (`bigmind verify`)."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import date
from typing import Annotated, Any, Literal

from django.conf import settings
from django.db import transaction
from django.db.models import QuerySet
from django.urls import reverse
from django.utils import timezone
from pydantic import AfterValidator, BaseModel, ConfigDict, Field

from accounts.actor import Actor
from bigmind.core.argument_types import Cursor, Limit, Offset, SharedLongText
from bigmind.core.choices import OneOf
from bigmind.core.handles import handle_of
from bigmind.core.private_row_numbers import number_in
from bigmind.database.pagination import Page, page_of
from bigmind.privacy.screening.policy import NoSecrets
from bigmind.text.hygiene import check_content, one_line
from curation.decisions.history import record
from curation.models import Action
from knowledge.anchors.grammar import TOLD_CHARS, parse_anchor, read_anchor
from knowledge.anchors.judging import AnchorVerdict
from knowledge.exposures.feedback import give_feedback
from knowledge.kinds import KINDS
from knowledge.models import CompanyEntry, Kind
from knowledge.models.company import STALE_AFTER_REVIEW
from knowledge.shapes.anchors import AnchoredItemShape, AnchorReportShape

MOST_RESULTS = 500
REASON_CHARS = 500


def _require_anchor(text: str) -> str:
    parse_anchor(text)
    return text


AnchorText = Annotated[str, Field(max_length=TOLD_CHARS), AfterValidator(check_content), NoSecrets]
RepositoryName = Annotated[
    str, AfterValidator(check_content), Field(min_length=1, max_length=200, description="Such as acme/shop.")
]
CommitId = Annotated[str, Field(pattern=r"^[0-9a-f]{7,64}$", description="The commit that was checked.")]
AnchoredKind = Annotated[
    str,
    OneOf(sorted(kind for kind, row in KINDS.items() if row.anchored)),
    Field(description="company; entry: of the knowledge base; fact: the user's own."),
]


class AnchorResult(BaseModel):
    """What a check found for one anchor."""

    model_config = ConfigDict(extra="forbid")

    kind: AnchoredKind = "company"
    id: Annotated[str, AfterValidator(check_content), Field(max_length=36, description="From anchors_list.")]
    anchor: Annotated[AnchorText, Field(description="From anchors_list.")]
    verdict: Literal["holds", "moved", "doubtful", "false"]
    reason: Annotated[SharedLongText, Field(max_length=REASON_CHARS)] = ""
    moved_to: Annotated[
        AnchorText, AfterValidator(_require_anchor), Field(description="The anchor at its new place.")
    ] = ""


def list_anchors(
    actor: Actor,
    *,
    kind: AnchoredKind = "company",
    limit: Limit = 20,
    offset: Offset = 0,
    cursor: Cursor | None = None,
) -> Page[AnchoredItemShape]:
    """List what cites code: approved company knowledge, shared entries or the user's own facts, each with its anchors.

    Call this to check a repository: `bigmind verify` does. Returns a page; an anchor whose code moved is shown at its
    new place. A key with the scope `curate` gets no facts.
    """
    page = page_of(_things_with_anchors(actor, kind).order_by("pk"), limit=limit, offset=offset, cursor=cursor)
    return page.of([_item(kind, thing) for thing in page.items])


@transaction.atomic
def report_anchors(
    actor: Actor,
    *,
    repository: RepositoryName,
    commit: CommitId,
    results: Annotated[list[AnchorResult], Field(min_length=1, max_length=MOST_RESULTS)],
) -> AnchorReportShape:
    """Report what a check of a repository found at a commit of its main branch.

    Call this from CI (`bigmind verify --submit`). What holds is marked as checked at that commit. What became false is
    labelled stale and, if it is company knowledge, queued for curators with the reason; what is doubtful is due for
    verification. When the code changes back, so does the label. Returns the affected entries.
    """
    done, at = AnchorReportShape(), f"{one_line(repository)} at {commit[:12]}"
    for kind in sorted({result.kind for result in results}):
        of_kind = [result for result in results if result.kind == kind]
        _note_all(actor, kind, of_kind, done, at=at, commit=commit)
    return done


def _things_with_anchors(actor: Actor, kind: str) -> QuerySet[Any, Any]:
    """Return items of a kind that cite code, as far as the actor may check them.

    A key that may curate belongs to a program that shares what it finds, such as CI: it gets nothing private.
    """
    row = KINDS[kind]
    assert row.anchored, "`AnchoredKind` has no other"
    things = row.anchored(actor.user).exclude(anchors=[])
    return things.none() if row.own and actor.key and "curate" in actor.scopes else things


def _note_all(
    actor: Actor, kind: str, results: Sequence[AnchorResult], done: AnchorReportShape, *, at: str, commit: str
) -> None:
    by_key: dict[object, list[AnchorResult]] = {}
    for result in results:
        for key in KINDS[kind].keys_of(actor.user, result.id):
            by_key.setdefault(key, []).append(result)
    # In the order of their ids, so that two reports lock them in the same order.
    things = _things_with_anchors(actor, kind).filter(pk__in=by_key).select_for_update(of=("self",)).order_by("pk")
    found = set[str]()
    for thing in things:
        found |= {result.id for result in by_key[thing.pk]}
        _note(actor, kind, thing, by_key[thing.pk], done, at=at, commit=commit)
    done.unknown += sum(result.id not in found for result in results)


def _item(kind: str, thing: Any) -> AnchoredItemShape:
    shared = isinstance(thing, CompanyEntry)
    row = KINDS[kind]
    return AnchoredItemShape(
        kind=kind,
        id=number_in(str(thing.pk)),
        handle=handle_of(kind, str(thing.pk)),
        title=thing.title if shared else "",
        content=thing.fact if kind == Kind.FACT else thing.content,
        category=getattr(thing, "category", ""),
        importance=getattr(thing, "importance", 5),
        project=thing.project,
        revision=getattr(thing, "revision", 1),
        url=f"{settings.PUBLIC_URL}{reverse(row.route, args=[thing.pk])}",
        anchors=[now for anchor in thing.anchors if (now := _as_of_now(thing, anchor))],
    )


def _as_of_now(thing: Any, text: str) -> str:
    """Return an anchor at its present place, with the commit from which changes count; empty for what is no anchor."""
    check = thing.anchor_checks.get(text, {})
    anchor = read_anchor(check.get("moved_to") or text)
    if anchor is None:
        return ""
    verified_at = getattr(thing, "verified_at", None)
    # Verifying the entry after the check accepted the code as it was then.
    is_accepted = bool(verified_at and check.get("checked_at", "") < verified_at.isoformat())
    commit = check.get("commit" if is_accepted else "held_at", "")
    return str(anchor.at(commit) if commit else anchor)


def _note(
    actor: Actor,
    kind: str,
    thing: Any,
    results: Iterable[AnchorResult],
    done: AnchorReportShape,
    *,
    at: str,
    commit: str,
) -> None:
    """Record what was found about one item, and its effects."""
    before, checks = thing.anchor_checks, dict(thing.anchor_checks)
    cited = {_place(anchor): anchor for anchor in thing.anchors}
    cited |= {_place(check["moved_to"]): anchor for anchor, check in before.items() if check.get("moved_to")}
    for result in results:
        place = _place(result.anchor)
        anchor = cited.get(place) if place else None
        if anchor is None:
            done.unknown += 1
            continue
        done.checked += 1
        checks[anchor] = _check(checks.get(anchor, {}), result, commit)
    thing.anchor_checks = {anchor: check for anchor, check in checks.items() if anchor in thing.anchors}
    thing.save(update_fields=["anchor_checks"])
    _follow(actor, kind, thing, before, done, at)


def _check(known: Mapping[str, Any], result: AnchorResult, commit: str) -> dict[str, str]:
    holds = result.verdict in {AnchorVerdict.HOLDS, AnchorVerdict.MOVED}
    return {
        "verdict": result.verdict,
        "reason": result.reason,
        "commit": commit,
        "held_at": commit if holds else known.get("held_at", ""),
        "moved_to": result.moved_to or known.get("moved_to", ""),
        "checked_at": timezone.now().isoformat(),
    }


def _place(text: str) -> str:
    """Return an anchor without its commit: the same place, whenever it was cited."""
    anchor = read_anchor(text)
    return str(anchor.at("")) if anchor else ""


def _follow(actor: Actor, kind: str, thing: Any, before: Mapping[str, Any], done: AnchorReportShape, at: str) -> None:
    """Update the label if the checks changed; curators are notified of company knowledge."""
    was, now = _worst(before), _worst(thing.anchor_checks)
    if now == was and _reason(before) == _reason(thing.anchor_checks):
        return
    handles = {AnchorVerdict.FALSE: done.false, AnchorVerdict.DOUBTFUL: done.doubtful}.get(now, done.restored)
    handles.append(handle_of(kind, str(thing.pk)))
    if not isinstance(thing, CompanyEntry):
        return  # Its label is what the checks say.
    notes = f"{_reason(thing.anchor_checks)} ({at})".strip()
    if now == AnchorVerdict.FALSE:
        give_feedback(actor, kind="company", id=str(thing.pk), verdict="outdated", note=notes)
    elif now != AnchorVerdict.DOUBTFUL:
        notes = f"The code is again as it was ({at})."
    _relabel(actor, thing, now, notes)


def _relabel(actor: Actor, entry: CompanyEntry, verdict: str, notes: str) -> None:
    """Set the review date, which determines the label: false is stale, doubtful is due, and what holds is as before."""
    today = timezone.localdate()
    if verdict == AnchorVerdict.FALSE:
        review_after: date | None = today - STALE_AFTER_REVIEW
    elif verdict == AnchorVerdict.DOUBTFUL:
        review_after = min(entry.review_after or today, today)
    else:
        review_after = _date_before_checks(entry)
    record(actor, entry, Action.CHECK, notes=notes, changes={"review_after": review_after})


def _date_before_checks(entry: CompanyEntry) -> date | None:
    """Return the review date that an entry had before its last run of checks."""
    found = entry.review_after
    for review in entry.reviews.order_by("-number"):
        if review.action != Action.CHECK:
            break
        before = (review.before or {}).get("review_after")
        found = date.fromisoformat(before) if before else None
    return found


def _worst(checks: Mapping[str, Any]) -> AnchorVerdict:
    verdicts = {check.get("verdict") for check in checks.values()}
    return next(
        (each for each in (AnchorVerdict.FALSE, AnchorVerdict.DOUBTFUL) if each in verdicts), AnchorVerdict.HOLDS
    )


def _reason(checks: Mapping[str, Any]) -> str:
    """Return the reason for the label, in the words of the checks that decide it."""
    worst = _worst(checks)
    if worst == AnchorVerdict.HOLDS:
        return ""
    return " ".join(dict.fromkeys(str(check["reason"]) for check in checks.values() if check.get("verdict") == worst))
