"""`verify`: find the entries that a code change makes false."""

import json
import os
from pathlib import Path
from typing import Any

from django.conf import settings

from bigmind.management.base import OperatorCommand, Refused, argument, usage_error
from curation.services.anchor_client import AnchorServer
from curation.upstream.company_client import Away, CompanyWire, TurnedDown
from knowledge.anchors import reports
from knowledge.anchors.history import EMPTY_TREE, Repository
from knowledge.anchors.judging import AnchorVerdict
from knowledge.anchors.verifying import AnchoredEntry, Verification, read_anchor_set, verify
from knowledge.parsers.repositories import plain_repository

FORMATS = {"text": reports.as_text, "github": reports.as_annotations, "markdown": reports.as_markdown}


class Command(OperatorCommand):
    """List the entries that a code change in a git repository makes false or doubtful.

    Entries cite code (`acme/shop#src/limits.py:RateLimiter.allow@3f2a1bc`). They come from a server, with a key in
    BIGMIND_API_KEY, or from a file that --save wrote; your own facts are checked with them unless others read the
    result (`CI` is set, --save, --summary, --format github) or the key is a curator's. Exit code 0: none is false,
    1: one is (--strict: or doubtful), 2: misused.
    """

    arguments = (
        argument(
            "--base", default="", help="Compare with the merge base with this commit. Default: the cited commits."
        ),
        argument("--head", default="HEAD", help="The commit after the change. Default: HEAD."),
        argument("--staged", action="store_true", help="Compare staged changes with HEAD, for a pre-commit hook."),
        argument(
            "--anchors", type=Path, metavar="FILE", help="Read the entries from this file, without using the network."
        ),
        argument("--server", default="", help="Fetch the entries from this BigMind. Default: BIGMIND_COMPANY_URL."),
        argument(
            "--repository", default="", help="The repository's name, such as acme/shop. Default: taken from its origin."
        ),
        argument("-C", dest="folder", type=Path, default=Path(), metavar="FOLDER", help="The repository's folder."),
        argument("--format", choices=tuple(FORMATS), default="text", help="Default: text."),
        argument("--summary", type=Path, metavar="FILE", help="Append a markdown summary to this file."),
        argument("--strict", action="store_true", help="Also fail on doubtful entries."),
        argument("--save", type=Path, metavar="FILE", help="Write the server's anchors to a file, and stop."),
        argument("--submit", action="store_true", help="Report the result to the server: for the default branch."),
        argument("--propose", action="store_true", help="Propose the suggested edits to the server's curators."),
    )
    examples = (
        "bigmind verify --base origin/main",
        "bigmind verify --base origin/main --anchors .bigmind/anchors.json --format github",
        "bigmind verify --staged --anchors .bigmind/anchors.json",
        "bigmind verify --base HEAD^ --server https://bigmind.example.com --submit",
        "bigmind verify --save .bigmind/anchors.json",
    )

    def handle(self, *args: Any, **options: Any) -> None:
        server = _server(options)
        repository = Repository(options["folder"])
        name = plain_repository(options["repository"]) or repository.name
        try:
            entries = (
                read_anchor_set(options["anchors"])
                if options["anchors"]
                else _of(server).entries(own=_is_private(options))
            )
            if options["save"]:
                self._save(entries, options["save"])
                return
            done = self._compare(repository, entries, name, options)
            self._report(done, options)
            self._send(server, done, options)
        except (Away, TurnedDown) as error:
            raise Refused(f"{_of(server).wire.url}: {error}") from error
        finally:
            repository.close()
        failing = [AnchorVerdict.FALSE, AnchorVerdict.DOUBTFUL] if options["strict"] else [AnchorVerdict.FALSE]
        if affected := done.of(*failing):
            raise Refused(f"This change makes {', '.join(result.entry.handle for result in affected)} untrue.")

    def _save(self, entries: list[AnchoredEntry], file: Path) -> None:
        file.parent.mkdir(parents=True, exist_ok=True)
        document = {"items": [entry.model_dump(mode="json") for entry in entries]}
        file.write_text(json.dumps(document, indent=1, ensure_ascii=False) + "\n")
        self.remark(f"{len(entries)} entries are in {file}.")

    def _compare(
        self, repository: Repository, entries: list[AnchoredEntry], name: str, options: dict[str, Any]
    ) -> Verification:
        if options["staged"]:
            base = repository.find_commit("HEAD") or EMPTY_TREE
            return verify(repository, entries, base=base, head=repository.write_tree(), name=name)
        head = repository.commit(options["head"])
        base = repository.merge_base(repository.commit(options["base"]), head) if options["base"] else ""
        return verify(repository, entries, base=base, head=head, name=name)

    def _report(self, done: Verification, options: dict[str, Any]) -> None:
        if options["json"]:
            self.print_json(reports.as_document(done))
        else:
            self.stdout.write(FORMATS[options["format"]](done))
        if options["summary"]:
            with options["summary"].open("a") as file:
                file.write(reports.as_markdown(done))

    def _send(self, server: "AnchorServer | None", done: Verification, options: dict[str, Any]) -> None:
        if options["propose"]:
            for proposed in _of(server).propose(done):
                self.remark(f"Proposed: {proposed}")
        if options["submit"]:
            self.remark(_of(server).submit(done))


def _server(options: dict[str, Any]) -> AnchorServer | None:
    """Return the server to ask; None if everything comes from a file.

    Raises:
        CommandError: none is named, or there is no key for it.
    """
    url = (options["server"] or settings.COMPANY_URL).rstrip("/")
    is_needed = not options["anchors"] or options["submit"] or options["propose"]
    key = os.environ.get("BIGMIND_API_KEY", "") or settings.COMPANY_KEY
    if not is_needed:
        return None
    if not url.startswith(("https://", "http://")):
        raise usage_error("No source of entries. Name a file (--anchors) or a server (--server https://…).")
    if not key:
        raise usage_error("The server asks for a key: set BIGMIND_API_KEY.")
    return AnchorServer(CompanyWire(url, key, settings.COMPANY_PLAIN_HTTP))


def _is_private(options: dict[str, Any]) -> bool:
    """Whether only the user reads the result, as far as is known: not in CI, a repository or a pull request."""
    is_told = options["save"] or options["summary"] or options["format"] == "github"
    return not (is_told or os.environ.get("CI"))


def _of(server: AnchorServer | None) -> AnchorServer:
    assert server is not None, "`_server` refuses before"
    return server
