"""Keyword queries: the lexemes of a question.

PostgreSQL turns the text into lexemes as it does with passages, so no operator in it can change or break a query.
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
    """Return the words of a question, stemmed as English and unchanged; a passage needs any one of them.

    Stop words like “what” and “the” occur in nearly every passage: they are left out, unless there is nothing else.
    """
    with connection.cursor() as cursor:
        cursor.execute(_LEXEMES, {"query": query})
        return [lexeme for (lexeme,) in cursor.fetchall()]
