"""Anchors: company knowledge rests on code, and what a check of a repository found (`bigmind verify`)."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import date
from typing import Annotated, Any, Literal

from django.conf import settings
from django.db import transaction
from django.urls import reverse
from django.utils import timezone
from pydantic import AfterValidator, BaseModel, ConfigDict, Field

from accounts.actor import Actor
from bigmind.core.pages import Page, page_of
from bigmind.core.text import check_content, one_line
from bigmind.core.vocabulary import Cursor, Limit, Offset, SharedLongText
from curation.decisions.history import record
from curation.models import Action
from curation.vocabulary import CompanyEntryId
from knowledge.anchors.grammar import ANCHOR_CHARS, parse_anchor
from knowledge.anchors.judging import AnchorVerdict
from knowledge.models import CompanyEntry
from knowledge.models.company import STALE_AFTER_REVIEW
from knowledge.services.feedback import give_feedback

MOST_RESULTS = 500
REASON_CHARS = 500

AnchorText = Annotated[str, Field(max_length=ANCHOR_CHARS), AfterValidator(check_content)]
RepositoryName = Annotated[
    str, AfterValidator(check_content), Field(min_length=1, max_length=200, description="Such as acme/shop.")
]
CommitId = Annotated[str, Field(pattern=r"^[0-9a-f]{7,64}$", description="The commit that was checked.")]


class AnchorResult(BaseModel):
    """What a check found for one anchor of one entry."""

    model_config = ConfigDict(extra="forbid")

    entry_id: CompanyEntryId
    anchor: Annotated[AnchorText, Field(description="As anchors_list told it.")]
    verdict: Literal["holds", "moved", "doubtful", "false"]
    reason: Annotated[SharedLongText, Field(max_length=REASON_CHARS)] = ""
    moved_to: Annotated[AnchorText, Field(description="The anchor at its new place.")] = ""


@dataclass(frozen=True)
class AnchoredItem:
    """An entry and the code it rests on, where that code is now, as far as it was followed."""

    entry_id: int
    handle: str
    title: str
    content: str
    category: str
    importance: int
    project: str
    revision: int
    url: str
    anchors: list[str]


@dataclass
class AnchorReport:
    """What a report changed. `unknown` counts results for what is not approved, or cites that no more."""

    checked: int = 0
    unknown: int = 0
    false: list[str] = field(default_factory=list)
    doubtful: list[str] = field(default_factory=list)
    restored: list[str] = field(default_factory=list)


def list_anchors(
    actor: Actor,
    *,
    limit: Limit = 20,
    offset: Offset = 0,
    cursor: Cursor | None = None,
) -> Page[AnchoredItem]:
    """List the approved entries that cite code, each with its text and its anchors.

    Call this to check a repository: `bigmind verify` does. Returns a page; an anchor that was followed to another place
    is told as it is there.
    """
    entries = CompanyEntry.objects.approved().own().exclude(anchors=[])
    page = page_of(entries.order_by("pk"), limit=limit, offset=offset, cursor=cursor)
    return page.of([_item(entry) for entry in page.items])


@transaction.atomic
def report_anchors(
    actor: Actor,
    *,
    repository: RepositoryName,
    commit: CommitId,
    results: Annotated[list[AnchorResult], Field(min_length=1, max_length=MOST_RESULTS)],
) -> AnchorReport:
    """Report what a check of a repository found at a commit of its main branch.

    Call this from CI (`bigmind verify --submit`). What holds is marked as checked at that commit. What became false is
    labelled stale and waits for the curators with the reason; what is doubtful is due to be verified. When the code is
    again as it was, the label is, too. Returns which entries that concerns.
    """
    done, by_entry = AnchorReport(), dict[int, list[AnchorResult]]()
    for result in results:
        by_entry.setdefault(result.entry_id, []).append(result)
    known = CompanyEntry.objects.approved().own().exclude(anchors=[]).filter(pk__in=by_entry)
    # In the order of their ids, so that two reports lock them in the same order.
    for entry in known.select_for_update(of=("self",)).order_by("pk"):
        _note(actor, entry, by_entry.pop(entry.pk), done, at=f"{one_line(repository)} at {commit[:12]}", commit=commit)
    done.unknown += sum(map(len, by_entry.values()))
    return done


def _item(entry: CompanyEntry) -> AnchoredItem:
    return AnchoredItem(
        entry_id=entry.pk,
        handle=entry.handle,
        title=entry.title,
        content=entry.content,
        category=entry.category,
        importance=entry.importance,
        project=entry.project,
        revision=entry.revision,
        url=f"{settings.PUBLIC_URL}{reverse('company-entry', args=[entry.pk])}",
        anchors=[now for anchor in entry.anchors if (now := _as_of_now(entry, anchor))],
    )


def _as_of_now(entry: CompanyEntry, text: str) -> str:
    """Return an anchor where it is now, at the commit from which on changes count; nothing for what is none."""
    check = entry.anchor_checks.get(text, {})
    try:
        anchor = parse_anchor(check.get("moved_to") or text)
    except ValueError:
        return ""
    verified_at = entry.verified_at
    # Whoever verified the entry after the check has accepted the code as it was then.
    is_accepted = bool(verified_at and check.get("checked_at", "") < verified_at.isoformat())
    commit = check.get("commit" if is_accepted else "held_at", "")
    return str(anchor.at(commit) if commit else anchor)


def _note(
    actor: Actor,
    entry: CompanyEntry,
    results: Iterable[AnchorResult],
    done: AnchorReport,
    *,
    at: str,
    commit: str,
) -> None:
    """Note what was found about one entry, and what follows from it."""
    before, checks = entry.anchor_checks, dict(entry.anchor_checks)
    cited = {_place(anchor): anchor for anchor in entry.anchors}
    cited |= {_place(check["moved_to"]): anchor for anchor, check in before.items() if check.get("moved_to")}
    for result in results:
        anchor = cited.get(_place(result.anchor))
        if anchor is None:
            done.unknown += 1
            continue
        done.checked += 1
        checks[anchor] = _check(checks.get(anchor, {}), result, commit)
    entry.anchor_checks = {anchor: check for anchor, check in checks.items() if anchor in entry.anchors}
    entry.save(update_fields=["anchor_checks"])
    _follow(actor, entry, before, done, at)


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
    try:
        return str(parse_anchor(text).at(""))
    except ValueError:
        return ""


def _follow(actor: Actor, entry: CompanyEntry, before: Mapping[str, Any], done: AnchorReport, at: str) -> None:
    """Let the label of an entry follow from its checks, where they say something else than before."""
    was, now = _worst(before), _worst(entry.anchor_checks)
    if now == was and _reason(before) == _reason(entry.anchor_checks):
        return
    notes = f"{_reason(entry.anchor_checks)} ({at})".strip()
    if now == AnchorVerdict.FALSE:
        done.false.append(entry.handle)
        give_feedback(actor, kind="company", id=str(entry.pk), verdict="outdated", note=notes)
    elif now == AnchorVerdict.DOUBTFUL:
        done.doubtful.append(entry.handle)
    else:
        done.restored.append(entry.handle)
        notes = f"The code is again as it was ({at})."
    _relabel(actor, entry, now, notes)


def _relabel(actor: Actor, entry: CompanyEntry, verdict: str, notes: str) -> None:
    """Move the review date, which the label follows: false is stale, doubtful is due, and what holds is as before."""
    today = timezone.localdate()
    if verdict == AnchorVerdict.FALSE:
        review_after: date | None = today - STALE_AFTER_REVIEW
    elif verdict == AnchorVerdict.DOUBTFUL:
        review_after = min(entry.review_after or today, today)
    else:
        review_after = _date_before_checks(entry)
    record(actor, entry, Action.CHECK, notes=notes, changes={"review_after": review_after})


def _date_before_checks(entry: CompanyEntry) -> date | None:
    """Return the review date that an entry had before the checks that follow one another last."""
    found = entry.review_after
    for review in entry.reviews.order_by("-number"):
        if review.action != Action.CHECK:
            break
        before = (review.before or {}).get("review_after")
        found = date.fromisoformat(before) if before else None
    return found


def _worst(checks: Mapping[str, Any]) -> str:
    verdicts = {check.get("verdict") for check in checks.values()}
    return next(
        (each for each in (AnchorVerdict.FALSE, AnchorVerdict.DOUBTFUL) if each in verdicts), AnchorVerdict.HOLDS
    )


def _reason(checks: Mapping[str, Any]) -> str:
    """Return why an entry is what its checks make it, in the words of those that decide."""
    worst = _worst(checks)
    if worst == AnchorVerdict.HOLDS:
        return ""
    return " ".join(dict.fromkeys(str(check["reason"]) for check in checks.values() if check["verdict"] == worst))
