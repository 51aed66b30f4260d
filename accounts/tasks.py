"""What catches up in the background about people."""

from celery import shared_task

from accounts.services import calls, sign_in_tries


@shared_task
def forget_old_calls() -> None:
    """Delete usage, kept replies and sign-in tries past their age."""
    calls.forget_old_calls()
    sign_in_tries.forget_old_tries()
