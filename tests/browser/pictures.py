"""Pictures of pages: six of each on one sheet (three widths, both schemes), small enough to be kept and compared.

What changes with the clock or by chance is made the same before: dates, ages, durations, ids. A sheet is compared with
the one that somebody looked at, square by square, so that a rounding of the renderer passes and a menu that
stands elsewhere does not.
"""

import base64
from collections.abc import Callable
from dataclasses import dataclass
from itertools import product
from math import ceil
from pathlib import Path
from typing import Any, Literal

from playwright.sync_api import CDPSession, Page, expect

SCHEMES: tuple[Literal["light", "dark"], ...] = ("light", "dark")
WIDTHS = (390, 820, 1440)
ENOUGH: tuple[tuple[Literal["light", "dark"], int], ...] = (("dark", 1440), ("light", 390))
"""A phone, a desk and both schemes: in the dark, colours change and nothing else."""

HEIGHT = 900
MOST_PX = 1_600
"""How much of a long page is kept."""

SCALE = 0.25
IN_DOCS = (1180, 640)
IN_DOCS_SCALE = 0.75
REVIEWED = Path(__file__).parent / "reviewed"

_MONTHS = "January|February|March|April|May|June|July|August|September|October|November|December"
# The patterns are read by JavaScript; each is simple enough to take no time.
_VARYING = (
    (r"\b(?:Mon|Tues|Wednes|Thurs|Fri|Satur|Sun)day (?=\d)", "Monday "),
    (r"\b(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun) \d{1,2} [A-Z][a-z]{2}\b", "Mon 1 Mar"),
    (rf"\b\d{{1,2}} (?:{_MONTHS})(?: \d{{4}})?", "1 March 2026"),
    (rf"\b(?:{_MONTHS}) \d{{4}}", "March 2026"),
    (r"\b\d\d:\d\d(?::\d\d)?\b", "12:00"),
    (r"\bbm_\w+", "bm_00000"),
    (r"\b[0-9a-f]{8}[0-9a-f-]*\b", "00000000"),
    (r"\b\d+ (?:second|minute|hour|day|week|month)s?\b", "3 days"),
    (r"[\d.,]+ ?(?:ms|s|kB|MB|GB|bytes)\b", "0 ms"),
    (r"just now", "3 days ago"),
)
_STEADY = """
(varying) => {
  document.documentElement.style.setProperty('--sans', '"DejaVu Sans", sans-serif');
  document.documentElement.style.setProperty('--mono', '"DejaVu Sans Mono", monospace');
  for (const moment of document.querySelectorAll('time')) moment.textContent = '3 days ago';
  for (const day of document.querySelectorAll('.heatmap td[data-level]')) day.dataset.level = '0';
  for (const mark of document.querySelectorAll('.plot g > rect:not(.hit), .plot > path:not(.rule), .spark > *')) {
    mark.remove();
  }
  for (const month of document.querySelectorAll('.heatmap thead th')) month.textContent = '';
  for (const field of document.querySelectorAll('input[type=date]')) field.type = 'text';
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    let text = walker.currentNode.data;
    if (!/[0-9]|just now/.test(text)) continue;
    for (const [pattern, same] of varying) text = text.replace(new RegExp(pattern, 'g'), same);
    if (text !== walker.currentNode.data) walker.currentNode.data = text;
  }
}
"""
_WIDTH_OF_FONT = """
() => {
  const context = document.createElement('canvas').getContext('2d');
  context.font = '100px "DejaVu Sans", monospace';
  return Math.round(context.measureText('Hamburgefonstiv').width);
}
"""
_FONT_IS_THERE = 863

_TOOLS = """
globalThis.decode = async (data, type) => {
  const bytes = Uint8Array.from(atob(data), (one) => one.charCodeAt(0));
  return createImageBitmap(new Blob([bytes], {type}));
};
globalThis.encode = async (canvas) => {
  const blob = await canvas.convertToBlob({type: 'image/webp', quality: 0.55});
  const bytes = new Uint8Array(await blob.arrayBuffer());
  let text = '';
  for (const byte of bytes) text += String.fromCharCode(byte);
  return btoa(text);
};
// Beside each other the widths, below each other the schemes. What was not taken is left out: the narrowest is highest.
globalThis.compose = async (pictures, widths, gap = 6) => {
  const columns = widths.length;
  const taken = await Promise.all(pictures.map((data) => data && decode(data, 'image/png')));
  const height = Math.max(...taken.map((one) => one.height ?? 0));
  const all = taken.map((one, at) => one || {width: widths[at % columns], height});
  globalThis.absent = [];
  const rows = [];
  for (let at = 0; at < all.length; at += columns) rows.push(all.slice(at, at + columns));
  const width = Math.max(...rows.map((row) => row.reduce((sum, one) => sum + one.width + gap, gap)));
  const heights = rows.map((row) => Math.max(...row.map((one) => one.height)));
  const canvas = new OffscreenCanvas(width, heights.reduce((sum, one) => sum + one + gap, gap));
  const context = canvas.getContext('2d', {willReadFrequently: true});
  context.fillStyle = '#888';
  context.fillRect(0, 0, canvas.width, canvas.height);
  let y = gap;
  rows.forEach((row, number) => {
    let x = gap;
    row.forEach((one, column) => {
      if (taken[number * columns + column]) context.drawImage(one, x, y);
      else absent.push([x, y, one.width, one.height]);
      x += one.width + gap;
    });
    y += heights[number] + gap;
  });
  globalThis.sheet = canvas;
};
// The share of squares in which the sheet looks different, and a picture of where.
globalThis.compare = async (reviewed, square, least, most) => {
  const before = await decode(reviewed, 'image/webp');
  if (Math.abs(before.width - sheet.width) > 2 || Math.abs(before.height - sheet.height) > 40) {
    return {squares: Infinity, why: `${before.width} × ${before.height} became ${sheet.width} × ${sheet.height}`};
  }
  const width = Math.min(before.width, sheet.width), height = Math.min(before.height, sheet.height);
  const other = new OffscreenCanvas(before.width, before.height);
  other.getContext('2d').drawImage(before, 0, 0);
  for (const place of absent) sheet.getContext('2d').drawImage(before, ...place, ...place);
  const [one, two] = [other, sheet].map((from) => from.getContext('2d').getImageData(0, 0, width, height).data);
  const marked = new OffscreenCanvas(sheet.width, sheet.height);
  const context = marked.getContext('2d');
  context.drawImage(sheet, 0, 0);
  context.strokeStyle = context.fillStyle = '#e0004d';
  let squares = 0;
  for (let top = 0; top + square <= height; top += square) {
    for (let left = 0; left + square <= width; left += square) {
      const sums = [0, 0, 0];
      for (let y = top; y < top + square; y++) {
        for (let x = left; x < left + square; x++) {
          const at = 4 * (y * width + x);
          for (let part = 0; part < 3; part++) sums[part] += one[at + part] - two[at + part];
        }
      }
      if (Math.max(...sums.map(Math.abs)) / square ** 2 < least) continue;
      squares += 1;
      context.strokeRect(left, top, square, square);
    }
  }
  return {squares, marked: squares > most ? await encode(marked) : ''};
};
"""

SQUARE_PX = 8
LEAST_DIFFERENCE = 14
"""How much the mean of a square has to change, of 255: more than the compression of the kept sheet does."""

SQUARES_AT_MOST = 4


@dataclass(frozen=True)
class Difference:
    """A page that does not look as it did when somebody last looked: `why` in words, where it can be said."""

    name: str
    why: str


@dataclass
class Photographer:
    """Takes the sheets of pages with the browser of the tests, and compares them in a page of their own."""

    page: Page
    table: Page
    report: Path
    is_whole: bool = True

    def __post_init__(self) -> None:
        self.table.goto("about:blank")
        self.table.evaluate(f"() => {{ {_TOOLS} }}")
        self._session: CDPSession = self.page.context.new_cdp_session(self.page)

    @property
    def has_font(self) -> bool:
        """Whether text is as wide here as it was where the sheets were made."""
        return abs(int(self.table.evaluate(_WIDTH_OF_FONT)) - _FONT_IS_THERE) <= 2

    def _open(self, address: str) -> None:
        self.page.goto(address)
        # What is loaded a moment later is part of the page.
        expect(self.page.locator("[data-radius] [data-place]")).to_have_count(0)

    def take_sheet_of(self, address: str, look: Callable[[], None] = lambda: None) -> None:
        """Take the sheet of a page: six pictures, or those that are enough; `look` at it in the width of each."""
        self._open(address)
        self.page.evaluate(_STEADY, [list(pair) for pair in _VARYING])
        pictures = self._pictures(look)
        self.table.evaluate("(asked) => compose(...asked)", [pictures, [ceil(SCALE * width) for width in WIDTHS]])

    def take_picture_of(self, address: str) -> None:
        """Take one picture of the top of a page, in the light on a desk, for the documentation."""
        self._open(address)
        self.page.evaluate(_STEADY, [list(pair) for pair in _VARYING])
        self.page.emulate_media(color_scheme="light")
        width, height = IN_DOCS
        self.page.set_viewport_size({"width": width, "height": height})
        clip = {"x": 0, "y": 0, "width": width, "height": height, "scale": IN_DOCS_SCALE}
        picture = self._session.send("Page.captureScreenshot", {"clip": clip, "optimizeForSpeed": True})["data"]
        self.table.evaluate("([all]) => compose(all, [0], 0)", [[picture]])

    def taken(self) -> bytes:
        """Return what was taken last."""
        return base64.b64decode(self.table.evaluate("encode(sheet)"))

    def difference(self, name: str, folder: Path = REVIEWED) -> Difference | None:
        """Compare what was taken last with the reviewed one; keep both for the report if they differ."""
        kept = folder / f"{name}.webp"
        if not kept.exists():
            return self._keep(Difference(name, "nobody has looked at it yet"))
        reviewed = kept.read_bytes()
        found: dict[str, Any] = self.table.evaluate(
            "(asked) => compare(...asked)",
            [base64.b64encode(reviewed).decode(), SQUARE_PX, LEAST_DIFFERENCE, SQUARES_AT_MOST],
        )
        if found["squares"] <= SQUARES_AT_MOST:
            return None
        why = found.get("why") or f"{found['squares']} squares differ"
        return self._keep(Difference(name, why), reviewed, base64.b64decode(found.get("marked", "")))

    def _pictures(self, look: Callable[[], None]) -> list[str]:
        taken = dict.fromkeys(product(SCHEMES, WIDTHS), "")
        for scheme, width in sorted(taken) if self.is_whole else ENOUGH:
            self.page.emulate_media(color_scheme=scheme)
            self.page.set_viewport_size({"width": width, "height": HEIGHT})
            look()
            height = min(MOST_PX, int(self.page.evaluate("document.documentElement.scrollHeight")))
            clip = {"x": 0, "y": 0, "width": width, "height": height, "scale": SCALE}
            asked = {"clip": clip, "captureBeyondViewport": True, "optimizeForSpeed": True}
            taken[scheme, width] = self._session.send("Page.captureScreenshot", asked)["data"]
        return list(taken.values())

    def _keep(self, difference: Difference, reviewed: bytes = b"", marked: bytes = b"") -> Difference:
        self.report.mkdir(parents=True, exist_ok=True)
        for kind, picture in (("reviewed", reviewed), ("now", self.taken()), ("difference", marked)):
            if picture:
                (self.report / f"{difference.name}-{kind}.webp").write_bytes(picture)
        return difference


def write_report(report: Path, differences: list[Difference]) -> Path:
    """Write a page that shows each sheet as it was, as it is, and where they differ; return where it is."""
    rows = [
        f"<h2>{one.name}: {one.why}</h2>"
        + "".join(
            f'<figure><figcaption>{kind}</figcaption><img src="{one.name}-{kind}.webp" alt=""></figure>'
            for kind in ("reviewed", "now", "difference")
            if (report / f"{one.name}-{kind}.webp").exists()
        )
        for one in differences
    ]
    page = report / "index.html"
    page.write_text(f'<!doctype html><meta charset="utf-8"><title>Pictures that differ</title>{"".join(rows)}')
    return page
