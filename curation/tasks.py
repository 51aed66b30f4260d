"""Background tasks of curation."""

from celery import shared_task

from bigmind.core.background import BackgroundTask
from curation.decisions import golden_questions, overlaps
from curation.notifications import deliveries, webhook_messages
from curation.services import digests
from curation.upstream import synchronization


@shared_task
def deliver_pending() -> None:
    """Send the queued deliveries."""
    deliveries.deliver_pending()


@shared_task
def tell_audit_head() -> None:
    """Send the last line of the audit log to the webhook, if there is another than before."""
    webhook_messages.queue_audit_head()


@shared_task
def sync_with_company() -> None:
    """Synchronize with the company server, if there is one and it is due."""
    synchronization.sync_if_due()


@shared_task
def send_digests() -> None:
    """Queue the digests that are due."""
    digests.send_digests()


@shared_task
def check_golden_questions() -> None:
    """Ask the golden questions that were not asked since shared knowledge, the model or the recipe changed."""
    golden_questions.check_all(only_outdated=True)


@shared_task
def find_overlaps() -> None:
    """Compare the approved entries with each other, for the curators' queue."""
    overlaps.find_overlaps()


@shared_task(base=BackgroundTask)
def compare_proposals() -> None:
    """Compare new and revised proposals with the others, so that the queue shows what belongs together."""
    overlaps.compare_proposals()
