"""An example of each operation: the arguments a caller would send, and a reply that fits its shape.

The OpenAPI document and the documentation page show them, and the tests send them through every transport.
"""

from collections.abc import Mapping
from typing import Any

from bigmind.core.operations import Operation

SESSION = "1e9e32c7-4a5b-4c6d-8e7f-901234567890"
ENTRY = "7b0c9f7e-2f7d-4a56-9d1e-3c2b1a098765"
INSTANCE = "2f1c1de0-5b0f-4c8e-9a52-0c1d2e3f4a5b"
MOMENT = "2026-03-30T09:15:00Z"
LATER = "2036-03-30T09:15:00Z"

ARGUMENTS: dict[str, dict[str, Any]] = {
    "memory_start_session": {"project": "billing", "topics": ["deploys", "postgres"]},
    "memory_end_session": {
        "session_id": SESSION,
        "one_liner": "Chose blue-green deploys for billing",
        "topics": ["deploys", "postgres"],
        "outcome": "Deploys go blue-green from April on.",
        "summary": "We compared rolling and blue-green deploys. Migrations that lock decided it.",
        "key_facts": ["Billing deploys blue-green."],
        "code_refs": ["deploy/billing.yaml"],
        "importance": 7,
        "used": ["fact:812"],
        "misleading": [],
    },
    "memory_flag_important": {
        "session_id": SESSION,
        "content": "The time-outs came from a pool of 5 connections shared by 8 workers.",
        "flag_reason": "Root cause of the outage of 29 March.",
    },
    "memory_get_context": {"project": "billing", "topics": ["deploys"]},
    "memory_get_session_detail": {"session_id": SESSION},
    "memory_list_sessions": {"topic": "deploys", "limit": 5},
    "memory_search_chunks": {"query": "why did the connections time out"},
    "memory_store_fact": {
        "category": "preference",
        "fact": "Prefers pytest to unittest.",
        "confidence": 0.9,
        "project": "billing",
    },
    "memory_list_facts": {"category": "preference", "limit": 5},
    "memory_deprecate_fact": {"fact_id": 12, "reason": "The team moved to another test runner."},
    "memory_append_chunk": {
        "session_id": SESSION,
        "role": "user",
        "content": "From now on every migration must be reversible.",
        "flag_reason": "A rule for all repositories.",
    },
    "memory_erase_session": {"session_id": SESSION},
    "memory_erase_chunk": {"chunk_id": 12},
    "memory_set_capture": {"mode": "ask", "keep_days": 30},
    "memory_forget_conversation": {"conversation_id": 12},
    "memory_set_fact_triggers": {"fact_id": 12, "triggers": ["command: git push --force"]},
    "memory_correct_fact": {"fact_id": 12, "fact": "Prefers pytest with xdist.", "valid_from": "2026-03-01T00:00:00Z"},
    "memory_erase_fact": {"fact_id": 12},
    "memory_correct_session": {"session_id": SESSION, "one_liner": "Chose rolling deploys for billing after all"},
    "memory_correct_chunk": {"chunk_id": 12, "flag_reason": "Root cause of the outage of 29 and 30 March."},
    "memory_correct_hypothesis": {"hypothesis_id": 12, "confidence": 0.8},
    "memory_set_aside": {"kind": "fact", "id": "12", "reason": "The team moved to another test runner."},
    "memory_restore": {"kind": "fact", "id": "12"},
    "memory_add_hypothesis": {
        "hypothesis": "I believe the queue stalls because the broker drops idle connections.",
        "confidence": 0.6,
        "project": "billing",
    },
    "memory_resolve_hypothesis": {
        "hypothesis_id": 12,
        "status": "confirmed",
        "resolution": "With keep-alives on, the queue did not stall for a week.",
    },
    "memory_tidy": {"answers": [{"id": "3f9d2a7c81be", "action": "keep"}]},
    "memory_list_hypotheses": {"status": "open"},
    "memory_erase_hypothesis": {"hypothesis_id": 12},
    "memory_update_profile": {
        "role": "Platform engineer",
        "preferences": "Short answers. Show commands, not screenshots.",
        "pinned_facts": ["Works in Europe/Berlin."],
    },
    "knowledge_set": {
        "domain": "email",
        "key": "dymon-packages",
        "content": "When Dymon announces a package, ask whether it was placed in the Mini 20 unit.",
        "expires_at": LATER,
    },
    "knowledge_get": {"domain": "email", "key": "dymon-packages"},
    "knowledge_delete": {"domain": "email", "key": "dymon-packages"},
    "knowledge_rename": {"domain": "email", "key": "dymon-packages", "new_key": "packages"},
    "knowledge_search": {"query": "package at the storage unit"},
    "kb_search": {"query": "order of routes in vercel.json", "role": "dev", "limit": 5},
    "kb_get": {"id": ENTRY},
    "kb_get_related": {"entry_id": ENTRY, "limit": 5},
    "kb_list": {"tags": ["routing"], "entry_type": "fact", "order_by": "confidence"},
    "kb_add": {
        "content": "In vercel.json specific routes must come before parameterized ones.",
        "entry_type": "fact",
        "roles": ["dev"],
        "tags": ["vercel", "routing"],
        "source_story": "STORY-007",
        "confidence": 0.9,
    },
    "kb_update": {"id": ENTRY, "confidence": 1.0, "metadata": {"gate_result": "PASS"}},
    "kb_delete": {"id": ENTRY},
    "kb_bulk_import": {"entries": [{"content": "Write tests alongside code, not after.", "tags": ["testing"]}]},
    "kb_rebuild_embeddings": {"batch_size": 100, "clear_cache": False},
    "lesson_for": {"error": "Error: connect ECONNREFUSED 127.0.0.1:5432\n    at connect (/srv/shop/db.js:12:5)"},
    "memory_semantic_search": {"query": "why did we choose blue-green deploys", "limit": 5},
    "memory_recall": {"query": "why did we choose blue-green deploys", "max_tokens": 300},
    "memory_use_tool": {"find": "rename a note"},
    "search_knowledge": {"query": "list all users", "type": "command", "limit": 5},
    "get_command": {"command": "helios gw users list"},
    "list_commands": {"category": "google-workspace", "limit": 20},
    "get_api_endpoint": {"path": "/api/v1/users/{id}", "method": "GET"},
    "check_command": {"command": "helios gw users list --format json"},
    "reference_get": {"reference_id": ENTRY},
    "reference_update": {"reference_id": ENTRY, "aliases": ["get users", "show all users"]},
    "references_import": {
        "collection": "helios",
        "drafts": [
            {
                "id": "cmd-gw-users-list",
                "type": "command",
                "title": "List Google Workspace users",
                "name": "helios gw users list",
                "category": "google-workspace",
                "content": "Lists all users synced from Google Workspace.",
                "summary": "List all Google Workspace users.",
                "keywords": ["users", "list"],
                "aliases": ["get users"],
                "examples": [{"description": "All users", "code": "helios gw users list"}],
            }
        ],
        "source": "DeveloperConsole.tsx",
        "version": "2.4",
    },
    "memory_list_global": {"category": "standard", "limit": 5},
    "memory_search_global": {"query": "how do services report their health"},
    "memory_feedback": {"kind": "fact", "id": "12", "verdict": "useful"},
    "memory_promote_to_global": {
        "category": "standard",
        "title": "Services report their health",
        "content": "Every service answers /healthz (alive) and /readyz (may receive traffic).",
        "importance": 7,
        "topics": ["operations"],
        "evidence": "Outage of 29 March: traffic went to instances that were still starting.",
    },
    "memory_list_my_proposals": {"limit": 5},
    "memory_get_global": {"entry_id": 142},
    "memory_revise_proposal": {"entry_id": 142, "importance": 8, "notes": "As discussed."},
    "memory_withdraw_proposal": {"entry_id": 142, "notes": "C17 says it already."},
    "memory_discuss_global": {"entry_id": 142, "text": "The platform team has agreed."},
    "memory_list_queue": {"why": "proposed", "limit": 5},
    "memory_brief_curator": {"entry_id": 142},
    "memory_claim_global": {"entry_id": 142},
    "memory_approve_global": {"entry_id": 142, "action": "approve", "revision": 1, "notes": "As in ADR 7."},
    "memory_approve_many": {"entry_ids": [142], "action": "reject", "revisions": {"142": 1}, "notes": "Too vague."},
    "golden_pin": {"question": "How do we roll back a deploy?", "kind": "company", "id": "142", "within": 3},
    "golden_list": {"lost": True, "limit": 5},
    "golden_unpin": {"golden_id": 7},
    "anchors_list": {"limit": 5},
    "anchors_report": {
        "repository": "acme/shop",
        "commit": "3f2a1bc4",
        "results": [{"id": "142", "anchor": "acme/shop#src/limits.py:RateLimiter.allow", "verdict": "holds"}],
    },
    "memory_forget_source": {"session_id": SESSION, "dry_run": True},
    "directory_list": {"topic": "deploys", "limit": 5},
    "directory_search": {"query": "who worked on deploys?", "limit": 5},
    "directory_list_instances": {"limit": 5},
    "directory_register_instance": {
        "instance_id": INSTANCE,
        "name": "ada's laptop",
        "version": "1.4.0",
        "statistics": {"sessions": 812, "facts": 240},
    },
    "directory_forget_instance": {"instance_id": INSTANCE},
    "app_get": {"app": "CRM"},
    "app_resolve": {"name": "Elicit", "app": "CRM", "request": "add a comment on Elicit"},
    "app_bootstrap": {
        "apps": [
            {
                "name": "CRM",
                "app_id": "app_abc123",
                "aliases": ["client management"],
                "tables": [{"name": "Clients", "table_id": "ta_xyz789"}],
            }
        ]
    },
    "app_learn": {
        "app": "CRM",
        "tables": [
            {
                "name": "Clients",
                "table_id": "ta_xyz789",
                "fields": {
                    "Name": {"type": "string", "primary": True},
                    "Notes": {"type": "longform"},
                    "Status": {"type": "options", "values": ["Active", "Inactive", "Lead"]},
                },
            }
        ],
        "entities": [
            {
                "name": "Elicit",
                "table": "Clients",
                "row_id": "ro_def456",
                "match_field": "Name",
                "match_value": "Elicit",
            }
        ],
        "workflows": [
            {
                "name": "add_comment",
                "trigger": "add comment/note on [entity]",
                "steps": "resolve entity -> update_record, append to Notes field",
                "field": "Notes",
            }
        ],
    },
    "app_set_default": {"name": "Elicit", "app": "CRM"},
    "app_report_failure": {"app": "CRM", "failure": "row_gone", "entity": "Elicit", "failed_id": "ro_def456"},
    "app_forget": {"app": "CRM", "entity": "Elicit"},
    "app_rebuild": {"app": "CRM", "tables": [{"name": "Clients", "table_id": "ta_xyz789"}]},
    "app_import": {"files": {"crm.yaml": "app:\n  name: CRM\n  appId: app_abc123\n"}, "dry_run": True},
    "memory_health_check": {"stale_days": 90},
    "memory_vacuum": {"older_than_days": 90, "dry_run": True},
    "memory_import": {
        "document": {
            "format": "bigmind-memory",
            "version": 1,
            "facts": [{"id": 1, "category": "identity", "fact": "Is called Ada.", "created_at": MOMENT}],
        },
        "dry_run": True,
    },
}

_GIVEN: dict[str, Any] = {
    "agent": "claude-code 2.1.4 on laptop",
    "category": "preference",
    "check": "stale_facts",
    "content": "The time-outs came from a pool of 5 connections shared by 8 workers.",
    "domain": "email",
    "excerpt": "The time-outs came from a pool of 5 connections shared by 8 workers.",
    "fact": "Prefers pytest to unittest.",
    "flag_reason": "Root cause of the outage of 29 March.",
    "hypothesis": "I believe the queue stalls because the broker drops idle connections.",
    "importance": 7,
    "key": "dymon-packages",
    "kind": "chunk",
    "limit": 20,
    "markdown": "# BigMind\n\nPlatform engineer. Short answers.",
    "matched": ["time", "connections"],
    "offset": 0,
    "name": "Ada Lovelace",
    "one_liner": "Chose blue-green deploys for billing",
    "opened": False,
    "outcome": "Deploys go blue-green from April on.",
    "project": "billing",
    "role": "assistant",
    "says": "facts not touched for 30 days: confirm or deprecate them",
    "score": 0.61,
    "status": "open",
    "title": "Chose blue-green deploys for billing",
    "tokens": 812,
    "total": 1,
    "url": "http://localhost:7700/u/ada/",
    "username": "ada",
    "triggers": ["command: git push --force"],
}
_BY_FORMAT = {"uuid": SESSION, "date-time": MOMENT, "date": MOMENT[:10]}
_BY_TYPE: dict[str, Any] = {"integer": 12, "number": 0.9, "boolean": False, "string": "", "null": None}
_PYTHON: dict[str, type | tuple[type, ...]] = {
    "string": str,
    "integer": int,
    "number": (int, float),
    "boolean": bool,
    "array": list,
    "object": dict,
}


def example_arguments(operation: Operation) -> dict[str, Any]:
    """Return what a caller would send."""
    return ARGUMENTS.get(operation.name, {})


def example_reply(operation: Operation) -> Any:
    """Return a reply that fits the operation's shape and tells of its example's arguments."""
    schema = operation.shape.model_json_schema(mode="serialization")
    return _sample(schema, schema.get("$defs", {}), {**_GIVEN, **example_arguments(operation)})


def _sample(schema: Mapping[str, Any], definitions: Mapping[str, Any], given: Mapping[str, Any]) -> Any:
    if "$ref" in schema:
        return _sample(definitions[schema["$ref"].rpartition("/")[2]], definitions, given)
    if "anyOf" in schema:
        return None if {"type": "null"} in schema["anyOf"] else _sample(schema["anyOf"][0], definitions, given)
    if "const" in schema or "enum" in schema:
        return schema["const"] if "const" in schema else schema["enum"][0]
    if "properties" in schema:
        return {name: _property(name, part, definitions, given) for name, part in schema["properties"].items()}
    if schema.get("type") == "array":
        return [_sample(schema["items"], definitions, given)]
    if schema.get("type") == "object":
        return _sample_object(schema, definitions, given)
    if not schema:
        return given["title"]
    return _BY_FORMAT.get(schema.get("format", ""), _BY_TYPE[schema["type"]])


def _sample_object(schema: Mapping[str, Any], definitions: Mapping[str, Any], given: Mapping[str, Any]) -> Any:
    """An object with names of its own: one of them, with what the schema says of all."""
    values = schema.get("additionalProperties")
    if not isinstance(values, Mapping) or values.get("type") == "integer":
        return {"facts": 1}
    return {"title": _sample(values, definitions, given)}


def _property(name: str, schema: Mapping[str, Any], definitions: Mapping[str, Any], given: Mapping[str, Any]) -> Any:
    is_given = name in given and any(_fits(given[name], choice) for choice in schema.get("anyOf", [schema]))
    return given[name] if is_given else _sample(schema, definitions, given)


def _fits(value: Any, schema: Mapping[str, Any]) -> bool:
    """Whether a reply may repeat a value. What an argument lists may be of another shape than what a reply lists."""
    is_of_the_type = isinstance(value, _PYTHON.get(schema.get("type", ""), ()))
    return is_of_the_type and value in schema.get("enum", [value]) and "$ref" not in schema.get("items", {})
