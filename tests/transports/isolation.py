"""What one person owns, and what others send to get at it: for the tests of the table in SECURITY.md."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Any
from uuid import UUID, uuid4
from weakref import WeakKeyDictionary

from django.db import connection
from django.db.models import QuerySet
from django.test import override_settings
from django.utils import timezone

from accounts.actor import Actor
from accounts.models import ApiKey, Instance, Profile, Sharing, User
from accounts.oauth.app_tokens import let_in, oauth_address
from accounts.oauth.connected_apps import introduce_app
from accounts.people.profiles import update_profile
from bigmind.environment.profile_sections import ProfileSection
from curation.decisions.golden_questions import pin_golden_question
from curation.models import Claim, Comment, GoldenQuestion
from curation.proposals.proposals import promote_to_global
from knowledge.app_maps.argument_types import LearntEntity
from knowledge.app_maps.learning import learn_app
from knowledge.context.sessions import end_session, start_session
from knowledge.conversation.chunks import append_chunk
from knowledge.kb.entries import add_entry
from knowledge.memory.facts import deprecate_fact, store_fact
from knowledge.memory.hypotheses import add_hypothesis
from knowledge.memory.notes import set_note
from knowledge.models import (
    AmbiguousName,
    App,
    AppEntity,
    AppTable,
    AskedQuestion,
    CapturePolicy,
    Chunk,
    CompanyEntry,
    Concern,
    Conversation,
    Entry,
    Fact,
    Feedback,
    Firing,
    Gap,
    HookEvent,
    HookHealth,
    Hypothesis,
    Note,
    Passage,
    ReceiptText,
    Reference,
    Session,
    Summary,
    TidyingAnswer,
    UnansweredQuestion,
)
from knowledge.people.instances import register_instance
from knowledge.people.people_index import change_sharing
from knowledge.tidying.suggestions import suggestions_for
from knowledge.transfer.program_formats import export_memory
from tests.curation.factories import decide_at_latest
from tests.factories import make_actor, make_key
from tests.knowledge.factories import make_reference

SECRET = "Zanzibar"
SHARED = "Peppercorn"
LONG_AGO = timedelta(days=200)

Arguments = dict[str, Any]


@dataclass(frozen=True)
class Owned:
    """The ids and addresses of what somebody owns."""

    username: str
    open_session: str
    ended_session: str
    fact: int
    deprecated_fact: int
    chunk: int
    hypothesis: int
    note: int
    domain: str
    key: str
    document: Arguments
    api_key: UUID
    api_key_text: str
    app_key: UUID
    entry: UUID
    proposal: int
    company: int
    instance: UUID
    conversation: int
    event: int
    suggestion: str
    question: int = 0
    golden: int = 0
    reference: UUID | None = None

    def somewhere_else(self) -> "Owned":
        """Ids and addresses of the same kind, where nothing is."""
        numbers = {
            name: getattr(self, name) + 10_000
            for name in ("fact", "deprecated_fact", "chunk", "hypothesis", "proposal", "conversation", "event")
        }
        sessions = {"open_session": str(uuid4()), "ended_session": str(uuid4())}
        address = {"domain": f"{SECRET} desert", "key": f"{SECRET} dune"}
        return replace(
            self, note=self.note + 10_000, instance=uuid4(), suggestion="0" * 12, **numbers, **sessions, **address
        )

    def without_echo(self, reply: str) -> str:
        """Leave out the address of the note, which whoever sends it may get back."""
        return reply.replace(self.domain, "").replace(self.key, "")


def own_everything(actor: Actor) -> Owned:
    """Make one of everything that is private, with the secret word in every text."""
    change_sharing(actor, sections=[ProfileSection.WHO, ProfileSection.BADGES], in_directory=True, session_ids=[])
    update_profile(actor, role=f"{SECRET} engineer", preferences=SECRET, pinned_facts=[SECRET])
    ended, untold, in_progress = (start_session(actor, project=SECRET).session for _ in range(3))
    old = append_chunk(actor, session_id=str(ended.pk), role="user", content=f"{SECRET} chunk", flag_reason=SECRET)
    _end(actor, ended, summary=f"{SECRET} summary", key_facts=[SECRET])
    _end(actor, untold)
    fact = store_fact(actor, category="decision", fact=f"{SECRET} fact", confidence=0.1).fact
    gone = store_fact(actor, category="decision", fact=f"{SECRET} old fact").fact
    deprecate_fact(actor, fact_id=gone.pk, reason=SECRET)
    belief = add_hypothesis(actor, hypothesis=f"{SECRET} hypothesis")
    Hypothesis.objects.filter(pk=belief.pk).update(check_on=timezone.now().date())
    domain, key, tomorrow = f"{SECRET} harbour", f"{SECRET} berth", timezone.now() + timedelta(days=1)
    note = set_note(actor, domain=domain, key=key, content=f"{SECRET} note", expires_at=tomorrow)
    lost = store_fact(actor, category="decision", fact=f"{SECRET} fact that search lost").fact
    Passage.objects.filter(kind="fact", source_id=str(lost.pk)).delete()
    _grow_old(actor.user, in_progress)
    made = make_key(actor.user, label=f"{SECRET} laptop")
    conversation, event = _converse(actor, ended)
    return Owned(
        username=actor.user.username,
        open_session=str(in_progress.pk),
        ended_session=str(ended.pk),
        fact=fact.pk,
        deprecated_fact=gone.pk,
        chunk=old.pk,
        hypothesis=belief.pk,
        note=note.pk,
        domain=domain,
        key=key,
        conversation=conversation,
        event=event,
        suggestion=suggestions_for(actor.user, Concern.DUE)[0].key,
        document=export_memory(actor).model_dump(mode="json"),
        api_key=made.key.pk,
        api_key_text=made.text,
        app_key=_connect_an_app(actor),
        entry=uuid4(),
        proposal=propose(actor).pk,
        company=0,
        instance=register_instance(
            actor, instance_id=uuid4(), name=f"{SECRET} laptop", statistics={"facts": 1}
        ).instance.identity,
        question=_ask_what_nobody_knows(actor),
    )


def _converse(actor: Actor, session: Session) -> tuple[int, int]:
    """Let hooks report a conversation; return its number, and that of its one event."""
    CapturePolicy.objects.create(user=actor.user, never_folders=[f"/{SECRET}"])
    HookHealth.objects.create(user=actor.user, client="claude-code", failure=SECRET)
    told = {"user": actor.user, "client": "claude-code", "conversation": SECRET}
    Firing.objects.create(
        **told, told_id=SECRET, kind="fact", source_id="1", trigger=SECRET, level="advise", brought=True
    )
    conversation = Conversation.objects.create(
        user=actor.user, client="claude-code", client_id=SECRET, digest=SECRET, session=session, folder=f"/src/{SECRET}"
    )
    event = HookEvent.objects.create(user=actor.user, conversation=conversation, event="prompt", prompt=SECRET)
    return conversation.pk, event.pk


def _connect_an_app(actor: Actor) -> UUID:
    """Let an app in; return the id of its key."""
    redirects = ["https://chat.example/back"]
    app = introduce_app(str(uuid4()), name=f"{SECRET} chat", redirect_uris=redirects, address="192.0.2.8")
    let_in(actor, app, scopes=["read"], challenge="c" * 43, redirect_uri=redirects[0], resource=oauth_address())
    return ApiKey.objects.get(app=app).pk


def _ask_what_nobody_knows(actor: Actor) -> int:
    """Ask what finds nothing; return the number of the question."""
    AskedQuestion.objects.create(user=actor.user, how="recall", text=f"{SECRET} asked", digest=SECRET)
    asked = UnansweredQuestion(gap=Gap.objects.create(), user=actor.user, text=f"{SECRET} question", digest=SECRET)
    asked.save()
    return asked.pk


def propose(actor: Actor) -> CompanyEntry:
    """Propose something that nobody but curators may read yet."""
    with override_settings(BIGMIND_MODE="team"):
        said = {"title": f"{SECRET} proposal", "content": f"{SECRET} is what we propose."}
        return promote_to_global(actor, category="standard", project=SECRET, **said).entry


def approve_company_knowledge(owned: Owned) -> Owned:
    """Let a curator approve something that somebody else proposed: everybody may read it, agents and people."""
    said = {"title": f"{SHARED} rule", "content": f"{SHARED} is what we agreed on.", "anchors": ["a.py:f"]}
    with override_settings(BIGMIND_MODE="team"):
        entry = promote_to_global(make_actor(), category="standard", **said).entry
        decide_at_latest(make_actor(curator=True), entry_id=entry.pk, action="approve")
    golden = pin_golden_question(make_actor(curator=True), question=f"{SHARED}?", kind="company", id=str(entry.pk))
    return replace(owned, company=entry.pk, golden=golden.pk)


def share_entries(actor: Actor, owned: Owned) -> Owned:
    """Add two entries that belong together, of which others try to change the first, and an item of documentation."""
    parent = add_entry(actor, content=f"{SHARED} entry", entry_type="summary").entry
    add_entry(actor, content=f"{SHARED} entry below it", entry_type="fact", parent_id=parent.pk)
    share_an_app_map(actor)
    reference = make_reference(name="helios users list", title=f"{SHARED} listing", summary=f"{SHARED} reference")
    return replace(owned, entry=parent.pk, reference=reference.pk)


def share_an_app_map(actor: Actor) -> None:
    """Let somebody learn about an outside app: everybody may read it and add to it."""
    row = LearntEntity(name=f"{SHARED} row", table=f"{SHARED} table", row_id="ro_1")
    learn_app(actor, app=SHARED, entities=[row])


def ids_in_addresses(owned: Owned) -> dict[str, Any]:
    """What stands in the addresses of what somebody owns, and of what is shared."""
    row = AppEntity.objects.get()
    question = UnansweredQuestion.objects.get(pk=owned.question)
    shared = {
        "reference_id": owned.reference,
        "slug": "helios",
        "help-page.slug": "pages",
        "name": "pictures/stores.svg",
        "api-toolset.name": "memory",
        "api-operation.name": "memory_list_facts",
        "app_id": App.objects.get().pk,
        "part": "entities",
        "part_id": row.pk,
        "app-map-of-table.part_id": row.table_id,
        "entity_id": row.pk,
        **{f"kb-{page}.entry_id": owned.entry for page in ("entry", "edit", "level", "delete")},
    }
    nowhere = ("sign_in_id", "invitation_id", "report_id", "drift_id", "run_id", "workflow_id", "webhook_id")
    return {
        **shared,
        **dict.fromkeys(nowhere, 999_999),
        "delivery_id": uuid4(),
        "token": "x" * 32,
        "client": "claude-code",
        "name": "gaps",
        "version": "1.0.0",
        "owned": owned,
        "gap_id": question.gap_id,
        "username": owned.username,
        "person_id": question.user_id,
        "key_id": owned.api_key,
        "session_id": owned.ended_session,
        "fact_id": owned.fact,
        "chunk_id": owned.chunk,
        "note_id": owned.note,
        "hypothesis_id": owned.hypothesis,
        "question_id": owned.question,
        "golden_id": owned.golden,
        "pk": owned.proposal,
        "entry_id": owned.proposal,
        "kind": "fact",
        "thing_id": str(owned.fact),
        "conversation_id": owned.conversation,
        "event_id": owned.event,
    }


# The tests of isolation execute these statements thousands of times, and to plan one takes ten times as long as that.
_PREPARED: WeakKeyDictionary[Any, dict[object, str]] = WeakKeyDictionary()


def stored_by(user: User, owned: Owned, *, common: bool = True) -> list[tuple[Any, ...]]:
    """Return a digest of each table's rows of a person, and of all that is shared: to see whether anything changed.

    `common`: also documentation, app maps and golden questions, which belong to nobody.
    """
    about = (user.pk, (owned.api_key, owned.app_key), common)
    with connection.cursor() as cursor:
        kept = _PREPARED.setdefault(connection.connection, {})
        if about not in kept:
            kept[about] = f"stored_{len(kept)}"
            sql, values = _digests(*about)
            cursor.execute(f"PREPARE {kept[about]} AS {sql}", values)
        cursor.execute(f"EXECUTE {kept[about]}")
        return cursor.fetchall()


def _digests(user_id: UUID, key_ids: tuple[object, ...], common: bool) -> tuple[str, list[Any]]:
    """Return one statement for all tables."""
    rows: list[QuerySet[Any]] = [
        model.objects.filter(user=user_id)
        for model in (
            *(
                AskedQuestion,
                UnansweredQuestion,
                Session,
                Fact,
                Chunk,
                Hypothesis,
                Note,
                Profile,
                Sharing,
                Instance,
            ),
            *(Conversation, HookEvent, HookHealth, CapturePolicy, TidyingAnswer, ReceiptText),
            Firing,
        )
    ]
    rows += [
        Summary.objects.filter(session__user=user_id),
        ApiKey.objects.filter(pk__in=key_ids),
        Entry.objects.all(),
    ]
    rows += [model.objects.all() for model in (CompanyEntry, Comment, Claim, Feedback)]
    if common:
        rows += [model.objects.all() for model in (Reference, App, AppTable, AppEntity, AmbiguousName, GoldenQuestion)]
    rows.append(Passage.objects.filter(owner=user_id).values("pk", "text"))
    queries = [(found.model.__name__, *found.order_by().query.sql_with_params()) for found in rows]
    parts = [
        f"SELECT '{name}', md5(string_agg(row::text, ' ' ORDER BY row::text)) FROM ({sql}) AS row"
        for name, sql, _ in queries
    ]
    return " UNION ALL ".join(parts), [value for _, _, values in queries for value in values]


def _end(actor: Actor, session: Session, **told: Any) -> None:
    end_session(
        actor, session_id=str(session.pk), one_liner=f"{SECRET} session", topics=[SECRET], outcome=SECRET, **told
    )


def _grow_old(user: User, in_progress: Session) -> None:
    """Age what is stored, so that a sweep over the memories of others would find something."""
    then = timezone.now() - LONG_AGO
    Chunk.objects.filter(user=user).update(created_at=then)
    Fact.objects.filter(user=user).update(updated_at=then)
    Session.objects.filter(pk=in_progress.pk).update(started_at=then)


def _sessions(owned: Owned, **arguments: Any) -> list[Arguments]:
    """Address the session that goes on, by its id and by the first characters of it."""
    return [{"session_id": id, **arguments} for id in (owned.open_session, owned.open_session[:8])]


def _everything_by_kind(owned: Owned, *, fact: int) -> list[Arguments]:
    ids = {
        "fact": fact,
        "session": owned.ended_session,
        "chunk": owned.chunk,
        "note": owned.note,
        "hypothesis": owned.hypothesis,
    }
    return [{"kind": kind, "id": str(id)} for kind, id in ids.items()]


# What is sent by those who know every id and address. An operation without a line here fails a test.
ATTEMPTS: dict[str, Callable[[Owned], list[Arguments]]] = {
    "memory_start_session": lambda owned: [{"topics": ["anything"]}],
    "memory_end_session": lambda owned: _sessions(owned, one_liner="Taken over"),
    "memory_flag_important": lambda owned: _sessions(owned, content="Planted"),
    "memory_append_chunk": lambda owned: _sessions(owned, role="user", content="Planted"),
    "memory_get_context": lambda owned: [{"sessions": 50}],
    "memory_get_session_detail": lambda owned: [
        {"session_id": id} for id in (owned.ended_session, owned.ended_session[:8])
    ],
    "memory_list_sessions": lambda owned: [{"include_set_aside": True}],
    "memory_search_chunks": lambda owned: [{"query": SECRET}],
    "memory_correct_session": lambda owned: _sessions(owned, one_liner="Taken over"),
    "memory_erase_session": lambda owned: [{"session_id": owned.ended_session}],
    "memory_correct_chunk": lambda owned: [{"chunk_id": owned.chunk, "content": "Taken over"}],
    "memory_get_capture": lambda owned: [{}],
    "memory_set_capture": lambda owned: [{"mode": "ask"}],
    "memory_forget_conversation": lambda owned: [{"conversation_id": owned.conversation}],
    "memory_erase_chunk": lambda owned: [{"chunk_id": owned.chunk}],
    "memory_store_fact": lambda owned: [
        {"category": "decision", "fact": "Something else", "source_session": owned.ended_session}
    ],
    "memory_list_facts": lambda owned: [{"include_deprecated": True}],
    "memory_deprecate_fact": lambda owned: [{"fact_id": owned.fact, "reason": "Taken over"}],
    "memory_correct_fact": lambda owned: [{"fact_id": owned.fact, "fact": "Taken over"}],
    "memory_set_fact_triggers": lambda owned: [{"fact_id": owned.fact, "triggers": ["command: make"]}],
    "memory_erase_fact": lambda owned: [{"fact_id": owned.fact}],
    "memory_set_aside": lambda owned: _everything_by_kind(owned, fact=owned.fact),
    "memory_restore": lambda owned: _everything_by_kind(owned, fact=owned.deprecated_fact),
    "memory_add_hypothesis": lambda owned: [{"hypothesis": "Something else", "session_id": owned.open_session}],
    "memory_resolve_hypothesis": lambda owned: [
        {"hypothesis_id": owned.hypothesis, "status": "refuted", "resolution": "Taken over"}
    ],
    "memory_correct_hypothesis": lambda owned: [{"hypothesis_id": owned.hypothesis, "hypothesis": "Taken over"}],
    "memory_list_hypotheses": lambda owned: [{"include_set_aside": True}],
    "memory_tidy": lambda owned: [
        {"answers": [{"id": owned.suggestion, "action": "refuted", "text": "Taken over"}]},
        {"undo": [owned.suggestion]},
    ],
    "memory_erase_hypothesis": lambda owned: [{"hypothesis_id": owned.hypothesis}],
    "knowledge_set": lambda owned: [{"domain": owned.domain, "key": owned.key, "content": "Mine"}],
    "knowledge_get": lambda owned: [{"domain": owned.domain, "key": owned.key}],
    "knowledge_delete": lambda owned: [{"domain": owned.domain, "key": owned.key}],
    "knowledge_rename": lambda owned: [{"domain": owned.domain, "key": owned.key, "new_key": "taken"}],
    "knowledge_search": lambda owned: [{"query": SECRET}],
    "memory_semantic_search": lambda owned: [{"query": SECRET}],
    "memory_recall": lambda owned: [{"query": SECRET, "style": "detailed"}],
    "memory_use_tool": lambda owned: [{"find": SECRET}],
    "kb_search": lambda owned: [{"query": SHARED}],
    "kb_get": lambda owned: [{"id": str(owned.entry)}],
    "kb_get_related": lambda owned: [{"entry_id": str(owned.entry)}],
    "kb_list": lambda owned: [{}],
    "kb_stats": lambda owned: [{}],
    "kb_add": lambda owned: [{"content": "Something else", "entry_type": "fact"}],
    "kb_bulk_import": lambda owned: [{"entries": [{"content": "Something else"}]}],
    "kb_update": lambda owned: [{"id": str(owned.entry), "content": "Taken over"}],
    "kb_delete": lambda owned: [{"id": str(owned.entry)}],
    "kb_rebuild_embeddings": lambda owned: [{}],
    "lesson_for": lambda owned: [{"error": "Failed: the entry below it"}],
    "search_knowledge": lambda owned: [{"query": SHARED}],
    "get_command": lambda owned: [{"command": "helios users list"}],
    "list_commands": lambda owned: [{}],
    "get_api_endpoint": lambda owned: [{"path": "/users"}],
    "check_command": lambda owned: [{"command": "helios users list"}],
    "reference_get": lambda owned: [{"reference_id": str(owned.reference)}],
    "reference_update": lambda owned: [{"reference_id": str(owned.reference), "summary": "Taken over"}],
    "references_import": lambda owned: [
        {"collection": "helios", "drafts": [{"key": "k", "kind": "guide", "title": "Planted", "content": "Planted"}]}
    ],
    "memory_list_global": lambda owned: [{"limit": 200}],
    "memory_search_global": lambda owned: [{"query": SHARED}],
    "memory_feedback": lambda owned: [{"kind": "fact", "id": str(owned.fact), "verdict": "wrong"}],
    "memory_promote_to_global": lambda owned: [
        {"category": "decision", "source_kind": "fact", "source_id": str(owned.fact)}
    ],
    "memory_list_my_proposals": lambda owned: [{"limit": 200}],
    "memory_get_global": lambda owned: [{"entry_id": owned.proposal}],
    "memory_revise_proposal": lambda owned: [{"entry_id": owned.proposal, "content": "Taken over"}],
    "memory_withdraw_proposal": lambda owned: [{"entry_id": owned.proposal}],
    "memory_discuss_global": lambda owned: [{"entry_id": owned.proposal, "text": "Planted"}],
    "memory_list_queue": lambda owned: [{"limit": 200}],
    "memory_brief_curator": lambda owned: [{"entry_id": owned.proposal}],
    "memory_claim_global": lambda owned: [{"entry_id": owned.proposal}],
    "memory_approve_global": lambda owned: [
        {"entry_id": owned.proposal, "action": "reject", "revision": 1, "notes": "Taken over"}
    ],
    "memory_approve_many": lambda owned: [
        {
            "entry_ids": [owned.proposal],
            "action": "reject",
            "revisions": {str(owned.proposal): 1},
            "notes": "Taken over",
        }
    ],
    "golden_pin": lambda owned: [{"question": f"{SHARED}?", "kind": "company", "id": str(owned.company)}],
    "golden_list": lambda owned: [{"limit": 200}],
    "golden_check": lambda owned: [{}],
    "golden_unpin": lambda owned: [{"golden_id": owned.golden}],
    "anchors_list": lambda owned: [{"limit": 200}],
    "anchors_report": lambda owned: [
        {
            "repository": "acme/shop",
            "commit": "3f2a1bc4",
            "results": [{"id": str(owned.company), "anchor": "a.py:f", "verdict": "holds"}],
        }
    ],
    "memory_forget_source": lambda owned: [{"session_id": owned.ended_session, "dry_run": False}],
    "memory_update_profile": lambda owned: [{"role": "Somebody"}],
    "memory_get_profile": lambda owned: [{}],
    "memory_get_profile_url": lambda owned: [{}],
    "memory_open_profile": lambda owned: [{}],
    "directory_list": lambda owned: [{"limit": 200}, {"topic": SECRET}],
    "directory_search": lambda owned: [{"query": SECRET}],
    "directory_list_instances": lambda owned: [{"limit": 200}],
    "directory_register_instance": lambda owned: [{"instance_id": str(owned.instance), "name": "Taken over"}],
    "directory_forget_instance": lambda owned: [{"instance_id": str(owned.instance)}],
    "app_list": lambda owned: [{}],
    "app_get": lambda owned: [{"app": SHARED}],
    "app_resolve": lambda owned: [{"name": f"{SHARED} row"}],
    "app_export": lambda owned: [{}],
    "app_learn": lambda owned: [{"app": SHARED, "aliases": [f"{SHARED} too"]}],
    "app_bootstrap": lambda owned: [{"apps": [{"name": f"{SHARED} of somebody", "tables": []}]}],
    "app_import": lambda owned: [{"files": {"more.yaml": f"app:\n  name: {SHARED} imported\n"}}],
    "app_set_default": lambda owned: [{"name": f"{SHARED} row", "app": SHARED}],
    "app_report_failure": lambda owned: [
        {"app": SHARED, "failure": "row_gone", "entity": f"{SHARED} row", "outcome": "found", "found_id": "ro_2"}
    ],
    "app_forget": lambda owned: [{"app": SHARED}, {"app": SHARED, "table": f"{SHARED} table"}],
    "app_rebuild": lambda owned: [{"app": SHARED, "tables": []}],
    "memory_get_instructions": lambda owned: [{}],
    "memory_get_stats": lambda owned: [{}],
    "memory_health_check": lambda owned: [{"stale_days": 1}],
    "memory_vacuum": lambda owned: [{"older_than_days": 1, "dry_run": False}],
    "memory_export": lambda owned: [{}],
    "memory_import": lambda owned: [{"document": owned.document}],
}

# The operations of each row in SECURITY.md. What has no operation is a page: see `PAGES`.
ROWS: dict[str, tuple[str, ...]] = {
    "sessions, summaries, chunks": (
        "memory_end_session", "memory_flag_important", "memory_append_chunk", "memory_get_session_detail",
        "memory_correct_session", "memory_erase_session", "memory_correct_chunk", "memory_erase_chunk",
        "memory_forget_source",
    ),
    "storing a fact or a hypothesis, whatever session it names": ("memory_store_fact", "memory_add_hypothesis"),
    "facts": (
        "memory_deprecate_fact", "memory_correct_fact", "memory_set_fact_triggers", "memory_erase_fact",
        "memory_feedback", "memory_promote_to_global",
    ),
    "hypotheses": ("memory_resolve_hypothesis", "memory_correct_hypothesis", "memory_erase_hypothesis"),
    "notes": ("knowledge_get", "knowledge_delete", "knowledge_rename"),
    "captured conversations": ("memory_forget_conversation",),
    "any of these, set aside or restored": ("memory_set_aside", "memory_restore"),
    "lists, searches, context, profile, statistics, health, pruning, export, import": (
        "memory_start_session", "memory_get_context", "memory_list_sessions", "memory_search_chunks",
        "memory_list_facts", "memory_list_hypotheses", "memory_semantic_search", "memory_recall", "memory_use_tool",
        "memory_list_my_proposals", "knowledge_set", "knowledge_search", "memory_get_capture", "memory_set_capture",
        "memory_update_profile", "memory_get_profile", "memory_get_profile_url", "memory_open_profile",
        "memory_get_stats", "memory_health_check", "memory_tidy", "memory_vacuum", "memory_export", "memory_import",
        "directory_register_instance",
    ),
    "shared entries: reading, adding": (
        "kb_search", "kb_get", "kb_get_related", "kb_list", "kb_stats", "kb_add", "kb_bulk_import", "lesson_for",
    ),
    "shared entries: changing, deleting": ("kb_update", "kb_delete"),
    "shared entries: making the vectors anew": ("kb_rebuild_embeddings",),
    "documentation: looking up, checking, reading": (
        "search_knowledge", "get_command", "list_commands", "get_api_endpoint", "check_command", "reference_get",
    ),
    "documentation: importing, correcting": ("reference_update", "references_import"),
    "company knowledge: reading what is approved": ("memory_list_global", "memory_search_global", "anchors_list"),
    "company knowledge: reporting a check of the code it rests on": ("anchors_report",),
    "proposals: reading, commenting": ("memory_get_global", "memory_discuss_global"),
    "proposals: revising, withdrawing": ("memory_revise_proposal", "memory_withdraw_proposal"),
    "proposals: the queue, deciding": (
        "memory_list_queue",
        "memory_brief_curator",
        "memory_claim_global",
        "memory_approve_global",
        "memory_approve_many",
    ),
    "golden questions: pinning, listing, asking, removing": (
        "golden_pin",
        "golden_list",
        "golden_check",
        "golden_unpin",
    ),
    "the directory: what people share": ("directory_list", "directory_search"),
    "the directory: one’s own instances, and those that people share": ("directory_list_instances",),
    "instances: taking one off the list": ("directory_forget_instance",),
    "app maps: reading, learning, mending": (
        "app_list", "app_get", "app_resolve", "app_export", "app_bootstrap", "app_learn", "app_set_default",
        "app_report_failure", "app_import",
    ),
    "app maps: forgetting a table or an app, building it anew": ("app_forget", "app_rebuild"),
    "the guide": ("memory_get_instructions",),
}  # fmt: skip
ADDRESSED = (
    "storing a fact or a hypothesis, whatever session it names", "proposals: revising, withdrawing",
    "sessions, summaries, chunks", "facts", "hypotheses", "notes", "captured conversations",
    "any of these, set aside or restored", "instances: taking one off the list",
)  # fmt: skip
OF_THE_CALLER = ROWS["lists, searches, context, profile, statistics, health, pruning, export, import"]
