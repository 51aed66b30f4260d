"""GitHub live: reads a repository through the API into the files that the reader of its exports expects.

Asked for are issues with their comments, what closed them, the README and the docs. Lists are read page by page, waits
that GitHub asks for are kept where they are bearable, and the token goes nowhere but to the address that was set.
"""

import base64
import binascii
import io
import json
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from time import sleep, time
from typing import IO, Any
from urllib.parse import quote, urlsplit

import httpx
from django.conf import settings

from bigmind.core.addresses import retry_after
from bigmind.core.errors import Invalid, NotFound, TooMany
from bigmind.core.http_clients import client_for, deadline
from knowledge.transfer.readers.github import COMMENTS, FILES, MARKDOWN, REPOSITORY, TIMELINES
from knowledge.transfer.readers.json_rows import listing, mapping

NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9-]{0,38}/[A-Za-z0-9._-]{1,100}")
PAGE = 100
"""The most that the API gives at once."""
PAGES = 200
FILES_READ = 500
FILE_BYTES = 1024 * 1024
TIMELINES_READ = 300
"""Of how many of the newest issues the events are read: each takes a request, of 60 in an hour without a token."""
EVENT_PAGES = 3
NAMED = 20
REPLY_BYTES = 32 * 1024 * 1024
SECONDS_EACH = 60.0
PAUSES = (1.0, 2.0, 4.0)
LONGEST_WAIT = 60.0
"""Also how long GitHub wants to be left alone where it limits without saying how long."""
WAITS_IN_ALL = 300.0
REDIRECTIONS = 3
PASSES = {408, 500, 502, 503, 504}
DOCS = ("docs/", "doc/")
VERSION = "2022-11-28"
HINT = "Set BIGMIND_GITHUB_TOKEN to one that may read its contents and issues."


class NothingNew(Exception):
    """Nothing has changed in the repository since it was read last."""


@dataclass
class FetchedFiles:
    """Files in memory, as importers read them; `etags` are the marks of what was asked first of each list.

    The marks are kept in place of the answers, in which private issues would lie in a cache. Decision 46. `notices` say
    what was not read.
    """

    name: str
    files: dict[str, bytes] = field(default_factory=dict)
    etags: dict[str, str] = field(default_factory=dict)
    notices: list[str] = field(default_factory=list)
    others: int = 0

    def names(self) -> list[str]:
        """Return the names of the files, in order."""
        return sorted(self.files)

    @contextmanager
    def open(self, name: str) -> Iterator[IO[bytes]]:
        """Open one of them."""
        yield io.BytesIO(self.files[name])


def fetch_repository(
    name: str, *, etags: Mapping[str, str] | None = None, pause: Callable[[float], object] = sleep
) -> FetchedFiles:
    """Read issues, README and docs of a repository.

    Args:
        name: Owner and name: `acme/widgets`.
        etags: What an earlier call returned: where GitHub says that none of it changed, nothing more is asked.

    Raises:
        NothingNew: none of it has changed.
        NotFound: there is no such repository, or the token may not see it.
        Invalid: GitHub refuses the token, or answers with what is no answer.
        TooMany: GitHub asks for a longer wait than is reasonable.
    """
    if not NAME.fullmatch(name):
        raise Invalid(f"{name[:100]} is no repository.", hint="Write owner and name: acme/widgets.")
    asking = _Api(settings.GITHUB_URL, settings.GITHUB_TOKEN, pause)
    return asking.read(name, dict(etags or {}))


class _Api:
    """One reading of one repository."""

    def __init__(self, url: str, token: str, pause: Callable[[float], object]) -> None:
        self._url, self._token, self._pause = url.rstrip("/"), token, pause
        self._waited = 0.0

    def read(self, name: str, etags: dict[str, str]) -> FetchedFiles:
        """Ask for everything."""
        path = f"repos/{name}"
        repository = self._json(path)
        branch = str(repository.get("default_branch") or "main")
        fetched = FetchedFiles(str(repository.get("full_name") or name))
        # One row of each list is enough: whatever changes comes first, and changes the mark.
        newest = "sort=updated&direction=desc"
        first = {
            "issues": f"{path}/issues?state=all&per_page=1&{newest}",
            "comments": f"{path}/issues/comments?per_page=1&{newest}",
            "tree": f"{path}/git/trees/{_in_path(branch)}?recursive=1",
        }
        marks = {what: self._mark(asked, etags.get(what, "")) for what, asked in first.items()}
        if etags and all(mark == etags.get(what) and mark for what, mark in marks.items()):
            raise NothingNew
        fetched.etags = {what: mark for what, mark in marks.items() if mark}
        # The oldest first: what is opened meanwhile comes last, and moves no issue to a page that was read already.
        issues = self._list(f"{path}/issues?state=all&per_page={PAGE}&sort=created&direction=asc")
        documents = {
            REPOSITORY: {key: repository.get(key) for key in ("full_name", "html_url", "default_branch", "has_wiki")},
            "issues.json": issues,
            COMMENTS: self._list(f"{path}/issues/comments?per_page={PAGE}&sort=created&direction=asc"),
            TIMELINES: self._timelines(path, [one["number"] for one in issues if _may_be_solved(one)], fetched),
        }
        fetched.files = {file: json.dumps(document).encode() for file, document in documents.items()}
        self._files(path, first["tree"], fetched)
        return fetched

    def _timelines(self, path: str, issues: list[int], fetched: FetchedFiles) -> dict[str, list[Any]]:
        """Read what happened to the newest of these issues, and say of which something is missing."""
        newest = issues[-TIMELINES_READ:]
        read = {one: self._read_pages(f"{path}/issues/{one}/timeline?per_page={PAGE}", EVENT_PAGES) for one in newest}
        long = [f"#{one}" for one, (_, is_whole) in read.items() if not is_whole]
        if long:
            named = f"{', '.join(long[:NAMED])}{' and others' if len(long) > NAMED else ''}"
            most = f"{PAGE * EVENT_PAGES:,} events"
            fetched.notices.append(f"Only the first {most} are read of {named}: what closed it may be missing.")
        if older := len(issues) - len(newest):
            fetched.notices.append(f"What closed the oldest issues is not read ({older:,}), only their comments.")
        return {str(one): events for one, (events, _) in read.items()}

    def _files(self, path: str, asked: str, fetched: FetchedFiles) -> None:
        """Read the README and the markdown below `docs`."""
        reply = self._ask(asked, may_miss=True)
        tree = mapping(_parse(reply)).get("tree") if reply is not None else []
        blobs = [one for one in listing(tree) if isinstance(one, dict) and one.get("type") == "blob"]
        wanted = [one for one in blobs if _is_wanted(str(one.get("path") or ""), one.get("size"))]
        for one in wanted[:FILES_READ]:
            told = self._json(f"{path}/git/blobs/{_in_path(str(one.get('sha')))}")
            try:
                content = base64.b64decode(str(told.get("content") or ""), validate=False)
            except (binascii.Error, ValueError):
                continue
            fetched.files[f"{FILES}{one['path']}"] = content[:FILE_BYTES]
        fetched.others = max(0, len(wanted) - FILES_READ)

    def _mark(self, asked: str, etag: str) -> str:
        reply = self._ask(asked, etag=etag, may_miss=True)
        if reply is None:
            return ""
        return etag if reply.status_code == httpx.codes.NOT_MODIFIED else reply.headers.get("etag", "")

    def _json(self, path: str) -> dict[str, Any]:
        reply = self._ask(path)
        assert reply is not None
        told = _parse(reply)
        if not isinstance(told, dict):
            raise Invalid(f"{self._host} answers with something else than {path}.", hint="Look at BIGMIND_GITHUB_URL.")
        return told

    def _list(self, path: str) -> list[Any]:
        """Return a whole list."""
        found, is_whole = self._read_pages(path, PAGES)
        if not is_whole:
            raise Invalid(f"There are more than {PAGES * PAGE:,} items in {path.partition('?')[0]}.")
        return found

    def _read_pages(self, path: str, pages: int) -> tuple[list[Any], bool]:
        """Return a list and whether it is whole, page by page, as the header `Link` leads on.

        Without issues there is none.
        """
        found: list[Any] = []
        asked = path
        for _ in range(pages):
            reply = self._ask(asked, may_miss=True)
            told = _parse(reply) if reply is not None else []
            if not isinstance(told, list):
                raise Invalid(f"{self._host} answers with no list for {path}.", hint="Look at BIGMIND_GITHUB_URL.")
            found += told
            asked = str(reply.links.get("next", {}).get("url") or "") if reply is not None else ""
            if not asked:
                return found, True
        return found, False

    @property
    def _host(self) -> str:
        return urlsplit(self._url).hostname or self._url

    def _ask(self, path: str, *, etag: str = "", may_miss: bool = False) -> httpx.Response | None:
        """Return the answer to a question, after whatever wait GitHub asks for; None where there is no such thing."""
        address = self._address(path)
        tries = iter(PAUSES)
        # The bound ends a server that redirects or limits for ever.
        for _ in range(REDIRECTIONS + len(PAUSES) + 10):
            try:
                reply = self._send(address, etag)
            except httpx.HTTPError as error:
                if (wait := next(tries, None)) is None:
                    raise Invalid(f"{self._host} does not answer.", hint="Try again later.") from error
                self._pause(wait)
                continue
            if reply.is_redirect and reply.status_code != httpx.codes.NOT_MODIFIED:
                address = self._address(reply.headers.get("location", ""))
                continue
            if reply.status_code in PASSES and (wait := next(tries, None)) is not None:
                self._pause(wait)
                continue
            if (limited := _wait_asked(reply)) is not None:
                self._wait(limited)
                continue
            if reply.status_code in (404, 410) and may_miss:
                return None
            self._refuse(reply, path)
            return reply
        raise Invalid(f"{self._host} sends from one address to the next.", hint="Look at BIGMIND_GITHUB_URL.")

    def _address(self, path: str) -> str:
        """Return a whole address, of this API alone: the token goes nowhere else."""
        if not path.startswith(("http://", "https://")):
            return f"{self._url}/{path.lstrip('/')}"
        ours = urlsplit(self._url)
        try:
            told = urlsplit(path)
        except ValueError as error:
            raise Invalid(f"{self._host} sends elsewhere.", hint="Look at BIGMIND_GITHUB_URL.") from error
        if (told.scheme, told.netloc) != (ours.scheme, ours.netloc):
            raise Invalid(f"{self._host} sends elsewhere, to {told.hostname}.", hint="Look at BIGMIND_GITHUB_URL.")
        return path

    def _send(self, address: str, etag: str) -> httpx.Response:
        headers = {
            "Accept": "application/vnd.github+json",
            "X-GitHub-Api-Version": VERSION,
            "User-Agent": "BigMind",
            **({"Authorization": f"Bearer {self._token}"} if self._token else {}),
            **({"If-None-Match": etag} if etag else {}),
        }
        timeout = httpx.Timeout(30.0, connect=10.0)
        # `_ask` follows redirections, after `_address` has looked where they lead: the token goes along. Nor may the
        # environment name a proxy, or a .netrc with other passwords.
        client = client_for(self._url)
        with deadline(SECONDS_EACH) as exchange:
            request = client.build_request("GET", address, headers=headers, timeout=timeout)
            reply = client.send(request, stream=True)
            body, read = [], 0
            try:
                for part in reply.iter_bytes():
                    read += len(part)
                    if read > REPLY_BYTES:
                        raise Invalid(f"{self._host} answers with more than {REPLY_BYTES:,} bytes.")
                    body.append(part)
            finally:
                reply.close()
            if exchange.is_late:
                raise httpx.ReadTimeout("too slow")
        # The body is unpacked already, and httpx would do it once more.
        kept = [(name, value) for name, value in reply.headers.multi_items() if name != "content-encoding"]
        return httpx.Response(reply.status_code, headers=kept, content=b"".join(body))

    def _wait(self, seconds: float) -> None:
        if seconds > LONGEST_WAIT or self._waited + seconds > WAITS_IN_ALL:
            raise TooMany(
                f"{self._host} has been asked too often. It answers again in {seconds:,.0f} s.",
                retry_after=int(seconds) + 1,
            )
        self._waited += seconds
        self._pause(seconds)

    def _refuse(self, reply: httpx.Response, path: str) -> None:
        status = reply.status_code
        if status == httpx.codes.UNAUTHORIZED:
            raise Invalid(f"{self._host} refuses the token (401).", hint=HINT)
        if status == httpx.codes.FORBIDDEN:
            raise Invalid(f"The token may not read {path.partition('?')[0]} (403).", hint=HINT)
        if status in (404, 410, 451):
            what = path.partition("?")[0].removeprefix("repos/")
            raise NotFound(f"There is no {what} at {self._host}, or the token may not see it ({status}).", hint=HINT)
        if status >= 400:
            raise Invalid(f"{self._host} answers {status}.", hint="Try again later.")


def _wait_asked(reply: httpx.Response) -> float | None:
    """Return the seconds that GitHub wants to be left alone, where that is why it refuses."""
    # GitHub answers a rate limit with either, and what a token may not do with 403 as well: headers tell them apart.
    if reply.status_code not in (403, 429):
        return None
    if (asked := retry_after(reply.headers.get("retry-after", ""))) is not None:
        return max(1.0, asked)
    reset = reply.headers.get("x-ratelimit-reset", "")
    if reply.headers.get("x-ratelimit-remaining") == "0" and reset.isdecimal() and len(reset) < 12:
        return max(1.0, int(reset) - time() + 1)
    return LONGEST_WAIT if reply.status_code == httpx.codes.TOO_MANY_REQUESTS else None


def _in_path(name: str) -> str:
    return quote(name, safe="", errors="replace")


def _parse(reply: httpx.Response) -> Any:
    try:
        return reply.json()
    except (ValueError, RecursionError) as error:
        raise Invalid("GitHub answers with no JSON.", hint="Look at BIGMIND_GITHUB_URL.") from error


def _may_be_solved(told: Any) -> bool:
    if not isinstance(told, dict) or not isinstance(told.get("number"), int):
        return False
    return "pull_request" not in told and told.get("state") == "closed" and told.get("state_reason") != "not_planned"


def _is_wanted(path: str, size: Any) -> bool:
    lowered = path.lower()
    is_readme = "/" not in path and lowered.startswith("readme")
    is_plain = ".." not in path.split("/") and not path.startswith("/")
    is_small = not isinstance(size, int) or size <= FILE_BYTES
    return is_plain and is_small and lowered.endswith(MARKDOWN) and (is_readme or lowered.startswith(DOCS))
