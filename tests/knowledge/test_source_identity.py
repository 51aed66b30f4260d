"""A source is its repository and the path in it, wherever that lies and whatever else has the same name."""

import json
import shutil
import subprocess
from collections.abc import Callable
from io import StringIO
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command

from knowledge.kb.entry_sources import import_source
from knowledge.models import Entry
from knowledge.parsers.entries import SourceEntry
from knowledge.parsers.repositories import place_of, plain_repository, read_place
from tests.factories import make_actor

pytestmark = pytest.mark.django_db

ALPHA = """# Lessons learned

## STORY-1: Import of orders (2026-02-01)

### Recommendations
- Run the importer at night: it locks the orders table for four minutes.

### Blockers Hit
- The vendor's CSV is in Latin-1, not UTF-8: decode it before parsing.
"""
BETA = """# Lessons learned

## STORY-1: Checkout page (2026-03-09)

### Recommendations
- Round prices once, at the end: rounding each line loses a cent per basket.
"""
LONG = "# Lessons\n\n## Story 1: Depot\n\n### What went well\n\n{}"


def run(*words: str) -> str:
    """Run a command and return what it printed."""
    output = StringIO()
    call_command(*words, stdout=output, stderr=output)
    return output.getvalue()


def git(folder: Path, *words: str) -> None:
    """Run git in a folder."""
    who = ("-c", "user.name=Ada", "-c", "user.email=ada@example.com", "-c", "init.defaultBranch=main")
    subprocess.run(["git", "-C", str(folder), *who, *words], check=True, capture_output=True)


def make_repository(folder: Path, lessons: str, remote: str = "") -> Path:
    """Make a repository with a file of lessons, and return the file."""
    folder.mkdir(parents=True)
    file = folder / "LESSONS-LEARNED.md"
    file.write_text(lessons)
    git(folder, "init", "-q")
    git(folder, "add", ".")
    git(folder, "commit", "-qm", f"Begin {folder.name}")
    if remote:
        git(folder, "remote", "add", "origin", remote)
    return file


def bring_in(file: Path, *options: str, output: Path | None = None) -> dict:
    """Parse a file of lessons, import it, and return the report on its source."""
    rows = output or file.parent.parent / f"{file.parent.name}.yaml"
    rows.unlink(missing_ok=True)
    run("kb_parse", str(file), "--output", str(rows))
    (report,) = json.loads(run("kb_seed", str(rows), "--json", *options))["sources"]
    return report


def contents() -> set[str]:
    """Return what the knowledge base says."""
    return set(Entry.objects.values_list("content", flat=True))


def lessons(*bullets: str) -> str:
    """Return a file of lessons with these bullets."""
    return LONG.format("".join(f"- {bullet}\n" for bullet in bullets))


MANY = [f"The gate number {number} is oiled in {month}." for number, month in enumerate(("May", "June", "July") * 4)]


@pytest.fixture(autouse=True)
def _an_owner() -> None:
    make_actor(admin=True)


Making = Callable[[Path], Path]
MAKERS: dict[str, Callable[[Path, str], Path]] = {
    "with remotes": lambda folder, text: make_repository(folder, text, f"git@github.com:acme/{folder.name}.git"),
    "without remotes": lambda folder, text: make_repository(folder, text),
    "of the same host, in folders of the same name": lambda folder, text: make_repository(
        folder / "checkout", text, f"https://github.com/{folder.name}/app"
    ),
}


@pytest.mark.parametrize("make", MAKERS.values(), ids=MAKERS.keys())
def test_two_repositories_with_files_of_one_name_keep_out_of_each_others_way(tmp_path: Path, make) -> None:
    alpha, beta = make(tmp_path / "alpha", ALPHA), make(tmp_path / "beta", BETA)
    bring_in(alpha)
    before = contents()

    report = bring_in(beta, "--remove-missing", "--yes")
    again = bring_in(alpha, "--remove-missing", "--yes")

    assert before < contents()
    assert (report["changed"], report["removed"]) == ([], {})
    assert (again["added"], again["changed"], again["removed"]) == ([], [], {})


def test_two_plain_folders_with_files_of_one_name_keep_out_of_each_others_way(tmp_path: Path) -> None:
    files = {}
    for name, text in (("alpha", ALPHA), ("beta", BETA)):
        (tmp_path / name).mkdir()
        files[name] = tmp_path / name / "LESSONS-LEARNED.md"
        files[name].write_text(text)
    bring_in(files["alpha"])
    before = contents()

    bring_in(files["beta"], "--remove-missing", "--yes")

    assert before < contents()


def test_yaml_that_names_a_bare_file_is_of_the_repository_it_lies_in(tmp_path: Path) -> None:
    for name, text in (("alpha", "Alpha needs PostgreSQL."), ("beta", "Beta needs Redis.")):
        file = make_repository(tmp_path / name, ALPHA).with_name("lessons.yaml")
        file.write_text(f"source: notes.md\nentries:\n- key: setup\n  content: {text}\n")
        run("kb_seed", str(file), "--remove-missing", "--yes")

    assert contents() == {"Alpha needs PostgreSQL.", "Beta needs Redis."}


@pytest.mark.parametrize("how", ["moved", "cloned", "work tree", "another address of the remote", "renamed remote"])
def test_a_repository_is_the_same_source_wherever_it_is(tmp_path: Path, how: str) -> None:
    folder = tmp_path / "alpha"
    file = make_repository(folder, lessons(*MANY), "git@github.com:acme/alpha.git")
    bring_in(file)
    before = set(Entry.objects.values_list("pk", flat=True))
    other = tmp_path / "elsewhere"
    if how == "moved":
        folder.rename(other)
    elif how == "work tree":
        git(folder, "worktree", "add", "-q", "-b", "more", str(other))
    else:
        git(tmp_path, "clone", "-q", str(folder), str(other))
        if how != "cloned":
            renamed = "ssh://git@GitHub.com:22/ACME/alpha" if "address" in how else "https://github.com/acme/gates"
            git(other, "remote", "set-url", "origin", renamed)
    moved = other / file.name
    moved.write_text(moved.read_text().replace("gate number 3", "gate number three").replace(f"- {MANY[5]}\n", ""))

    report = bring_in(moved)

    assert (report["added"], len(report["removed"])) == ([], 1)
    assert any("three" in key or "gate" in key for key in report["changed"])
    assert set(Entry.objects.values_list("pk", flat=True)) == before
    assert bring_in(moved)["changed"] == []


def test_a_folder_that_becomes_a_repository_and_gets_a_remote_is_the_same_source(tmp_path: Path) -> None:
    folder = tmp_path / "alpha"
    folder.mkdir()
    file = folder / "LESSONS-LEARNED.md"
    file.write_text(lessons(*MANY))
    names = [bring_in(file, output=folder / "lessons.yaml")["source"]]
    git(folder, "init", "-q")
    git(folder, "add", ".")
    git(folder, "commit", "-qm", "Begin")
    names.append(bring_in(file, output=folder / "lessons.yaml")["source"])
    git(folder, "remote", "add", "origin", "https://github.com/acme/alpha.git")
    names.append(bring_in(file, output=folder / "lessons.yaml")["source"])

    file.write_text(lessons(*MANY[1:]))
    report = bring_in(file, output=folder / "lessons.yaml")

    assert [name.partition("//")[0].partition("~")[0][:7] for name in names] == ["alpha", "commit-", "github."]
    assert (report["added"], len(report["removed"])) == ([], 1)


def test_repositories_that_began_as_one_template_are_two_sources(tmp_path: Path) -> None:
    template = make_repository(tmp_path / "template", "# Lessons\n").parent
    for name, text in (("alpha", ALPHA), ("beta", BETA)):
        git(tmp_path, "clone", "-q", str(template), str(tmp_path / name))
        git(tmp_path / name, "remote", "set-url", "origin", f"https://github.com/acme/{name}")
        (tmp_path / name / "LESSONS-LEARNED.md").write_text(text)
    bring_in(tmp_path / "alpha" / "LESSONS-LEARNED.md")
    before = contents()

    bring_in(tmp_path / "beta" / "LESSONS-LEARNED.md", "--remove-missing", "--yes")

    assert before < contents()


def test_a_copied_folder_overwrites_nothing_unless_that_is_said(tmp_path: Path) -> None:
    (tmp_path / "alpha").mkdir()
    (tmp_path / "alpha" / "LESSONS-LEARNED.md").write_text(lessons(*MANY))
    bring_in(tmp_path / "alpha" / "LESSONS-LEARNED.md")
    shutil.copytree(tmp_path / "alpha", tmp_path / "beta")
    copied = tmp_path / "beta" / "LESSONS-LEARNED.md"
    copied.write_text(copied.read_text().replace("number 3 is", "number 3 was"))

    with pytest.raises(CommandError, match=r"brought by another source\..*--replace"):
        bring_in(copied)

    assert any("number 3 is" in content for content in contents())


def test_what_would_change_most_of_a_source_is_refused_without_a_terminal_unless_it_is_said(tmp_path: Path) -> None:
    rows = tmp_path / "rows.yaml"

    def write(word: str) -> None:
        rows.write_text("".join(f"- key: k{number}\n  content: Gate {number} is {word}.\n" for number in range(8)))

    write("open")
    run("kb_seed", str(rows))
    write("shut")

    with pytest.raises(CommandError, match=r"would change 8 and remove 0 of the 8 there\.[^\n]*--replace") as refused:
        run("kb_seed", str(rows))

    assert refused.value.returncode == 1
    assert "Gate 1 is open." in contents()
    assert "would change 8" in run("kb_seed", str(rows), "--dry-run")
    run("kb_seed", str(rows), "--replace")
    assert "Gate 1 is shut." in contents()
    assert Entry.objects.count() == 8


def test_yes_alone_does_not_delete_most_of_a_source(tmp_path: Path) -> None:
    rows = tmp_path / "rows.yaml"
    rows.write_text("".join(f"- key: k{number}\n  content: Gate {number} is open.\n" for number in range(3)))
    run("kb_seed", str(rows))
    rows.write_text("- key: other\n  content: The depot has no gates.\n")

    with pytest.raises(CommandError, match=r"remove 3 of the 4 there\. None of that was done\. .*--replace"):
        run("kb_seed", str(rows), "--remove-missing", "--yes")

    assert Entry.objects.count() == 4
    run("kb_seed", str(rows), "--remove-missing", "--yes", "--replace")
    assert contents() == {"The depot has no gates."}


def test_what_two_repositories_say_outlives_the_one_that_said_it_first(tmp_path: Path) -> None:
    alpha = make_repository(tmp_path / "alpha", lessons("Write small commits.", *MANY))
    beta = make_repository(tmp_path / "beta", lessons("Write small commits.", "Keep the changelog."))
    for file in (alpha, beta):
        bring_in(file)

    alpha.write_text(lessons(*MANY))
    bring_in(alpha, "--remove-missing", "--yes")

    assert "Write small commits." in contents()
    assert Entry.objects.get(content="Write small commits.").provenance["source"] == str(place_of(beta))
    beta.write_text(lessons("Write small commits, please.", "Keep the changelog."))
    assert bring_in(beta)["added"] == []


def test_rewording_what_another_repository_says_too_leaves_its_words_alone(tmp_path: Path) -> None:
    alpha = make_repository(tmp_path / "alpha", lessons("Write small commits.", *MANY))
    beta = make_repository(tmp_path / "beta", lessons("Write small commits.", "Keep the changelog."))
    for file in (alpha, beta):
        bring_in(file)

    alpha.write_text(lessons("Write very small commits.", *MANY))
    bring_in(alpha)

    assert {"Write small commits.", "Write very small commits."} < contents()


@pytest.fixture
def of_an_earlier_version() -> Callable[..., None]:
    """Make what is stored look as an earlier version stored it: under the bare name of its file."""

    def go_back(name: str = "LESSONS-LEARNED.md") -> None:
        for entry in Entry.objects.all():
            entry.provenance = {**entry.provenance, "source": name}
            entry.provenance.pop("also", None)
            entry.save()

    return go_back


@pytest.mark.parametrize("name", ["LESSONS-LEARNED.md", "alpha/LESSONS-LEARNED.md"])
def test_what_an_earlier_version_stored_is_found_again_and_never_doubled(tmp_path, of_an_earlier_version, name):
    alpha = make_repository(tmp_path / "alpha", lessons(*MANY), "https://github.com/acme/alpha")
    bring_in(alpha)
    of_an_earlier_version(name)
    before = set(Entry.objects.values_list("pk", flat=True))
    alpha.write_text(lessons(*MANY[:-1], MANY[-1].replace("oiled", "well oiled")))

    report = bring_in(alpha)

    assert (report["added"], report["removed"]) == ([], {})
    assert set(Entry.objects.values_list("pk", flat=True)) == before
    assert {entry.provenance["source"] for entry in Entry.objects.all()} == {
        "github.com/acme/alpha//LESSONS-LEARNED.md"
    }


def test_what_an_earlier_version_mixed_under_one_name_comes_apart_without_a_loss(tmp_path, of_an_earlier_version):
    alpha = make_repository(tmp_path / "alpha", lessons(*MANY))
    beta = make_repository(tmp_path / "beta", BETA)
    for file in (alpha, beta):
        bring_in(file)
    of_an_earlier_version()
    before = dict(Entry.objects.values_list("pk", "content"))

    reports = [bring_in(file, "--remove-missing", "--yes") for file in (beta, alpha, beta)]

    assert dict(Entry.objects.values_list("pk", "content")) == before
    assert [(report["added"], report["changed"], report["removed"]) for report in reports] == [([], [], {})] * 3


def test_an_export_names_its_sources_as_they_are_stored(tmp_path: Path) -> None:
    bring_in(make_repository(tmp_path / "alpha", ALPHA, "https://github.com/acme/alpha"))
    run("export", str(tmp_path / "shared"), "--only", "entries")

    (report,) = json.loads(run("kb_seed", *map(str, (tmp_path / "shared" / "entries").iterdir()), "--json"))["sources"]

    assert (report["source"], report["added"]) == ("github.com/acme/alpha//LESSONS-LEARNED.md", [])


def test_a_source_of_another_user_is_not_changed_by_a_member(tmp_path: Path) -> None:
    alpha = make_repository(tmp_path / "alpha", ALPHA)
    bring_in(alpha)
    before = contents()

    import_source(make_actor(), place_of(alpha), [SourceEntry(key="a", content="Another lesson.")])

    assert before < contents()


@pytest.mark.parametrize(
    ("remote", "name"),
    [
        ("https://ada:secret@github.com/Acme/Shop.git", "github.com/acme/shop"),
        ("git@github.com:acme/shop.git", "github.com/acme/shop"),
        ("ssh://git@github.com:22/acme/shop/", "github.com/acme/shop"),
        ("https://git.example.com:8443/scm/acme/shop.git", "git.example.com/scm/acme/shop"),
    ],
)
def test_a_remote_has_one_name_however_it_is_addressed(tmp_path: Path, remote: str, name: str) -> None:
    file = make_repository(tmp_path / "alpha", ALPHA, remote)

    assert str(place_of(file)) == f"{name}//LESSONS-LEARNED.md"
    assert plain_repository(remote) == name


@pytest.mark.parametrize(
    "remote", ["/srv/git/shop.git", "file:///srv/git/shop.git", "../shop", "~/shop", "C:\\git\\shop"]
)
def test_a_remote_on_this_machine_says_nothing_about_a_repository(tmp_path: Path, remote: str) -> None:
    place = place_of(make_repository(tmp_path / "alpha", ALPHA, remote))

    assert place.repository == f"commit-{place.first_commit[:12]}"


def test_a_hook_of_git_does_not_lead_into_its_own_repository(tmp_path: Path, monkeypatch) -> None:
    alpha, beta = (make_repository(tmp_path / name, ALPHA) for name in ("alpha", "beta"))
    monkeypatch.setenv("GIT_DIR", str(alpha.parent / ".git"))

    assert place_of(alpha).repository != place_of(beta).repository


@pytest.mark.parametrize("name", ["notes.md", "docs/notes.md", "https://example.com//a", "", "github:acme/shop"])
def test_a_bare_name_is_no_place(name: str) -> None:
    assert read_place(name) is None
