"""GitHub: which issues are worth keeping and what solved them, from files and from a server that answers as its API."""

import json
import time
from pathlib import Path

import pytest
from django.core.cache import cache
from django.core.management import CommandError, call_command

from bigmind.core.errors import Invalid, NotFound, TooMany
from curation.decisions.forgetting import forget_source
from curation.services.foreign_imports import import_bundle
from curation.services.live_imports import import_repository
from curation.services.page_imports import PageChoice
from knowledge.lessons.fixes import fix_in
from knowledge.models import Entry, Reference
from knowledge.transfer import github
from knowledge.transfer.readers.bundles import bundle_of
from tests.factories import make_actor
from tests.knowledge.github_server import TOKEN, GitHub, Trouble

from . import products

pytestmark = pytest.mark.django_db

ADDRESS = "https://api.github.com/repos/acme/widgets/issues"


def _issue(number: int, title: str, *, state: str = "closed", reason: str | None = "completed", **more):
    return {
        "url": f"{ADDRESS}/{number}",
        "html_url": f"https://github.com/acme/widgets/issues/{number}",
        "number": number,
        "title": title,
        "body": more.pop("body", "<!-- Describe the bug -->\r\nIt breaks.\r\n"),
        "state": state,
        "state_reason": reason,
        "user": {"login": "reporter", "type": "User"},
        "labels": [{"id": 1, "name": "bug"}, {"id": 2, "name": "area: login"}],
        "comments": 2,
        "created_at": "2024-05-01T10:00:00Z",
        "updated_at": f"2024-05-{number % 27 + 1:02}T10:00:00Z",
        "closed_at": "2024-05-04T10:00:00Z" if state == "closed" else None,
        "reactions": {"url": f"{ADDRESS}/{number}/reactions", "total_count": 0, "+1": 0},
        **more,
    }


def _comment(number: int, author: str, body: str, *, association: str = "NONE", good: int = 0, bot: bool = False):
    return {
        "issue_url": f"{ADDRESS}/{number}",
        "user": {"login": author, "type": "Bot" if bot else "User"},
        "author_association": association,
        "body": body,
        "created_at": "2024-05-03T10:00:00Z",
        "updated_at": "2024-05-03T10:00:00Z",
        "reactions": {"total_count": good, "+1": good},
    }


ISSUES = [
    _issue(1, "Login fails with a large cookie"),
    _issue(2, "Still open", state="open", reason=None),
    _issue(3, "Will not do", reason="not_planned"),
    _issue(4, "A pull request", pull_request={"merged_at": "2024-05-04T10:00:00Z"}),
    _issue(5, "Crash on start", body=None),
    _issue(6, "Nobody says why", reason=None),
    _issue(7, "Twice", reason="duplicate"),
]
COMMENTS = [
    _comment(1, "somebody", "+1, same here on 2.3"),
    _comment(1, "ci[bot]", "This was fixed in 2.4, says the bot with a long text.", bot=True),
    _comment(1, "somebody", "Did you try turning it off? Any workaround?"),
    _comment(
        1,
        "maint",
        "The proxy's header limit was the root cause. Set `large_client_header_buffers 8 32k`.",
        association="MEMBER",
    ),
    _comment(1, "reporter", "Thanks!"),
    _comment(6, "somebody", "Any update on this one please"),
]
TIMELINES = {
    5: [
        {"event": "labeled", "label": {"name": "bug"}},
        {
            "event": "cross-referenced",
            "source": {
                "type": "issue",
                "issue": {"number": 8, "title": "Fix the start", "pull_request": {"merged_at": "2024-05-04T10:00:00Z"}},
            },
        },
        {
            "event": "cross-referenced",
            "source": {
                "type": "issue",
                "issue": {"number": 9, "title": "Not merged", "pull_request": {"merged_at": None}},
            },
        },
        {"event": "closed", "actor": {"login": "maint"}, "commit_id": "0123456789abcdef0123456789abcdef01234567"},
    ]
}
FILES = {
    "README.md": "# Widgets\n\nSee [setup](docs/setup.md) and <!-- hidden --> more.\n",
    "docs/setup.md": "---\nsidebar: 1\n---\n# Setting up\n\nBack to [the README](../README.md#top).\n",
    "docs/diagram.svg": "<svg/>",
    "src/notes.md": "Not documentation.",
}


@pytest.fixture
def server(settings):
    with GitHub(issues=list(ISSUES), comments=list(COMMENTS), timelines=TIMELINES, files=dict(FILES)) as running:
        settings.GITHUB_URL, settings.GITHUB_TOKEN = running.url, TOKEN
        cache.clear()
        yield running


def test_a_repository_becomes_entries_of_what_was_solved_and_documentation(server):
    actor = make_actor(curator=True)

    rehearsed = import_repository(actor, "acme/widgets", dry_run=True)
    before = Entry.objects.count() + Reference.objects.count()
    report = import_repository(actor, "acme/widgets")

    assert (before, rehearsed.added) == (0, report.added)
    assert report.added == {"references": 2, "entries": 2}
    assert report.refused == []
    login = Entry.objects.get(provenance__place="issue 1")
    assert login.content == (
        "# Login fails with a large cookie\n\n## Problem\n\nIt breaks.\n\n## Solution\n\nmaint, 2024-05-03:\n\n"
        "The proxy's header limit was the root cause. Set `large_client_header_buffers 8 32k`."
    )
    assert "large_client_header_buffers" in fix_in(login.content)
    assert login.source_file == "https://github.com/acme/widgets/issues/1"
    assert (login.tags, login.confidence) == (["bug", "area: login"], 0.6)
    assert login.metadata["author"] == "reporter"
    crash = Entry.objects.get(provenance__place="issue 5")
    assert crash.content.endswith("## Solution\n\nClosed by #8 (Fix the start), commit 0123456789ab.")
    left = next(notice for notice in report.notices if notice.startswith("Issues left out"))
    assert "1 open" in left
    assert "1 pull requests" in left
    assert "1 closed without saying what solved them" in left
    setup = Reference.objects.get(key="docs/setup.md")
    assert (setup.title, setup.category, setup.related) == ("Setting up", "docs", ["README.md"])
    assert setup.source == "https://github.com/acme/widgets/blob/main/docs/setup.md"
    assert "hidden" not in Reference.objects.get(key="README.md").content
    assert server.tokens == {f"Bearer {TOKEN}"}


def test_again_nothing_is_asked_twice_and_what_changed_is_changed(server):
    actor = make_actor(curator=True)
    first = import_repository(actor, "acme/widgets")
    asked = server.asked.total()

    unchanged = import_repository(actor, "acme/widgets")
    again = server.asked.total() - asked
    server.comments.append(_comment(1, "maint", "Fixed in 2.5: the limit is gone.", association="OWNER"))
    server.comments[-1]["updated_at"] = "2024-06-01T10:00:00Z"
    server.issues[4] = _issue(5, "Crash on start", state="open", reason="reopened", body=None)
    changed = import_repository(actor, "acme/widgets")
    forgotten = forget_source(actor, agent=first.agent, dry_run=False)
    anew = import_repository(actor, "acme/widgets")

    assert unchanged.notices == ["Nothing has changed there since the last import."]
    assert again == 4
    assert changed.changed == {"entries": 1}
    assert changed.removed == ["entry issue 5"]
    assert (forgotten.entries, forgotten.references) == (2, 2)
    assert anew.added == {"references": 2, "entries": 1}


def test_long_lists_are_read_page_by_page(server, monkeypatch):
    monkeypatch.setattr(github, "PAGE", 10)
    numbers = range(1, 26)
    server.issues = [_issue(number, f"Number {number}") for number in numbers]
    server.comments = [
        _comment(number, "maint", f"Fixed by number {number}.", association="OWNER") for number in numbers
    ]

    report = import_repository(make_actor(curator=True), "acme/widgets")

    assert report.added["entries"] == 25
    assert server.asked["/repos/acme/widgets/issues"] == 4  # The mark, and three pages.


def test_what_is_not_read_of_many_events_is_told(server, monkeypatch):
    monkeypatch.setattr(github, "PAGE", 2)
    monkeypatch.setattr(github, "TIMELINES_READ", 3)
    server.issues = [_issue(number, f"Number {number}") for number in (4, 5, 6, 7)]
    closed = {"event": "closed", "commit_id": "0123456789abcdef"}
    # Exactly as many as are read, one more, and one more that says what closed it.
    server.timelines = {5: [closed] * 6, 6: [closed, *[{}] * 6], 7: [{}] * 6 + [closed], 4: [closed]}

    report = import_repository(make_actor(curator=True), "acme/widgets")

    assert report.added["entries"] == 2
    assert report.notices[-2:] == [
        "Only the first 6 events are read of #6, #7: what closed it may be missing.",
        "What closed the oldest issues is not read (1), only their comments.",
    ]


def test_a_limit_is_waited_for_where_that_is_bearable(server):
    waits: list[float] = []
    server.troubles += [
        Trouble(429, {"Retry-After": "7"}),
        Trouble(403, {"X-RateLimit-Remaining": "0", "X-RateLimit-Reset": str(int(time.time()) + 20)}),
        Trouble(502),
    ]

    report = import_repository(make_actor(curator=True), "acme/widgets", pause=waits.append)

    assert report.added["entries"] == 2
    assert waits[0] == 7
    assert 15 < waits[1] < 25
    assert len(waits) == 3


@pytest.mark.parametrize(
    ("trouble", "error", "says"),
    [
        (
            Trouble(403, {"X-RateLimit-Remaining": "0", "X-RateLimit-Reset": str(int(time.time()) + 3_000)}),
            TooMany,
            "too often",
        ),
        (Trouble(401), Invalid, "refuses the token"),
        (Trouble(403), Invalid, "may not read"),
        (Trouble(404), NotFound, "or the token may not see it"),
        (Trouble(200, {}, "<html>"), Invalid, "no JSON"),
        (Trouble(200, {}, "[" * 100_000), Invalid, "no JSON"),
        (Trouble(301, {"Location": "https://evil.example/repos/acme/widgets"}), Invalid, "sends elsewhere"),
        (Trouble(301, {"Location": "https://[/repos/acme/widgets"}), Invalid, "sends elsewhere"),
    ],
)
def test_what_goes_wrong_is_told_with_the_way_out(server, trouble, error, says):
    server.troubles.append(trouble)

    with pytest.raises(error, match=says):
        import_repository(make_actor(curator=True), "acme/widgets", pause=lambda seconds: None)

    assert not Entry.objects.exists()


@pytest.mark.parametrize("tree", [[], None, {"tree": True}, {"tree": [{"type": "blob", "path": ["README.md"]}]}])
def test_a_tree_that_is_none_is_no_tree(server, monkeypatch, tree):
    answer = server.answer
    monkeypatch.setattr(
        server, "answer", lambda path, query: (200, tree, 1) if "/git/trees/" in path else answer(path, query)
    )

    assert import_repository(make_actor(curator=True), "acme/widgets").added == {"entries": 2}


def test_a_branch_whose_name_cannot_be_encoded_has_no_files(server):
    server.troubles.append(Trouble(200, {}, '{"default_branch": "\\ud800"}'))

    assert import_repository(make_actor(curator=True), "acme/widgets").added == {"entries": 2}


def test_a_repository_without_issues_and_one_that_is_not_there(server, settings):
    server.has_issues = False
    actor = make_actor(curator=True)

    assert import_repository(actor, "acme/widgets").added == {"references": 2}
    with pytest.raises(NotFound):
        import_repository(actor, "acme/other")
    with pytest.raises(Invalid, match="is no repository"):
        import_repository(actor, "../../etc")
    settings.GITHUB_TOKEN = "wrong"
    with pytest.raises(Invalid, match="refuses the token"):
        import_repository(actor, "acme/widgets")


def test_the_command_takes_a_repository(server, capsys):
    actor = make_actor(curator=True)

    call_command("memory_import_from", "github", "acme/widgets", "--user", actor.user.username, "--json")
    told = json.loads(capsys.readouterr().out)
    with pytest.raises(CommandError):
        call_command("memory_import_from", "github", "acme/nothing", "--user", actor.user.username)

    assert told["added"] == {"references": 2, "entries": 2}


def test_files_of_issues_in_both_forms_are_one_source(tmp_path):
    actor = make_actor()
    gh = products.write(
        tmp_path / "issues.json",
        [products.gh_issue(1), products.gh_issue(2, state="OPEN", stateReason=""), products.gh_issue(3, comments=[])],
    )
    # `gh api --paginate` writes one list after another.
    pages = json.dumps([{**_issue(1, "Problem 1")}]) + json.dumps([_issue(9, "Other", reason="not_planned")])
    rest = products.write(tmp_path / "rest.json", pages.encode())

    first = import_bundle(actor, bundle_of(gh))
    second = import_bundle(actor, bundle_of(rest))

    assert (first.format, first.added) == ("github", {"entries": 1})
    entry = Entry.objects.get()
    assert entry.content.endswith("## Solution\n\nx, 2024-05-02:\n\nThe fix: use `--force`.")
    assert entry.provenance["source"] == "github:acme/widgets"
    assert (second.added, second.removed) == ({}, [])


def test_the_folder_of_a_wiki_becomes_documentation(tmp_path):
    wiki = tmp_path / "widgets.wiki"
    for name, text in {
        "Home.md": "Welcome. See [[Setting Up]] and [[the rules|House-Rules]].\n",
        "Setting-Up.md": "# Setting up\n\nBack [home](Home).\n",
        "House-Rules.md": "Be kind, [always](//[).\n",
        "_Sidebar.md": "* [[Home]]\n",
        "Old.mediawiki": "== Old ==",
    }.items():
        products.write(wiki / name, text.encode())

    report = import_bundle(make_actor(curator=True), bundle_of(wiki))

    assert (report.format, report.added) == ("github", {"references": 3})
    home = Reference.objects.get(key="Home.md")
    assert (home.title, home.related) == ("Home", ["Setting-Up.md", "House-Rules.md"])
    assert Reference.objects.get(key="Setting-Up.md").related == ["Home.md"]
    assert "1 other files, such as pictures or pages that are no markdown, are not read." in report.notices


@pytest.mark.parametrize(
    "text",
    [
        '[{"number": 1, "title": "x", "state": "closed", "url": "/issues/1"',
        '[{"number": 1, "title": "x", "state": "closed", "url": "/issues/1", "body": '
        + "[" * 50_000
        + "]" * 50_000
        + "}]",
        '[{"number": "x", "title": null, "state": 7, "url": "/issues/1", "labels": 3, "comments": 7, "user": []}]',
        '[{"number": 1, "title": "x", "state": "closed", "url": "/issues/1"}, 7, null, []]',
    ],
)
def test_a_list_of_issues_that_is_none_is_refused_or_passed_over(tmp_path: Path, text: str):
    path = products.write(tmp_path / "issues.json", text.encode())

    report = import_bundle(make_actor(), bundle_of(path), name="github", choice=PageChoice())

    assert not Entry.objects.exists()
    assert all("issues.json" in line for line in report.refused)
