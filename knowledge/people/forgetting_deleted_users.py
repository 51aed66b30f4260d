"""Deleting a user: removes what knowledge keeps of them outside of rows that are deleted with them."""

from accounts.models import User
from accounts.services.erasure_reports import Erased
from bigmind.database.rls import rls_scope
from knowledge.exposures.gaps import forget_questions, questions_asked
from knowledge.exposures.sent_lines import forget_texts_that_name
from knowledge.models import Gap, Kind, Passage
from knowledge.search.passages import erase_passages, forget_vectors


def forget_texts_of(user: User, erased: Erased) -> None:
    """Forget the passages of someone's memory, the vectors of texts that no one else has, and what they asked."""
    # An admin deletes them, who does not see their rows.
    with rls_scope(user.pk):
        for kind in Passage.objects.filter(owner=user).order_by().values_list("kind", flat=True).distinct():
            passages = Passage.objects.filter(owner=user, kind=kind)
            digests = set(passages.values_list("digest", flat=True))
            erased.note(kind, digests)
            passages.delete()
            forget_vectors(digests)
        erase_passages(Kind.PERSON, [user.pk])
        forget_texts_that_name(user)
        forget_questions(questions_asked(user, since=None, until=None))
        Gap.objects.filter(settled_by=user).update(settled_by=None)
