"""GitHub: issues as its API or `gh issue list --json` gives them, and the pages of a wiki or of a repository's docs.

An issue is worth keeping once it says what solved it. What does is judged by who said it, what it says and what others
thought of it; issues without are counted, and stay where they are.
"""

import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import PurePosixPath
from typing import Any
from urllib.parse import quote

from bigmind.core.addresses import path_in
from bigmind.core.errors import Invalid
from bigmind.core.text import cut

from .bundles import Bundle, text_in
from .front_matter import without_front_matter
from .json_rows import SIGNS_WITHIN, is_deep, listing, mapping, start_of
from .memory_drafts import DraftRow, PageDraft, PageSource, Remark, Row, moment_of, unread
from .words import headline, tags_of, without_comments

REPOSITORY, COMMENTS, TIMELINES = "repository.json", "comments.json", "timelines.json"
"""What the live import hands over beside `issues.json`."""
WIKI, FILES = "wiki/", "files/"
WIKI_SIGNS = {"_sidebar.md", "_footer.md", "_header.md"}
JSON_BYTES = 64 * 1024 * 1024
MARKDOWN = (".md", ".markdown")
BODY_CHARS = 20_000
COMMENT_CHARS = 8_000
SOLUTIONS = 2
ENOUGH = 2
"""The score of a comment that solved an issue: one strong sign, such as a maintainer or “fixed in 2.1”, is enough."""
MAINTAINERS = {"OWNER", "MEMBER", "COLLABORATOR"}
# As REST writes them, and as GraphQL, which `gh` uses.
GOOD = {"+1", "heart", "hooray", "rocket", "THUMBS_UP", "HEART", "HOORAY", "ROCKET"}
NOT_SOLVED = {"not_planned", "duplicate"}
SAYS_NOTHING = (
    *(
        "+1",
        ":+1:",
        "👍",
        "same here",
        "same issue",
        "same problem",
        "me too",
        "any update",
        "any news",
        "bump",
        "thanks",
    ),
    *("thank you", "following", "ping", "/remind", "friendly ping"),
)
SOLVED = re.compile(
    r"\b(?:fixed|solved|resolved|solution|workaround|work-around|turned out|root cause|worked for me|upgrad(?:e|ed|ing)"
    r"|downgrad(?:e|ed|ing)|released in|the fix|instead of|you need to|set(?:ting)? the)\b",
    re.IGNORECASE,
)
WIKI_LINK = re.compile(r"\[\[([^\[\]|\n]{1,200})(?:\|([^\[\]|\n]{1,200}))?\]\]")
PAGE_LINK = re.compile(r"\]\(([^()\s]{1,500})\)")
ISSUE_ADDRESS = re.compile(r"/issues/(\d{1,12})")


@dataclass
class _Comment:
    """One comment, from whichever form of export."""

    author: str
    body: str
    at: Any
    association: str = ""
    good: int = 0
    is_bot: bool = False
    is_hidden: bool = False


@dataclass
class _Issue:
    """One issue, from whichever form of export."""

    number: int
    title: str
    body: str
    url: str
    is_open: bool
    reason: str
    author: str
    labels: list[str]
    created_at: Any
    updated_at: Any
    closed_by: str = ""
    is_pull: bool = False
    comments: list[_Comment] = field(default_factory=list)
    closing: list[str] = field(default_factory=list)


def looks_like(bundle: Bundle) -> bool:
    """Whether there is a list of issues, or the folder of a wiki."""
    names = bundle.names()
    if any(PurePosixPath(name).name.lower() in WIKI_SIGNS for name in names) or _is_wiki(bundle):
        return True
    return any(_holds_issues(bundle, name) for name in names[:50] if name.lower().endswith(".json"))


def rows(bundle: Bundle, *, into: str = "") -> Iterator[Row]:
    """Yield an issue for each that was solved, and a page for each of the wiki and of the docs."""
    repository = mapping(_document(bundle, REPOSITORY))
    issues: list[_Issue] = []
    for name in bundle.names():
        if name.lower().endswith(".json") and _holds_issues(bundle, name):
            try:
                issues += [_issue(told) for told in _lists_in(bundle, name) if isinstance(told, dict)]
            except Invalid as error:
                yield unread(name, error)
    _join(issues, _document(bundle, COMMENTS), _document(bundle, TIMELINES))
    named = str(repository.get("full_name") or _repository_of(issues))
    called = named or _wiki_name(bundle)
    # A list of issues is seldom all of them: `gh` gives 30 unless asked for more.
    yield PageSource(called, called, is_whole=bool(repository) or not issues, is_bare=not named)
    yield from _solution_rows(issues)
    yield from _pages(bundle, called, repository)


def _solution_rows(issues: Sequence[_Issue]) -> Iterator[Row]:
    left: Counter[str] = Counter()
    seen: set[int] = set()
    for issue in sorted(issues, key=lambda issue: issue.number):
        if issue.number in seen:
            continue
        seen.add(issue.number)
        why = _why_left_out(issue)
        solution = "" if why else _solution(issue)
        if why or not solution:
            left[why or "closed without saying what solved them"] += 1
            continue
        body = cut(without_comments(issue.body).strip(), BODY_CHARS) or "(no description)"
        title = headline(issue.title, otherwise=f"#{issue.number}")
        fields = {
            "place": f"issue {issue.number}",
            "title": title,
            "content": f"# {title}\n\n## Problem\n\n{body}\n\n## Solution\n\n{solution}",
            "kind": "issue",
            "folder": "Issues",
            "url": issue.url if issue.url.startswith("http") else "",
            "author": issue.author,
            "tags": tags_of(issue.labels),
            "created_at": moment_of(issue.created_at),
            "updated_at": moment_of(issue.updated_at),
        }
        yield DraftRow(f"#{issue.number}", PageDraft, fields)
    if left:
        yield Remark(f"Issues left out: {', '.join(f'{number:,} {what}' for what, number in left.most_common())}.")


def _why_left_out(issue: _Issue) -> str:
    if issue.is_pull:
        return "pull requests"
    if issue.is_open:
        return "open"
    return issue.reason.replace("_", " ") if issue.reason in NOT_SOLVED else ""


def _solution(issue: _Issue) -> str:
    """What solved an issue: the comments that say so best, in the order in which they were written; what closed it."""
    scored = [(_score(comment, issue, number), number) for number, comment in enumerate(issue.comments)]
    best = sorted(
        sorted((score, number) for score, number in scored if score >= ENOUGH)[-SOLUTIONS:], key=lambda one: one[1]
    )
    told = [issue.comments[number] for _, number in best]
    parts = [f"{_by(comment)}\n\n{cut(without_comments(comment.body).strip(), COMMENT_CHARS)}" for comment in told]
    closing = [f"Closed by {', '.join(dict.fromkeys(issue.closing))}."] if issue.closing else []
    return "\n\n".join([*parts, *closing])


def _by(comment: _Comment) -> str:
    moment = moment_of(comment.at)
    return f"{comment.author or 'Somebody'}{f', {moment:%Y-%m-%d}' if moment else ''}:"


def _score(comment: _Comment, issue: _Issue, number: int) -> int:
    plain = without_comments(comment.body).strip()
    lowered = plain[:200].casefold()
    if comment.is_bot or comment.is_hidden or len(plain) < 12:
        return 0
    if lowered.startswith(SAYS_NOTHING) and len(plain) < 120:
        return 0
    is_question = plain.endswith("?") or (plain.count("?") and not SOLVED.search(plain[:COMMENT_CHARS]))
    # A strong sign counts two, a weak one one, and a question takes away more than one strong sign gives.
    return (
        2 * (comment.association in MAINTAINERS)
        + 2 * bool(comment.author and comment.author == issue.closed_by)
        + 2 * bool(SOLVED.search(plain[:COMMENT_CHARS]))
        + min(comment.good, 3)
        + ("```" in plain)
        + (number == len(issue.comments) - 1)
        - 3 * bool(is_question)
    )


def _issue(told: Mapping[str, Any]) -> _Issue:
    """An issue of the REST API or of `gh`: they name the same things otherwise."""
    author = told.get("user") or told.get("author")
    comments = told.get("comments")
    closing = [
        f"#{one['number']}"
        for one in _dicts(told.get("closedByPullRequestsReferences"))
        if isinstance(one.get("number"), int)
    ]
    number = told.get("number")
    return _Issue(
        number=number if isinstance(number, int) else 0,
        title=str(told.get("title") or ""),
        body=_text(told.get("body")),
        url=str(told.get("html_url") or told.get("url") or "")[:500],
        is_open=str(told.get("state") or "").casefold() == "open",
        reason=str(told.get("state_reason") or told.get("stateReason") or "").casefold(),
        author=_login(author),
        labels=[str(one.get("name") if isinstance(one, dict) else one) for one in listing(told.get("labels"))],
        created_at=told.get("created_at") or told.get("createdAt"),
        updated_at=told.get("updated_at") or told.get("updatedAt") or told.get("closed_at") or told.get("closedAt"),
        closed_by=_login(told.get("closed_by")),
        is_pull="pull_request" in told or "/pull/" in str(told.get("html_url") or told.get("url") or ""),
        comments=[_comment(one) for one in _dicts(comments)],
        closing=closing,
    )


def _comment(told: Mapping[str, Any]) -> _Comment:
    author = told.get("user") or told.get("author")
    reactions = told.get("reactions")
    good = (
        sum(int(reactions[name]) for name in GOOD if _is_number(reactions.get(name)))
        if isinstance(reactions, dict)
        else 0
    )
    for group in _dicts(told.get("reactionGroups")):
        users = group.get("users")
        if str(group.get("content")) in GOOD and isinstance(users, dict) and _is_number(users.get("totalCount")):
            good += int(users["totalCount"])
    return _Comment(
        author=_login(author),
        body=_text(told.get("body")),
        at=told.get("created_at") or told.get("createdAt"),
        association=str(told.get("author_association") or told.get("authorAssociation") or ""),
        good=good,
        is_bot=_is_bot(author),
        is_hidden=bool(told.get("isMinimized")),
    )


def _join(issues: Sequence[_Issue], comments: Any, timelines: Any) -> None:
    """Give issues of the API their comments and what closed them, which it tells apart from them."""
    by_number = {str(issue.number): issue for issue in issues}
    for told in _dicts(comments):
        found = ISSUE_ADDRESS.search(str(told.get("issue_url") or ""))
        if found and (issue := by_number.get(found[1])):
            issue.comments.append(_comment(told))
    for number, issue in by_number.items():
        for event in _dicts(timelines.get(number)) if isinstance(timelines, dict) else ():
            issue.closing += _closing(event)
            if event.get("event") == "closed":
                issue.closed_by = issue.closed_by or _login(event.get("actor"))


def _closing(event: Mapping[str, Any]) -> list[str]:
    if event.get("event") == "closed" and isinstance(event.get("commit_id"), str):
        return [f"commit {event['commit_id'][:12]}"]
    source = event.get("source")
    issue = source.get("issue") if isinstance(source, dict) else None
    if event.get("event") != "cross-referenced" or not isinstance(issue, dict):
        return []
    pull = issue.get("pull_request")
    if not isinstance(pull, dict) or not pull.get("merged_at"):
        return []
    return [f"#{issue.get('number')} ({headline(str(issue.get('title') or ''), otherwise='a pull request')})"]


def _pages(bundle: Bundle, called: str, repository: Mapping[str, Any]) -> Iterator[Row]:
    """The pages of a wiki, and of the README and docs that the live import hands over."""
    names = [name for name in bundle.names() if name.lower().endswith(MARKDOWN)]
    is_live = bool(repository)
    root = str(repository.get("html_url") or "")
    branch = str(repository.get("default_branch") or "main")
    shown = [name for name in names if not PurePosixPath(name).name.startswith("_")]
    by_name = {_wiki_key(PurePosixPath(name).stem): _place(name, is_live) for name in shown}
    places = {_place(name, is_live) for name in shown}
    for name in shown:
        try:
            text = text_in(bundle, name)
            _, body, _ = without_front_matter(text, name)
        except Invalid as error:
            yield unread(name, error)
            continue
        body = without_comments(body)
        if not body.strip():
            continue
        path, place = PurePosixPath(name.removeprefix(FILES) if is_live else name), _place(name, is_live)
        is_wiki = not is_live or name.startswith(WIKI)
        title = _title(path, body, is_wiki=is_wiki)
        linked = [by_name.get(_wiki_key(found[2] or found[1])) for found in WIKI_LINK.finditer(body)]
        linked += [_target(place, found[1], places, by_name) for found in PAGE_LINK.finditer(body)]
        url = f"{root}/wiki/{quote(path.stem)}" if is_wiki else f"{root}/blob/{quote(branch)}/{quote(path.as_posix())}"
        fields = {
            "place": place,
            "title": title,
            "content": body if body.lstrip().startswith("# ") else f"# {title}\n\n{body.lstrip()}",
            "folder": path.parent.as_posix() if path.parent.parts else "",
            "url": url if root.startswith("http") else "",
            "links": tuple(dict.fromkeys(one for one in linked if one and one != place)),
        }
        yield DraftRow(name, PageDraft, fields)
    if bundle.others:
        yield Remark(f"{bundle.others:,} other files, such as pictures or pages that are no markdown, are not read.")


def _title(path: PurePosixPath, body: str, *, is_wiki: bool) -> str:
    first = next((line[2:] for line in body.lstrip().split("\n", 1)[:1] if line.startswith("# ")), "")
    plain = path.stem.replace("-", " ")
    return headline(plain, otherwise="page") if is_wiki else headline(first, otherwise=plain or "page")


def _place(name: str, is_live: bool) -> str:
    return name.removeprefix(FILES) if is_live else name


def _wiki_key(title: str) -> str:
    return title.strip().replace(" ", "-").casefold()


def _target(place: str, link: str, places: set[str], by_name: Mapping[str, str]) -> str | None:
    path = path_in(link) if not link.startswith(("http:", "https:", "#", "mailto:")) else ""
    if not path:
        return None
    parts: list[str] = [] if path.startswith("/") else list(PurePosixPath(place).parent.parts)
    for part in PurePosixPath(path.lstrip("/")).parts:
        parts = parts[:-1] if part == ".." else [*parts, part]
    joined = "/".join(parts)
    return joined if joined in places else by_name.get(_wiki_key(PurePosixPath(path).name.removesuffix(".md")))


def _text(told: Any) -> str:
    return told.replace("\r\n", "\n").replace("\r", "\n") if isinstance(told, str) else ""


def _login(told: Any) -> str:
    return headline(str(told.get("login") or ""), otherwise="") if isinstance(told, dict) else ""


def _is_bot(told: Any) -> bool:
    if not isinstance(told, dict):
        return False
    login = str(told.get("login") or "")
    return told.get("type") == "Bot" or bool(told.get("is_bot")) or login.endswith("[bot]") or login == "github-actions"


def _is_number(told: Any) -> bool:
    return isinstance(told, int) and not isinstance(told, bool) and 0 <= told < 10**9


def _dicts(told: Any) -> Iterator[dict[str, Any]]:
    return (one for one in listing(told) if isinstance(one, dict))


def _repository_of(issues: Sequence[_Issue]) -> str:
    """The repository that the addresses of issues name: owner and name stand before `issues`."""
    for issue in issues:
        parts = path_in(issue.url).strip("/").split("/")
        if len(parts) >= 4 and parts[-2] in ("issues", "pull"):
            return "/".join(parts[-4:-2])
    return ""


def _wiki_name(bundle: Bundle) -> str:
    tops = {name.partition("/")[0] for name in bundle.names() if "/" in name}
    called = bundle.name.removesuffix(".zip")
    inner = next((top for top in tops if top.endswith(".wiki")), "")
    return headline(inner or called, otherwise="wiki")


def _is_wiki(bundle: Bundle) -> bool:
    names = bundle.names()
    has_home = any(PurePosixPath(name).name.lower() == "home.md" for name in names)
    return has_home and (".wiki" in bundle.name or any(".wiki/" in name for name in names))


def _holds_issues(bundle: Bundle, name: str) -> bool:
    """Whether a JSON file begins as a list of issues does."""
    if PurePosixPath(name).name in (COMMENTS, TIMELINES, REPOSITORY):
        return False
    head = start_of(bundle, name, size=SIGNS_WITHIN)
    if not head.startswith(("[", "{")):
        return False
    has_fields = '"number"' in head and '"title"' in head and '"state"' in head
    return has_fields and ("/issues/" in head or "/pull/" in head or '"stateReason"' in head)


def _document(bundle: Bundle, name: str) -> Any:
    if name not in bundle.names():
        return None
    return next(_documents(bundle, name), None)


def _lists_in(bundle: Bundle, name: str) -> Iterator[Any]:
    """The elements of one list, or of several one after another, as `gh api --paginate` writes them."""
    for document in _documents(bundle, name):
        yield from document if isinstance(document, list) else [document]


def _documents(bundle: Bundle, name: str) -> Iterator[Any]:
    text = text_in(bundle, name, limit=JSON_BYTES)
    decoder, at = json.JSONDecoder(), 0
    while at < len(text):
        if text[at] in " \t\r\n":
            at += 1
            continue
        try:
            document, at = decoder.raw_decode(text, at)
        except (ValueError, RecursionError) as error:
            line = text.count("\n", 0, at) + 1
            raise Invalid(f"{name}, line {line}: is not valid JSON, or nested too deep.") from error
        if is_deep(document):
            raise Invalid(f"{name}: is nested too deep.")
        yield document
