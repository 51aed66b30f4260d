"""Imports over the API of a product: its content is fetched, and then imported like an export."""

from collections.abc import Callable
from time import sleep

from django.core.cache import cache

from accounts.actor import Actor
from knowledge.models import Entry, Reference
from knowledge.transfer.github import NothingNew, fetch_repository
from knowledge.transfer.import_receipts import MovedIn

from .foreign_imports import import_bundle
from .page_imports import USUAL, PageChoice

KEPT_SECONDS = 60 * 60 * 24 * 30
FORMAT = "github"


def import_repository(
    actor: Actor,
    name: str,
    *,
    choice: PageChoice = USUAL,
    dry_run: bool = False,
    pause: Callable[[float], object] = sleep,
) -> MovedIn:
    """Import issues that were solved, README and docs of a repository on GitHub, named as `acme/widgets`.

    Where GitHub says that nothing changed since the last import, nothing is asked or changed.

    Raises:
        BigMindError: GitHub does not answer, or the repository is not there for the token of this instance.
    """
    kept = f"imported-etags:{actor.user.pk}:{name.casefold()}:{choice.into}:{choice.collection}"
    try:
        etags = cache.get(kept) if _is_here(name) else None
        fetched = fetch_repository(name, etags=etags, pause=pause)
    except NothingNew:
        return MovedIn(FORMAT, dry_run, notices=["Nothing has changed there since the last import."])
    report = import_bundle(actor, fetched, name=FORMAT, choice=choice, dry_run=dry_run)
    report.notices += fetched.notices
    # After a refusal the next import has to read everything again, whatever GitHub says has changed.
    if not dry_run and not report.refused:
        cache.set(kept, fetched.etags, KEPT_SECONDS)
    return report


def _is_here(name: str) -> bool:
    """Whether the items of an earlier import are still here: one that was undone starts again."""
    source = f"{FORMAT}:{name}"
    entries = Entry.objects.filter(provenance__source__iexact=source)
    return entries.exists() or Reference.objects.current().filter(origin__iexact=source).exists()
