"""Sessions of browsers, whose row every page reads: by a statement that is made once in a process."""

from datetime import datetime

from django.contrib.sessions.backends import db
from django.contrib.sessions.models import Session
from django.db.models import QuerySet
from django.utils import timezone

from bigmind.database.fixed_queries import FixedQuery


class SessionStore(db.SessionStore):
    """Keeps sessions as Django does, in the same table."""

    def _get_session_from_db(self) -> Session | None:
        found = next(iter(_SESSION(str(self.session_key), timezone.now())), None)
        if found is None:
            self._session_key = None
        return found


def _session_of(key: str, now: datetime) -> QuerySet[Session]:
    return Session.objects.filter(session_key=key, expire_date__gt=now)


_SESSION = FixedQuery(_session_of)
