"""Looking a key up: what every call of every agent begins with."""

from functools import cache

from django.db import DEFAULT_DB_ALIAS, connection

from accounts.models import ApiKey, User

_KEY = [field.attname for field in ApiKey._meta.concrete_fields]
_USER = [field.attname for field in User._meta.concrete_fields]


def find_key(digest: str) -> ApiKey | None:
    """Return the key with this digest and, loaded with it, its user; None when there is none. One statement.

    Django builds the statement once per process, instead of once per call: building it took longer than
    PostgreSQL takes to answer it.
    """
    with connection.cursor() as cursor:
        cursor.execute(_statement(), [digest])
        row = cursor.fetchone()
    if row is None:
        return None
    key = ApiKey.from_db(DEFAULT_DB_ALIAS, _KEY, row[: len(_KEY)])
    key.user = User.from_db(DEFAULT_DB_ALIAS, _USER, row[len(_KEY) :]) if key.user_id else None
    return key


@cache
def _statement() -> str:
    """Selects the columns of the key, then those of its user, each in the order of the model's fields."""
    sql, _ = ApiKey.objects.select_related("user").filter(digest="0").query.sql_with_params()
    return str(sql)
