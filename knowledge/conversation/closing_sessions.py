"""Stale sessions: those that nobody ended are closed.

After how long is `knowledge/models/sessions.py:STALE_AFTER`, and which ones are `Session.objects.stale()`. A start
closes the user's own, `knowledge/tasks.py:close_stale_sessions` everybody's.
"""

from django.db.models import Case, F, QuerySet, Value, When
from django.utils import timezone

from knowledge.models import AUTO_CLOSED, Session


def close_sessions(stale: QuerySet[Session], *, headline: str = AUTO_CLOSED) -> int:
    """Close these sessions automatically; return how many. A headline that someone wrote stays."""
    one_liner = Case(When(one_liner="", then=Value(headline)), default=F("one_liner"))
    return stale.update(ended_at=timezone.now(), one_liner=one_liner, auto_closed=True)
