"""Planner statistics of the tables that search reads: how many rows they have, and whose.

Autovacuum analyses tables once a minute at most. After a large import the planner would believe until then that a table
is almost empty, and compare every passage with every vector: seconds instead of milliseconds.
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
    """Analyse the tables of memory that have changed much since the last time; return their names.

    Workers call this while they embed what was stored. ANALYZE reads a sample, in less than a second even of a large
    table, and blocks neither readers nor writers. A table that is being analysed already is skipped.
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
    log.info("Analysed tables that changed much.", tables=tables)
    return tables
