"""Background tasks about people."""

from celery import shared_task

from accounts.oauth import app_tokens, connected_apps
from accounts.services import calls, key_warnings
from accounts.sign_in import sign_ins
from accounts.sign_in.attempts import forget_old_tries


@shared_task
def forget_old_calls() -> None:
    """Delete usage, kept replies, sign-in tries and sessions past their age."""
    calls.forget_old_calls()
    forget_old_tries()
    sign_ins.forget_ended_sessions()


@shared_task
def warn_of_ending_keys() -> None:
    """Alert people whose keys end within two weeks, and within three days."""
    key_warnings.warn_of_ending_keys()


@shared_task
def forget_unused_apps() -> None:
    """Delete apps that nobody let in, and tokens that have expired."""
    app_tokens.forget_expired_tokens()
    connected_apps.forget_unused_apps()
