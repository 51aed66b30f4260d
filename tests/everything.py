"""One row of every model, for tests that look at all of them."""

from uuid import uuid4

from django.test import override_settings
from django.urls import reverse
from django.utils import timezone

from accounts.keys import create_key
from accounts.models import Alert, BackupRun, SettingOverride, User, Worker
from accounts.oauth.app_tokens import let_in
from accounts.oauth.connected_apps import introduce_app
from accounts.people.invitations import invite
from accounts.services.erasure_reports import Erased, report_erasure
from accounts.services.task_statistics import tally_task
from accounts.sign_in.attempts import count_try
from accounts.sign_in.links import make_sign_in_link
from bigmind.core.argument_checks import validate_arguments
from bigmind.environment.profile_sections import ProfileSection
from bigmind.gate import perform
from bigmind.operations import CATALOGUE
from bigmind.transports.rest.examples import example_arguments
from curation.decisions.entry_details import comment
from curation.models import (
    Comparison,
    Delivery,
    Frequency,
    GoldenQuestion,
    Notice,
    Overlap,
    Scrub,
    Subscription,
    Webhook,
)
from curation.proposals.claims import claim_entry
from curation.proposals.proposals import promote_to_global
from knowledge.app_maps.learning import learn_app
from knowledge.context.sessions import end_session, start_session
from knowledge.conversation.chunks import append_chunk
from knowledge.embeddings.budget import spend
from knowledge.exposures.feedback import give_feedback
from knowledge.indexing.embedding import embed_pending
from knowledge.kb.entries import add_entry
from knowledge.lessons.lookup import lesson_for
from knowledge.memory.facts import store_fact
from knowledge.memory.hypotheses import add_hypothesis
from knowledge.memory.notes import set_note
from knowledge.models import (
    AmbiguousName,
    App,
    AppRun,
    AskedQuestion,
    CapturePolicy,
    CompanyCopy,
    CompanyEntry,
    CompanyServer,
    Concern,
    Conversation,
    Dispatch,
    Fact,
    Firing,
    Gap,
    Healing,
    HookEvent,
    HookHealth,
    IndexGap,
    Proof,
    Recall,
    ReferenceDrift,
    ReferenceUse,
    ReferenceVersion,
    Serving,
    Session,
    SourceRepository,
    TidyingAnswer,
    ToolUse,
    UnansweredQuestion,
    Writing,
)
from knowledge.people.instances import register_instance
from knowledge.people.people_index import change_sharing
from tests.curation.factories import approved_entry
from tests.factories import browser_of, make_actor, make_agent, make_user
from tests.knowledge.factories import make_reference


def make_one_of_everything() -> User:
    """Make somebody's memory, with one row of every model; return who it is."""
    user = make_user("ada")
    create_key(user)
    make_sign_in_link(user)
    Alert.objects.create(user=user, kind=Alert.Topic.KEY_ENDS, text="ada's key ends.")
    app = introduce_app("c1", name="Ada's chat", redirect_uris=["https://chat.example/back"], address="192.0.2.8")
    let_in(
        make_actor(user), app, scopes=["read"], challenge="c" * 43, redirect_uri="", resource="https://b.example/mcp"
    )
    invite(make_actor(admin=True), name="ada's friend")
    browser = browser_of(user)
    browser.get(reverse("keys"))
    count_try("ada", "192.0.2.7")
    tally_task("knowledge.tasks.embed_pending", seconds=0.1, scheduled=True, request_id="1")
    Worker.objects.create(name="host:7", seen_at=timezone.now(), took_at=timezone.now())
    BackupRun.objects.create(name="bigmind-20260101T000000Z", place="/backups", seconds=1)
    SettingOverride.objects.create(name="review_days", value=4)
    actor = make_agent(user, "claude-code")
    perform(
        CATALOGUE["memory_update_profile"], actor, {"role": "Engineer"}, transport="command", idempotency_key="profile"
    )
    start_session(actor)
    append_chunk(actor, role="user", content="It was the pool.")
    end_session(actor, one_liner="Found the leak", summary="A long hunt.")
    store_fact(actor, category="identity", fact="Is called Ada.")
    add_hypothesis(actor, hypothesis="I believe it is the pool.")
    set_note(actor, domain="email", key="rules", content="Be brief.")
    add_entry(actor, content="Routes are ordered.", entry_type="fact")
    with override_settings(BIGMIND_MODE="team"):
        entry = promote_to_global(actor, category="standard", title="Health", content="Answer /healthz.").entry
    curator = make_actor(curator=True)
    comment(curator, entry_id=entry.pk, text="Since when?")
    claim_entry(curator, entry_id=entry.pk)
    GoldenQuestion.objects.create(
        question="How is health answered?", digest="1", kind="company", source_id=str(entry.pk)
    )
    give_feedback(actor, kind="fact", id=str(Fact.objects.get().pk), verdict="useful")
    Writing.objects.create(kind="fact", source_id="1", made=True, user=user, agent=actor.agent)
    Notice.objects.create(user=user, entry=entry, text="Approved.")
    Delivery.objects.create(channel="webhook", event="proposed", body={})
    Webhook.objects.create(name="Chat", url="https://hooks.example.com/", secret="sealed", events=["company.approve"])
    Scrub.objects.create(whose=user, why="Not to keep.")
    SourceRepository.objects.create(name="github.com/acme/shop", first_commit="0" * 40)
    IndexGap.objects.create(gap="passages", kind="fact", count=1)
    Subscription.objects.create(user=user, frequency=Frequency.WEEKLY)
    embed_pending()
    add_entry(actor, content="`TypeError: pay is not a function`", entry_type="fact")
    lesson_for(actor, error="TypeError: pay is not a function")
    Proof.objects.create(entry=entry)
    other = approved_entry(title="Colour of lorries", content="Lorries are painted green.")
    Overlap.objects.create(entry=entry, other=other)
    Comparison.objects.create(entry=entry, revision=entry.revision)
    start = start_session(actor).session
    hooked = Conversation.objects.create(user=user, client="claude-code", client_id="1", digest="1", session=start)
    HookEvent.objects.create(conversation=hooked, user=user, event="start")
    ToolUse.objects.create(conversation=hooked, user=user, tool_use_id="toolu_1")
    HookHealth.objects.create(user=user, client="claude-code")
    fired = {"kind": "company", "source_id": str(entry.pk), "trigger": "command: git push", "level": "advise"}
    Firing.objects.create(user=user, told_id="1", client="claude-code", brought=True, **fired)
    CapturePolicy.objects.create(user=user)
    TidyingAnswer.objects.create(user=user, key="0" * 12, concern=Concern.UNUSED, items=["1"], action="keep")
    Serving.objects.create(session=start, user=user, kind="company", source_id=str(entry.pk))
    Recall.objects.create(session=start, user=user, handle="C1", why="Poisoned.")
    report_erasure(Erased({"what": "source"}), whose=user)
    AskedQuestion.objects.create(user=user, how="recall", text="Who knows?", digest="1")
    UnansweredQuestion.objects.create(gap=Gap.objects.create(), user=user, text="Who knows?", digest="1")
    reference = make_reference(name="helios users list", title="List users")
    ReferenceVersion.objects.create(reference=reference, number=1, text={}, why="edit")
    ReferenceDrift.objects.create(reference=reference)
    ReferenceUse.objects.create(reference=reference)
    spend(100)
    learn_app(actor, **validate_arguments(learn_app, example_arguments(CATALOGUE["app_learn"])))
    AmbiguousName.objects.create(name="Elicit", look_up="elicit")
    Healing.objects.create(app=App.objects.get(), app_name="CRM", failure="row_gone", outcome="found", user=user)
    AppRun.objects.create(purpose="bootstrap", connector="budibase", asked_by=user)
    sessions = list(Session.objects.of(user).values_list("pk", flat=True))
    change_sharing(actor, sections=list(ProfileSection), in_directory=True, session_ids=sessions)
    server = CompanyServer.objects.create(url="https://bigmind.example.com")
    Dispatch.objects.create(entry=entry, server=server)
    copied = CompanyEntry.objects.create(
        category="standard", title="Deploys", content="Blue-green.", digest="1", is_copy=True, status="approved"
    )
    CompanyCopy.objects.create(entry=copied, server=server, upstream_id=1, upstream_revision=1)
    register_instance(actor, instance_id=uuid4(), name="ada's laptop", version="1.0")
    return user
