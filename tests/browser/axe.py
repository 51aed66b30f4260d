"""What axe finds on a page: in light and dark, on a phone and on a desk, also in what is folded away."""

from functools import cache
from pathlib import Path
from typing import Any, Literal

from playwright.sync_api import Page

Scheme = Literal["light", "dark"]
SCHEMES: tuple[Scheme, ...] = ("light", "dark")
WIDTHS = (320, 1280)
# Every change is painted, so only one thing changes at a time; what opens is then looked at from the last to the first.
STATES: tuple[tuple[int, Scheme], ...] = ((1280, "light"), (1280, "dark"), (320, "dark"), (320, "light"))
HEIGHT = 900

# A test holds that the dark scheme changes nothing but colours: all else was seen in the light.
RULES_OF_COLOUR = ["color-contrast", "link-in-text-block"]

# Those that open each other's place stand open together: a name would leave one of them.
_OPEN = """() => {
    const folds = [...document.querySelectorAll('details:not([open])')];
    const names = folds.map((fold) => fold.getAttribute('name'));
    for (const fold of folds) { fold.removeAttribute('name'); fold.open = true; }
    globalThis.fold = () => folds.forEach((fold, at) => {
        fold.open = false;
        if (names[at] !== null) fold.setAttribute('name', names[at]);
    });
    return folds.length;
}"""
# No page has a frame, a sound or a film: axe need not ask frames, nor load styles and media a second time.
_RUN = """([part, rules]) => axe.run(part || document, {
    resultTypes: ['violations'], preload: false, iframes: false,
    ...(rules.length && {runOnly: {type: 'rule', values: rules}})
}).then(found => found.violations)"""
_OVERFLOW = "() => document.documentElement.scrollWidth - document.documentElement.clientWidth"


def findings(page: Page) -> list[str]:
    """Return what is wrong with a page as it stands, and then with all that opens, in each scheme and width.

    An empty list is a pass. Afterwards the page is folded as it was, and as wide as a desk.
    """
    _bring_axe(page)
    found = [finding for state in STATES for finding in _findings_in(page, *state)]
    if page.evaluate(_OPEN):
        found += [finding for state in STATES[::-1] for finding in _findings_in(page, *state, part="details")]
        page.evaluate("fold()")
    page.set_viewport_size({"width": STATES[0][0], "height": HEIGHT})
    return found


def _findings_in(page: Page, width: int, scheme: Scheme, part: str = "") -> list[str]:
    if page.viewport_size != {"width": width, "height": HEIGHT}:
        page.set_viewport_size({"width": width, "height": HEIGHT})
    page.emulate_media(color_scheme=scheme)
    where = f"{page.url}{' opened' if part else ''} ({scheme}, {width} px)"
    rules = RULES_OF_COLOUR if scheme == "dark" else []
    found = [f"{where}: {_told(violation)}" for violation in page.evaluate(_RUN, [part, rules])]
    if beyond := scrolls_sideways(page):
        found.append(f"{where}: the page scrolls sideways by {beyond} px")
    return found


def scrolls_sideways(page: Page) -> int:
    """Return by how many pixels the page is wider than its window."""
    return int(page.evaluate(_OVERFLOW))


def _told(violation: dict[str, Any]) -> str:
    nodes = "; ".join(f"{node['target']} {node['html'][:160]}" for node in violation["nodes"][:5])
    return f"{violation['id']}: {violation['help']}: {nodes}"


def _bring_axe(page: Page) -> None:
    """Let a page use the axe of the window that opened it: one that has run on other pages takes half the time."""
    if opener := page.opener():
        if not opener.evaluate("'axeOn' in globalThis"):
            _evaluate(opener, f"globalThis.axeOn = {_axe()}")
        if page.evaluate("!!globalThis.opener?.axeOn && (opener.axeOn(globalThis), true)"):
            return
    _evaluate(page, f"({_axe()})(globalThis)")


def _evaluate(page: Page, script: str) -> None:
    # Playwright's own `evaluate` would parse the whole script twice more to see what it is.
    page.context.new_cdp_session(page).send("Runtime.evaluate", {"expression": script})


@cache
def _axe() -> str:
    """Return the function that makes axe for a window, without the call of it."""
    script = (Path(__file__).parent / "vendor" / "axe.min.js").read_text()
    return script[script.index("function") : script.rindex('("object"==typeof window')]
