"""What catches up in the background about decisions."""

from celery import shared_task

from curation.services import deliveries, digests


@shared_task
def deliver_pending() -> None:
    """Send out what waits."""
    deliveries.deliver_pending()


@shared_task
def send_digests() -> None:
    """Write to whoever it is time to write to."""
    digests.send_digests()


@shared_task
def forget_old_deliveries() -> None:
    """Delete what was sent long ago."""
    deliveries.forget_old_deliveries()
