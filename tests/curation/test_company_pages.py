"""Company knowledge as everybody reads it, and as curators keep it true."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from accounts.actor import Actor
from curation.decisions.entry_details import comment
from curation.models import Action
from curation.proposals.proposals import revise_proposal
from knowledge.indexing.embedding import embed_pending
from knowledge.kb.entries import add_entry
from knowledge.memory.hypotheses import add_hypothesis
from knowledge.models import CompanyEntry, Feedback, Status
from tests.curation.factories import approved_entry, decide_at_latest, propose
from tests.factories import make_actor, make_agent, make_user
from tests.knowledge.factories import make_chunk, make_fact, make_session

pytestmark = pytest.mark.django_db


@pytest.fixture
def reader(client: Client) -> Actor:
    """A member who is signed in."""
    reader = make_actor(make_user("rita", display_name="Rita"))
    client.force_login(reader.user)
    return reader


@pytest.fixture
def curator(client: Client) -> Actor:
    """A curator who is signed in."""
    curator = make_actor(make_user("cora", role="curator", display_name="Cora"))
    client.force_login(curator.user)
    return curator


def shown(client: Client, entry: CompanyEntry) -> Any:
    return client.get(reverse("company-entry", args=[entry.pk]))


def post(client: Client, route: str, entry: CompanyEntry, **sent: Any) -> Any:
    return client.post(reverse(route, args=[entry.pk]), {"revision": entry.revision, **sent})


def aged(entry: CompanyEntry, *, days_past_review: int) -> CompanyEntry:
    """Let the review date of an entry be so many days ago."""
    CompanyEntry.objects.filter(pk=entry.pk).update(
        review_after=timezone.localdate() - timedelta(days=days_past_review)
    )
    return entry


# Browsing


def test_code_in_a_title_is_set_as_code_wherever_the_title_stands(client: Client, curator: Actor) -> None:
    title, as_code = "Secrets never stand in `.env`", "Secrets never stand in <code>.env</code>"
    due = aged(approved_entry(make_actor(), title=title, content="They stand in Vault."), days_past_review=1)
    waiting = propose(make_actor(), title=title, content="They stand in Vault, and nowhere else.")

    pages = [
        *(client.get(reverse(name)) for name in ("company", "company-due", "curation")),
        *(client.get(reverse(name, args=[waiting.pk])) for name in ("company-entry", "curation-entry")),
        client.get(reverse("company"), {"query": "vault"}),
        client.get(reverse("company-entry", args=[due.pk])),
    ]

    assert [page.request["PATH_INFO"] for page in pages if as_code not in page.text] == []


def test_what_is_not_approved_is_not_listed_and_not_found(client: Client, curator: Actor) -> None:
    propose(title="Secret plan", content="Nobody reads this yet.")
    gone = approved_entry(title="Old plan")
    decide_at_latest(curator, entry_id=gone.pk, action="deprecate")

    pages = [client.get(reverse("company")), client.get(reverse("company"), {"query": "plan"})]

    assert all("Secret plan" not in page.text and "Old plan" not in page.text for page in pages)


def test_each_filter_leaves_what_it_says(client: Client, reader: Actor) -> None:
    aged(approved_entry(title="Retries", content="A failed call is tried again.", project="atlas"), days_past_review=1)
    aged(approved_entry(title="Deploys", content="On Tuesdays."), days_past_review=40)
    approved_entry(title="Tenant", content="A paying company.", category="glossary")
    CompanyEntry.objects.filter(pk=approved_entry(title="Health").pk).update(verified_at=None)

    cases: list[tuple[dict[str, str], set[str]]] = [
        ({"category": "glossary"}, {"Tenant"}),
        ({"project": "atlas"}, {"Retries"}),
        ({"freshness": "verified"}, {"Tenant"}),
        ({"freshness": "due"}, {"Retries"}),
        ({"freshness": "stale"}, {"Deploys"}),
        ({"freshness": "never"}, {"Health"}),
        ({"freshness": "stale", "category": "glossary"}, set()),
        ({"query": "failed call"}, {"Retries"}),
        ({"query": "failed call", "freshness": "stale"}, set()),
        ({"query": "failed call", "category": "standard"}, {"Retries"}),
    ]

    listed = [
        {row["entry"].title for row in client.get(reverse("company"), asked).context["rows"]} for asked, _ in cases
    ]

    wrong = [
        (asked, titles)
        for (asked, left), titles in zip(cases, listed, strict=True)
        if not left <= titles or titles - {"Tenant", "Deploys"} - left - {"Health"}
    ]
    assert wrong == []


def test_categories_are_counted_beside_the_one_that_is_chosen(client: Client, reader: Actor) -> None:
    approved_entry()
    approved_entry()
    approved_entry(category="glossary")

    page = client.get(reverse("company"), {"category": "glossary"})

    counts = {facet.label: facet.count for facet in page.context["categories"]}
    assert (counts["All"], counts["Standard"], counts["Glossary"], counts["Decision"]) == (3, 2, 1, 0)


def test_the_most_important_comes_first_unless_the_newest_is_asked_for(client: Client, reader: Actor) -> None:
    approved_entry(title="Weighty", importance=9)
    approved_entry(title="Light", importance=2)

    orders = [
        [row["entry"].title for row in client.get(reverse("company"), asked).context["rows"]]
        for asked in ({}, {"order": "newest"})
    ]

    assert orders == [["Weighty", "Light"], ["Light", "Weighty"]]


def test_a_list_takes_few_queries_however_long_it_is(client, reader, django_assert_max_num_queries):
    author, curator = make_actor(), make_actor(curator=True)
    for _ in range(25):
        approved_entry(author, curator=curator)
    embed_pending()
    client.get(reverse("company"))

    for asked in ({}, {"query": "services", "freshness": "verified"}):
        with django_assert_max_num_queries(16):
            page = client.get(reverse("company"), asked)

        assert len(page.context["rows"]) == 20, asked
        assert "Next" in page.text, asked


def test_home_tells_what_was_approved_lately(client: Client, reader: Actor) -> None:
    approved_entry(title="Retries")

    assert "Retries" in client.get(reverse("home")).text


# One entry


def test_an_entry_says_everything_that_is_known_about_it(client: Client, reader: Actor) -> None:
    author = make_actor(make_user("ada", display_name="Ada"))
    cora = make_actor(make_user("cora", role="curator", display_name="Cora"))
    entry = approved_entry(
        author, curator=cora, title="Retries", content="Try **3** times.", evidence="Incident 12", topics=["http"]
    )
    decide_at_latest(cora, entry_id=entry.pk, action="edit", content="Try **5** times.", notes="Measured.")

    page = shown(client, entry)

    for told in (
        "Try <strong>5</strong> times.",
        "Try **5** times.",
        "Incident 12",
        "http",
        "Ada",
        "by Cora",
        "Measured.",
        "<del>3</del>",
        "<ins>5</ins>",
        "what an agent inferred",
    ):
        assert told in page.text, told
    assert "For curators" not in page.text


def test_an_entry_takes_few_queries_however_long_its_story_is(client, curator, django_assert_max_num_queries):
    entry = approved_entry()
    for number in range(10):
        decide_at_latest(curator, entry_id=entry.pk, action="edit", content=f"Version {number}.")
        comment(curator, entry_id=entry.pk, text="Why?")
    shown(client, entry)

    with django_assert_max_num_queries(15):
        shown(client, entry)


PAGES: list[Callable[[Client, CompanyEntry], Any]] = [
    shown,
    lambda client, entry: post(client, "company-discuss", entry, text="Hello"),
    lambda client, entry: client.get(reverse("company-revise", args=[entry.pk])),
    lambda client, entry: post(client, "company-revise", entry, content="Taken over"),
    lambda client, entry: client.get(reverse("company-withdraw", args=[entry.pk])),
    lambda client, entry: post(client, "company-withdraw", entry),
    lambda client, entry: post(client, "company-feedback", entry, verdict="wrong"),
]


def test_a_foreign_proposal_does_not_exist(client: Client, reader: Actor) -> None:
    entry, nothing = propose(title="Zanzibar"), CompanyEntry(pk=10_000_000, revision=1)

    pages = [(ask(client, entry), ask(client, nothing)) for ask in PAGES]

    assert [(own.status_code, none.status_code) for own, none in pages] == [(404, 404)] * len(PAGES)
    assert not [own for own, _ in pages if "Zanzibar" in own.text]
    entry.refresh_from_db()
    assert entry.status == Status.PENDING
    assert not Feedback.objects.exists()


def test_readers_do_not_see_what_was_cut_before_it_was_approved(client: Client, reader: Actor) -> None:
    author, cora = make_actor(), make_actor(curator=True)
    entry = propose(author, content="Call Zanzibar first.")
    comment(cora, entry_id=entry.pk, text="Zanzibar is a customer.")
    decide_at_latest(cora, entry_id=entry.pk, action="approve", content="Call the customer first.")

    page = shown(client, entry)

    assert "Call the customer first." in page.text
    assert "Zanzibar" not in page.text


def test_a_comment_is_rendered_and_told_to_the_author_and_an_empty_one_refused(client: Client, reader: Actor) -> None:
    author = make_actor()
    discuss = reverse("company-discuss", args=[approved_entry(author).pk])

    page = client.post(discuss, {"text": "Since **May**?"}, follow=True)
    empty = client.post(discuss, {"text": " "})

    assert "Since <strong>May</strong>?" in page.text
    assert author.user.notices.filter(text__contains="commented").exists()
    assert empty.status_code == 422
    assert 'id="comment-text_error"' in empty.text


def test_a_complaint_brings_it_back_to_the_curators(client: Client, reader: Actor) -> None:
    entry = approved_entry()
    feedback = reverse("company-feedback", args=[entry.pk])

    none = client.post(feedback, {"verdict": "meh"})
    page = client.post(feedback, {"verdict": "outdated", "note": "It is 5 now."}, follow=True)
    client.force_login(make_actor(curator=True).user)
    seen = shown(client, entry)

    assert none.status_code == 422
    assert "must be one of" in none.text
    assert "back in the curators" in page.text
    assert "You said" in page.text
    assert "It is 5 now." in seen.text


# What curators do on its page


def test_a_curator_verifies_with_one_click_the_revision_that_there_is(client: Client, curator: Actor) -> None:
    entry = aged(approved_entry(), days_past_review=40)
    verify = reverse("curation-decide", args=[entry.pk])

    for revision in ("", "x", "99", "9" * 30):
        assert client.post(verify, {"decision": "verify", "revision": revision}).status_code in {409, 422}, revision
    before = entry.reviews.count()
    page = client.post(verify, {"decision": "verify", "revision": entry.revision}, follow=True)

    entry.refresh_from_db()
    assert before == 2
    assert entry.freshness == "verified"
    assert "Undo" in page.text


def test_superseding_takes_a_handle_and_refuses_what_is_none(client: Client, curator: Actor) -> None:
    old, new = approved_entry(), approved_entry()

    refused = [post(client, "curation-decide", old, decision="supersede", into=no) for no in ("", "no", "C99999999")]
    post(client, "curation-decide", old, decision="supersede", into=f"[{new.handle}]")

    assert {page.status_code for page in refused} <= {404, 422}
    old.refresh_from_db()
    assert (old.status, old.superseded_by_id) == ("superseded", new.pk)


def test_an_owner_is_assigned_told_and_kept_in_the_history(client: Client, curator: Actor) -> None:
    grace, entry = make_actor(make_user("grace", display_name="Grace")), approved_entry()

    nobody = post(client, "company-assign", entry, owner="nobody")
    post(client, "company-assign", entry, owner="GRACE")

    assert nobody.status_code == 422
    assert 'id="assign-owner_error"' in nobody.text
    entry.refresh_from_db()
    assert entry.owner == grace.user
    assert entry.reviews.filter(action=Action.ASSIGN, notes__contains="Grace").exists()
    assert grace.user.notices.exists()


# The due list


def test_the_due_list_holds_what_is_due_and_nothing_else(client: Client, curator: Actor) -> None:
    due, stale, fresh = (approved_entry() for _ in range(3))
    aged(due, days_past_review=1)
    aged(stale, days_past_review=90)

    page = client.get(reverse("company-due"))

    assert {waiting.entry.pk for waiting in page.context["page"].items} == {due.pk, stale.pk}
    assert "due for verification" in page.text
    assert "stale" in page.text
    assert fresh.title not in page.text


def test_several_are_verified_at_once_and_what_changed_meanwhile_is_not(client: Client, curator: Actor) -> None:
    first, second, changed = (aged(approved_entry(), days_past_review=1) for _ in range(3))
    said = [f"{entry.pk}:{entry.revision}" for entry in (first, second, changed)]
    decide_at_latest(make_actor(curator=True), entry_id=changed.pk, action="deprecate")
    for nothing in ([], ["x"], ["1"], ["0:1"], [f"{'9' * 30}:1"]):
        page = client.post(reverse("company-verify"), {"entry": nothing}, follow=True)
        assert page.status_code in {200, 422}, nothing

    page = client.post(reverse("company-verify"), {"entry": said}, follow=True)

    first.refresh_from_db()
    changed.refresh_from_db()
    assert first.freshness == "verified"
    assert changed.status == Status.DEPRECATED
    assert "Verified: 2 entries." in page.text
    assert f"{changed.handle} was not verified." in page.text


def test_one_is_verified_by_its_own_button_whatever_is_ticked(client: Client, curator: Actor) -> None:
    first, second = (aged(approved_entry(), days_past_review=1) for _ in range(2))
    told = {"entry": [f"{first.pk}:{first.revision}"], "only": f"{second.pk}:{second.revision}"}

    client.post(reverse("company-verify"), told)

    first.refresh_from_db()
    second.refresh_from_db()
    assert (first.freshness, second.freshness) == ("due", "verified")


# Proposing


FORM = {"category": "standard", "content": "Every service answers /healthz.", "importance": "5"}


def test_a_person_proposes_and_reads_what_happens_next(client: Client, reader: Actor) -> None:
    page = client.post(reverse("company-propose"), {**FORM, "topics": "http, health", "project": "atlas"}, follow=True)

    entry = CompanyEntry.objects.get()
    assert (entry.status, entry.title, entry.origin) == ("pending", "Every service answers /healthz.", "user")
    assert (entry.topics, entry.project) == (["http", "health"], "atlas")
    assert "A curator will decide" in page.text
    assert "Revise" in page.text


def test_everything_that_can_be_proposed_links_to_the_form(client: Client, reader: Actor) -> None:
    fact, chunk = make_fact(reader, "A fact."), make_chunk(reader, content="A chunk.")
    belief = add_hypothesis(reader, hypothesis="A belief.")
    entry = add_entry(reader, content="An entry.", entry_type="fact").entry
    places = {
        reverse("memory-fact", args=[fact.pk]): f"source_kind=fact&amp;source_id={fact.number}",
        reverse("memory-chunk", args=[chunk.pk]): f"source_kind=chunk&amp;source_id={chunk.number}",
        reverse("memory-hypothesis", args=[belief.pk]): f"source_kind=hypothesis&amp;source_id={belief.number}",
        reverse("kb-entry", args=[entry.pk]): f"source_kind=entry&amp;source_id={entry.pk}",
    }

    for place, link in places.items():
        assert link in client.get(place).text, place
        assert client.get(f"{reverse('company-propose')}?{link.replace('&amp;', '&')}").status_code == 200


def test_what_somebody_else_stored_or_what_cannot_be_is_no_source(client: Client, reader: Actor) -> None:
    fact = make_fact(make_actor(), "Zanzibar is private.")
    propose_from = reverse("company-propose")

    page = client.get(propose_from, {"source_kind": "fact", "source_id": str(fact.pk)})

    assert page.status_code == 404
    assert "Zanzibar" not in page.text
    for source in ({"source_kind": "gossip", "source_id": "1"}, {"source_kind": "fact"}, {"source_id": "1"}):
        assert client.get(propose_from, source).status_code == 422, source


def test_a_secret_or_a_text_that_is_too_long_is_refused_and_stored_nowhere(client: Client, reader: Actor) -> None:
    secret = {**FORM, "content": "Use AKIA" + "Z7QWERTYUIOPASDF" + " for S3."}

    refused = client.post(reverse("company-propose"), secret)
    long = client.post(reverse("company-propose"), {**FORM, "content": "word " * 900})

    assert 'id="id_content_error"' in refused.text
    assert "the limit is 500" in long.text
    assert "data-over" in long.text
    assert not CompanyEntry.objects.exists()


def test_in_personal_mode_it_is_company_knowledge_at_once(client: Client, reader: Actor, settings: Any) -> None:
    settings.BIGMIND_MODE = "personal"

    page = client.post(reverse("company-propose"), FORM, follow=True)

    assert CompanyEntry.objects.get().is_approved
    assert "is company knowledge now" in page.text


def test_my_proposals_take_few_queries(client: Client, reader: Actor, django_assert_max_num_queries: Any) -> None:
    for _ in range(20):
        propose(reader)
    client.get(reverse("company-mine"))

    with django_assert_max_num_queries(12):
        client.get(reverse("company-mine"))


def test_a_revised_proposal_waits_again(client: Client, reader: Actor) -> None:
    entry = propose(reader)
    entry = decide_at_latest(
        make_actor(curator=True), entry_id=entry.pk, action="request_changes", notes="Which?"
    ).entry

    form = client.get(reverse("company-revise", args=[entry.pk]))
    page = post(client, "company-revise", entry, **{**FORM, "title": "All services", "notes": "All of them."})

    entry.refresh_from_db()
    assert "Which?" in form.text
    assert page.status_code == 302
    assert (entry.status, entry.title) == ("pending", "All services")


def test_a_revision_that_changes_nothing_takes_nothing_away(client: Client, reader: Actor) -> None:
    triggers = ["command: git push --force"]
    entry = propose(reader, anchors=["src/health.py"], triggers=triggers, evidence="Measured.")
    form = client.get(reverse("company-revise", args=[entry.pk])).context["form"]

    shown = {field.name: field.field.prepare_value(field.value()) or "" for field in form}
    post(client, "company-revise", entry, **shown)

    before = (entry.title, entry.content, entry.anchors, entry.triggers, entry.evidence)
    entry.refresh_from_db()
    assert (entry.title, entry.content, entry.anchors, entry.triggers, entry.evidence) == before
    assert entry.revision == 2


def test_a_revision_of_what_changed_meanwhile_is_refused_with_what_changed(client: Client, reader: Actor) -> None:
    entry = propose(reader, content="Try three times.")
    revise_proposal(reader, entry_id=entry.pk, content="Try five times.")

    page = post(client, "company-revise", entry, **{**FORM, "title": "Mine", "content": "Try seven times."})

    assert page.status_code == 409
    assert "Try <del>three </del><ins>five </ins>times." in page.text
    assert "Try seven times." in page.text


def test_a_curator_does_not_revise_or_withdraw_for_others(client: Client, curator: Actor) -> None:
    entry = propose()

    pages = [post(client, "company-revise", entry, **FORM, title="Mine"), post(client, "company-withdraw", entry)]

    assert [page.status_code for page in pages] == [403, 403]


def test_a_withdrawn_proposal_stays_on_record_and_what_is_decided_is_not_withdrawn(client, reader):
    entry, decided = propose(reader), approved_entry(reader)
    withdraw = reverse("company-withdraw", args=[entry.pk])

    before = shown(client, entry)
    asked = client.get(withdraw)
    page = client.post(withdraw, {"notes": "Known."}, follow=True)
    late = client.post(reverse("company-withdraw", args=[decided.pk]))

    entry.refresh_from_db()
    decided.refresh_from_db()
    assert "Revise" in before.text
    assert "Withdraw this proposal?" in asked.text
    assert entry.status == Status.REJECTED
    assert "You took it back." in page.text
    assert "approved" in late.text
    assert decided.is_approved


# The story of an entry


def test_the_story_counts_sessions_and_names_none_of_a_colleague(client: Client, reader: Actor, settings: Any) -> None:
    settings.BIGMIND_MODE = "team"
    ada = make_agent(make_user("ada"), "claude-code")
    private = make_session(ada, one_liner="Salaries of Zanzibar")
    entry = approved_entry(ada, title="Retries", source_session=private)
    mine = make_session(make_agent(reader.user, "codex"), one_liner="Tried it", used=[entry.handle])
    for name in ("bea", "cid"):
        make_session(make_agent(make_user(name), "codex"), one_liner="Zanzibar", used=[entry.handle])

    with_two_others = shown(client, entry).text
    for name in ("dan", "eve"):
        make_session(make_agent(make_user(name), "codex"), one_liner="Zanzibar", misleading=[entry.handle])
    with_four = shown(client, entry).text
    make_session(make_agent(make_user("fay"), "codex"), one_liner="Zanzibar", used=[entry.handle])
    three_cited = shown(client, entry).text
    make_session(make_agent(make_user("gus"), "codex"), one_liner="Zanzibar", misleading=[entry.handle])
    three_misled = shown(client, entry).text

    assert "1 session had it; it helped in 1." in with_two_others
    assert f'href="{reverse("memory-session", args=[mine.pk])}"' in with_two_others
    assert "agents of the team" not in with_two_others
    assert "5 sessions had it. Those were sessions of 5 people." in with_four  # Two of them say one thing or the other.
    assert "6 sessions had it; it helped in 4. Those were sessions of 6 people." in three_cited
    assert "7 sessions had it; it helped in 4 and misled in 3. Those were sessions of 7 people." in three_misled
    for page in (with_two_others, with_four, three_cited, three_misled):
        assert "Zanzibar" not in page
        assert "Reported as wrong" not in page
        assert "From a session that only they can read." in page
