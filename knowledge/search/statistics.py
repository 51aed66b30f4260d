"""What PostgreSQL believes of the tables that search reads: how many rows they have, and whose.

It looks by itself once a minute at the most. After a large import it would take a table for as good as empty until
then, and compare every passage with every vector: seconds, where it takes milliseconds once it knows better.
"""

import structlog

from bigmind.core.roles import may_change_schema, owner

CHANGED_ROWS = 1_000
CHANGED_SHARE = 0.5

_OUTDATED = """
SELECT relname FROM pg_stat_user_tables
WHERE schemaname = 'public' AND relname LIKE 'knowledge\\_%%' AND n_mod_since_analyze >= greatest(%s, %s * n_live_tup)
ORDER BY relname
"""

log = structlog.get_logger()


def keep_statistics() -> list[str]:
    """Let PostgreSQL look at the tables of memory that have changed much since it last did; return their names.

    Workers call this while they work off what was stored. It reads a sample, less than a second even of a large table,
    and keeps nobody from reading or writing. One that somebody else is looking at now is left to them.
    """
    with owner().cursor() as cursor:
        cursor.execute(_OUTDATED, [CHANGED_ROWS, CHANGED_SHARE])
        tables = [name for (name,) in cursor.fetchall()]
        if not tables or not may_change_schema():
            return []  # A worker that knows the owner of the tables does it.
        cursor.execute("SET statement_timeout TO 0")
        try:
            for name in tables:
                cursor.execute(f'ANALYZE (SKIP_LOCKED) "{name}"')
        finally:
            cursor.execute("RESET statement_timeout")
    log.info("PostgreSQL has looked at tables that changed much.", tables=tables)
    return tables
