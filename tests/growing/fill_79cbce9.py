# ruff: noqa: E402, I001 - it runs in another revision, whose modules it imports once Django is set up.
"""Makes the fixture of `test_upgrade_from_79cbce9.py`: a BigMind of that revision with something of every kind in it.

It runs in that revision, in an environment with its requirements, and writes `79cbce9.sql.gz`, a plain dump, and
`79cbce9.json.gz`: the secret key, the API keys, and questions with their answers. Nothing but a mistake in the fixture
is a reason to make it again.

    git archive 79cbce9 | tar x -C OLD && cd OLD
    PYTHONPATH=. DJANGO_SETTINGS_MODULE=tests.settings python …/tests/growing/fill_79cbce9.py …/tests/growing
"""

import gzip
import json
import sys
from pathlib import Path
from uuid import UUID

import django

django.setup()

from django.conf import settings
from django.core.management import call_command

from accounts.actor import Actor
from accounts.models import Role
from accounts.services.agents import note_agent
from accounts.services.keys import create_key, revoke_key
from accounts.services.users import add_user, delete_user
from bigmind.api.examples import example_arguments
from bigmind.backup.programs import run
from bigmind.gate import perform
from bigmind.operations import CATALOGUE
from knowledge.indexing.embedding import embed_pending
from knowledge.people.people_index import change_sharing

NAME = "79cbce9"
ROLES = {"ada": Role.MEMBER, "ben": Role.MEMBER, "cora": Role.CURATOR, "dora": Role.ADMIN}
OF_ANYBODY = {
    "memory_list_facts": {"include_deprecated": True},
    "memory_list_sessions": {"include_set_aside": True},
    "memory_list_hypotheses": {"include_set_aside": True},
    "memory_get_profile": {},
    "knowledge_get": {},
    "memory_search_chunks": {"query": "why did the connections time out"},
    "knowledge_search": {"query": "package at the storage unit"},
    "memory_semantic_search": {"query": "which port does the ledger listen on"},
    "memory_list_my_proposals": {},
}
OF_ALL = {
    "memory_list_global": {},
    "memory_search_global": {"query": "how do services report their health"},
    "kb_list": {},
    "kb_search": {"query": "order of routes"},
    "kb_stats": {},
    "search_knowledge": {"query": "list all users"},
    "get_command": {"command": "helios gw users list"},
    "list_commands": {},
    "check_command": {"command": "helios gw users list"},
    "get_api_endpoint": {"path": "/api/v1/users/7", "method": "GET"},
    "lesson_for": {"error": "TypeError: pay is not a function"},
    "directory_list": {},
    "directory_search": {"query": "who worked on deploys?"},
    "app_list": {},
    "app_get": {"app": "CRM"},
    "app_resolve": {"name": "Elicit", "app": "CRM", "request": "add a comment on Elicit"},
}


class Person:
    """Somebody with a key, and an agent that performs operations for them."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.user = add_user(name, display_name=name.title(), role=ROLES[name], password="correct-horse-battery")
        self.key = create_key(self.user, label="laptop", scopes=["read", "write", "curate", "admin"]).text
        self.actor = Actor.of(
            self.user, agent=note_agent(self.user, client_name="claude-code", client_version="2.1.4", host="laptop")
        )

    def does(self, operation: str, /, **arguments: object) -> dict:
        """Perform an operation and return its reply."""
        return perform(CATALOGUE[operation], self.actor, arguments, door="rest").structured()

    def does_example(self, operation: str, /, **others: object) -> dict:
        """Perform an operation with the arguments of its example and, in their place, others."""
        return self.does(operation, **{**example_arguments(CATALOGUE[operation]), **others})

    def remembers(self) -> None:
        """Store something of every private kind: current, corrected, replaced, archived, restored, erased."""
        name = self.name.title()
        told = f"{name}'s"
        self.does("memory_update_profile", role="Platform engineer", preferences=f"{told} answers are short.",
                  pinned_facts=[f"{name} works in Europe/Berlin."])  # fmt: skip
        session = self.does("memory_start_session", project="billing", topics=["deploys", "postgres"])["session_id"]
        facts = [
            self.does("memory_store_fact", category=category, fact=fact, source_session=session)["fact"]["id"]
            for category, fact in (
                ("identity", f"Is called {name}."),
                ("codebase", f"The ledger of {name} listens on port 7013."),
                ("constraint", f"{told} deploys wait for the backup of the night."),
                ("preference", f"{name} bevorzugt kurze Sätze und keine Bildschirmfotos."),
                ("decision", f"{name}は夜間にバックアップを取る。"),
                ("decision", f"{told} team moved from Jenkins to Buildkite."),
                ("preference", f"{name} prefers unittest to pytest."),
                ("codebase", f"{told} password safe has the label blue-heron."),
            )
        ]
        self.does("memory_correct_fact", fact_id=facts[1], fact=f"The ledger of {name} listens on port 7014.")
        self.does("memory_deprecate_fact", fact_id=facts[6], reason="The team moved to another test runner.")
        self.does("memory_set_aside", kind="fact", id=str(facts[5]), reason="Not sure.")
        self.does("memory_restore", kind="fact", id=str(facts[5]))
        self.does("memory_erase_fact", fact_id=facts[7])
        self.does("memory_feedback", kind="fact", id=str(facts[2]), verdict="useful", note="Saved a night.")
        pool = f"{told} time-outs came from a pool of 5 connections shared by 8 workers."
        flagged = self.does("memory_flag_important", session_id=session, content=pool, flag_reason="An outage.")
        self.does("memory_correct_chunk", chunk_id=flagged["id"], flag_reason="Root cause of the outage of 29 March.")
        self.does("memory_append_chunk", session_id=session, role="user", content="Every migration is reversible.")
        belief = self.does("memory_add_hypothesis", hypothesis=f"{name} believes that the broker drops connections.")
        self.does("memory_resolve_hypothesis", hypothesis_id=belief["id"], status="confirmed", resolution="It did.")
        belief = self.does("memory_add_hypothesis", hypothesis=f"{name} believes that the queue locks too long.")
        self.does("memory_correct_hypothesis", hypothesis_id=belief["id"], confidence=0.4)
        self.does_example("memory_end_session", session_id=session, used=[], misleading=[])
        self.does("memory_correct_session", session_id=session, outcome=f"Deploys of {name} go blue-green from April.")
        archived = self.does("memory_start_session", project="shop")["session_id"]
        self.does("memory_end_session", session_id=archived, one_liner=f"{name} looked for a leak", topics=["leaks"])
        self.does("memory_set_aside", kind="session", id=archived)
        self.does("knowledge_set", domain="email", key="packages", content=f"{name} asks whether it is at the storage.")
        self.does("knowledge_set", domain="email", key="rules", content="Be brief.")
        self.does("knowledge_set", domain="email", key="rules", content=f"Be brief with {name}.")
        self.does("knowledge_set", domain="calendar", key="old", content=f"{name} is away on Fridays.")
        self.does("knowledge_rename", domain="calendar", key="old", new_key="fridays")
        change_sharing(self.actor, sections=["who", "role", "topics", "headlines"], in_directory=self.name != "ben",
                       session_ids=[UUID(session)])  # fmt: skip
        # One that nobody ended, with topics; and a question that nothing answers.
        self.does("memory_start_session", project="billing", topics=["ledger"])
        self.does("memory_semantic_search", query="zyzzyva quokka marmalade")


def share(people: dict[str, Person]) -> None:
    """Store something of every kind that people share, in every state that it can be in."""
    ada, ben, cora, dora = people.values()
    parent = ada.does("kb_add", content="# Routing\n\nHow the shop routes.", entry_type="summary", tags=["routing"])
    entry = ada.does_example("kb_add", parent_id=parent["id"])
    ada.does("kb_update", id=entry["id"], metadata={"gate_result": "PASS"}, tags=["vercel", "routing", "order"])
    ada.does("kb_add", content="`TypeError: pay is not a function`: import it by its name.", entry_type="fact")
    gone = ben.does("kb_add", content="Nobody needs this.", entry_type="fact")
    ben.does("kb_delete", id=gone["id"])
    ben.does("kb_bulk_import", entries=[{"content": "Write tests alongside code, not after.", "tags": ["testing"]}])
    numbers = [
        ada.does("memory_promote_to_global", category=category, title=title, content=content, project=project)
        for category, title, content, project in (
            ("standard", "Services report their health", "Every service answers /healthz and /readyz.", ""),
            ("decision", "Billing deploys blue-green", "Billing deploys blue-green, never by hand.", "billing"),
            ("pattern", "Retries wait", "A retry waits twice as long as the one before it.", ""),
            ("glossary", "Ledger", "The ledger is the service that keeps accounts.", ""),
            ("architecture", "One broker", "All queues are on one broker.", ""),
            ("standard", "Logs are JSON", "Every log line is one JSON object.", ""),
            ("standard", "Migrations are reversible", "Every migration can be undone.", ""),
            ("pattern", "Feature flags", "A feature flag ends within a month.", ""),
        )
    ]
    health, billing, retries, ledger, broker, logs, undone, _ = (one["entry"]["id"] for one in numbers)
    for number in (health, billing, ledger, undone):
        cora.does("memory_claim_global", entry_id=number)
        cora.does("memory_approve_global", entry_id=number, action="approve", notes="As in ADR 7.")
    cora.does("memory_discuss_global", entry_id=retries, text="The platform team has agreed.")
    cora.does("memory_approve_global", entry_id=retries, action="request_changes", notes="How often?")
    ada.does("memory_revise_proposal", entry_id=retries, content="A retry waits twice as long, up to five times.")
    cora.does("memory_approve_global", entry_id=broker, action="reject", notes="There are two.")
    ada.does("memory_withdraw_proposal", entry_id=logs, notes="Said elsewhere.")
    cora.does("memory_approve_global", entry_id=undone, action="deprecate", notes="Not any more.")
    cora.does("memory_approve_global", entry_id=health, action="edit", importance=9, notes="It matters.")
    ben.does("memory_feedback", kind="company", id=str(billing), verdict="outdated", note="Canary since May.")
    cora.does_example("references_import")
    cora.does("references_import", collection="helios", source="openapi.json", drafts=[
        {"key": "get-user", "kind": "api", "title": "Read a user", "name": "GET /api/v1/users/{id}",
         "content": "Returns one user.", "endpoint": {"method": "GET", "path": "/api/v1/users/{id}"}},
        {"key": "setup", "kind": "guide", "title": "Set up", "content": "Install it, then sign in."},
    ])  # fmt: skip
    found = ada.does("get_command", command="helios gw users list")
    cora.does("reference_update", reference_id=found["reference"]["id"], aliases=["show all users"])
    ada.does_example("app_learn", app_id="app_abc123", aliases=["client management"])
    ben.does("app_learn", app="Shop", entities=[{"name": "Elicit", "table": "Customers", "row_id": "ro_1"}],
             tables=[{"name": "Customers", "table_id": "ta_1"}])  # fmt: skip
    ben.does("app_set_default", name="Elicit", app="CRM")
    ada.does_example("directory_register_instance")
    dora.does("memory_promote_to_global", category="decision", title="Backups at night",
              content="Backups are made at three in the morning.")  # fmt: skip


def ask(people: dict[str, Person]) -> list[dict]:
    """Ask everybody; return the questions with their answers."""
    asked = [(person, name, said) for person in people.values() for name, said in OF_ANYBODY.items()]
    asked += [(people["ada"], name, said) for name, said in OF_ALL.items()]
    for entry in people["ada"].does("memory_list_my_proposals")["items"]:
        asked.append((people["cora"], "memory_get_global", {"entry_id": entry["id"]}))
    for session in people["ada"].does("memory_list_sessions", include_set_aside=True)["items"]:
        asked.append((people["ada"], "memory_get_session_detail", {"session_id": session["id"]}))
    return [
        {"who": person.name, "operation": name, "arguments": said, "answer": person.does(name, **said)}
        for person, name, said in asked
    ]


def main(folder: Path) -> None:
    """Fill a database, ask, dump."""
    call_command("migrate", verbosity=0)
    settings.BIGMIND_MODE = "team"
    people = {name: Person(name) for name in ROLES}
    ended = create_key(people["ben"].user, label="lost")
    revoke_key(ended.key)
    for name in ("ada", "ben"):
        people[name].remembers()
    share(people)
    ROLES["fay"] = Role.MEMBER
    fay = Person("fay")
    fay.remembers()
    delete_user(fay.user)
    while embed_pending():
        pass
    document = {
        "secret_key": settings.SECRET_KEY,
        "keys": {name: person.key for name, person in people.items()},
        "revoked_key": ended.text,
        "questions": ask(people),
    }
    while embed_pending():
        pass
    _write(folder / f"{NAME}.json.gz", json.dumps(document, ensure_ascii=False, indent=1).encode())
    options = ["--no-owner", "--no-privileges", "--no-comments", "--enable-row-security", "--rows-per-insert=200"]
    with run("pg_dump", options, stdout=-1) as dumping:
        dump, _ = dumping.communicate()
    lines = [line for line in dump.splitlines() if not line.startswith((b"--", b"\\"))]
    _write(folder / f"{NAME}.sql.gz", b"\n".join(lines))


def _write(path: Path, content: bytes) -> None:
    path.write_bytes(gzip.compress(content, 9, mtime=0))
    print(f"{path}: {len(content):,} bytes, {path.stat().st_size:,} of them compressed")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
