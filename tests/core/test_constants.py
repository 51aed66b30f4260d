"""Parts of templates that say the same to everyone are rendered once for each language, and nothing else is."""

from typing import Any

import pytest
from django.template import Context, engines
from django.urls import set_script_prefix
from django.utils.translation import override

from bigmind.web import constants
from bigmind.web.constants import ConstantNode

PAGE = (
    '{% load i18n static components %}<a href="{% url "home" %}">{% icon "menu" %}{% translate "Sign out" %}</a>'
    '{% if name %}<b>{% translate "Help" %}</b>{% endif %}{% include "part.html" %} {{ name }} '
    '{% include "self.html" %}'
)
PART = '{% load i18n %}{% blocktranslate %}Search <kbd aria-hidden="true">/</kbd>{% endblocktranslate %}'
ITSELF = '{% if deep %}<i>{{ deep }}</i>{% with deep="" %}{% include "self.html" %}{% endwith %}{% endif %}'


@pytest.fixture
def engine() -> Any:
    """The engine of pages, with three templates of the test besides."""
    engine = engines["pages"].engine  # type: ignore[attr-defined]
    texts = {"page.html": PAGE, "part.html": PART, "self.html": ITSELF}
    loaders = [("bigmind.web.constants.Loader", [("django.template.loaders.locmem.Loader", texts)])]
    return type(engine)(loaders=loaders, libraries=engine.libraries)


def test_a_page_says_to_each_reader_what_it_said_without_being_kept(engine: Any) -> None:
    plain = engine.from_string(PAGE)

    for language in ("en", "de", "en", "de"):
        for values in ({}, {"name": "<Priya>"}, {"name": "Sam", "deep": "2"}):
            with override(language):
                assert engine.get_template("page.html").render(Context(values)) == plain.render(Context(values))


def test_the_language_is_part_of_what_is_kept(engine: Any) -> None:
    with override("en"):
        english = engine.get_template("part.html").render(Context())
    with override("de"):
        german = engine.get_template("part.html").render(Context())

    assert english == 'Search <kbd aria-hidden="true">/</kbd>'
    assert german != english


def test_addresses_follow_the_path_below_which_bigmind_is_served(engine: Any) -> None:
    page = engine.get_template("page.html")
    page.render(Context())

    set_script_prefix("/memory/")
    below = page.render(Context())
    set_script_prefix("/")

    assert '<a href="/memory/"' in below
    assert '<a href="/"' in page.render(Context())


def test_what_does_not_change_is_rendered_once(engine: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(constants, "_kept", {})
    page = engine.get_template("page.html")
    page.render(Context({"name": "Priya"}))
    kept = len(constants._kept)
    page.render(Context({"name": "Sam"}))

    assert [type(node) for node in page.nodelist].count(ConstantNode) == 2
    assert len(constants._kept) == kept > 0
