"""One form of words and names, whatever their case, width and accents. It is SQL: rows and questions have the same."""

from typing import Any

from django.contrib.postgres.fields import ArrayField
from django.db.models import Lookup


def sql_without_accents(text: str) -> str:
    """Return the SQL of a text in NFKC, with the letters of Latin and Greek without their accents.

    Letters of other scripts keep their marks: й is another letter than и, and が than か.
    """
    return (
        f"replace(normalize(regexp_replace(normalize({text}, NFKD), '([A-Za-z\\u0391-\\u03c9])[\\u0300-\\u036f]+',"
        " '\\1', 'g'), NFKC), 'ß', 'ss')"
    )


@ArrayField.register_lookup
class HasNames(Lookup):
    """Whether a list has all these names, however each is written: `filter(topics__has_names=["café"])`."""

    lookup_name = "has_names"
    prepare_rhs = False

    def as_sql(self, compiler: Any, connection: Any) -> tuple[str, list[Any]]:  # type: ignore[override]
        """Return the condition and its parameters."""
        names, parameters = self.process_lhs(compiler, connection)
        forms = f"ARRAY(SELECT {sql_without_accents('lower(name)')} FROM unnest(%s::text[]) AS name)"  # noqa: S608
        return f"{forms % names} @> {forms}", [*parameters, list(self.rhs)]
