"""What the other tests of this folder rely on: axe finds what is wrong, light and dark; windows keep nothing."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page

from tests.browser.axe import findings
from tests.browser.conftest import Windows

pytestmark = pytest.mark.browser

ROOT = Path(__file__).parents[2]
PAGE = """<!doctype html><html lang="en" style="color-scheme: light dark; background: light-dark(#fff, #111)">
<title>A page</title><meta name="viewport" content="width=device-width"><style>{style}</style>
<header class="masthead"><nav aria-label="Main"><a href="/" tabindex="{turn}">{named}</a></nav></header>
<main><h1 style="color: light-dark({light}, {dark})">A page</h1>{more}</main></html>"""
INK = "light-dark(#000, #fff)"
GOOD = {
    "light": "#000",
    "dark": "#fff",
    "named": "<span>Home</span>",
    "turn": "0",
    "style": f"p, li, a, summary {{ color: {INK} }} .bare {{ color: light-dark(#222, #ddd); text-decoration: none }}",
    "more": """<p>Some words with a <a href="/">link</a> in them.</p>
<h2 style="color: #888; font-size: 2rem">Large ones</h2>
<ul><li><a href="/" class="bare">Link</a></li></ul>
<button><span>Save</span></button>
<details><summary>More</summary><p>And more words</p></details>""",
}
NARROW = "@media (width < 30rem)"


@pytest.fixture(scope="module")
def opener(browser: Browser) -> Iterator[Page]:
    """The page that opens the others, as in all tests: it remembers what has passed."""
    with browser.new_context() as context:
        yield context.new_page()


@pytest.fixture
def page(opener: Page) -> Iterator[Page]:
    with opener.expect_popup() as opened:
        opener.evaluate("void open('about:blank')")
    yield opened.value
    opened.value.close()


def show(page: Page, **other: str) -> None:
    page.set_content(PAGE.format(**{**GOOD, **{name: GOOD[name] + text for name, text in other.items()}}))


@pytest.mark.parametrize(
    ("light", "dark", "more", "expected"),
    [
        ("#000", "#fff", "", []),
        ("#000", "#222", "", ["dark, 1280", "dark, 320"]),
        ("#eee", "#fff", "", ["light, 1280", "light, 320"]),
        ("#000", "#fff", "<button></button>", ["light, 1280"]),
    ],
)
def test_what_is_wrong_in_one_scheme_alone_is_found(
    page: Page, light: str, dark: str, more: str, expected: list[str]
) -> None:
    page.set_content(PAGE.format(**{**GOOD, "light": light, "dark": dark, "more": more}))

    found = findings(page)

    assert [re.search(r"\((.+) px\)", finding).group(1) for finding in found] == expected  # type: ignore[union-attr]


LIGHT, DARK, PHONE = "(light, 1280 px)", "(dark, 1280 px)", "(light, 320 px)"
DEFECTS: dict[str, tuple[str, dict[str, str]]] = {
    "a text that is too pale": (LIGHT, {"more": "<p style='color: #999'>Some words</p>"}),
    "a text that is too dark in the dark": (DARK, {"more": "<p style='color: light-dark(#000, #333)'>Some words</p>"}),
    "a text that is pale on a phone": (PHONE, {"style": f"{NARROW} {{ p {{ color: #999 }} }}"}),
    "a folded text that is too dark in the dark": (
        f"opened {DARK}",
        {"style": "details p { color: light-dark(#000, #333) }"},
    ),
    "a link that looks like the text around it": (
        LIGHT,
        {"more": "<ul><li>Some words with a <a href='/' class='bare'>link</a> in them.</li></ul>"},
    ),
    "a button without a name on a phone": (PHONE, {"style": f"{NARROW} {{ button span {{ display: none }} }}"}),
    "a folded button without a name on a phone": (
        f"opened {PHONE}",
        {
            "style": f"{NARROW} {{ details span {{ display: none }} }}",
            "more": "<details><summary>Other</summary><button><span>Save</span></button></details>",
        },
    ),
    "a link without a name in the head on a phone": (PHONE, {"style": f"{NARROW} {{ nav span {{ display: none }} }}"}),
    "a turn of its own in the head": (LIGHT, {"turn": "5"}),
    "a region called like one of the head": (LIGHT, {"more": "<nav aria-label='Main'><a href='/'>Home</a></nav>"}),
    "a page that scrolls sideways": (PHONE, {"more": "<p style='width: 60rem'>Some words</p>"}),
    "a page that does so when it is opened": (f"opened {PHONE}", {"style": "details p { width: 60rem }"}),
}


@pytest.mark.parametrize("defect", DEFECTS)
def test_what_has_passed_is_looked_at_where_it_is_otherwise(page: Page, defect: str) -> None:
    show(page)
    before = findings(page)
    where, planted = DEFECTS[defect]

    show(page, **planted)
    found = findings(page)
    again = findings(page)
    show(page)
    after = findings(page)

    assert before == after == []
    assert found
    assert where in found[0]
    assert found == again


def test_what_is_folded_away_is_looked_at_too_and_folded_again(page: Page) -> None:
    folds = "".join(
        f'<details name="one"><summary>{name}</summary><button></button></details>' for name in ("First", "Second")
    )
    page.set_content(PAGE.format(**{**GOOD, "more": folds}))

    found = findings(page)
    opened, named = page.locator("details[open]").count(), page.locator("details[name=one]").count()

    assert ["opened (light" in finding and finding.count("<button>") == 2 for finding in found] == [True]
    assert (opened, named) == (0, 2)


def test_the_dark_scheme_changes_colours_and_nothing_else() -> None:
    written = [path for folder in ("static", "templates") for path in (ROOT / folder).rglob("*") if path.is_file()]
    texts = {path: path.read_text(errors="replace") for path in written if path.suffix in {".css", ".js", ".html"}}

    # Mail programs do not know `light-dark()`.
    pages = {path: text for path, text in texts.items() if "mail" not in path.parts}
    assert [path for path, text in pages.items() if "prefers-color-scheme" in text] == []


@pytest.mark.django_db(transaction=True)
def test_a_window_forgets_what_a_page_kept(windows: Windows, live_server: Any) -> None:
    with windows.window(live_server.url, javascript=True) as first:
        first.open().evaluate("localStorage.setItem('recent', 'Webhooks')")

    with windows.window(live_server.url, javascript=True) as second:
        kept = second.open().evaluate("localStorage.length")

    assert first is second
    assert kept == 0
