"""What catches up in the background about what is known."""

from celery import shared_task

from knowledge.models import Session
from knowledge.services import notes, sessions


@shared_task
def close_stale_sessions() -> None:
    """Close every session open for over 24 hours."""
    sessions.close_sessions(Session.objects.stale())


@shared_task
def forget_expired_notes() -> None:
    """Delete the notes past their expiry."""
    notes.forget_expired_notes()
