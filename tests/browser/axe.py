"""What axe finds on a page: in light and dark, on a phone and on a desk, also in what is folded away."""

from functools import cache
from pathlib import Path
from typing import Any, Literal

from playwright.sync_api import Page

Scheme = Literal["light", "dark"]
SCHEMES: tuple[Scheme, ...] = ("light", "dark")
WIDTHS = (320, 1280)
HEIGHT = 900

HERE = Path(__file__).parent
# It keeps what it has seen at one width for the next.
_LOOK = "async () => (globalThis.seen = await look(globalThis, globalThis.seen)).found"
_SHARE = "!!globalThis.opener?.axeOn && (opener.axeOn(globalThis), globalThis.look = opener.look, true)"
_OVERFLOW = "() => document.documentElement.scrollWidth - document.documentElement.clientWidth"


def findings(page: Page) -> list[str]:
    """Return what is wrong with a page as it stands, and then with all that opens, in each scheme and width.

    An empty list is a pass. Afterwards the page is folded as it was, and as wide as a desk.
    """
    _bring_axe(page)
    narrow, wide = WIDTHS
    found = [_told(page, width, one) for width in (wide, narrow) for one in _findings_at(page, width)]
    _set_width(page, wide)
    return found


def _findings_at(page: Page, width: int) -> list[dict[str, Any]]:
    _set_width(page, width)
    found: list[dict[str, Any]] = page.evaluate(_LOOK)
    return found


def _set_width(page: Page, width: int) -> None:
    if page.viewport_size != {"width": width, "height": HEIGHT}:
        page.set_viewport_size({"width": width, "height": HEIGHT})


def scrolls_sideways(page: Page) -> int:
    """Return by how many pixels the page is wider than its window."""
    return int(page.evaluate(_OVERFLOW))


def _told(page: Page, width: int, found: dict[str, Any]) -> str:
    nodes = "; ".join(f"{node['target']} {node['html'][:160]}" for node in found["nodes"][:5])
    where = f"{page.url}{found['state'] and ' opened'} ({found['scheme']}, {width} px)"
    return f"{where}: {found['id']}: {found['help']}: {nodes}"


def _bring_axe(page: Page) -> None:
    """Let a page use the axe of the window that opened it: one that has run on other pages takes half the time."""
    page.evaluate("globalThis.seen = undefined")
    if opener := page.opener():
        if not opener.evaluate("'axeOn' in globalThis"):
            _evaluate(opener, f"globalThis.axeOn = {_axe()}; {_looking()}")
        if page.evaluate(_SHARE):
            return
    _evaluate(page, f"({_axe()})(globalThis); {_looking()}")


def _evaluate(page: Page, script: str) -> None:
    # Playwright's own `evaluate` would parse the whole script twice more to see what it is.
    page.context.new_cdp_session(page).send("Runtime.evaluate", {"expression": script})


@cache
def _axe() -> str:
    """Return the function that makes axe for a window, without the call of it."""
    script = (HERE / "vendor" / "axe.min.js").read_text()
    return script[script.index("function") : script.rindex('("object"==typeof window')]


@cache
def _looking() -> str:
    return f"globalThis.look = (() => {{ {(HERE / 'looking.js').read_text()} return look; }})()"
