"""Writing passages: in the transaction that writes what they are a piece of."""

from collections.abc import Iterable

from accounts.models import User
from bigmind.core.text import digest
from knowledge.models import Kind, Passage


def index_passages(kind: Kind, source_id: object, texts: Iterable[str], *, owner: User, project: str = "") -> None:
    """Make `texts` the passages of one thing, in place of those it had. Blank texts are left out.

    Call this in the transaction that writes the thing: what is stored can be found by keyword at once.
    """
    forget_passages(kind, [source_id])
    Passage.objects.bulk_create(
        Passage(
            kind=kind,
            source_id=str(source_id),
            owner=owner,
            project=project,
            ordinal=ordinal,
            text=text,
            digest=digest(text),
        )
        for ordinal, text in enumerate(text for text in texts if text.strip())
    )


def forget_passages(kind: Kind, source_ids: Iterable[object]) -> None:
    """Delete the passages of things that are no longer to be found."""
    Passage.objects.filter(kind=kind, source_id__in=[str(source_id) for source_id in source_ids]).delete()
