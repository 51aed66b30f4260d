"""The documentation under `/help/`: whole, findable, and one click away from every page."""

import re

import pytest
from django.test import Client
from django.urls import reverse

from bigmind.core import errors
from bigmind.embedded import doctor_checks
from bigmind.help.contents import FOLDER, files, pages, pictures, target_of
from bigmind.help.links import EXPLAINED, PAGE, anchor_for
from bigmind.help.rendering import anchor_of, render_page, title_of
from bigmind.help.search import search_help
from bigmind.transports.rest.problems import TITLES
from devtools.refusals import refusals
from tests.transports.routes import routes

OAUTH_ERROR = re.compile(
    r'"(invalid_[a-z]+|unsupported_[a-z]+_type|access_denied|insufficient_scope|temporarily_unavailable)"'
)
NO_PAGES = {
    *("healthz", "readyz", "metrics", "openapi", "api-no-route", "hooks", "theme", "help-file", "sso", "sso-callback"),
    *("memory-export", "apps-export", "audit-export", "sign-out", "help", "help-page", "counts"),
}


def test_every_file_of_the_documentation_is_a_page_and_every_page_a_file() -> None:
    written = {path.relative_to(files() / FOLDER).as_posix() for path in (files() / FOLDER).rglob("*.md")}

    assert {f"{slug}.md" for slug in pages()} == written | {"SECURITY.md", "CONTRIBUTING.md", "CHANGELOG.md"}


def test_the_list_calls_a_page_by_its_own_title() -> None:
    unlabelled = [page for page in pages().values() if not page.label]

    assert [title_of(page) for page in unlabelled] == [render_page(page.slug).title for page in unlabelled]
    assert all(map(title_of, unlabelled))


def test_no_link_and_no_anchor_leads_nowhere() -> None:
    wrong = []
    for slug, page in pages().items():
        wrong += [f"{slug}: {link}" for link in render_page(slug).broken]
        for link in re.findall(r"\]\(([^)\s]+#[^)\s]+|#[^)\s]+)\)", page.file.read_text()):
            path, _, anchor = link.partition("#")
            if link.startswith("http"):
                continue
            named = target_of(page, path).removesuffix(".md") if path else slug
            if named in pages() and anchor not in render_page(named).anchors:
                wrong.append(f"{slug}: {link}")

    assert wrong == []


def test_anchors_are_those_that_github_makes() -> None:
    assert anchor_of("What an agent reads") == "what-an-agent-reads"
    assert anchor_of("Apps that only do OAuth") == "apps-that-only-do-oauth"
    assert anchor_of("`memory_recall`, and why?") == "memory_recall-and-why"


def test_every_code_and_every_check_has_its_place_in_troubleshooting() -> None:
    kinds = {kind.code for kind in vars(errors).values() if isinstance(kind, type) and hasattr(kind, "code")}
    looked_at = set(re.findall(r'Check\("(\w+)"', (files() / "bigmind/embedded/doctor_checks.py").read_text()))
    looked_at |= {
        "replica",
        "disk",
        "embedder",
        "index",
        "indexes",
        "scrubs",
        "backups",
        "guards",
        *doctor_checks.OF_THE_DATABASE,
    }

    code = [path.read_text() for app in ("bigmind", "accounts") for path in (files() / app).rglob("*.py")]
    of_oauth = {error for text in code for error in OAUTH_ERROR.findall(text)}

    explained = render_page("troubleshooting").anchors

    assert {*TITLES, *kinds, *of_oauth, *looked_at} - explained == set()
    assert len(of_oauth) > 5


def test_every_refusal_of_the_code_is_listed_with_its_code() -> None:
    listed = render_page("refusals")

    assert {f"refusals-{code}" for code in refusals()} <= listed.anchors
    assert sum(len(messages) for messages in refusals().values()) > 300


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("BIGMIND_PUBLIC_URL", "settings"),
        ("421 misdirected", "troubleshooting"),
        ("Fact 12 has been set aside already.", "refusals"),
        ("connect Claude Code", "quick-starts"),
        ("memory_recall", "operations"),
        ("upgrade several machines", "upgrading"),
    ],
)
def test_search_finds_the_page_by_words_settings_and_pasted_errors(query: str, expected: str) -> None:
    hits = search_help(query)

    assert f"/help/{expected}/" in [hit.address.partition("#")[0] for hit in hits[:3]]


def test_search_says_when_nothing_is_found() -> None:
    assert search_help("qqwwee rrttzz") == []
    assert search_help("") == []


@pytest.mark.django_db
def test_anyone_reads_help_without_a_sign_in_and_without_another_site() -> None:
    client = Client()
    for slug in pages():
        answer = client.get(reverse("help") if slug == "index" else reverse("help-page", args=[slug]))

        assert answer.status_code == 200, slug
        assert not re.search(r'(?:src|action)="https?://', answer.text), slug

    assert client.get("/help/?query=ECONNREFUSED").status_code == 200
    assert client.get("/help/no-such-page/").status_code == 404
    assert client.post("/help/").status_code == 405


@pytest.mark.django_db
def test_only_pictures_of_the_documentation_are_sent() -> None:
    client = Client()

    for name in pictures():
        answer = client.get(reverse("help-file", args=[name]))
        assert answer["Content-Type"] in {"image/svg+xml", "image/webp"}
    for name in ("../SECURITY.md", "../../etc/passwd", "index.md", "%2e%2e/mkdocs.yml"):
        assert client.get(f"/help/files/{name}").status_code == 404, name


def test_pictures_are_small_and_the_recording_has_no_script_and_can_stand_still() -> None:
    recording = pictures()["pictures/first-conversation.svg"].read_text()

    assert sum(file.stat().st_size for file in pictures().values()) < 300_000
    assert "<script" not in recording
    assert "prefers-reduced-motion" in recording
    assert "releases go out on Tuesdays" in recording.replace("\n", " ")


def test_every_page_has_its_part_in_help() -> None:
    anchors = render_page(PAGE).anchors

    assert set(EXPLAINED.values()) <= anchors
    unexplained = [name for name in routes() if name not in NO_PAGES and not anchor_for(name)]
    assert unexplained == [], "Add them to bigmind/help/links.py, and a section to docs/pages.md."
