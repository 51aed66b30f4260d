"""Notion: the export of a workspace or page, as Markdown & CSV or as HTML, with the id of each page in its name."""

import csv
import io
import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import PurePosixPath
from typing import Any
from urllib.parse import unquote

from bs4 import Tag

from bigmind.core.errors import Invalid

from .bundles import Bundle, text_in
from .html_pages import markdown_of, read_html, text_of
from .memory_drafts import DraftRow, PageDraft, PageSource, Remark, Row, moment_of, unread
from .words import headline, tags_of

ID = re.compile(r"[ -]([0-9a-f]{32})(?:_all)?$")
UUID_ID = re.compile(r"^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$")
PAGES = (".md", ".html")
TABLE = ".csv"
WORKSPACE = "workspace"
LINK = re.compile(r"\]\(((?>(?:[^()\s]++|\([^()\s]*+\)){1,50}))\)")
"""Names of pages have parentheses. Possessive, so that a link that never ends takes no longer. Decision 25."""
PROPERTY = re.compile(r"^([^\s:#`|>*\[\]-][^:\n]{0,60}): (\S.*)$")
ADDRESS = "https://www.notion.so/"
AUTHORS = {"author", "created by", "last edited by", "owner", "erstellt von", "créé par"}
CREATED = {"created", "created time", "date created", "created at"}
UPDATED = {"last edited time", "last edited", "updated", "last updated", "updated at", "edited"}
TAGGED = {"tags", "tag", "labels", "category", "categories", "topics", "topic"}
ROWS = 5_000
MOMENTS = (
    *("%B %d, %Y %I:%M %p", "%B %d, %Y %H:%M", "%B %d, %Y", "%b %d, %Y"),
    *("%Y/%m/%d %H:%M", "%Y/%m/%d", "%d/%m/%Y"),
)


def looks_like(bundle: Bundle) -> bool:
    """Whether names of pages end in ids, as Notion writes them."""
    return any(_id_of(name) for name in bundle.names() if name.lower().endswith((*PAGES, TABLE)))


def rows(bundle: Bundle, *, into: str = "") -> Iterator[Row]:
    """Yield a page for each page, and one for each table whose rows are no pages."""
    names = [name for name in bundle.names() if name.lower().endswith((*PAGES, TABLE))]
    ids = {_id_of(name): name for name in names if name.lower().endswith(PAGES) and _id_of(name)}
    name, title = _root(names)
    yield PageSource(name, title, is_bare=name == WORKSPACE)
    tables = 0
    for name in names:
        try:
            if not name.lower().endswith(TABLE):
                yield from _page(bundle, name, ids)
            elif not _is_a_view(name, names) and not _has_pages(name, names):
                yield _table(bundle, name)
            else:
                tables += 1
        except Invalid as error:
            yield unread(name, error)
        except RecursionError:
            yield unread(name, Invalid(f"{name}: is nested too deep."))
    if tables:
        yield Remark(f"{tables:,} tables are read by the pages of their rows.")
    if bundle.others:
        yield Remark(f"{bundle.others:,} other files, such as pictures, are not read.")


def _id_of(name: str) -> str:
    """The id in the name of a page, or empty; the index of an HTML export has none."""
    found = ID.search(PurePosixPath(name).stem)
    return found[1] if found else ""


def _plain(part: str) -> str:
    """The name of a page or folder without its id."""
    return headline(ID.sub("", part).strip().replace("/", "-"), otherwise="Untitled")


def _root(names: list[str]) -> tuple[str, str]:
    """What an export is called at every time: the page that is above all others, else the workspace.

    The name of the archive is another one each time.
    """
    least = min((name.count("/") for name in names), default=0)
    tops = [name for name in names if name.count("/") == least and _id_of(name) and not name.lower().endswith(TABLE)]
    if len(tops) == 1:
        stem = PurePosixPath(tops[0]).stem
        return _id_of(tops[0]), _plain(stem)
    return WORKSPACE, "Notion"


def _page(bundle: Bundle, name: str, ids: dict[str, str]) -> Iterator[Row]:
    text = text_in(bundle, name)
    path = PurePosixPath(name)
    if name.lower().endswith(".html"):
        if path.name.lower() in ("index.html", "sitemap.html"):
            return
        read = _read_html(name, text)
    else:
        read = _read_markdown(path, text)
    title, body, told, id = read.title, read.body, read.properties, read.id or _id_of(name)
    if not body.strip() and not told:
        return
    listed = "\n".join(f"- {key}: {value}" for key, value in told.items())
    content = "\n\n".join(part for part in (f"# {title}", listed, _without_ids(body)) if part.strip())
    lowered = {key.casefold(): value for key, value in told.items()}
    above = [part for part in path.parent.parts if not part.startswith(("Export-", "Private & Shared"))]
    parent = next((ids_ for part in reversed(above) if (ids_ := _id_of(f"{part}.md"))), "")
    by_folder = {PurePosixPath(one).with_suffix("").as_posix(): _id_of(one) for one in ids.values()}
    fields: dict[str, Any] = {
        "place": id or name,
        "title": title,
        "content": content,
        "folder": " / ".join(_plain(part) for part in above),
        "url": f"{ADDRESS}{id}" if id else "",
        "author": headline(next((lowered[one] for one in AUTHORS if one in lowered), ""), otherwise=""),
        "tags": tags_of(
            part.strip() for one in TAGGED if one in lowered for part in lowered[one].split(",") if part.strip()
        ),
        "parent": parent or by_folder.get(path.parent.as_posix(), ""),
        "links": tuple(dict.fromkeys(one for one in _ids_in(read.links) if one in ids and one != id)),
        "created_at": next((moment for one in CREATED if (moment := _moment(lowered.get(one)))), None),
        "updated_at": next((moment for one in UPDATED if (moment := _moment(lowered.get(one)))), None),
    }
    yield DraftRow(name, PageDraft, fields)


@dataclass(frozen=True)
class _Read:
    """What one file says."""

    title: str
    body: str
    properties: dict[str, str]
    links: list[str]
    id: str = ""


def _read_markdown(path: PurePosixPath, text: str) -> _Read:
    """A file of markdown: a heading, then a line for each property, then the text."""
    lines = text.lstrip("\n").split("\n")
    title = _plain(path.stem)
    if lines and lines[0].startswith("# "):
        title = headline(lines.pop(0)[2:], otherwise=title)
    while lines and not lines[0].strip():
        lines.pop(0)
    told: dict[str, str] = {}
    at = 0
    while at < len(lines) and (found := PROPERTY.match(lines[at][:2_000])):
        told[found[1].strip()] = found[2].strip()
        at += 1
    is_block = bool(told) and (at == len(lines) or not lines[at].strip())
    # One line that ends in nothing is a property; prose with a colon goes on in the next line or is long.
    if not is_block or (len(told) == 1 and len(next(iter(told.values()))) > 120):
        told, at = {}, 0
    body = "\n".join(lines[at:]).strip("\n")
    return _Read(title, body, told, [found[1] for found in LINK.finditer(body)])


def _read_html(name: str, text: str) -> _Read:
    soup = read_html(text, name)
    article = soup.find("article")
    if not isinstance(article, Tag):
        raise Invalid(f"{name}: is no page of Notion.")
    told_id = str(article.get("id") or "")
    title = headline(text_of(article.find(class_="page-title")), otherwise=_plain(PurePosixPath(name).stem))
    told = {
        text_of(row.find("th")): text_of(row.find("td"))
        for row in article.select("table.properties tr")
        if text_of(row.find("td"))
    }
    body = article.find(class_="page-body")
    for box in body.find_all("div", class_="checkbox") if isinstance(body, Tag) else []:
        box.replace_with("[x]" if "checkbox-on" in (box.get("class") or []) else "[ ]")
    linked = [str(one.get("href") or "") for one in body.find_all("a")] if isinstance(body, Tag) else []
    id = told_id.replace("-", "") if UUID_ID.match(told_id) else _id_of(name)
    return _Read(title, markdown_of(body if isinstance(body, Tag) else None), told, linked, id)


def _without_ids(body: str) -> str:
    """Return a text whose links within the export are plain words: the files they name are not here."""

    def plain(found: re.Match[str]) -> str:
        return found[0] if found[1].startswith(("http://", "https://", "mailto:", "#")) else "]"

    return LINK.sub(plain, body)


def _ids_in(links: list[str]) -> Iterator[str]:
    for link in links:
        target = unquote(link.partition("?")[0].partition("#")[0])
        if id := _id_of(target) or _id_of(f"{target}.md"):
            yield id
        elif target.startswith("http") and (ends := re.search(r"([0-9a-f]{32})$", target)):
            yield ends[1]


def _moment(told: str | None) -> datetime | None:
    """A moment as Notion writes it for people: `May 4, 2024 9:30 AM`, `2024/05/04`, `@May 4, 2024`."""
    if not told:
        return None
    plain = told.strip().lstrip("@").split(" (")[0].replace("\u202f", " ")
    for form in MOMENTS:
        try:
            return datetime.strptime(plain, form).replace(tzinfo=UTC)
        except ValueError:
            continue
    return moment_of(plain, zone=UTC)


def _is_a_view(name: str, names: list[str]) -> bool:
    """Whether a table is a view of one that is there with all its rows (`_all`)."""
    path = PurePosixPath(name)
    return not path.stem.endswith("_all") and path.with_name(f"{path.stem}_all{TABLE}").as_posix() in names


def _has_pages(name: str, names: list[str]) -> bool:
    """Whether the rows of a table are pages of their own, in the folder of its name."""
    path = PurePosixPath(name)
    stem = path.stem.removesuffix("_all")
    folders = {path.with_name(stem).as_posix(), path.with_name(ID.sub("", f" {stem}").strip() or stem).as_posix()}
    return any(one.startswith(tuple(f"{folder}/" for folder in folders)) for one in names if one.endswith(PAGES))


def _table(bundle: Bundle, name: str) -> Row:
    text = text_in(bundle, name)
    path = PurePosixPath(name)
    title = _plain(path.stem.removesuffix("_all"))
    try:
        read = list(csv.reader(io.StringIO(text)))
    except csv.Error as error:
        raise Invalid(f"{name}: is no CSV: {error}.") from error
    if len(read) > ROWS:
        raise Invalid(f"{name} has more than {ROWS:,} rows.", hint="Divide the table.")
    if len(read) < 2:
        raise Invalid(f"{name}: the table has no rows.")
    width = len(read[0])
    cells = [[" ".join(cell.split()).replace("|", "\\|") for cell in (row + [""] * width)[:width]] for row in read]
    head, *body = (f"| {' | '.join(row)} |" for row in cells)
    lines = [head, f"|{' --- |' * width}", *body]
    folder = [part for part in path.parent.parts if not part.startswith("Export-")]
    fields = {
        "place": f"{_id_of(name) or name}",
        "title": title,
        "content": "\n".join([f"# {title}", "", *lines]),
        "folder": " / ".join(_plain(part) for part in folder),
        "url": f"{ADDRESS}{_id_of(name)}" if _id_of(name) else "",
    }
    return DraftRow(name, PageDraft, fields)
