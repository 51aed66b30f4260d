"""Task tallies: what background tasks did, added up over all workers."""

from django.db import connection
from django.db.models import F

from accounts.models import TaskTally

# One statement, and no row is read first: two workers may end the same task at once.
_TALLY = """
INSERT INTO accounts_tasktally AS tally
    (task, runs, failures, seconds, ended_at, scheduled_at, failed_at, error, request_id)
SELECT %(task)s, 1, failed::int, %(seconds)s, now(), CASE WHEN scheduled THEN now() END,
    CASE WHEN failed THEN now() END, %(error)s, CASE WHEN failed THEN %(request_id)s ELSE '' END
FROM (SELECT %(error)s <> '' AS failed, %(scheduled)s::boolean AS scheduled) AS run
ON CONFLICT (task) DO UPDATE SET
    runs = tally.runs + 1,
    failures = tally.failures + EXCLUDED.failures,
    seconds = tally.seconds + EXCLUDED.seconds,
    ended_at = EXCLUDED.ended_at,
    scheduled_at = coalesce(EXCLUDED.scheduled_at, tally.scheduled_at),
    failed_at = coalesce(EXCLUDED.failed_at, tally.failed_at),
    error = CASE WHEN EXCLUDED.failed_at IS NULL THEN tally.error ELSE EXCLUDED.error END,
    request_id = CASE WHEN EXCLUDED.failed_at IS NULL THEN tally.request_id ELSE EXCLUDED.request_id END
"""


def tally_task(task: str, *, seconds: float, scheduled: bool, request_id: str, error: str = "") -> None:
    """Count one run of a task.

    Args:
        scheduled: Whether the scheduler started it, not a write of a user.
        error: The kind of error it ended with; none when it did its work.
    """
    values: dict[str, str | float | bool] = {
        "task": task,
        "seconds": seconds,
        "scheduled": scheduled,
        "error": error[:100],
        "request_id": request_id,
    }
    with connection.cursor() as cursor:
        cursor.execute(_TALLY, values)


def last_error(task: str) -> str:
    """Return the kind of error that the last run of a task ended with; nothing where it did its work, or never ran."""
    return TaskTally.objects.filter(task=task, failed_at=F("ended_at")).values_list("error", flat=True).first() or ""
