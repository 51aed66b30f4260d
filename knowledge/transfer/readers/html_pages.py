"""HTML that other products export, as markdown: read leniently, bounded, with nothing in it loaded or run."""

import re
from typing import cast

from bs4 import BeautifulSoup, Tag
from bs4.exceptions import ParserRejectedMarkup
from markdownify import MarkdownConverter

from bigmind.core.errors import Invalid

from .memory_drafts import PAGE_CHARS
from .words import without_comments

NEVER_SHOWN = ("script", "style", "template", "noscript", "iframe", "object", "embed", "svg", "head")
DEPTH = 200
ENDLESS_SPACE = re.compile(r"(?P<kept>[ \t]{200})[ \t]+")
LONG_SPACE = re.compile(r"\s{3,}")
BLANK_LINES = re.compile(r"\n{3,}")
LANGUAGE = re.compile(r"(?:brush:\s*|language-)([\w+#-]{1,30})")


class _Converter(MarkdownConverter):
    """Writes markdown as people do: pictures by their name, since nobody has the files."""

    def convert_img(self, el: Tag, text: str, parent_tags: set[str]) -> str:
        name = str(el.get("alt") or "") or str(el.get("src") or "").rpartition("/")[2][:200]
        return f"[picture: {name}]" if name and not name.startswith("data:") else ""

    def convert_td(self, el: Tag, text: str, parent_tags: set[str]) -> str:
        return self._write("td", el, text.replace("|", "\\|"), parent_tags)

    def convert_th(self, el: Tag, text: str, parent_tags: set[str]) -> str:
        return self._write("th", el, text.replace("|", "\\|"), parent_tags)

    def convert_a(self, el: Tag, text: str, parent_tags: set[str]) -> str:
        target = str(el.get("href") or "")
        leads_out = target.startswith(("http://", "https://", "mailto:"))
        return self._write("a", el, text, parent_tags) if leads_out else text

    def _write(self, name: str, el: Tag, text: str, parent_tags: set[str]) -> str:
        """Write an element as markdownify does, whose types do not tell that it can."""
        return cast("str", getattr(super(), f"convert_{name}")(el, text, parent_tags))


def read_html(text: str, name: str) -> BeautifulSoup:
    """Return what a page says, without what nobody sees.

    Raises:
        Invalid: it is too large, or nested too deep.
    """
    if len(text) > PAGE_CHARS:
        raise Invalid(f"{name} is larger than {PAGE_CHARS:,} characters.", hint="Split it.")
    try:
        soup = BeautifulSoup(_escape_open_tags(without_comments(text)), "html.parser")
    except ParserRejectedMarkup as error:
        raise Invalid(f"{name}: is no HTML that can be read.") from error
    for tag in soup(NEVER_SHOWN):
        tag.decompose()
    deepest, depth = 0, 0
    # In one walk: asking each tag for its parents would take a time that grows with the square of the depth.
    waiting: list[tuple[Tag, int]] = [(soup, 0)]
    while waiting:
        tag, depth = waiting.pop()
        deepest = max(deepest, depth)
        waiting += [(child, depth + 1) for child in tag.children if isinstance(child, Tag)]
    if deepest > DEPTH:
        raise Invalid(f"{name} is nested deeper than {DEPTH} levels.", hint="It does not look like a page.")
    return soup


def _escape_open_tags(text: str) -> str:
    """Return a text in which what opens like a tag and is none is plain text: the parser would look for its end again
    and again.
    """
    first, *parts = text.split("<")
    return "".join([first, *(f"<{part}" if ">" in part else f"&lt;{part}" for part in parts)])


def markdown_of(tag: Tag | None) -> str:
    """Return a part of a page as markdown, its blank lines as one each."""
    if tag is None:
        return ""
    # What a browser shows as one space, and markdownify takes long to find the end of.
    for words in tag.find_all(string=LONG_SPACE):
        is_code = words.find_parent("pre") is not None
        words.replace_with(ENDLESS_SPACE.sub("\\g<kept>", words) if is_code else LONG_SPACE.sub(_one_space, words))
    converter = _Converter(
        heading_style="atx",
        bullets="-",
        escape_misc=False,
        escape_underscores=False,
        escape_asterisks=False,
        code_language_callback=_language_of,
        strong_em_symbol="*",
    )
    written = converter.convert_soup(tag)
    lines = (line.rstrip() for line in written.replace("\u00a0", " ").split("\n"))
    return BLANK_LINES.sub("\n\n", "\n".join(lines)).strip()


def _one_space(found: re.Match[str]) -> str:
    return "\n" if "\n" in found[0] else " "


def text_of(tag: Tag | None) -> str:
    """Return the words of a part of a page, in one line."""
    return " ".join(tag.get_text(" ").split()) if tag else ""


def _language_of(pre: Tag) -> str:
    """The language of a code block, as highlighters note it."""
    inner = pre.find("code")
    classes = [*_classes(pre), *(_classes(inner) if isinstance(inner, Tag) else [])]
    noted = " ".join([str(pre.get("data-syntaxhighlighter-params") or ""), *classes])
    found = LANGUAGE.search(noted)
    return found[1].lower() if found and found[1] not in ("plain", "text") else ""


def _classes(tag: Tag) -> list[str]:
    told: str | list[str] = tag.get("class") or []
    return [told] if isinstance(told, str) else list(told)
