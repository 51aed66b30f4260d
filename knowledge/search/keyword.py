"""The words of a question, as PostgreSQL searches for them.

A question is plain words: PostgreSQL turns it into lexemes, so no operator in it can change a query or make it fail.
"""

from django.db import connection

from knowledge.models.passages import in_parts

_LEXEMES = f"""
SELECT lexeme FROM unnest(to_tsvector('english', %(query)s))
UNION
SELECT lexeme FROM unnest(to_tsvector('simple', %(query)s) || to_tsvector('simple', {in_parts("%(query)s")}))
WHERE to_tsvector('english', lexeme) <> '' OR to_tsvector('english', %(query)s) = ''
ORDER BY lexeme
"""


def lexemes_of(query: str) -> list[str]:
    """Return what a question looks for: its words stemmed as English, and as they stand; any one is enough.

    Words like “what” and “the” stand in nearly every passage and tell nothing: they are left out, unless there is
    nothing else.
    """
    with connection.cursor() as cursor:
        cursor.execute(_LEXEMES, {"query": query})
        return [lexeme for (lexeme,) in cursor.fetchall()]
