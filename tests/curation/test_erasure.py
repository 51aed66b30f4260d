"""Erasing: after it a marker stands in no column of the database but those that say why (T19)."""

import json
from dataclasses import replace
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from django.core.management import CommandError, call_command
from django.db import IntegrityError, transaction
from django.test import Client
from django.urls import reverse
from django.utils import timezone
from django.utils.formats import date_format

from accounts.actor import Actor
from accounts.models import ErasureReport, User
from accounts.people.user_deletion import delete_user
from accounts.services.erasure_reports import as_file, check_report
from bigmind.core.signed_documents import SignatureVerdict
from bigmind.gate import perform
from bigmind.operations import CATALOGUE
from curation.decisions.entry_details import comment
from curation.decisions.forgetting import forget_source
from curation.decisions.history import find_broken_seals
from curation.models import Delivery, Notice
from knowledge.context.reply_notices import hear_notices
from knowledge.context.sessions import end_session, erase_session, start_session
from knowledge.context.start_context import get_context
from knowledge.exposures.context_receipts import ShownLine, receipt_of
from knowledge.indexing.embedding import embed_pending
from knowledge.memory.facts import erase_fact
from knowledge.models import CompanyEntry, Session
from tests.curation.factories import approved_entry, decide_at_latest, propose
from tests.curation.scanning import columns, places_of
from tests.factories import make_actor, make_agent, make_key, make_user
from tests.knowledge.factories import make_fact, make_session

pytestmark = pytest.mark.django_db

MARKER = "Xylograph"
STAYS = {
    # Company knowledge waits for a curator, with its history: told to nobody, and never deleted in silence.
    "knowledge_companyentry.title",
    "knowledge_companyentry.content",
    "knowledge_companyentry.project",
    "knowledge_companyentry.topics",
    "curation_review.after",
    "curation_review.before",
}


def call(actor: Actor, name: str, **arguments: Any) -> Any:
    key = f"{name}-{timezone.now().timestamp()}"
    return perform(CATALOGUE[name], actor, arguments, transport="mcp", idempotency_key=key).value


def write_everywhere(actor: Actor) -> CompanyEntry:
    """Store the marker in everything that an agent can write, and let a curator approve what it proposes."""
    session = call(actor, "memory_start_session", project=MARKER, topics=[MARKER])
    number = str(session.session_id)
    fact = call(actor, "memory_store_fact", category="decision", fact=f"{MARKER} fact", project=MARKER)
    call(actor, "memory_flag_important", content=f"{MARKER} chunk", session_id=number)
    call(actor, "memory_append_chunk", role="user", content=f"{MARKER} exchange", session_id=number)
    call(actor, "memory_add_hypothesis", hypothesis=f"{MARKER} belief")
    call(actor, "knowledge_set", domain="email", key=MARKER.lower(), content=f"{MARKER} note")
    call(actor, "kb_add", content=f"{MARKER} entry", entry_type="fact", tags=[MARKER], source_file=f"{MARKER}.md")
    call(actor, "memory_feedback", kind="fact", id=str(fact.fact.id), verdict="useful", note=f"{MARKER} helped")
    call(actor, "memory_semantic_search", query=f"what is a {MARKER} quux zebra")
    call(actor, "memory_search_chunks", query=f"why does the {MARKER} wobble")
    proposal = call(actor, "memory_promote_to_global", category="standard", title=MARKER, content=f"{MARKER} rule")
    call(actor, "memory_discuss_global", entry_id=proposal.entry.id, text=f"{MARKER} said")
    call(actor, "memory_end_session", one_liner=f"{MARKER} session", session_id=number, summary=f"{MARKER} summary")
    call(actor, "memory_start_session", project=MARKER)
    approved = decide_at_latest(make_actor(curator=True), entry_id=proposal.entry.id, action="approve").entry
    embed_pending()
    return approved


def approved_from(author: Actor) -> CompanyEntry:
    """Let an agent propose something through the gate, and a curator approve it."""
    said = {"category": "standard", "title": "Health of services", "content": "Every service answers /healthz."}
    proposal = call(author, "memory_promote_to_global", **said)
    return decide_at_latest(make_actor(curator=True), entry_id=proposal.entry.id, action="approve").entry


def acting_with_a_key(user: User | None = None) -> Actor:
    user = user or make_user()
    return Actor.of(user, key=make_key(user).key)


def test_every_column_is_looked_into() -> None:
    tables = {table for table, _ in columns()}

    assert {"knowledge_fact", "knowledge_passage", "accounts_keptreply", "curation_review"} <= tables


def test_what_a_key_wrote_stands_nowhere_any_more_and_the_signed_report_says_no_word_of_it():
    actor = acting_with_a_key()
    write_everywhere(actor)
    assert len(places_of(MARKER)) > 15

    done = forget_source(actor, key=actor.key.pk, dry_run=False)

    assert places_of(MARKER) - STAYS == set()
    assert not list(find_broken_seals())
    report = ErasureReport.objects.get(pk=done.report)
    assert check_report(as_file(report)) is SignatureVerdict.OURS
    assert report.document["counts"]["facts"] == 1
    assert len(report.document["digests"]["fact"]) == 1
    assert MARKER.lower() not in str(report.document).lower()


def test_what_an_agent_wrote_since_a_moment_stands_nowhere_any_more() -> None:
    actor = make_agent(make_user(), "claude-code")
    begin = timezone.now()
    write_everywhere(actor)

    forget_source(actor, agent=actor.agent.pk, since=begin, dry_run=False)

    assert places_of(MARKER) - STAYS == set()


def test_what_a_session_wrote_stands_nowhere_any_more() -> None:
    actor = make_agent(make_user(), "claude-code")
    write_everywhere(actor)
    first, second = Session.objects.order_by("started_at")

    for session in (first, second):
        forget_source(actor, session_id=str(session.pk), dry_run=False)

    assert places_of(MARKER) - STAYS == set()


def test_who_is_deleted_leaves_neither_texts_nor_a_name() -> None:
    user = make_user("wenceslas", display_name="Wenceslas Marigold", email="wenceslas@example.com")
    write_everywhere(acting_with_a_key(user))

    delete_user(user)

    shared = {"knowledge_entry", "knowledge_passage", "knowledge_entryfingerprint", "curation_comment"}
    left = {place for place in places_of(MARKER) - STAYS if place.partition(".")[0] not in shared}
    assert left == set()
    assert places_of("wenceslas") | places_of("Marigold") == set()
    assert not list(find_broken_seals())


def test_a_report_that_was_changed_and_one_of_another_instance_are_told_apart(settings: Any) -> None:
    actor = acting_with_a_key()
    done = forget_source(actor, key=actor.key.pk, dry_run=False)
    said = as_file(ErasureReport.objects.get(pk=done.report))

    changed = check_report({**said, "signed": {**said["signed"], "counts": {"facts": 9}}})
    before, settings.SECRET_KEY = settings.SECRET_KEY, "another"
    foreign = check_report(said)
    settings.SECRET_KEY_FALLBACKS = [before]
    after_a_rotation = check_report(said)

    assert (changed, check_report({})) == (SignatureVerdict.CHANGED, SignatureVerdict.CHANGED)
    assert (foreign, after_a_rotation) == (SignatureVerdict.FOREIGN, SignatureVerdict.OURS)


def test_a_dry_run_leaves_no_report_and_the_database_refuses_to_change_or_delete_one():
    actor = acting_with_a_key()

    dry, dry_reports = forget_source(actor, key=actor.key.pk), ErasureReport.objects.count()
    forget_source(actor, key=actor.key.pk, dry_run=False)

    assert (dry.report, dry_reports) == (None, 0)
    with pytest.raises(IntegrityError), transaction.atomic():
        ErasureReport.objects.update(document={})
    with pytest.raises(IntegrityError), transaction.atomic():
        ErasureReport.objects.all().delete()


def test_each_open_session_that_was_told_it_hears_at_its_next_call_and_once():
    author = acting_with_a_key()
    entry = approved_from(author)
    agent = make_agent(make_user(), "claude-code")
    windows = [replace(agent, conversation=name) for name in ("one", "two")]
    for window in windows:
        start_session(window)
    done = forget_source(make_actor(admin=True), key=author.key.pk, dry_run=False)

    heard, later = ([hear_notices(window) for window in windows] for _ in range(2))

    assert (done.open_sessions_told, done.people_told) == (2, 1)
    for first, second in zip(heard, later, strict=True):
        assert any(f"[{entry.handle}]" in line and "recalled" in line for line in first)
        assert not any("recalled" in line for line in second)
        assert entry.title not in " ".join(first)


def test_the_owner_of_an_ended_session_that_was_told_it_reads_a_notice(agent):
    author = acting_with_a_key()
    entry = approved_from(author)
    start_session(agent)
    end_session(agent, one_liner="Used it")

    done = forget_source(make_actor(admin=True), key=author.key.pk, dry_run=False)

    assert done.ended_sessions_told == 1
    assert f"told [{entry.handle}], which was recalled" in Notice.objects.get(user=agent.user).text
    assert entry.title not in get_context(agent).markdown


def test_what_came_from_a_file_goes_and_nothing_else(curator):
    call(curator, "kb_add", content="Poisoned.", entry_type="fact", source_file="bad.md")
    call(curator, "kb_add", content="Sound.", entry_type="fact", source_file="good.md")

    done = forget_source(curator, source_file="bad.md", dry_run=False)

    assert done.entries == 1
    assert "Poisoned" not in str(call(curator, "kb_list"))


def test_company_knowledge_that_a_tool_said_waits_for_a_curator_again(curator):
    from_tool, from_user = approved_entry(origin="tool"), approved_entry(origin="user")

    done = forget_source(curator, origin="tool", dry_run=False)

    statuses = [CompanyEntry.objects.get(pk=entry.pk).status for entry in (from_tool, from_user)]
    assert (done.proposals, statuses) == (1, ["pending", "approved"])


def test_the_command_says_by_its_exit_code_whether_a_report_is_what_was_signed(tmp_path: Any) -> None:
    actor = acting_with_a_key()
    number = forget_source(actor, key=actor.key.pk, dry_run=False).report
    said = as_file(ErasureReport.objects.get(pk=number))
    changed, foreign = tmp_path / "changed.json", tmp_path / "foreign.json"
    changed.write_text(json.dumps({**said, "signed": {**said["signed"], "at": "never"}}))
    other = Ed25519PrivateKey.generate()
    signed = json.dumps(said["signed"], sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode()
    told = {"signature": other.sign(signed).hex(), "public_key": other.public_key().public_bytes_raw().hex()}
    foreign.write_text(json.dumps({**said, **told}))

    codes = [_exit_code(str(report)) for report in (number, changed, foreign, tmp_path / "nowhere.json")]

    assert codes == [0, 1, 3, 1]


def test_the_page_lists_reports_for_admins_and_for_others_their_own(client: Client) -> None:
    actor = acting_with_a_key(make_user("ada"))
    number = forget_source(actor, key=actor.key.pk, dry_run=False).report
    stranger, admin = make_user("stranger"), make_user("root", role="admin")
    address = reverse("erasure-file", args=[number])

    seen = {}
    for user in (actor.user, stranger, admin):
        client.force_login(user)
        page, file = client.get(reverse("erasures")), client.get(address)
        seen[user.username] = (address in page.text, file.status_code)
    downloaded = client.get(address)

    assert seen == {"ada": (True, 200), "stranger": (False, 404), "root": (True, 200)}
    assert downloaded.headers["Content-Disposition"] == f'attachment; filename="erasure-{number}.json"'
    assert check_report(downloaded.json()) is SignatureVerdict.OURS


def _exit_code(report: str) -> int:
    try:
        call_command("audit_verify", report)
    except CommandError as error:
        return error.returncode
    return 0


def test_a_session_shows_from_whom_each_line_was_and_by_which_report_it_was_erased() -> None:
    writer = make_agent(make_user("ada"), "claude-code")
    approved = approved_from(make_agent(make_user("bob"), "cursor"))
    call(writer, "memory_store_fact", category="decision", fact="We keep PostgreSQL.")
    session = start_session(make_agent(writer.user, "codex")).session

    before = {line.kind: line for line in _lines_of(session)}
    report = forget_source(writer, agent=writer.agent.pk, dry_run=False).report
    after = {line.kind: line for line in _lines_of(session)}

    assert before["fact"].lineage.startswith("from you, through claude-code 1.0 on laptop")
    assert before["company"].title == f"[{approved.handle}] {approved.title}"
    assert before["company"].lineage.startswith("proposed by bob")
    assert after["fact"].title == "(no longer kept)"
    assert after["fact"].lineage.startswith("erased on ")
    assert after["fact"].lineage.endswith(f"(report {report})")


def test_a_session_shows_when_one_line_was_erased_by_itself(actor):
    fact = make_fact(actor, "We keep PostgreSQL.")
    earlier = make_session(actor)
    session = start_session(actor).session

    erase_fact(actor, fact_id=fact.pk)
    erase_session(actor, session_id=str(earlier.pk))

    today = date_format(timezone.localtime(), "j F Y")
    lines = {line.kind: line for line in _lines_of(session)}
    assert lines["fact"].lineage == f"erased on {today}"
    assert lines["session"].lineage == f"erased on {today}"
    assert "erased" not in lines["fact"].why


def _lines_of(session: Session) -> list[ShownLine]:
    receipt = receipt_of(session)
    assert receipt
    return receipt.lines


def curator_called(name):
    return make_actor(make_user(role="curator", display_name=name))


def notices_of(author):
    return list(Notice.objects.filter(user=author.user).order_by("pk").values_list("text", flat=True))


def test_only_whole_names_and_only_where_they_name_the_one_who_decided_leave_notices():
    make_user(role="admin")
    author, ann = make_actor(), curator_called("ann")
    entry = propose(author, title="What ann planned was announced by ann.")

    decide_at_latest(ann, entry_id=entry.pk, action="reject", notes="It is announced by ann. Later.")
    decide_at_latest(curator_called("joann"), entry_id=entry.pk, action="reopen", notes="To ann.")
    before = notices_of(author)
    delete_user(ann.user)

    begins = f"“What ann planned was announced by ann.” ({entry.handle})"
    assert before[0] == f"{begins} was rejected by ann: It is announced by ann. Later."
    assert notices_of(author)[0] == f"{begins} was rejected by a former user: It is announced by ann. Later."
    assert notices_of(author)[1:] == before[1:]


def test_of_two_people_of_one_name_the_comments_of_the_other_keep_it():
    make_user(role="admin")
    author, one, other = make_actor(), curator_called("Ann Lee"), curator_called("Ann Lee")
    entry = propose(author)

    comment(one, entry_id=entry.pk, text="Since when?")
    comment(other, entry_id=entry.pk, text="And for whom?")
    delete_user(one.user)

    begins = [text.partition(" commented on ")[0] for text in notices_of(author)]
    assert begins == ["a former user", other.user.signature]


def test_messages_about_the_decisions_of_a_namesake_are_sent_as_they_were(settings):
    settings.WEBHOOK_URL = "https://example.com/hook"
    make_user(role="admin")
    one, other = curator_called("Ann Lee"), curator_called("Ann Lee")
    for curator in (one, other):
        decide_at_latest(curator, entry_id=propose(title="Ann Lee decides").pk, action="approve")

    delete_user(one.user)

    sent = Delivery.objects.filter(event="company.approve", delivered_at=None).order_by("created_at")
    assert [(row.body["data"]["by"], row.body["data"]["title"]) for row in sent] == [
        ("a former user", "Ann Lee decides"),
        ("Ann Lee", "Ann Lee decides"),
    ]
