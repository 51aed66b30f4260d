"""What axe finds on a page: in light and dark, on a phone and on a desk."""

from functools import cache
from itertools import product
from pathlib import Path
from typing import Any, Literal

from playwright.sync_api import Page

SCHEMES: tuple[Literal["light", "dark"], ...] = ("light", "dark")
WIDTHS = (320, 1280)
HEIGHT = 900

# A test holds that the dark scheme changes nothing but colours: all else was seen in the light.
RULES_OF_COLOUR = ["color-contrast", "link-in-text-block"]

# No page has a frame, a sound or a film: axe need not ask frames, nor load styles and media a second time.
_RUN = """rules => axe.run({
    resultTypes: ['violations'], preload: false, iframes: false,
    ...(rules.length && {runOnly: {type: 'rule', values: rules}})
}).then(found => found.violations)"""
_OVERFLOW = "() => document.documentElement.scrollWidth - document.documentElement.clientWidth"


def findings(page: Page) -> list[str]:
    """Return what is wrong with a page as it stands, in each scheme and width: an empty list is a pass."""
    # Playwright's own `evaluate` would parse the whole script twice more to see what it is.
    page.context.new_cdp_session(page).send("Runtime.evaluate", {"expression": _axe()})
    found: list[str] = []
    for scheme, width in product(SCHEMES, WIDTHS):
        page.emulate_media(color_scheme=scheme)
        page.set_viewport_size({"width": width, "height": HEIGHT})
        where = f"{page.url} ({scheme}, {width} px)"
        rules = RULES_OF_COLOUR if scheme == "dark" else []
        found += [f"{where}: {_told(violation)}" for violation in page.evaluate(_RUN, rules)]
        if beyond := scrolls_sideways(page):
            found.append(f"{where}: the page scrolls sideways by {beyond} px")
    return found


def scrolls_sideways(page: Page) -> int:
    """Return by how many pixels the page is wider than its window."""
    return int(page.evaluate(_OVERFLOW))


def _told(violation: dict[str, Any]) -> str:
    nodes = "; ".join(f"{node['target']} {node['html'][:160]}" for node in violation["nodes"][:5])
    return f"{violation['id']}: {violation['help']}: {nodes}"


@cache
def _axe() -> str:
    return (Path(__file__).parent / "vendor" / "axe.min.js").read_text()
