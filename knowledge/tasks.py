"""What catches up in the background about what is known."""

from celery import shared_task

from bigmind.core.background import OneAtATime
from knowledge.app_maps import runs as app_runs
from knowledge.capture.conversations import forget_tool_uses
from knowledge.capture.forgetting import forget_old_captures
from knowledge.models import Session
from knowledge.search import indexes
from knowledge.services import (
    as_told,
    embedding,
    facts,
    gaps,
    instances,
    notes,
    people,
    sessions,
)
from knowledge.services import (
    exposures as servings,
)
from knowledge.services import (
    passage_rewriting as rewriting,
)

_embedding = OneAtATime()


@shared_task
def embed_pending() -> None:
    """Make the vectors that wait, in one thread of this worker: deliveries and app runs have the others."""
    _embedding.run(embedding.embed_pending)


@shared_task
def rewrite_passages() -> None:
    """Rewrite the passages whose heads are outdated, or whose language is not read yet."""
    rewriting.rewrite_passages()
    rewriting.read_languages()


@shared_task
def index_replaced_facts() -> None:
    """Index what an older version took out of the index when it was replaced."""
    facts.index_replaced_facts()


@shared_task
def close_stale_sessions() -> None:
    """Close every session open for over 24 hours."""
    sessions.close_sessions(Session.objects.stale())


@shared_task
def forget_expired_notes() -> None:
    """Delete the notes past their expiry."""
    notes.forget_expired_notes()


@shared_task
def index_people() -> None:
    """Bring what people are found by in line with what they share."""
    people.index_people()


@shared_task
def keep_indexes() -> None:
    """Make the indexes over vectors that large scopes lack, drop those nobody needs."""
    indexes.keep_indexes()


@shared_task
def tally_servings() -> None:
    """Recompute what came of each company entry that sessions were told."""
    servings.tally_servings()


@shared_task
def forget_old_texts() -> None:
    """Forget what was told longer ago than it is kept word for word."""
    as_told.forget_old_texts()


@shared_task
def forget_old_questions() -> None:
    """Forget the questions that found nothing and that nobody has asked for half a year."""
    gaps.forget_old_questions()


@shared_task
def forget_silent_instances() -> None:
    """Forget the instances that nobody has heard of for half a year."""
    instances.forget_silent_instances()


@shared_task
def forget_captures() -> None:
    """Forget what hooks captured longer ago than its user wants, and the uses of tools that were announced."""
    forget_old_captures()
    forget_tool_uses()


@shared_task
def carry_on_app_runs() -> None:
    """Read what the runs of app maps have left."""
    app_runs.carry_on_runs()
