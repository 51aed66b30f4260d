"""What catches up in the background about people."""

from celery import shared_task

from accounts.services import calls


@shared_task
def forget_old_calls() -> None:
    """Delete usage and kept replies past their age."""
    calls.forget_old_calls()
