"""Word filters: what a list is narrowed down by, as people type it into a box above the list."""

from django.db.models import Q

MOST_WORDS = 12


def has_words(text: str, *columns: str) -> Q:
    """Return the condition that every word of a text is in one of these columns, in any order.

    A question has up to a hundred words; those behind the twelfth narrow a list no more.
    """
    every = Q()
    for word in dict.fromkeys(text.split()[:MOST_WORDS]):
        every &= Q.create([(f"{column}__icontains", word) for column in columns], connector=Q.OR)
    return every
