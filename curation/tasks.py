"""What catches up in the background about decisions."""

from celery import shared_task

from curation.notifications import deliveries, digests
from curation.upstream import server as company_server


@shared_task
def deliver_pending() -> None:
    """Send out what waits."""
    deliveries.deliver_pending()


@shared_task
def sync_with_company() -> None:
    """Do a round with the company server, where there is one and it is time to."""
    company_server.sync_if_due()


@shared_task
def send_digests() -> None:
    """Write to whoever it is time to write to."""
    digests.send_digests()


@shared_task
def forget_old_deliveries() -> None:
    """Delete what was sent long ago."""
    deliveries.forget_old_deliveries()
