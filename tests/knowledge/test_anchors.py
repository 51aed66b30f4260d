"""Anchors: what a change of code makes false, what it makes doubtful, and what it leaves alone."""

import atexit
import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import cache
from itertools import chain, islice, pairwise, product
from pathlib import Path

import pytest

from bigmind.core.errors import Invalid
from knowledge.anchors.grammar import ANCHOR_CHARS, parse_anchor, write_anchor
from knowledge.anchors.history import Repository
from knowledge.anchors.judging import AnchorVerdict
from knowledge.anchors.manifests import is_outside
from knowledge.anchors.reports import as_annotations, as_markdown, as_text
from knowledge.anchors.syntax import parse_definitions
from knowledge.anchors.verifying import AnchoredEntry, EntryResult, Verification, verify

LIMITS = '''
RATE = 60

class Limiter:
    """Counts calls."""

    def allow(self, key, burst=5):
        # One more.
        self.calls[key] = self.calls.get(key, 0) + 1
        return self.calls[key] <= RATE + burst

    def reset(self, key):
        self.calls.pop(key, None)
        self.resets.append((key, "by hand"))
        return len(self.calls), len(self.resets)
'''
RESTYLED = """
RATE = 60
class Limiter:
    def allow(
        self, key,
        burst=5,
    ):
        self.calls[key] = (self.calls.get(key, 0) + 1)
        return self.calls[key] <= RATE + burst
    def reset(self, key):
        self.calls.pop(key, None); self.resets.append((key, 'by hand'))
        return (len(self.calls), len(self.resets))
"""
GO = "package a\n\nfunc (s *Server) Start(port int) error {\n\ts.port = port\n\treturn s.listen()\n}\n"
TS = "class Cart {\n  total(tax: number) { return this.sum * (1 + tax); }\n}\nexport const LIMITS = { retries: 3 };\n"
JAVA = "class Pool {\n  static final int SIZE = 8;\n  int take(int n) { return free - n; }\n}\n"

Commit = Callable[[dict[str, str | None]], str]
HOLDS, MOVED, DOUBTFUL, FALSE = AnchorVerdict.HOLDS, AnchorVerdict.MOVED, AnchorVerdict.DOUBTFUL, AnchorVerdict.FALSE


@pytest.fixture
def commit(tmp_path: Path) -> Commit:
    """Commit files to a repository: a text each, or None to delete it."""
    shutil.copytree(_empty_repository(), tmp_path, dirs_exist_ok=True)

    def write(files: dict[str, str | None]) -> str:
        for name, text in files.items():
            file = tmp_path / name
            file.parent.mkdir(parents=True, exist_ok=True)
            file.unlink() if text is None else file.write_text(text)
        _git(tmp_path, "add", "-A")
        _git(tmp_path, "-c", "user.name=a", "-c", "user.email=a@b.c", "commit", "-q", "--allow-empty", "-m", "x")
        return (tmp_path / ".git/refs/heads/main").read_text().strip()

    return write


@cache
def _empty_repository() -> Path:
    folder = Path(tempfile.mkdtemp(prefix="repository-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    _git(folder, "init", "-q", "-b", "main", "--template=")
    return folder


@pytest.mark.parametrize(
    ("cited", "before", "after", "verdict"),
    [
        # Layout, comments, docstrings, quotes, brackets and trailing commas are no change.
        ("a.py:Limiter.allow", {"a.py": LIMITS}, {"a.py": RESTYLED}, HOLDS),
        ("a.py:Limiter", {"a.py": LIMITS}, {"a.py": "import os\n\n\n# Above.\n" + LIMITS}, HOLDS),
        ("a.py:Limiter.allow", {"a.py": LIMITS}, {"a.py": LIMITS.replace("+ 1", "+ 2")}, DOUBTFUL),
        ("a.py:Limiter.allow", {"a.py": LIMITS}, {"a.py": LIMITS.replace("burst=5", "burst=9")}, DOUBTFUL),
        ("a.py:Limiter.allow", {"a.py": LIMITS}, {"a.py": LIMITS.replace("self.calls.pop", "self.gone.pop")}, HOLDS),
        ("a.py:Limiter.allow", {"a.py": LIMITS}, {"a.py": LIMITS.replace("def allow", "def may")}, MOVED),
        ("a.py:Limiter.reset", {"a.py": LIMITS}, {"a.py": LIMITS.partition("    def reset")[0]}, FALSE),
        ("a.py:Limiter.reset", {"a.py": LIMITS}, {"a.py": None, "b/c.py": "import os\n" + LIMITS}, MOVED),
        ("a.py:Limiter.reset", {"a.py": LIMITS}, {"a.py": None}, FALSE),
        ("a.py:RATE", {"a.py": LIMITS}, {"a.py": LIMITS.replace("RATE = 60", "RATE = 90")}, FALSE),
        ("a.py:setting RATE=60", {"a.py": LIMITS}, {"a.py": LIMITS.replace("RATE = 60", "RATE: int = 60")}, HOLDS),
        ("a.py:setting RATE=60", {"a.py": LIMITS}, {"a.py": LIMITS.replace("RATE = 60", "")}, FALSE),
        ("a.go:Server.Start", {"a.go": GO}, {"a.go": GO.replace("s.port = port", "s.port   = port // set")}, HOLDS),
        ("a.go:Server.Start", {"a.go": GO}, {"a.go": GO.replace("port int", "port uint")}, DOUBTFUL),
        ("a.go:Server.Start", {"a.go": GO}, {"a.go": GO.replace("Start", "stop").replace("listen", "close")}, FALSE),
        (
            "a.ts:Cart.total",
            {"a.ts": TS},
            {"a.ts": TS.replace("total(tax: number)", "total(\n tax: number,\n)")},
            HOLDS,
        ),
        ("a.ts:Cart.total", {"a.ts": TS}, {"a.ts": TS.replace("1 + tax", "2 + tax")}, DOUBTFUL),
        ("a.ts:LIMITS.retries", {"a.ts": TS}, {"a.ts": TS.replace("retries: 3", "retries: 5")}, DOUBTFUL),
        ("A.java:Pool.take", {"A.java": JAVA}, {"A.java": JAVA.replace("free - n", "free - n - 1")}, DOUBTFUL),
        ("A.java:setting Pool.SIZE=8", {"A.java": JAVA}, {"A.java": JAVA.replace("= 8", "= 16")}, FALSE),
        ("A.java:Pool", {"A.java": JAVA}, {"A.java": "class Other { }\n"}, FALSE),
        ("c.toml:setting web.port=80", {"c.toml": "[web]\nport = 80\n"}, {"c.toml": "[web]\nport = 81\n"}, FALSE),
        ("c.yml:setting web.port", {"c.yml": "web:\n  port: 80\n"}, {"c.yml": "web: {host: a}\n"}, FALSE),
        (".env:setting PORT=80", {".env": "PORT=80\nA=1\n"}, {".env": "PORT=80\nA=2\n"}, HOLDS),
        ("r.txt:dependency django>=5,<6", {"r.txt": "django==5.1\n"}, {"r.txt": "django==5.2\n"}, HOLDS),
        ("r.txt:dependency django>=5,<6", {"r.txt": "django==5.1\n"}, {"r.txt": "Django == 6.0\n"}, FALSE),
        ("go.mod:dependency a.b/c", {"go.mod": "require a.b/c v1.2.3\n"}, {"go.mod": "require x.y/z v1.0.0\n"}, FALSE),
        ("go.mod:dependency a.b/c_d", {"go.mod": "require a.b/c_d v1.2.3\n"}, {"go.mod": "module x\n"}, FALSE),
        (
            "package-lock.json:dependency lru_map",
            {"package-lock.json": '{"packages": {"node_modules/lru_map": {"version": "1.2.3"}}}'},
            {"package-lock.json": '{"packages": {}}'},
            FALSE,
        ),
        (
            "pom.xml:dependency org.acme:shop_api",
            {"pom.xml": "<p><dependency><groupId>org.acme</groupId><artifactId>shop_api</artifactId></dependency></p>"},
            {"pom.xml": "<p/>"},
            FALSE,
        ),
        (
            "package.json:dependency react ^18",
            {"package.json": '{"dependencies": {"react": "^18.2.0"}}'},
            {"package.json": '{"dependencies": {"react": "^19.0.0"}}'},
            FALSE,
        ),
        ("Makefile:command test", {"Makefile": "test:\n\tpytest\n"}, {"Makefile": "test:\n\tpytest -q\n"}, HOLDS),
        ("Makefile:command test", {"Makefile": "test:\n\tpytest\n"}, {"Makefile": "check:\n\tpytest\n"}, FALSE),
        ("a.py:command --fast", {"a.py": "add('--fast')\n"}, {"a.py": "add('--quick')\n"}, FALSE),
        ("docs/a.md", {"docs/a.md": "One  two\n"}, {"docs/a.md": None, "docs/b.md": "One  two\n"}, MOVED),
        ("a.py:Limiter.allow", {"a.py": LIMITS}, {"a.py": "class Limiter(\n  def ((( \n"}, DOUBTFUL),
    ],
)
def test_what_a_change_means(commit, tmp_path, cited, before, after, verdict):
    base, head = commit(before), commit(after)

    result = _verify(tmp_path, cited, base, head, "The rate is 60.")

    assert (result.verdict, result.reason) == (verdict, result.reason)


def test_an_edit_is_offered_where_words_of_the_entry_are_enough(commit: Commit, tmp_path: Path) -> None:
    base = commit({"a.py": LIMITS})
    head = commit({"a.py": LIMITS.replace("RATE = 60", "RATE = 90").replace("def allow", "def may_call")})

    value = _verify(tmp_path, "a.py:RATE", base, head, "The rate is 60, never 600.")
    renamed = _verify(tmp_path, "a.py:Limiter.allow", base, head, "Ask `Limiter.allow` first; allowances differ.")

    assert value.edited_content == "The rate is 90, never 600."
    assert renamed.edited_content == "Ask `Limiter.may_call` first; allowances differ."
    assert renamed.anchors_after(head) == [f"a.py:Limiter.may_call@{head}"]


def test_anchors_of_other_repositories_are_left_out(commit: Commit, tmp_path: Path) -> None:
    base, head = commit({"a.py": LIMITS}), commit({"a.py": None})
    entries = [_entry(f"{name}#a.py:RATE") for name in ("acme/shop", "acme/web", "https://git.acme.com/acme/shop.git")]
    repository = Repository(tmp_path)

    done = verify(repository, entries, base=base, head=head, name="git.acme.com/acme/shop")
    repository.close()

    assert [str(result.findings[0].anchor) for result in done.results] == [
        "acme/shop#a.py:RATE",
        "git.acme.com/acme/shop#a.py:RATE",
    ]


@pytest.mark.parametrize(
    "text", ["", "../../etc/passwd:root", "/etc/passwd", "a.py:setting", "a.py:two words", "a" * 400]
)
def test_what_is_no_anchor_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"."):
        parse_anchor(text)


@pytest.mark.parametrize(
    "text",
    [
        "acme/shop#src/limits.py:RateLimiter.allow@3f2a1bc",
        "package.json:dependency @types/node^20@3f2a1bc",
        "pyproject.toml:dependency django>=5,<6",
        "a.env:setting URL=http://a.b/?c=d",
        "cli.py:command deploy --region",
        "docs/a b.md",
    ],
)
def test_an_anchor_is_written_as_it_is_read(text: str) -> None:
    assert str(parse_anchor(text)) == text


PIECES = (
    *("a.py", "dir/b@1234567", "symbol ", "setting ", "dependency ", "command ", "A.b", "django", " 5.2", ">=5", "=1"),
    *(":", "::", "#", "()", "@abcdef1", "https://h:c", "git@h:", "\u2028", "ß" * 140),
)


def test_what_an_anchor_is_stored_as_reads_as_the_same() -> None:
    stored = set()
    # All of up to three, and every 13th of four: each piece in each place beside all others.
    for parts in chain(product(("", *PIECES), repeat=3), islice(product(PIECES, repeat=4), 0, None, 13)):
        with suppress(ValueError):
            stored.add(write_anchor("".join(parts)))

    assert len(stored) > 1_000
    assert [text for text in stored if write_anchor(text) != text or len(text) > ANCHOR_CHARS] == []
    assert write_anchor("a.py:symbol setting") == "a.py:symbol setting"
    assert parse_anchor(write_anchor("pyproject.toml:dependency django 5.2")).name == "django"


def test_an_anchor_that_cannot_be_read_keeps_no_other_from_being_compared(commit: Commit, tmp_path: Path) -> None:
    base, head = commit({"a.py": LIMITS}), commit({"a.py": LIMITS.replace("RATE = 60", "RATE = 90")})
    commit({"other.py": ""})

    [result] = _check(tmp_path, base, head, ["a.py:setting", f"{'a' * 400}", "a.py:RATE"], "The rate is 60.")

    assert result.verdict is FALSE
    assert result.anchors_after(head) == ["a.py:setting", "a" * 400, f"a.py:RATE@{head}"]


def test_an_anchor_that_leaves_no_room_for_a_commit_stays_without_one(commit: Commit, tmp_path: Path) -> None:
    base, head = commit({"a.py": LIMITS}), commit({"a.py": RESTYLED})
    long = f"{'o' * (ANCHOR_CHARS - 10)}#a.py:RATE"

    [result] = _check(tmp_path, base, head, [long], "")

    assert result.anchors_after(head) == [long]


@pytest.mark.parametrize(
    ("path", "is_told"),
    [("l\udcefmits.py", "l\ufffdmits.py"), ("a:b.py", "a:b.py"), ("c#/a.py", "c#/a.py"), ("x\n::error::a.py", "")],
)
def test_what_moves_to_where_no_anchor_can_cite_it_is_doubtful(path, is_told, commit, tmp_path):
    base = commit({"a.py": LIMITS})
    head = commit({"a.py": None, path: LIMITS})

    [result] = _check(tmp_path, base, head, ["a.py:Limiter.allow"], "")
    told = _tell(tmp_path, base, head, "a.py:Limiter.allow")

    assert [(found.verdict, found.moved_to) for found in result.findings] == [(DOUBTFUL, None)]
    assert is_told in result.reason
    assert all(text.encode() for text in told)
    assert not [line for text in told for line in text.splitlines() if line.startswith("::error::a.py")]


def test_values_of_code_do_not_write_into_a_terminal(commit: Commit, tmp_path: Path) -> None:
    base, head = commit({"a.env": "RATE=60"}), commit({"a.env": "RATE=\x1b[2J90"})

    for text in _tell(tmp_path, base, head, "a.env:setting RATE"):
        assert "\x1b" not in text
        assert "U+001B" in text


def test_a_path_that_looks_like_an_answer_of_git_is_only_not_there(commit: Commit, tmp_path: Path) -> None:
    base, head = commit({"a.py": LIMITS}), commit({"a.py": RESTYLED})

    results = _check(tmp_path, base, head, ["gone blob", "gone blob 5", "shop#a blob b.py"], "")

    assert [finding.verdict for result in results for finding in result.findings] == [AnchorVerdict.UNKNOWN]


def test_modules_links_and_line_ends_of_other_systems_are_read(commit: Commit, tmp_path: Path) -> None:
    (tmp_path / "link.py").symlink_to("a.py")
    (tmp_path / "w.json").write_bytes(b'\xef\xbb\xbf{"a": 1}')
    (tmp_path / "u.env").write_bytes("A=1\r\n".encode("utf-16"))
    (tmp_path / "lib").mkdir()
    base = commit({"a.py": LIMITS, "a.env": "A=1\nB=2\n"})
    _git(tmp_path, "update-index", "--add", "--cacheinfo", f"160000,{base},lib")
    base = commit({})
    _git(tmp_path, "update-index", "--add", "--cacheinfo", f"160000,{'1' * 40},lib")
    (tmp_path / "link.py").unlink()
    (tmp_path / "link.py").symlink_to("b.py")
    (tmp_path / "w.json").write_bytes(b'\xef\xbb\xbf{"a": 2}')
    (tmp_path / "u.env").write_bytes("A=2\r\n".encode("utf-16"))
    head = commit({"a.py": LIMITS.replace("\n", "\r\n"), "a.env": "A=1\r\nB=2\r\n"})
    cited = {
        "a.py:Limiter.allow": HOLDS,
        "a.env:setting B=2": HOLDS,
        "w.json:setting a=1": FALSE,
        "u.env:setting A=1": FALSE,
        "link.py": DOUBTFUL,
        "lib": DOUBTFUL,
    }

    [result] = _check(tmp_path, base, head, list(cited), "")

    assert {str(finding.anchor): finding.verdict for finding in result.findings} == cited


def test_a_repository_of_sha_256_is_read(tmp_path: Path) -> None:
    _git(tmp_path, "init", "-q", "--object-format=sha256")
    commits = []
    for text in (LIMITS, LIMITS.replace("60", "90"), None):
        (tmp_path / "a.py").write_text(text) if text else (tmp_path / "a.py").unlink()
        _git(tmp_path, "add", "-A")
        _git(tmp_path, "-c", "user.name=a", "-c", "user.email=a@b.c", "commit", "-q", "-m", "x")
        commits.append(_git(tmp_path, "rev-parse", "HEAD"))

    for base, head in pairwise(commits):
        [result] = _check(tmp_path, base, head, ["a.py:RATE", "a.py"], "The rate is 60.")
        assert result.verdict is FALSE
    assert "is gone" in result.reason


def test_a_git_that_does_not_answer_is_an_error_and_not_a_repository_without_files(commit, tmp_path, monkeypatch):
    base, head = commit({"a.py": LIMITS}), commit({"a.py": LIMITS.replace("60", "90")})
    old = tmp_path / "old" / "git"
    old.parent.mkdir()
    old.write_text(f'#!/bin/sh\ncase "$*" in *cat-file*) exit 129;; esac\nexec {shutil.which("git")} "$@"\n')
    old.chmod(0o755)
    monkeypatch.setenv("PATH", f"{old.parent}:{os.environ['PATH']}")

    for cited in ("a.py:RATE", "b.py"):
        with pytest.raises(Invalid, match="without an answer"):
            _check(tmp_path, base, head, [cited], "The rate is 60.")


@pytest.mark.parametrize(
    ("name", "before", "after"),
    [
        (
            "package.json:dependency a 1.2",
            '{"dependencies": {"a": "1.2.3"}}',
            '{"dependencies": {"a": "%s"}}' % ("9" * 5000),
        ),
        (
            "package.json:dependency a^1.2",
            '{"dependencies": {"a": "1.2.3"}}',
            '{"dependencies": {"a": "%s"}}' % ("9" * 5000),
        ),
        ("pom.xml:dependency a:b", "<p/>", '<?xml version="1.0" encoding="made-up"?><p/>'),
        ("a.json:setting a", '{"a": 1}', '{"a": %s}' % ("9" * 5000)),
        ("a.yaml:setting a", "a: 1", "a: %s" % ("9" * 5000)),
        ("a.toml:setting a", "a = 1", "a = %s" % ("9" * 5000)),
    ],
)
def test_a_manifest_that_nobody_can_read_ends_no_check(name, before, after, commit, tmp_path):
    path = name.partition(":")[0]
    base, head = commit({path: before}), commit({path: after})

    for one, other in ((base, head), (head, base)):
        assert len(_check(tmp_path, one, other, [name, path], "It needs 1.2 of it.")) == 1


@pytest.mark.parametrize("size", [1, pytest.param(4, marks=pytest.mark.torture)])
@pytest.mark.parametrize(
    "make",
    [
        lambda size: "(" * 50_000 * size,
        lambda size: "def f():\n" + "".join(" " * depth + "if a:\n" for depth in range(1, 225 * size)),
        lambda size: "class A:\n" + "".join("  " * depth + "class A:\n" for depth in range(1, 100 * size)),
        lambda size: "def a(): pass\n" * 7_500 * size,
        lambda size: "x = {" + "'a': {" * 5_000 * size,
        lambda size: "f'" + "{" * 25_000 * size,
        lambda size: "a = '" + "\\'" * 25_000 * size,
    ],
    ids=range(7),
)
def test_hostile_source_takes_no_longer_than_its_size_allows(make: Callable[[int], str], size: int) -> None:
    source = make(size)
    begins = time.thread_time()
    with suppress(Invalid):
        parse_definitions(source.encode(), "python", "a.py")

    assert time.thread_time() - begins < 1 + 10 * len(source) / 1_000_000


def _entry(anchor: str, content: str = "") -> AnchoredEntry:
    return AnchoredEntry(id="1", handle="C1", title="Limits", content=content, anchors=[anchor])


def _verify(folder: Path, cited: str, base: str, head: str, content: str) -> EntryResult:
    repository = Repository(folder)
    done = verify(repository, [_entry(cited, content)], base=base, head=head)
    repository.close()
    return done.results[0]


def _check(folder: Path, base: str, head: str, anchors: list[str], content: str) -> Sequence[EntryResult]:
    repository, entry = Repository(folder), _entry("", content).model_copy(update={"anchors": anchors})
    try:
        return verify(repository, [entry], base=base, head=head).results
    finally:
        repository.close()


def _tell(folder: Path, base: str, head: str, cited: str) -> list[str]:
    """Return what a check says in each of its formats."""
    done = Verification("", base, head, _check(folder, base, head, [cited], "It is 60."))
    return [form(done) for form in (as_text, as_annotations, as_markdown)]


def _git(folder: Path, *arguments: str) -> str:
    done = subprocess.run(["git", "-C", str(folder), *arguments], capture_output=True, text=True, check=True)
    return done.stdout.strip()


@pytest.mark.parametrize(
    ("stated", "inside", "outside"),
    [
        ("18", "18.1", "20.0"),
        ("18.x", "18.2.0", "19.0"),
        ("1.*", "1.0", "2.0"),
        ("~1", "1.9", "2.0"),
        ("~1.2", "1.2.9", "1.9.0"),
        ("~1.2.3", "1.2.4", "1.3.0"),
        ("~=5.2", "5.9", "6.0"),
        ("^1.2", "1.9", "2.0"),
        ("^0", "0.9", "1.0"),
        ("^0.2.3", "0.2.9", "0.3.0"),
        ("^0.0", "0.0.7", "0.1.0"),
        ("^0.0.3", "0.0.3", "0.0.9"),
        ("^1 || ^3.1", "3.2", "2.0"),
    ],
)
def test_versions_are_read_as_package_managers_read_them(stated: str, inside: str, outside: str) -> None:
    assert [is_outside(version, stated) for version in (inside, outside)] == [False, True]


@pytest.mark.parametrize("stated", ["", "^", "~x", "1.2 - 1.4"])
def test_versions_that_cannot_be_read_make_no_entry_false(stated: str) -> None:
    assert is_outside("1.3", stated) is None
