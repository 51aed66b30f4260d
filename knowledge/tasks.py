"""What catches up in the background about what is known."""

from celery import shared_task

from knowledge.app_maps import runs as app_runs
from knowledge.capture.forgetting import forget_old_captures
from knowledge.conversation import closing_sessions
from knowledge.exposures import exposures as servings
from knowledge.exposures import gaps, sent_lines
from knowledge.indexing import embedding, index_gaps, injection_signs
from knowledge.indexing import passage_rewriting as rewriting
from knowledge.memory import notes
from knowledge.models import Session
from knowledge.people import people_index
from knowledge.recall import asking_again
from knowledge.search import indexes
from knowledge.truth import fact_index


@shared_task
def embed_pending() -> None:
    """Make the vectors that wait, then ask again what waits for an answer."""
    newest = gaps.newest_passage()
    embedding.embed_pending()
    asking_again.ask_again(newest)


@shared_task
def rewrite_passages() -> None:
    """Rewrite the passages whose heads are outdated, or whose language is not read yet."""
    rewriting.rewrite_passages()
    rewriting.read_languages()


@shared_task
def index_replaced_facts() -> None:
    """Index what an older version took out of the index when it was replaced."""
    fact_index.index_replaced_facts()


@shared_task
def check_index() -> None:
    """Look for what search cannot find although it is stored, and mend it."""
    index_gaps.check_index()


@shared_task
def find_missing_signs() -> None:
    """Look for signs of prompt injections in what an older version wrote."""
    injection_signs.find_missing_signs()


@shared_task
def close_stale_sessions() -> None:
    """Close every session open for over 24 hours."""
    closing_sessions.close_sessions(Session.objects.stale())


@shared_task
def forget_expired_notes() -> None:
    """Delete the notes past their expiry."""
    notes.forget_expired_notes()


@shared_task
def index_people() -> None:
    """Bring what people are found by in line with what they share."""
    people_index.index_people()


@shared_task
def keep_indexes() -> None:
    """Make the indexes over vectors that large scopes lack and drop those nobody needs."""
    indexes.keep_indexes()


@shared_task
def tally_servings() -> None:
    """Recompute what came of each company entry that sessions received."""
    servings.tally_servings()


@shared_task
def forget_old_texts() -> None:
    """Forget what was sent longer ago than it is kept word for word."""
    sent_lines.forget_old_texts()


@shared_task
def forget_old_questions() -> None:
    """Forget the questions that found nothing when they are old."""
    gaps.forget_old_questions()


@shared_task
def forget_captures() -> None:
    """Forget what hooks captured longer ago than its user wants."""
    forget_old_captures()


@shared_task(threads=3)  # One run waits for one server outside, and the next asks another.
def carry_on_app_runs() -> None:
    """Read what the runs of app maps have left."""
    app_runs.carry_on_runs()
