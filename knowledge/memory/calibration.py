"""Calibration: how often an agent's beliefs of some confidence turned out to be true.

Confidences are rounded to tenths, each with the share that was confirmed: of the beliefs at 0.9, nine in ten are true
if their agent is well calibrated (a reliability diagram, as weather forecasts are judged by: Murphy and Winkler, 1977).
What was abandoned proves nothing and is left out.
"""

from typing import Any

from django.db.models import Count, F, FloatField, OuterRef, Q, QuerySet, Subquery, TextField, Value
from django.db.models.functions import Cast, Coalesce, Round

from accounts.models import User
from knowledge.models import Hypothesis, Kind, TrackRecord, Verdict, Writing

FEWEST = 3
"""The fewest decided beliefs that say something about the next one."""
DECIDED = (Verdict.CONFIRMED, Verdict.REFUTED)


def track_records(user: User) -> list[TrackRecord]:
    """Return how a user's beliefs turned out, by the client that recorded them and by confidence in tenths.

    The agent is the name of the client, or empty for beliefs that the user wrote on a page.
    """
    decided = _with_agents(Hypothesis.objects.of(user).filter(status__in=DECIDED))
    rows = decided.values("agent", "tenth").annotate(
        decided=Count("pk"), confirmed=Count("pk", filter=Q(status=Verdict.CONFIRMED))
    )
    return [
        TrackRecord(row["agent"], row["tenth"], row["confirmed"], row["decided"])
        for row in rows.order_by("agent", "-tenth")
    ]


def track_record(belief: Hypothesis) -> TrackRecord | None:
    """Return how beliefs of the same agent and confidence turned out; None while fewer than three are decided."""
    agent, tenth = _with_agents(Hypothesis.objects.filter(pk=belief.pk)).values_list("agent", "tenth").get()
    alike = (row for row in track_records(belief.user) if (row.agent, row.confidence) == (agent, tenth))
    return next((row for row in alike if row.decided >= FEWEST), None)


def _with_agents(beliefs: QuerySet[Hypothesis]) -> QuerySet[Any]:
    made = Writing.objects.filter(kind=Kind.HYPOTHESIS, made=True, source_id=Cast(OuterRef("pk"), TextField()))
    writer = Subquery(made.order_by("pk").values("agent__client_name")[:1])
    tenth = Round(F("confidence") * 10, output_field=FloatField()) / 10
    return beliefs.annotate(agent=Coalesce(writer, Value("")), tenth=tenth)
