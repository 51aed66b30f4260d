"""Upkeep: statistics, the health check, pruning and the profile page."""

import webbrowser
from datetime import timedelta
from typing import Annotated, Any
from urllib.parse import quote

from django.conf import settings
from django.db import connection, transaction
from django.db.models import Exists, OuterRef, QuerySet, TextField
from django.db.models.functions import Cast
from django.utils import timezone
from pydantic import Field

from accounts.actor import Actor
from accounts.models import User
from accounts.services.idempotency import forget_kept_replies
from bigmind.core.private_row_numbers import number_of
from knowledge.kinds import KINDS
from knowledge.models import Chunk, CompanyEntry, Fact, Hypothesis, Kind, Note, Passage, Session, Summary
from knowledge.search.passages import erase_passages
from knowledge.shapes.counts import count_all
from knowledge.shapes.upkeep import FindingShape, HealthShape, ProfilePageShape, PrunedShape, StatsShape

LOW_CONFIDENCE = 0.5
SHOWN = 10

Stats = count_all(StatsShape, (row.plural for row in KINDS.values() if row.own))
StaleDays = Annotated[int, Field(ge=1, le=3650, description="Facts untouched for this many days are stale.")]
OlderThanDays = Annotated[int, Field(ge=1, le=3650, description="Minimum age of a chunk, in days.")]
DryRun = Annotated[bool, Field(description="True: only count. False: really delete.")]


def get_stats(actor: Actor) -> StatsShape:
    """Count what is remembered: sessions, facts, chunks, hypotheses, notes, and the size of the database.

    Call this when asked how much you remember. The size is shown only in personal mode or to admins.
    """
    user = actor.user
    sessions, facts = Session.objects.of(user), Fact.objects.of(user)
    hypotheses = Hypothesis.objects.filter(user=user)
    first = sessions.order_by("started_at").first()
    return Stats(
        sessions=sessions.count(),
        open_sessions=sessions.open().count(),
        summaries=Summary.objects.filter(session__user=user).count(),
        facts=facts.current().count(),
        deprecated_facts=facts.exclude(deprecated_at=None).count(),
        chunks=Chunk.objects.filter(user=user).count(),
        hypotheses=hypotheses.count(),
        open_hypotheses=hypotheses.filter(resolved_at=None).count(),
        notes=Note.objects.of(user).current().count(),
        passages=Passage.objects.filter(owner=user).count(),
        company_entries=CompanyEntry.objects.approved().count(),
        proposals=CompanyEntry.objects.proposed_by(user).undecided().count(),
        first_session_at=first.started_at if first else None,
        **{row.plural: row.visible(user).count() for row in KINDS.values() if row.plural in Stats.added},
        database_bytes=_database_bytes() if settings.BIGMIND_MODE == "personal" or user.is_admin else None,
    )


def check_health(actor: Actor, *, stale_days: StaleDays = 30) -> HealthShape:
    """Check the memory: stale and doubtful facts, open sessions, the search index, what BigMind itself runs on.

    Call this to tidy up with the user. Curators also get company entries to verify. Returns each check with how many it
    found and the first ids. Changes nothing.
    """
    user = actor.user
    facts = Fact.objects.of(user).current()
    stale = facts.filter(updated_at__lt=timezone.now() - timedelta(days=stale_days)).order_by("updated_at", "pk")
    doubtful = facts.filter(confidence__lt=LOW_CONFIDENCE).order_by("confidence", "pk")
    in_progress = Session.objects.of(user).in_view().open().order_by("started_at")
    untold = Session.objects.of(user).in_view().exclude(ended_at=None).filter(summary=None).newest_first()
    findings = [
        _finding("stale_facts", stale, f"Facts not touched for {stale_days} days, to confirm or set aside"),
        _finding("low_confidence_facts", doubtful, f"Facts with a confidence below {LOW_CONFIDENCE}"),
        _finding("open_sessions", in_progress, "Sessions in progress", calm=True),
        _finding("sessions_without_summary", untold, "Ended sessions without a summary", calm=True),
        _index_finding(user),
        *_findings_of_parts(),
    ]
    if "curate" in actor.scopes:
        due = CompanyEntry.objects.due().order_by("review_after")
        findings.append(_finding("company_entries_due", due, "Company entries past their review date, to verify again"))
    attention = any(finding.status == "attention" for finding in findings)
    return HealthShape(status="attention" if attention else "ok", findings=findings)


@transaction.atomic
def vacuum(actor: Actor, *, older_than_days: OlderThanDays = 90, dry_run: DryRun = True) -> PrunedShape:
    """Prune flagged chunks older than a given age. Summaries, facts and notes are always kept.

    Call this first as is, which only counts; then with `dry_run` false, if the user agrees. It cannot be undone.
    """
    before = timezone.now() - timedelta(days=older_than_days)
    old = Chunk.objects.filter(user=actor.user, created_at__lt=before)
    pruned = PrunedShape(
        dry_run=dry_run, chunks=old.count(), sessions=old.values("session").distinct().count(), before=before
    )
    if not dry_run:
        erase_passages(Kind.CHUNK, old.values_list("pk", flat=True))
        forget_kept_replies(actor.user)
        old.delete()
    return pruned


def get_profile_url(actor: Actor) -> ProfilePageShape:
    """Return the address of the user's profile page, to paste into a browser.

    Call this when the user wants to see what you remember.
    """
    return ProfilePageShape(url=f"{settings.PUBLIC_URL}/u/{quote(actor.user.username)}/", opened=False)


def open_profile(actor: Actor) -> ProfilePageShape:
    """Open the user's profile page in the browser of the machine BigMind runs on; return its address.

    Call this when the user asks to see their profile. In personal mode only; elsewhere just the address is returned.
    """
    page = get_profile_url(actor)
    if settings.BIGMIND_MODE != "personal":
        return page
    try:
        return ProfilePageShape(url=page.url, opened=webbrowser.open(page.url))
    except webbrowser.Error:
        return page


def _findings_of_parts() -> list[FindingShape]:
    """The problems of this BigMind, in the words of `/readyz`; empty if there are none."""
    # Here, because what answers /readyz is set up after the services.
    from bigmind.observability.health import parts

    return [
        FindingShape(
            check=part.name, status="attention", count=1, says=f"{part.name.capitalize()}: {part.error}", ids=[]
        )
        for part in parts()
        if not part.ok
    ]


def _finding(check: str, rows: QuerySet[Any], says: str, *, calm: bool = False) -> FindingShape:
    count = rows.count()
    status = "ok" if not count or calm else "attention"
    ids = [str(pk) for pk in rows.values_list("pk", flat=True)[:SHOWN]] if count else []
    return FindingShape(check=check, status=status, count=count, says=says, ids=ids)


def _index_finding(user: User) -> FindingShape:
    """What search cannot find although it is in view."""
    in_view = {kind: row.visible(user) for kind, row in KINDS.items() if row.own and not row.may_be_empty}
    lost = [f"{kind} {number_of(pk)}" for kind, rows in in_view.items() for pk in _without_passages(kind, rows)[:SHOWN]]
    count = sum(_without_passages(kind, rows).count() for kind, rows in in_view.items()) if lost else 0
    status = "attention" if count else "ok"
    return FindingShape(
        check="search_index", status=status, count=count, says="Things that search cannot find", ids=lost[:SHOWN]
    )


def _without_passages(kind: str, rows: QuerySet[Any]) -> QuerySet[Any]:
    passages = Passage.objects.filter(kind=kind, source_id=Cast(OuterRef("pk"), TextField()))
    return rows.filter(~Exists(passages)).order_by("pk").values_list("pk", flat=True)


def _database_bytes() -> int:
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_database_size(current_database())")
        (size,) = cursor.fetchone()
    return int(size)
