"""The profile and the preview of the start context."""

import re

import pytest
from django.urls import reverse
from django.utils.html import escape, strip_tags

from accounts.people.profiles import get_profile, update_profile
from bigmind.text.token_counts import count_tokens
from knowledge.context.sessions import start_session
from knowledge.context.start_context import get_context
from knowledge.views.context import tokens_by_tier
from tests.knowledge.factories import make_fact, make_session

pytestmark = pytest.mark.django_db


def _told(markdown: str) -> str:
    """The context without its first line, which says when it was loaded."""
    return markdown.partition("\n")[2]


def test_the_preview_is_what_an_agent_is_told_word_for_word(browser, actor):
    update_profile(actor, role="Engineer", preferences="Short answers.", pinned_facts=["Uses uv."])
    make_fact(actor, "Prefers pytest & <b>tabs</b>.", project="atlas")
    make_session(actor, one_liner="Moved the build")

    page = browser.get(reverse("memory-context"), {"project": "atlas", "topics": "tests"})

    told = _told(start_session(actor, project="atlas", topics=["tests"]).context.markdown)
    assert escape(told) in page.text


def test_a_receipt_keeps_what_an_item_says_apart_from_where_it_comes_from(browser, actor):
    make_fact(actor, "Prefers pytest.")

    page = browser.get(reverse("memory-context"))

    row = re.search(r'<th scope="row">(Prefers pytest.*?)</th>', page.text)
    said, _, source = row[1].partition("<br>")
    assert said == "Prefers pytest."
    assert strip_tags(source).startswith("From you, on a page, ")


def test_the_preview_counts_the_tokens_of_each_tier(browser, actor):
    update_profile(actor, role="Engineer", preferences="Short answers.")
    make_fact(actor, "Prefers pytest.")
    markdown = get_context(actor).markdown
    profile, index = tokens_by_tier(markdown)

    page = browser.get(reverse("memory-context"))

    assert f"{count_tokens(markdown)} of 1,300 tokens" in page.text
    assert f"{profile} of 300 tokens" in page.text
    assert f"{index} of 800 tokens" in page.text
    assert profile > 5
    assert index > 5
    assert profile + index < count_tokens(markdown)


def test_the_profile_is_kept_line_by_line_as_it_was_typed(browser, actor):
    browser.post(
        reverse("memory-profile"),
        {"role": "Engineer", "preferences": "Short.\r\nKind.", "pinned_facts": "**Never** on Friday\r\n\r\n- Uses uv."},
    )

    profile = get_profile(actor)
    assert (profile.role, profile.preferences) == ("Engineer", "Short.\nKind.")
    assert profile.pinned_facts == ["**Never** on Friday", "- Uses uv."]


def test_the_tokens_of_a_draft_are_counted_without_keeping_it(browser, actor):
    page = browser.post(reverse("memory-profile"), {"preferences": "many words " * 300, "count": "1"})

    assert "There is more than a session start has room for" in page.text
    assert "many words many words" in page.text
    assert get_profile(actor).is_empty


def test_too_many_pinned_facts_are_refused(browser, actor):
    page = browser.post(reverse("memory-profile"), {"pinned_facts": "\n".join(f"Fact {n}" for n in range(51))})

    assert "Pinned facts: This has 51 items; the limit is 50." in page.text
    assert get_profile(actor).is_empty
