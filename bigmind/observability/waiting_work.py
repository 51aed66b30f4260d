"""What waits for a worker, and for how long: the queue is the rows, whatever Redis says."""

from django.db import connection

from bigmind.database.rls import rls_bypass
from knowledge.indexing.embedding import AGAIN

# The condition is that of the index `vector_next`: finished rows are never read.
_UNFINISHED = "NOT (vector.vector IS NOT NULL AND vector.trouble = '')"
TEXTS = f"""
SELECT CASE WHEN trouble IN ('', %s) THEN 'waiting' ELSE 'failed' END, count(*)
FROM knowledge_passagevector AS vector WHERE {_UNFINISHED} GROUP BY 1
"""  # noqa: S608 - our own words
OLDEST_TEXT = f"""
SELECT coalesce(extract(epoch FROM now() - min(
    CASE WHEN vector.vector IS NULL THEN greatest(passage.created_at, space.created_at) ELSE vector.not_before END
)), 0)
FROM knowledge_passagevector AS vector
JOIN knowledge_passage AS passage ON passage.id = vector.passage_id
JOIN knowledge_embeddingspace AS space ON space.id = vector.space_id
WHERE {_UNFINISHED} AND vector.trouble IN ('', %s)
"""  # noqa: S608 - our own words
# What a worker could take now, and since when. Retries that are due later and running work do not wait.
_DUE = """
SELECT 'deliveries', not_before FROM curation_delivery
WHERE delivered_at IS NULL AND given_up_at IS NULL AND not_before <= now()
UNION ALL
SELECT 'app_runs', greatest(created_at, held_until) FROM knowledge_apprun
WHERE state IN ('waiting', 'running') AND coalesce(held_until, created_at) <= now()
UNION ALL
SELECT 'dispatches', dispatch.created_at FROM knowledge_dispatch AS dispatch
JOIN knowledge_companyentry AS entry ON entry.id = dispatch.entry_id
WHERE dispatch.sent_at IS NULL AND dispatch.refused_at IS NULL AND entry.status = 'approved'
"""
_KINDS = "(VALUES ('deliveries'), ('app_runs'), ('dispatches')) AS every (kind)"
WAITING = f"""
WITH due (kind, since) AS ({_DUE})
SELECT 'vectors', count(*) FROM knowledge_passagevector AS vector
WHERE {_UNFINISHED} AND vector.trouble IN ('', %s) AND vector.not_before <= now()
UNION ALL
SELECT every.kind, count(due.since) FROM {_KINDS} LEFT JOIN due USING (kind) GROUP BY every.kind
"""  # noqa: S608 - our own words
OLDEST = f"""
WITH due (kind, since) AS ({_DUE})
SELECT 'vectors', oldest FROM ({OLDEST_TEXT}) AS text (oldest)
UNION ALL
SELECT every.kind, coalesce(extract(epoch FROM now() - min(due.since)), 0)
FROM {_KINDS} LEFT JOIN due USING (kind) GROUP BY every.kind
"""  # noqa: S608 - our own words


def longest_wait() -> float:
    """Return how many seconds the oldest of what a worker could take has waited."""
    with rls_bypass(), connection.cursor() as cursor:
        cursor.execute(OLDEST, [AGAIN])
        return max((float(seconds) for _, seconds in cursor.fetchall()), default=0.0)
