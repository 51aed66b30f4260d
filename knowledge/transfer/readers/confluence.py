"""Confluence: the export of a space, as XML (`entities.xml`, pages in the storage format) or as HTML."""

import re
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import PurePosixPath
from typing import IO, Any
from xml.etree.ElementTree import Element, ParseError

from bs4 import BeautifulSoup, Tag
from bs4.element import NavigableString
from defusedxml import DefusedXmlException
from defusedxml.ElementTree import iterparse

from bigmind.core.errors import Invalid

from .bundles import Bundle, text_in
from .html_pages import markdown_of, read_html, text_of
from .json_rows import start_of
from .memory_drafts import DraftRow, PageDraft, PageSource, Remark, Row, moment_of, unread
from .words import headline, tags_of

ENTITIES = "entities.xml"
HTML = (".html", ".htm")
PAGE_CLASSES = {"Page", "BlogPost"}
CURRENT = {"", "current"}
STORAGE = "2"
"""The storage format among the types of bodies."""
NOT_XML = bytes(number for number in range(32) if number not in (9, 10, 13))
ID_IN_NAME = re.compile(r"(?:^|[_-])(\d{3,20})\.html?$")
HTML_DATE = re.compile(r"\b([A-Z][a-z]{2,8} \d{1,2}, \d{4})\b")
LOOKED_AT = 20
HEAD_BYTES = 8_192

LISTS_OF_PAGES = {
    *("toc", "toc-zone", "children", "pagetree", "pagetreesearch", "recently-updated", "contentbylabel", "livesearch"),
    *("attachments", "gallery", "anchor", "blog-posts", "listlabels", "popular-labels", "create-from-template"),
    *(
        "change-history",
        "contributors",
        "favpages",
        "navmap",
        "page-index",
        "profile",
        "userlister",
        "tasks-report-macro",
    ),
}
"""Macros that make their content when a page is shown: an export has none of it."""
BOXES = {"info": "Info", "note": "Note", "warning": "Warning", "tip": "Tip", "panel": "", "expand": "", "details": ""}


@dataclass
class _Space:
    """What `entities.xml` says, by the ids in it."""

    key: str = ""
    name: str = ""
    pages: dict[str, dict[str, str]] = field(default_factory=dict)
    bodies: dict[str, str] = field(default_factory=dict)
    users: dict[str, str] = field(default_factory=dict)
    labels: dict[str, str] = field(default_factory=dict)
    labellings: list[tuple[str, str]] = field(default_factory=list)
    passed_over: Counter[str] = field(default_factory=Counter)


def looks_like(bundle: Bundle) -> bool:
    """Whether there is the XML of a space, or pages as Confluence writes them."""
    names = bundle.names()
    if any(PurePosixPath(name).name == ENTITIES for name in names):
        return True
    pages = [name for name in names if name.lower().endswith(HTML)]
    return any(_is_page(bundle, name) for name in pages[:LOOKED_AT])


def rows(bundle: Bundle, *, into: str = "") -> Iterator[Row]:
    """Yield a page for each current page and blog post. Versions, drafts, comments and attachments are counted."""
    found = next((name for name in bundle.names() if PurePosixPath(name).name == ENTITIES), None)
    yield from _from_xml(bundle, found) if found else _from_html(bundle)
    if bundle.others:
        yield Remark(f"{bundle.others:,} other files, such as attachments, are not read.")


def _from_xml(bundle: Bundle, name: str) -> Iterator[Row]:
    space = _Space()
    try:
        with bundle.open(name) as file:
            _read_entities(_WithoutControls(file), space)
    except ParseError as error:
        # What stands before the fault was read.
        yield unread(name, Invalid(f"{name}, line {error.position[0]}: is not well-formed XML; the rest is not read."))
    except (LookupError, UnicodeError):
        raise Invalid(f"{name}: is in an encoding that nobody knows.", hint="Export it again, as UTF-8.") from None
    except DefusedXmlException:
        raise Invalid(f"{name}: declares entities or a DTD, which no export has.", hint="Do not trust it.") from None
    current = {id: page for id, page in space.pages.items() if _is_current(page)}
    titles = {page["title"]: id for id, page in current.items()}
    labels: dict[str, list[str]] = {}
    for content, label in space.labellings:
        labels.setdefault(content, []).append(space.labels.get(label, ""))
    yield PageSource(space.key or PurePosixPath(bundle.name).stem, space.name or space.key, is_bare=not space.key)
    macros: Counter[str] = Counter()
    for id, page in current.items():
        yield from _page(id, page, current, space, titles, labels.get(id, []), macros)
    old = len(space.pages) - len(current)
    passed = Counter({"earlier versions and drafts": old}) + space.passed_over
    if passed:
        yield Remark(f"Left out: {', '.join(f'{number:,} {what}' for what, number in passed.items())}.")
    if macros:
        most = ", ".join(f"{macro} ({number:,})" for macro, number in macros.most_common(10))
        yield Remark(f"Macros whose content is not in the export: {most}.")


def _is_current(page: dict[str, str]) -> bool:
    # Earlier versions are pages as well, which name the one that they are of.
    return page.get("contentStatus", "") in CURRENT and not page.get("originalVersion") and bool(page.get("title"))


def _page(
    id: str,
    page: dict[str, str],
    current: dict[str, dict[str, str]],
    space: _Space,
    titles: dict[str, str],
    labels: list[str],
    macros: Counter[str],
) -> Iterator[Row]:
    place, title = id, headline(page["title"], otherwise="page")
    try:
        links: list[str] = []
        body = _markdown(space.bodies.get(id, ""), title, links.append, space.users, macros)
    except (Invalid, RecursionError) as error:
        says = error if isinstance(error, Invalid) else Invalid(f"{title}: is nested too deep.")
        yield unread(title, says)
        return
    if not body.strip():
        return
    fields = {
        "place": place,
        "title": title,
        "content": f"# {title}\n\n{body}",
        "folder": " / ".join(reversed(list(_above(page, current)))),
        "author": space.users.get(page.get("lastModifier", "") or page.get("creator", ""), ""),
        "tags": tags_of(labels),
        "parent": page.get("parent", ""),
        "links": tuple(dict.fromkeys(titles[one] for one in links if one in titles and titles[one] != id)),
        "created_at": moment_of(page.get("creationDate"), zone=UTC),
        "updated_at": moment_of(page.get("lastModificationDate"), zone=UTC),
    }
    yield DraftRow(title, PageDraft, fields)


def _above(page: dict[str, str], current: dict[str, dict[str, str]]) -> Iterator[str]:
    """The titles of the pages above one, the nearest first. A circle ends."""
    seen: set[str] = set()
    above = page.get("parent", "")
    while above in current and above not in seen:
        seen.add(above)
        # A slash divides the folders of a page.
        yield headline(current[above]["title"], otherwise="page").replace("/", "-")
        above = current[above].get("parent", "")


class _WithoutControls:
    """A file without the control characters that XML forbids and that Confluence writes all the same."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file

    def read(self, size: int = -1) -> bytes:
        """Read on."""
        return self._file.read(size).translate(None, NOT_XML)


def _read_entities(file: Any, space: _Space) -> None:
    """Read the objects one by one, and keep of each what is needed; a large export is no tree in memory."""
    root: Element | None = None
    for event, element in iterparse(file, events=("start", "end"), forbid_dtd=False):
        if root is None:
            root = element
        elif event == "end" and element.tag == "object":
            _keep(element, space)
            root.clear()


def _keep(element: Element, space: _Space) -> None:
    kind, told = element.get("class", ""), _properties(element)
    id = told["id"]
    if kind in PAGE_CLASSES:
        space.pages[id] = told
    elif kind == "BodyContent":
        if told.get("content") and told.get("bodyType", STORAGE) == STORAGE:
            space.bodies[told["content"]] = told.get("body", "")
    elif kind == "Space":
        space.key, space.name = told.get("key", ""), told.get("name", "")
    elif kind == "ConfluenceUserImpl":
        space.users[id] = told.get("fullName") or told.get("name") or ""
    elif kind == "Label":
        space.labels[id] = told.get("name", "")
    elif kind == "Labelling":
        space.labellings.append((told.get("content", ""), told.get("label", "")))
    elif kind in ("Comment", "Attachment"):
        space.passed_over[f"{kind.lower()}s"] += 1


def _properties(element: Element) -> dict[str, str]:
    told = {"id": "".join(part.text or "" for part in element.findall("id")[:1]).strip()}
    for part in element.findall("property"):
        inner = part.find("id")
        told[part.get("name", "")] = ((inner.text if inner is not None else part.text) or "").strip()
    return told


def _markdown(storage: str, name: str, link: Callable[[str], None], users: dict[str, str], macros: Counter[str]) -> str:
    """The storage format of a page as markdown: macros as what they show, links by their titles."""
    soup = read_html(_plain_cdata(storage), name)
    # The innermost first: what a macro becomes must not be looked for again in the one around it.
    for tag in reversed(soup.find_all("ac:structured-macro") + soup.find_all("ac:macro")):
        _write_macro(tag, macros)
    for tag in soup.find_all("ac:link"):
        _write_link(tag, link, users)
    for tag in soup.find_all("ac:image"):
        inner = tag.find(["ri:attachment", "ri:url"])
        called = (inner.get("ri:filename") or inner.get("ri:value")) if isinstance(inner, Tag) else ""
        tag.replace_with(f"[picture: {called}]" if called else "")
    for tag in soup.find_all("ac:task"):
        done = text_of(tag.find("ac:task-status")) == "complete"
        body = tag.find("ac:task-body")
        for other in tag.find_all(["ac:task-id", "ac:task-status", "ac:task-uuid"], recursive=False):
            other.decompose()
        tag.name = "li"
        if isinstance(body, Tag):
            body.insert(0, NavigableString("[x] " if done else "[ ] "))
    for tag in soup.find_all("ac:task-list"):
        tag.name = "ul"
    for tag in soup.find_all("time"):
        if not tag.get_text(strip=True) and tag.get("datetime"):
            tag.replace_with(str(tag["datetime"]))
    for tag in soup.find_all("ac:emoticon"):
        tag.replace_with(str(tag.get("ac:emoji-fallback") or ""))
    for tag in soup.find_all(["ac:placeholder", "ac:parameter"]):
        tag.decompose()
    return markdown_of(soup)


def _plain_cdata(text: str) -> str:
    """Return a text whose CDATA sections are written as plain text.

    Within `entities.xml`, itself CDATA, the end of an inner one is written `]] >`. Parsers of HTML differ in what they
    make of them.
    """
    parts, at = [], 0
    while (begin := text.find("<![CDATA[", at)) >= 0:
        ends = [end for mark in ("]]>", "]] >") if (end := text.find(mark, begin)) >= 0]
        if not ends:
            break
        end = min(ends)
        inner = text[begin + 9 : end]
        parts += [text[at:begin], inner.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")]
        at = end + (3 if text.startswith("]]>", end) else 4)
    return "".join([*parts, text[at:]])


def _write_macro(tag: Tag, macros: Counter[str]) -> None:
    name = str(tag.get("ac:name") or "")
    told = {str(one.get("ac:name")): one.get_text() for one in tag.find_all("ac:parameter", recursive=False)}
    plain, rich = tag.find("ac:plain-text-body", recursive=False), tag.find("ac:rich-text-body", recursive=False)
    if isinstance(plain, Tag):
        code = BeautifulSoup("", "html.parser").new_tag("pre")
        language = told.get("language", "") if name == "code" else ""
        code["class"] = f"language-{language}" if language else ""
        code.string = plain.get_text().strip("\n")
        tag.replace_with(code)
    elif isinstance(rich, Tag):
        title = told.get("title") or BOXES.get(name, "")
        if name in BOXES and name not in ("details", "expand"):
            rich.name = "blockquote"
        else:
            rich.name = "div"
        if title:
            label = BeautifulSoup("", "html.parser").new_tag("p")
            bold = BeautifulSoup("", "html.parser").new_tag("strong")
            bold.string = title
            label.append(bold)
            rich.insert(0, label)
        tag.replace_with(rich.extract())
    elif name == "status":
        tag.replace_with(told.get("title", ""))
    elif name == "jira":
        tag.replace_with(told.get("key") or told.get("jqlQuery") or "")
    else:
        if name and name not in LISTS_OF_PAGES:
            macros[name[:50]] += 1
        tag.decompose()


def _write_link(tag: Tag, link: Callable[[str], None], users: dict[str, str]) -> None:
    body = text_of(tag.find(["ac:plain-text-link-body", "ac:link-body"]))
    page, user = tag.find(["ri:page", "ri:blog-post"]), tag.find("ri:user")
    attachment = tag.find("ri:attachment")
    shown = body
    if isinstance(page, Tag):
        title = str(page.get("ri:content-title") or "")
        if title:
            link(title)
        shown = body or title
    elif isinstance(user, Tag):
        key = str(user.get("ri:userkey") or user.get("ri:account-id") or user.get("ri:username") or "")
        shown = body or f"@{users.get(key) or user.get('ri:username') or 'someone'}"
    elif isinstance(attachment, Tag):
        shown = body or str(attachment.get("ri:filename") or "")
    tag.replace_with(shown)


def _from_html(bundle: Bundle) -> Iterator[Row]:
    names = [name for name in bundle.names() if name.lower().endswith(HTML)]
    key, title, is_bare = _space_of(bundle, names)
    yield PageSource(key, title, is_bare=is_bare)
    for name in names:
        if PurePosixPath(name).name.lower() == "index.html":
            continue
        try:
            soup = read_html(text_in(bundle, name), name)
            if row := _html_page(name, soup, title, names):
                yield row
        except Invalid as error:
            yield unread(name, error)
        except RecursionError:
            yield unread(name, Invalid(f"{name}: is nested too deep."))


def _html_page(name: str, soup: BeautifulSoup, space: str, names: list[str]) -> Row | None:
    content = soup.find(id="main-content")
    if not isinstance(content, Tag):
        return None
    heading = text_of(soup.find(id="title-text") or soup.find("title"))
    title = headline(heading.removeprefix(f"{space} : ").strip(), otherwise="page")
    crumbs = soup.select("#breadcrumbs li a")
    above = [text_of(one).replace("/", "-") for one in crumbs if not _leads_to_index(one)]
    metadata = soup.find(class_="page-metadata")
    by = soup.select_one(".page-metadata .editor") or soup.select_one(".page-metadata .author")
    here = {PurePosixPath(one).name: one for one in names}
    linked = [PurePosixPath(str(one.get("href") or "")).name for one in content.find_all("a")]
    labels = [text_of(one) for one in soup.select(".label-list a, .labels-content a")]
    body = markdown_of(content)
    if not body:
        return None
    fields = {
        "place": _id_of(name),
        "title": title,
        "content": f"# {title}\n\n{body}",
        "folder": " / ".join(above),
        "author": headline(text_of(by), otherwise="") if by else "",
        "tags": tags_of(labels),
        "parent": _id_of(str(crumbs[-1].get("href") or "")) if above else "",
        "links": tuple(dict.fromkeys(_id_of(here[one]) for one in linked if one in here and here[one] != name)),
        "updated_at": _date_in(text_of(metadata) if isinstance(metadata, Tag) else ""),
    }
    return DraftRow(name, PageDraft, fields)


def _leads_to_index(link: Tag) -> bool:
    return PurePosixPath(str(link.get("href") or "")).name.lower() == "index.html"


def _space_of(bundle: Bundle, names: list[str]) -> tuple[str, str, bool]:
    """Key and name of the space, as its index tells them, else the name of its folder; and whether it is that."""
    folder = next((name.partition("/")[0] for name in names if "/" in name), PurePosixPath(bundle.name).stem)
    index = next((name for name in names if PurePosixPath(name).name.lower() == "index.html"), None)
    if index is None:
        return folder, folder, True
    try:
        soup = read_html(text_in(bundle, index), index)
    except Invalid:
        return folder, folder, True
    told = {text_of(row.find("th")).casefold(): text_of(row.find("td")) for row in soup.find_all("tr")}
    key = told.get("key") or folder
    return headline(key, otherwise=folder), headline(told.get("name") or key, otherwise=folder), not told.get("key")


def _id_of(name: str) -> str:
    """The id of a page as the name of its file tells it; else that name."""
    last = PurePosixPath(name).name
    found = ID_IN_NAME.search(last)
    return found[1] if found else last


def _date_in(text: str) -> datetime | None:
    """The last date in a line such as `Created by Ada, last modified on May 04, 2024`."""
    for told in reversed(HTML_DATE.findall(text[:2_000])):
        for form in ("%b %d, %Y", "%B %d, %Y"):
            with suppress(ValueError):
                return datetime.strptime(told, form).replace(tzinfo=UTC)
    return None


def _is_page(bundle: Bundle, name: str) -> bool:
    try:
        head = start_of(bundle, name, size=HEAD_BYTES)
    except Invalid:
        return False
    return any(sign in head for sign in ('id="main-content"', 'id="breadcrumb-section"', "ajs-space-key"))
