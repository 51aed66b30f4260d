"""What the other tests of this folder rely on: that axe finds what is wrong, in the light and in the dark."""

import re
from pathlib import Path

import pytest
from playwright.sync_api import Browser

from tests.browser.axe import findings

pytestmark = pytest.mark.browser

ROOT = Path(__file__).parents[2]
PAGE = """<!doctype html><html lang="en" style="color-scheme: light dark; background: light-dark(#fff, #111)">
<title>A page</title><main><h1 style="color: light-dark({light}, {dark})">A page</h1>{more}</main></html>"""


@pytest.mark.parametrize(
    ("light", "dark", "more", "expected"),
    [
        ("#000", "#fff", "", []),
        ("#000", "#222", "", ["dark, 1280", "dark, 320"]),
        ("#eee", "#fff", "", ["light, 1280", "light, 320"]),
        ("#000", "#fff", "<button></button>", ["light, 1280", "light, 320"]),
    ],
)
def test_what_is_wrong_in_one_scheme_alone_is_found(
    browser: Browser, light: str, dark: str, more: str, expected: list[str]
) -> None:
    page = browser.new_page()
    page.set_content(PAGE.format(light=light, dark=dark, more=more))

    found = findings(page)

    page.close()
    assert [re.search(r"\((.+) px\)", finding).group(1) for finding in found] == expected  # type: ignore[union-attr]


def test_what_is_folded_away_is_looked_at_too_and_folded_again(browser: Browser) -> None:
    folds = "".join(
        f'<details name="one"><summary>{name}</summary><button></button></details>' for name in ("First", "Second")
    )
    page = browser.new_page()
    page.set_content(PAGE.format(light="#000", dark="#fff", more=folds))

    found = findings(page)
    opened, named = page.locator("details[open]").count(), page.locator("details[name=one]").count()

    page.close()
    assert ["opened (light" in finding and finding.count("<button>") == 2 for finding in found] == [True, True]
    assert (opened, named) == (0, 2)


def test_the_dark_scheme_changes_colours_and_nothing_else() -> None:
    written = [path for folder in ("static", "templates") for path in (ROOT / folder).rglob("*") if path.is_file()]
    texts = {path: path.read_text(errors="replace") for path in written if path.suffix in {".css", ".js", ".html"}}

    # Mail programs do not know `light-dark()`.
    pages = {path: text for path, text in texts.items() if "mail" not in path.parts}
    assert [path for path, text in pages.items() if "prefers-color-scheme" in text] == []
