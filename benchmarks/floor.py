"""The floor: a lean server that does the same acts, with the same SDK, PostgreSQL, tables, key, token and model.

Each act does only what its reply needs, in one message to the database where SQL allows. What a call of BigMind costs
is published as a multiple of it. It checks no argument, renders one line an item, and guesses nothing: no one should
use it.
"""

import asyncio
import os
from collections.abc import Callable
from functools import cache
from typing import Any
from uuid import UUID, uuid4

import django

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "bigmind.settings")
django.setup()

from django.db import connection  # noqa: E402
from mcp import types  # noqa: E402
from psycopg import ClientCursor, Connection, connect  # noqa: E402

from accounts.keys import digest_of  # noqa: E402
from benchmarks.bare_sdk import serve  # noqa: E402
from bigmind.database.rls import SETTING, token_of  # noqa: E402
from bigmind.text.hygiene import digest  # noqa: E402
from knowledge.embeddings.calls import embed_query  # noqa: E402
from knowledge.embeddings.providers import provider  # noqa: E402

Message = dict[str, Any]
Rows = list[list[tuple[Any, ...]]]
_OWN_FACTS = "knowledge_fact WHERE user_id = %(user)s AND deprecated_at IS NULL"
_INDEX = """
passage AS (
    INSERT INTO knowledge_passage
        (kind, source_id, owner_id, project, ordinal, text, digest, created_at, compared, form)
    SELECT %(kind)s, written.id::text, %(user)s, '', 0, %(text)s, %(digest)s, now(), %(kind)s <> 'fact', 1 FROM written
    ON CONFLICT (kind, source_id, ordinal) DO UPDATE SET text = excluded.text RETURNING id
), queued AS (
    INSERT INTO knowledge_passagevector (passage_id, space_id, owner_id, kind, trouble)
    SELECT passage.id, space.id, %(user)s, %(kind)s, '' FROM passage, knowledge_embeddingspace AS space
    ON CONFLICT DO NOTHING
)
INSERT INTO knowledge_writing (kind, source_id, made, user_id, key_id, sub_agent, at)
SELECT %(kind)s, written.id::text, true, %(user)s, %(key)s, '', now() FROM written RETURNING source_id
"""
STORE = f"""
WITH written AS (
    INSERT INTO knowledge_fact (anchors, anchor_checks, user_id, category, fact, digest, confidence, project, triggers,
        source_session_id, deprecation_reason, created_at, updated_at)
    VALUES ('{{}}', '{{}}', %(user)s, %(category)s, %(text)s, %(digest)s, 1, '', '{{}}',
        (SELECT id FROM knowledge_session WHERE user_id = %(user)s ORDER BY started_at DESC LIMIT 1),
        '', now(), now()) ON CONFLICT DO NOTHING RETURNING id
), {_INDEX};
SELECT fact FROM {_OWN_FACTS} AND digest = %(digest)s
"""
CONTEXT = f"""
SELECT role, preferences, array_to_string(pinned_facts, ' ') FROM accounts_profile WHERE user_id = %(user)s;
SELECT category, fact FROM {_OWN_FACTS} ORDER BY created_at DESC LIMIT 40;
SELECT started_at, one_liner, outcome FROM knowledge_session
    WHERE user_id = %(user)s AND set_aside_at IS NULL ORDER BY started_at DESC LIMIT 10;
SELECT title, content FROM knowledge_companyentry WHERE status = 'approved' ORDER BY importance DESC LIMIT 10;
SELECT hypothesis FROM knowledge_hypothesis WHERE user_id = %(user)s AND status = 'open' LIMIT 10
"""
START = f"""
INSERT INTO knowledge_session (id, user_id, key_id, project, started_at, one_liner, topics, outcome, importance,
    auto_closed, conversation, connection)
VALUES (%(id)s, %(user)s, %(key)s, %(project)s, now(), '', %(topics)s, '', 5, false, '', '');
{CONTEXT}
"""
END = f"""
WITH written AS (
    UPDATE knowledge_session SET ended_at = now(), one_liner = %(text)s, outcome = %(outcome)s WHERE id = (
        SELECT id FROM knowledge_session WHERE user_id = %(user)s ORDER BY started_at DESC LIMIT 1) RETURNING id
), {_INDEX}
"""
FLAG = f"""
WITH at_work AS (
    SELECT id FROM knowledge_session WHERE user_id = %(user)s ORDER BY started_at DESC LIMIT 1 FOR UPDATE
), written AS (
    INSERT INTO knowledge_chunk (session_id, user_id, role, content, flag_reason, seq, created_at)
    SELECT id, %(user)s, 'assistant', %(text)s, %(reason)s,
        (SELECT coalesce(max(seq), 0) + 1 FROM knowledge_chunk WHERE session_id = at_work.id), now()
    FROM at_work RETURNING id
), {_INDEX}
"""
LIST = f"SELECT category, fact, created_at FROM {_OWN_FACTS} ORDER BY created_at DESC, id DESC LIMIT 20"
_NEAR = """
WITH words AS (
    SELECT id, text, ts_rank(lexemes, query) AS score FROM knowledge_passage,
        to_tsquery('simple', replace(plainto_tsquery('english', %(query)s)::text, '&', '|')) AS query
    WHERE {scope} AND kind = ANY(%(kinds)s) AND lexemes @@ query ORDER BY score DESC LIMIT 200
), meaning AS (
    SELECT passage.id, passage.text, 1 - (vector.vector <=> %(vector)s::halfvec) AS score
    FROM knowledge_passagevector AS vector JOIN knowledge_passage AS passage ON passage.id = vector.passage_id
    WHERE vector.{scope} AND passage.kind = ANY(%(kinds)s) AND vector.vector IS NOT NULL
    ORDER BY vector.vector <=> %(vector)s::halfvec LIMIT 200
)
SELECT text FROM (SELECT * FROM words UNION ALL SELECT * FROM meaning) AS found
GROUP BY id, text ORDER BY sum(score) DESC LIMIT 10
"""
OWN, SHARED = _NEAR.format(scope="owner_id = %(user)s"), _NEAR.format(scope="owner_id IS NULL")
OWN_KINDS = ["fact", "chunk", "summary", "note", "hypothesis"]


def _search(statement: str, arguments: Message) -> tuple[str, Message]:
    vectors, _ = embed_query(provider(), arguments["query"])
    kinds = ["entry", "company", "reference"] if statement is SHARED else OWN_KINDS
    return statement, {"query": arguments["query"], "vector": str(vectors[0].tolist()), "kinds": kinds}


def _text(statement: str, kind: str, text: str, **more: Any) -> tuple[str, Message]:
    return statement, {"kind": kind, "text": text, "digest": digest(text), **more}


ACTS: dict[str, Callable[[Message], tuple[str, Message]]] = {
    "memory_list_facts": lambda _: (LIST, {}),
    "memory_store_fact": lambda sent: _text(STORE, "fact", sent["fact"], category=sent["category"]),
    "memory_start_session": lambda sent: (START, {"id": uuid4(), "topics": [], "project": "", **sent}),
    "memory_get_context": lambda _: (CONTEXT, {}),
    "memory_end_session": lambda sent: _text(END, "summary", sent["one_liner"], outcome=sent.get("outcome", "")),
    "memory_flag_important": lambda sent: _text(FLAG, "chunk", sent["content"], reason=sent["flag_reason"]),
    "memory_semantic_search": lambda sent: _search(OWN, sent),
    "memory_recall": lambda sent: _search(OWN, sent),
    "kb_search": lambda sent: _search(SHARED, sent),
}
"""Each act: from its arguments, the statements of its one message, and their parameters."""


class Floor:
    """One connection, and the keys that it has looked up."""

    def __init__(self) -> None:
        known = connection.get_connection_params()
        kept = {name: value for name, value in known.items() if name not in {"cursor_factory", "context", "limits"}}
        self._connection: Connection[Any] = connect(**kept, autocommit=True, cursor_factory=ClientCursor)
        self._keys: dict[str, tuple[UUID, UUID]] = {}

    def answer(self, key: str, tool: str, arguments: Message) -> str:
        """Perform an act in one message: who it is for, its statements, its commit."""
        key_id, user_id = self._key(digest_of(key))
        statements, parameters = ACTS[tool](arguments)
        token = token_of(str(user_id), self._connection.info.backend_pid)
        message = f"BEGIN; SET LOCAL {SETTING} = '{token}'; {statements}; COMMIT"
        cursor = self._connection.execute(message, {**parameters, "user": user_id, "key": key_id})
        return "\n".join(f"- {' · '.join(map(str, row))}" for rows in _results(cursor) for row in rows)

    def _key(self, key: str) -> tuple[UUID, UUID]:
        if key not in self._keys:
            found = "SELECT id, user_id FROM accounts_apikey WHERE digest = %s AND revoked_at IS NULL"
            self._keys[key] = self._connection.execute(found, [key]).fetchone()  # type: ignore[assignment]
        return self._keys[key]


def _results(cursor: Any) -> Rows:
    results = []
    while True:
        if cursor.description:
            results.append(cursor.fetchall())
        if not cursor.nextset():
            return results


@cache
def _floor() -> Floor:
    return Floor()


async def call_tool(ctx: Any, params: types.CallToolRequestParams) -> types.CallToolResult:
    """Perform an act on a thread, as whatever blocks must be."""
    key = ctx.request.headers["authorization"].removeprefix("Bearer ")
    text = await asyncio.to_thread(_floor().answer, key, params.name, params.arguments or {})
    return types.CallToolResult(content=[types.TextContent(text=text)])


application = serve(call_tool)
