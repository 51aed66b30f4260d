"""What catches up in the background about what is known."""

from celery import shared_task

from knowledge.models import Session
from knowledge.services import embedding, notes, sessions


@shared_task
def embed_pending() -> None:
    """Make the vectors that wait."""
    embedding.embed_pending()


@shared_task
def close_stale_sessions() -> None:
    """Close every session open for over 24 hours."""
    sessions.close_sessions(Session.objects.stale())


@shared_task
def forget_expired_notes() -> None:
    """Delete the notes past their expiry."""
    notes.forget_expired_notes()
