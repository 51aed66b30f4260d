"""Background tasks about people."""

from celery import shared_task

from accounts.oauth import app_tokens, connected_apps
from accounts.services import key_warnings


@shared_task
def warn_of_ending_keys() -> None:
    """Alert people whose keys end within two weeks, and within three days."""
    key_warnings.warn_of_ending_keys()


@shared_task
def forget_unused_apps() -> None:
    """Delete apps that nobody let in, and tokens that have expired."""
    app_tokens.forget_expired_tokens()
    connected_apps.forget_unused_apps()
