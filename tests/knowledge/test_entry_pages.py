"""The knowledge base as people see it: browsed, searched, read, added, corrected, deleted."""

from datetime import timedelta
from uuid import uuid4

import pytest
from django.urls import reverse
from django.utils import timezone

from knowledge.indexing.embedding import embed_pending
from knowledge.kb.entries import add_entry
from knowledge.models import Entry
from knowledge.views.entries import HEAD_CHARS, heading_and_body, words_of
from tests.factories import make_actor, make_user
from tests.knowledge.factories import make_chunk, make_entries, make_fact, make_note

pytestmark = pytest.mark.django_db

ROUTES = "# Route ordering\n\nIn `vercel.json`, **specific** routes come before parameterized ones."


def _entry(actor=None, content=ROUTES, **fields):
    return add_entry(actor or make_actor(), content=content, **{"entry_type": "fact", **fields}).entry


def _edit(entry, **fields):
    seen = entry.updated_at.isoformat()
    return {
        "content": entry.content,
        "tags": ", ".join(entry.tags),
        "roles": ", ".join(entry.roles),
        "confidence": str(entry.confidence),
        "seen": seen,
        **fields,
    }


def test_a_row_says_what_an_entry_is_and_where_it_comes_from(browser):
    author = make_actor(make_user("ada", display_name="Ada Lovelace"))
    _entry(author, tags=["vercel", "routing"], confidence=0.7, project="atlas")

    page = browser.get(reverse("kb"))

    for shown in ("Route ordering", "In vercel.json, specific routes", "fact", "Ada Lovelace", "fairly sure (0.7)"):
        assert shown in page.text
    assert 'href="/kb/?tags=routing"' in page.text
    assert 'href="/kb/?project=atlas"' in page.text


NARROWED = [
    ({"entry_type": "summary"}, {"summary"}),
    ({"role": "dev"}, {"for developers", "summary", "unsure", "template"}),
    ({"tags": "vercel, routing"}, {"for developers"}),
    ({"project": "atlas"}, {"for testers"}),
    ({"min_confidence": "0.8"}, {"for developers", "for testers", "summary", "template"}),
    ({"entry_type": "fact", "tags": "vercel", "min_confidence": "0.8"}, {"for developers", "for testers"}),
]


@pytest.mark.parametrize("query", ["", "deploys"])
def test_the_address_narrows_what_is_shown(browser, query, actor):
    for content, fields in {
        "for developers": {"roles": ["dev"], "tags": ["vercel", "routing"]},
        "for testers": {"roles": ["qa"], "tags": ["vercel"], "project": "atlas"},
        "summary": {"entry_type": "summary"},
        "template": {"entry_type": "template"},
        "unsure": {"confidence": 0.3},
    }.items():
        _entry(actor, f"Deploys, {content}.", **fields)
    embed_pending()

    for asked, left in NARROWED:
        page = browser.get(reverse("kb"), {"query": query, **asked})

        shown = {row["title"].removeprefix("Deploys, ").rstrip(".") for row in page.context["rows"]}
        assert shown == left, asked


def test_the_form_and_the_links_remember_what_was_asked(browser, actor):
    _entry(actor, tags=["vercel", "routing"], project="atlas")

    page = browser.get(reverse("kb"), {"query": "routes", "project": "atlas", "entry_type": "fact", "tags": "vercel"})

    assert 'value="routes"' in page.text
    assert '<option value="atlas" selected>' in page.text
    assert '<input type="hidden" name="entry_type" value="fact"' in page.text
    assert 'href="?query=routes&amp;project=atlas&amp;tags=vercel"' in page.text  # the tab “All”
    assert 'href="?query=routes&amp;project=atlas&amp;entry_type=fact&amp;tags=vercel%2C+routing"' in page.text
    assert 'aria-label="Remove the tag vercel"' in page.text


def test_types_and_tags_are_counted_within_what_was_asked(browser, actor):
    for number in range(3):
        _entry(actor, f"Fact {number}", tags=["vercel"], project="atlas")
    _entry(actor, "A summary", entry_type="summary", tags=["vercel", "routing"], project="atlas")
    _entry(actor, "Elsewhere", tags=["other"])

    page = browser.get(reverse("kb"), {"project": "atlas", "entry_type": "fact"})

    assert [(type.label, type.count) for type in page.context["types"]] == [
        ("All", 4),
        ("Facts", 3),
        ("Summaries", 1),
        ("Templates", 0),
    ]
    assert [(tag.label, tag.count) for tag in page.context["tags"]] == [("vercel", 3)]


def test_a_long_list_is_paged_and_keeps_its_conditions(browser, actor):
    make_entries(actor, [f"Pitfall number {number}." for number in range(26)], project="atlas")
    Entry.objects.update(created_at=timezone.now() - timedelta(days=1))
    _entry(actor, "The newest pitfall.", project="atlas")

    first = browser.get(reverse("kb"), {"project": "atlas", "order": "oldest"})
    second = browser.get(reverse("kb"), {"project": "atlas", "order": "oldest", "offset": "25"})
    beyond = browser.get(reverse("kb"), {"project": "atlas", "offset": "5000"})

    assert "1 to 25 of 27 entries" in first.text
    assert 'href="?project=atlas&amp;order=oldest&amp;offset=25"' in first.text
    assert len(second.context["rows"]) == 2
    assert second.context["rows"][-1]["title"] == "The newest pitfall."
    assert 'href="?project=atlas">Back to its beginning' in beyond.text


def test_a_question_that_cannot_be_asked_is_explained(browser):
    page = browser.get(reverse("kb"), {"entry_type": "gossip", "min_confidence": "7", "order": "sideways"})

    assert page.status_code == 200
    assert "must be one of" in page.text
    assert "Confidence: This must be 1 or less." in page.text


def test_nothing_private_is_shown_or_found(client):
    owner = make_actor()
    make_fact(owner, "The secret harbour is called Zanzibar.", project="hidden")
    make_note(owner, "Zanzibar again.")
    make_chunk(owner, content="Zanzibar in a session.")
    embed_pending()
    client.force_login(owner.user)

    pages = [client.get(reverse("kb")), client.get(reverse("kb"), {"query": "Zanzibar harbour"})]

    for page in pages:
        assert page.context["rows"] == []
        assert "secret harbour" not in page.text
        assert '<option value="hidden">' not in page.text


def test_an_empty_knowledge_base_says_how_it_fills(browser):
    page = browser.get(reverse("kb"))

    assert "Nothing is known yet" in page.text
    assert reverse("kb-new") in page.text


def test_a_list_takes_the_same_few_queries_however_long_it_is(browser, django_assert_max_num_queries):
    for number in range(25):
        make_entries(make_actor(), [f"Routes are ordered, case {number}."], tags=["vercel"], project="atlas")
    embed_pending()
    browser.get(reverse("kb"))  # The first page of a sign-in notes where it came from.

    for asked in ({}, {"query": "routes"}, {"tags": "vercel", "project": "atlas"}):
        with django_assert_max_num_queries(16):
            page = browser.get(reverse("kb"), asked)

        assert len(page.context["rows"]) == 25


def test_an_entry_is_read_with_its_provenance_and_its_text_as_it_is_stored(browser):
    author = make_actor(make_user("ada", display_name="Ada Lovelace"))
    entry = _entry(
        author,
        roles=["dev", "qa"],
        tags=["vercel & co"],
        source_file="docs/lessons.md",
        source_story="STORY-12",
        metadata={"severity": "high"},
    )

    page = browser.get(reverse("kb-entry", args=[entry.pk]))

    assert "<h1>Route ordering</h1>" in page.text
    assert "<strong>specific</strong>" in page.text
    assert "# Route ordering\n\nIn `vercel.json`" in page.text
    for shown in (
        "docs/lessons.md",
        "STORY-12",
        "Ada Lovelace",
        "dev, qa",
        "&quot;severity&quot;: &quot;high&quot;",
    ):
        assert shown in page.text
    assert 'href="/kb/?tags=vercel%20%26%20co"' in page.text


def test_an_entry_leads_to_its_family_and_relatives(browser, actor):
    parent = _entry(actor, "Story 12 in short", entry_type="summary")
    entry = _entry(actor, "Routes first", parent_id=parent.pk, tags=["vercel", "routing"])
    child = _entry(actor, "A detail of routes", parent_id=entry.pk)
    relative = _entry(actor, "Rewrites last", tags=["vercel", "routing"])

    page = browser.get(reverse("kb-entry", args=[entry.pk]))

    for other in (parent, child, relative):
        assert page.text.count(reverse("kb-entry", args=[other.pk])) == 1


def test_an_entry_that_says_nearly_what_another_says_points_to_it(browser):
    known = _entry(content="Specific routes come before parameterized routes in vercel.json.")

    page = browser.post(
        reverse("kb-new"),
        {
            "entry_type": "fact",
            "content": "Specific routes come before the parameterized routes in vercel.json.",
            "confidence": "1",
        },
        follow=True,
    )

    assert "This says nearly the same as" in page.text
    assert reverse("kb-entry", args=[known.pk]) in page.text


def test_a_question_that_finds_nothing_is_met_with_words_that_exist(browser):
    _entry(tags=["kubernetes"])

    page = browser.get(reverse("kb"), {"query": "kubernets", "tags": "kubernetes", "project": "nowhere"})

    assert 'href="?query=kubernetes">kubernetes</a>' in page.text


def test_reading_takes_few_queries_however_many_relatives_there_are(browser, django_assert_max_num_queries):
    entry = _entry(tags=["vercel", "routing"])
    for number in range(12):
        make_entries(make_actor(), [f"Rewrite {number}"], tags=["vercel", "routing"])
        make_entries(make_actor(), [f"Detail {number}"], parent_id=entry.pk)

    with django_assert_max_num_queries(15):
        page = browser.get(reverse("kb-entry", args=[entry.pk]))

    assert "Related" in page.text


@pytest.mark.parametrize("route", ["kb-entry", "kb-edit", "kb-delete"])
def test_an_entry_that_does_not_exist_is_not_found(browser, route):
    assert browser.get(reverse(route, args=[uuid4()])).status_code == 404
    assert browser.get("/kb/no-uuid/").status_code == 404


def test_triggers_are_edited_and_decided_on_the_pages_of_an_entry(client):
    author, curator = make_actor(), make_actor(make_user(role="curator"))
    entry = _entry(author)
    address = reverse("kb-edit", args=[entry.pk])
    client.force_login(author.user)

    refused = client.post(address, _edit(entry, triggers="command: *"))
    client.post(address, _edit(entry, triggers="command: git push --force\npath: db/*"))

    assert "would match nearly everything" in refused.text
    entry.refresh_from_db()
    assert entry.triggers == ["command: git push --force", "path: db/*"]
    page = reverse("kb-entry", args=[entry.pk])
    assert 'name="level"' not in client.get(page).text
    client.force_login(curator.user)
    assert 'name="level"' in client.get(page).text
    client.post(reverse("kb-level", args=[entry.pk]), {"level": "advise"})
    entry.refresh_from_db()
    assert entry.trigger_levels == {"": "advise"}


def test_a_correction_keeps_what_is_not_on_the_form(browser, actor):
    entry = _entry(actor, tags=["vercel"], source_file="docs/a.md", project="atlas", metadata={"severity": "high"})

    page = browser.post(
        reverse("kb-edit", args=[entry.pk]),
        _edit(entry, content="Routes are matched in order.", tags="vercel, order", confidence="0.6"),
        follow=True,
    )

    stored = Entry.objects.get()
    assert "Saved." in page.text
    assert (stored.content, stored.tags, stored.confidence) == (
        "Routes are matched in order.",
        ["vercel", "order"],
        0.6,
    )
    assert (stored.source_file, stored.project, stored.metadata) == ("docs/a.md", "atlas", {"severity": "high"})


def test_tags_and_roles_can_be_taken_away(browser, actor):
    entry = _entry(actor, tags=["vercel"], roles=["dev"])

    browser.post(reverse("kb-edit", args=[entry.pk]), _edit(entry, tags="", roles=""))

    assert (Entry.objects.get().tags, Entry.objects.get().roles) == ([], [])


@pytest.mark.parametrize("seen", ["", "yesterday", "2026-13-45T99:99:99"])
def test_a_form_without_the_moment_it_was_opened_overwrites_nothing(browser, seen, actor):
    entry = _entry(actor)

    page = browser.post(reverse("kb-edit", args=[entry.pk]), _edit(entry, content="Other.", seen=seen))

    assert page.status_code == 409
    assert Entry.objects.get().content == ROUTES


@pytest.mark.parametrize("route", ["kb-edit", "kb-delete"])
def test_a_member_cannot_change_what_somebody_else_added(browser, route):
    entry = _entry()

    read = browser.get(reverse("kb-entry", args=[entry.pk]))
    shown = browser.get(reverse(route, args=[entry.pk]))
    sent = browser.post(reverse(route, args=[entry.pk]), _edit(entry, content="Mine now."))

    assert reverse(route, args=[entry.pk]) not in read.text
    assert (shown.status_code, sent.status_code) == (403, 403)
    assert Entry.objects.get().content == ROUTES


@pytest.mark.parametrize("role", ["author", "curator", "admin"])
def test_its_author_curators_and_admins_may_delete_an_entry_after_a_question(client, role):
    author = make_actor()
    entry = _entry(author)
    people = {"author": author, "curator": make_actor(curator=True), "admin": make_actor(admin=True)}
    client.force_login(people[role].user)

    read = client.get(reverse("kb-entry", args=[entry.pk]))
    asked = client.get(reverse("kb-delete", args=[entry.pk]))
    there_still = Entry.objects.exists()
    done = client.post(reverse("kb-delete", args=[entry.pk]), follow=True)

    assert reverse("kb-delete", args=[entry.pk]) in read.text
    assert "cannot be undone" in asked.text
    assert there_still
    assert "deleted" in done.text
    assert not Entry.objects.exists()


def test_the_field_for_triggers_is_called_so_in_german(browser):
    page = browser.get(reverse("kb-new"), headers={"accept-language": "de"})

    assert "Auslöser" in page.text
    assert "Triggers" not in page.text


@pytest.mark.parametrize(
    ("content", "title", "excerpt"),
    [
        ("Use uv.", "Use uv.", ""),
        ("\n\n# The **build**\n\nIt moved.", "The build", "It moved."),
        ("- Use `uv`\n- never pip", "Use uv", "never pip"),
        ("# Done\n\nIt is fast.\n\n## How\n\n- caches", "Done", "It is fast. · How · caches"),
        ("# Routes\n\n| route | where |\n|---|---|\n| a | b |\n\nThat is all.", "Routes", "That is all."),
        ("See [the guide](https://example.org/a_b).", "See the guide.", ""),
        ("Call `__init__` with *care*", "Call __init__ with *care*", ""),
        ("| only | a table |", "| only | a table |", ""),
        ("---", "---", ""),
    ],
)
def test_the_first_line_is_the_title_and_the_rest_goes_on(content, title, excerpt):
    words = words_of(content)

    assert (words.title, words.excerpt) == (title, excerpt)


def test_a_long_first_line_is_cut_between_words_and_nothing_of_it_is_lost():
    line = " ".join(f"word{number}" for number in range(40))

    words = words_of(line)

    assert len(words.title) <= HEAD_CHARS
    assert f"{words.title.rstrip('…')} {words.excerpt}".startswith(line[:250])


def test_a_word_without_an_end_is_cut_anywhere():
    words = words_of("x" * 70_000)

    assert words.title == "x" * (HEAD_CHARS - 1) + "…"


@pytest.mark.parametrize(
    ("content", "heading", "body"),
    [
        ("# Routes\n\nFirst.", "Routes", "\n\nFirst."),
        ("\n### `Routes` ###\nFirst.", "Routes", "\nFirst."),
        ("Routes\n\n# First", "", "Routes\n\n# First"),
        ("#hashtag first", "", "#hashtag first"),
        ("# **\nFirst.", "", "# **\nFirst."),
    ],
)
def test_a_heading_in_the_first_line_is_split_from_the_body(content, heading, body):
    assert heading_and_body(content) == (heading, body)
