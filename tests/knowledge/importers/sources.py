"""Exports of other programs, small but in their true shape."""

import json
import sqlite3
from pathlib import Path
from typing import Any

MEM0 = {
    "results": [
        {
            "id": "892db2ae-06d9-49e5-8b3e-585ef9b85b8e",
            "memory": "Prefers window seats",
            "hash": "1c9b9e0d",
            "metadata": {"category": "travel"},
            "created_at": "2025-05-04T11:22:33.123456-07:00",
            "updated_at": None,
            "user_id": "ada",
        },
        {
            "id": "b2",
            "memory": "Works as a nurse",
            "metadata": None,
            "categories": ["professional_details"],
            "created_at": "2025-06-01T08:00:00Z",
            "user_id": "ada",
        },
    ],
    "relations": [{"source": "ada", "relationship": "lives_in", "target": "lisbon"}],
}

MEMORY_SERVER = """\
{"type":"entity","name":"Depot","entityType":"project","observations":["Uses PostgreSQL 18","Deploys on Fridays"]}
{"type":"entity","name":"Ada","entityType":"person","observations":[]}
{"type":"relation","from":"Ada","to":"Depot","relationType":"works_on"}
"""

BASIC_NOTE = """\
---
title: Authentication Design
type: note
tags: [auth, security]
permalink: design/authentication-design
created: 2025-03-01T10:00:00+00:00
---

# Authentication Design

## Observations
- [decision] Using JWT tokens #security (agreed in March)
- [constraint] Tokens expire after 15 minutes
- [ ] write the tests

## Relations
- implements [[API Security Requirements]]
"""

CLAUDE_MD = """\
# Depot

Run `make check` before a commit.

## Style

- Prefers short functions.
- Never commit to main.
"""


def chatgpt() -> list[dict[str, Any]]:
    """Two conversations; in the first a memory was saved, and an answer asked for twice."""
    return [
        {
            "title": "Packing for Lisbon",
            "create_time": 1_735_689_600.5,
            "update_time": 1_735_693_200.0,
            "conversation_id": "c0ffee00-0000-4000-8000-000000000001",
            "current_node": "m5",
            "mapping": _tree(
                ("m1", "user", "all", "I fly to Lisbon. What do I pack?"),
                ("m2", "assistant", "bio", "User is flying to Lisbon in January."),
                ("m3", "assistant", "all", "An umbrella and layers."),
                ("m4", "user", "all", "Thanks, I prefer light luggage."),
                ("m5", "assistant", "all", "Then one pair of shoes."),
                aside=("m3b", "m2", "A lost answer."),
            ),
        },
        {
            "title": None,
            "create_time": 1_736_000_000,
            "update_time": None,
            "id": "c0ffee00-0000-4000-8000-000000000002",
            "current_node": "m9",
            "mapping": _tree(*((f"m{n}", ("user", "assistant")[n % 2], "all", f"Line {n}") for n in range(10))),
        },
    ]


def _tree(*told: tuple[str, str, str, str], aside: tuple[str, str, str] | None = None) -> dict[str, Any]:
    nodes: dict[str, Any] = {"root": {"id": "root", "message": None, "parent": None, "children": []}}
    parent = "root"
    for name, role, recipient, text in told:
        nodes[name] = _node(name, parent, role, recipient, text)
        nodes[parent]["children"].append(name)
        parent = name
    if aside:
        nodes[aside[0]] = _node(aside[0], aside[1], "assistant", "all", aside[2])
    return nodes


def _node(name: str, parent: str, role: str, recipient: str, text: str) -> dict[str, Any]:
    message = {
        "id": name,
        "author": {"role": role, "name": None, "metadata": {}},
        "create_time": 1_735_689_700.0,
        "content": {"content_type": "text", "parts": [text]},
        "metadata": {},
        "recipient": recipient,
    }
    return {"id": name, "message": message, "parent": parent, "children": []}


CLAUDE: dict[str, Any] = {
    "conversations.json": [
        {
            "uuid": "11111111-1111-4111-8111-111111111111",
            "name": "Naming the depot",
            "summary": "",
            "created_at": "2025-02-01T09:00:00.000000Z",
            "updated_at": "2025-02-01T09:10:00.000000Z",
            "account": {"uuid": "a"},
            "chat_messages": [
                {
                    "uuid": "m1",
                    "text": "Name the depot.",
                    "content": [{"type": "text", "text": "Name the depot."}],
                    "sender": "human",
                    "created_at": "2025-02-01T09:00:01.000000Z",
                    "attachments": [],
                    "files": [],
                },
                {
                    "uuid": "m2",
                    "text": "",
                    "content": [
                        {"type": "thinking", "thinking": "Something short."},
                        {"type": "text", "text": "Call it Harbour."},
                    ],
                    "sender": "assistant",
                    "created_at": "2025-02-01T09:00:09.000000Z",
                },
            ],
        }
    ],
    "memories.json": [
        {
            "conversations_memory": "**Work context**\n\n- Leads the depot team\n- Prefers Python",
            "project_memories": {"p1": "The depot ships on Fridays."},
            "account_uuid": "a",
        }
    ],
    "projects.json": [
        {
            "uuid": "p1",
            "name": "Depot",
            "description": "All about it",
            "prompt_template": "Answer briefly.",
            "created_at": "2025-01-01T00:00:00Z",
            "docs": [
                {"uuid": "d1", "filename": "plan.md", "content": "Ship it.", "created_at": "2025-01-02T00:00:00Z"}
            ],
        }
    ],
}


def older_export() -> dict[str, Any]:
    """What memory_export of the first BigMind wrote."""
    return {
        "identity": {"role": "Engineer", "preferences": "Short answers.", "pinned_facts": "- Uses uv\n- On macOS"},
        "facts": [
            {
                "id": 1,
                "category": "preference",
                "fact": "Prefers FastMCP.",
                "source_session": SESSION,
                "confidence": 0.9,
                "deprecated": 0,
                "created_at": "2026-03-30 09:15:00",
                "updated_at": "2026-03-30 09:15:00",
            },
            {
                "id": 2,
                "category": "codebase",
                "fact": "Uses Python 3.11.",
                "confidence": 1.0,
                "deprecated": 1,
                "deprecation_reason": "Moved to 3.12.",
                "created_at": "2026-03-30 09:15:00",
                "updated_at": "2026-04-01 09:15:00",
            },
        ],
        "sessions": [
            {
                "id": SESSION,
                "started_at": "2026-03-30 08:00:00",
                "ended_at": "2026-03-30 09:00:00",
                "one_liner": "BigMind born",
                "topics": "bigmind,founding",
                "outcome": "It runs.",
                "importance": 9,
                "summary": {"summary": "Built in a day.", "key_facts": "- It has a name", "code_refs": "src/server.py"},
            }
        ],
        "chunks": [
            {
                "session_id": SESSION,
                "role": "assistant",
                "content": "Chose SQLite.",
                "flag_reason": "decision",
                "seq": 1,
                "created_at": "2026-03-30 08:30:00",
            }
        ],
        "hypotheses": [
            {
                "hypothesis": "FTS5 suffices.",
                "confidence": 0.6,
                "status": "refuted",
                "resolution": "It did not.",
                "created_at": "2026-03-30 08:40:00",
                "resolved_at": "2026-03-31 08:40:00",
            }
        ],
        "global_knowledge": [
            {
                "id": 1,
                "category": "standard",
                "title": "One entry point",
                "content": "Each server has one server.py.",
                "importance": 7,
                "status": "approved",
            }
        ],
    }


SESSION = "1e9e32c7-0000-4000-8000-000000000001"
SCHEMA = """
CREATE TABLE users (id TEXT PRIMARY KEY, username TEXT UNIQUE NOT NULL, display_name TEXT, role TEXT);
CREATE TABLE identity_profile (
    id TEXT PRIMARY KEY, user_id TEXT UNIQUE NOT NULL, role TEXT, preferences TEXT, pinned_facts TEXT,
    updated_at DATETIME
);
CREATE TABLE sessions (
    id TEXT PRIMARY KEY, user_id TEXT NOT NULL, started_at DATETIME NOT NULL, ended_at DATETIME,
    one_liner TEXT NOT NULL, topics TEXT, outcome TEXT, importance INTEGER DEFAULT 5, has_tier2 INTEGER DEFAULT 0
);
CREATE TABLE session_summaries (
    id TEXT PRIMARY KEY, summary TEXT NOT NULL, key_facts TEXT, code_refs TEXT, created_at DATETIME
);
CREATE TABLE conversation_chunks (
    id INTEGER PRIMARY KEY AUTOINCREMENT, session_id TEXT NOT NULL, user_id TEXT NOT NULL, role TEXT NOT NULL,
    content TEXT NOT NULL, flag_reason TEXT, seq INTEGER NOT NULL, created_at DATETIME
);
CREATE TABLE facts (
    id INTEGER PRIMARY KEY AUTOINCREMENT, user_id TEXT NOT NULL, category TEXT NOT NULL, fact TEXT NOT NULL,
    source_session TEXT, confidence REAL DEFAULT 1.0, deprecated INTEGER DEFAULT 0, deprecation_reason TEXT,
    created_at DATETIME DEFAULT CURRENT_TIMESTAMP, updated_at DATETIME DEFAULT CURRENT_TIMESTAMP
);
CREATE TABLE hypotheses (
    id INTEGER PRIMARY KEY AUTOINCREMENT, session_id TEXT, user_id TEXT NOT NULL, hypothesis TEXT NOT NULL,
    confidence REAL DEFAULT 0.7, status TEXT NOT NULL DEFAULT 'open', resolution TEXT, created_at DATETIME,
    resolved_at DATETIME
);
CREATE TABLE global_knowledge (
    id INTEGER PRIMARY KEY AUTOINCREMENT, category TEXT NOT NULL, title TEXT NOT NULL, content TEXT NOT NULL,
    importance INTEGER DEFAULT 5, status TEXT DEFAULT 'pending', promoted_by TEXT, source_session TEXT
);
"""


def write_database(path: Path, *users: str) -> Path:
    """Write what `older_export` tells as the first BigMind's database, once for each user."""
    told = older_export()
    connection = sqlite3.connect(path)
    connection.executescript(SCHEMA)
    for number, name in enumerate(users or ("pplate",)):
        user = f"user-{number}"
        suffix = f" ({name})" if number else ""
        connection.execute("INSERT INTO users VALUES (?, ?, ?, 'member')", (user, name, name))
        identity = told["identity"]
        connection.execute(
            "INSERT INTO identity_profile VALUES (?, ?, ?, ?, ?, NULL)", (user, user, *identity.values())
        )
        session = {**told["sessions"][0], "id": f"{SESSION[:-1]}{number + 1}", "user_id": user}
        _insert(connection, "session_summaries", {"id": session["id"], **session.pop("summary")})
        _insert(connection, "sessions", session)
        for fact in told["facts"]:
            source = session["id"] if fact["id"] == 1 else None
            row = {**fact, "id": None, "fact": fact["fact"] + suffix, "user_id": user, "source_session": source}
            _insert(connection, "facts", row)
        _insert(connection, "conversation_chunks", {**told["chunks"][0], "session_id": session["id"], "user_id": user})
        _insert(connection, "hypotheses", {**told["hypotheses"][0], "user_id": user})
    _insert(connection, "global_knowledge", told["global_knowledge"][0])
    connection.commit()
    connection.close()
    return path


def _insert(connection: sqlite3.Connection, table: str, row: dict[str, Any]) -> None:
    columns, marks = ", ".join(row), ", ".join("?" for _ in row)
    connection.execute(f"INSERT INTO {table} ({columns}) VALUES ({marks})", tuple(row.values()))


def write_json(path: Path, document: Any) -> Path:
    """Write a document as JSON, its folder included."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(document))
    return path


MCP_MEMORY_SERVICE = {
    "export_metadata": {"source_machine": "desk", "total_memories": 2, "exporter_version": "5.0.1"},
    "memories": [
        {
            "content": "The depot deploys on Fridays.",
            "content_hash": "9c1f",
            "tags": ["depot", "deploys"],
            "created_at": 1_741_860_000.25,
            "updated_at": 1_741_860_100.5,
            "memory_type": "decision",
            "metadata": {"quality_score": 0.75, "nested": {"a": [1, None]}},
            "store": "default",
            "export_source": "desk",
        },
        {
            "content": "Ada prefers tea.",
            "content_hash": "77aa",
            "tags": ["untagged"],
            "created_at": 1_741_860_200.0,
            "updated_at": 1_741_860_200.0,
            "memory_type": None,
            "metadata": {},
            "store": "private",
            "export_source": "desk",
        },
    ],
}

OKF = {
    "index.md": '---\nokf_version: "0.2"\n---\n\n# Tables\n\n* [Orders](tables/orders.md) - one row per order\n',
    "log.md": "# Log\n\n## 2026-05-22\n* **Creation**: Orders.\n",
    "tables/orders.md": """\
---
type: BigQuery Table
title: Customer Orders
description: One row per completed customer order.
resource: https://example.com/orders
tags: [sales, orders]
generated: { by: reference_agent/1.0, at: 2026-05-28T14:30:00Z }
verified: { by: human:ada, at: 2026-06-25T09:00:00Z }
sources:
  - id: ga4
    resource: https://example.com/ga4
    usage_count: 5000
usage_window: { from: 2026-06-01, to: 2026-06-30 }
status: stable
stale_after: 2026-09-23
x_ours: [1, two, { three: 3 }]
---

# Schema

Joined with [customers](/tables/customers.md).[^ga4]

[^ga4]: GA4 export
""",
}

CLAUDE_MEMORY = {
    "CLAUDE.md": CLAUDE_MD,
    "MEMORY.md": "- [Tests first](feedback_tests.md): run the tests before a commit\n",
    "feedback_tests.md": """\
---
name: tests-first
description: Run the tests before each commit.
metadata:
  node_type: memory
  type: feedback
  originSessionId: 1a2b
---

Ada asked for it twice. **Why:** a broken main. See [[ci]].
""",
}

CODEX_MEMORY = {
    "MEMORY.md": """\
# Task Group: depot
scope: the depot's build
applies_to: cwd=/home/ada/depot; reuse_rule=safe for this checkout

## Task 1: fix the build, success

### rollout_summary_files

- rollout_summaries/2026-01-24-build.md (cwd=/home/ada/depot, thread_id=t1)

### keywords

- make, ruff

## User preferences

- when a test fails, the user asked "show me the log" -> quote it first [Task 1]

## Reusable knowledge

- `make check` takes the whole tree [Task 1]
""",
    "memory_summary.md": "v1\n\n## User Profile\n\nAda, engineer.\n",
    "rollout_summaries/2026-01-24-build.md": "thread_id: t1\n\n# Fixed the build\n",
}
