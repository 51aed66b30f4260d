"""docs/architecture.md, docs/decisions and CONTRIBUTING.md name what is there: files, folders, functions, classes."""

import ast
import re
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PAGE = (ROOT / "docs" / "architecture.md").read_text()
CONTRIBUTING = (ROOT / "CONTRIBUTING.md").read_text()
APPS = ("bigmind", "accounts", "knowledge", "curation")
TOP = {*APPS, "templates", "static", "tests", "benchmarks", "docs", "requirements", ".make", ".ci"}

_NAMED = re.compile(r"`([\w./]+\.py):([\w.]+)`")
_RULE = re.compile(r"^\| (?P<rule>[^|]+) \| `(?P<file>[^`]+\.py)` \| `(?P<name>[\w.]+)` \|$", re.M)
_FOLDER = re.compile(r"^\| `(?P<folder>[\w/]+)` \| (?P<purpose>[^|]+) \|$", re.M)
_QUOTED = re.compile(r"`([\w.][\w./-]*)`")
_MODULE = re.compile(r"`(\w+\.py)`")
_RULES = _RULE.findall(PAGE)
_STEPS = _NAMED.findall(PAGE)
_DECISIONS = sorted((ROOT / "docs" / "decisions").glob("*.md"))


def test_every_name_on_the_page_is_in_its_file():
    assert _missing({*_STEPS, *((file, name) for _, file, name in _RULES)}) == set()


def test_the_page_has_five_journeys_and_thirty_rules():
    journeys = PAGE.partition("## Five journeys")[2].partition("\n## ")[0]

    assert len(re.findall(r"^### ", journeys, re.M)) == 5
    assert all(_NAMED.search(step) for step in re.split(r"^\d+\. ", journeys, flags=re.M)[1:] if "`" in step)
    assert len(_RULES) >= 30
    assert len({rule for rule, _, _ in _RULES}) == len(_RULES)


def test_the_page_lists_every_package_and_no_other_folder():
    listed = [folder for folder, _ in _FOLDER.findall(PAGE)]
    packages = {
        str(path.parent.relative_to(ROOT))
        for app in APPS
        for path in (ROOT / app).rglob("__init__.py")
        if "migrations" not in path.parts
    }

    assert sorted(listed) == sorted(packages - set(APPS))


@pytest.mark.parametrize("page", [PAGE, CONTRIBUTING], ids=["architecture", "contributing"])
def test_every_path_on_a_page_is_there(page):
    paths = {path for path in _QUOTED.findall(page) if path.split("/")[0] in TOP}

    assert len(paths) >= 30
    # What tests make is not there before they ran.
    assert [path for path in paths if not path.startswith(".make/") and not (ROOT / path).exists()] == []


def test_every_name_in_contributing_is_in_its_file():
    assert _missing(set(_NAMED.findall(CONTRIBUTING))) == set()


def test_every_target_in_contributing_is_in_the_makefile():
    targets = set(re.findall(r"`make ([a-z-]+)", CONTRIBUTING))

    assert targets - set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.M)) == set()


@pytest.mark.parametrize("page", _DECISIONS, ids=lambda page: page.stem)
def test_what_a_decision_names_is_there(page):
    text = page.read_text()
    # What has no ending may be something else than a path, such as a key of a protocol.
    files = [path for path in _QUOTED.findall(text) if path.split("/")[0] in TOP and Path(path).suffix]
    gone = [path for path in files if not (ROOT / path).is_file()]
    gone += [f"{file}:{name}" for file, name in _NAMED.findall(text) if not _has(file, name)]
    gone += [module for module in _MODULE.findall(text) if module not in _modules()]

    assert not gone, f"{page.name} names {', '.join(gone)}: `git log --follow` says what became of it."


def test_a_name_that_is_gone_is_noticed():
    facts, actor = "knowledge/memory/facts.py", "accounts/actor.py"
    gone = {(facts, "stored_fact"), ("knowledge/services/gone.py", "store_fact")}

    assert _missing({(facts, "store_fact"), (actor, "Actor.require"), *gone}) == gone


def _missing(named):
    """Return which of the names of files and what they define are not there."""
    return {(file, name) for file, name in named if not (ROOT / file).is_file() or name not in _names_in(file)}


def _has(file, name):
    return (ROOT / file).is_file() and name in _names_in(file)


@cache
def _modules():
    """Return the names of all modules, for pages that name one without its folder."""
    return {path.name for top in {*APPS, "tests", "benchmarks"} for path in (ROOT / top).rglob("*.py")}


@cache
def _names_in(file):
    """Return the names that a file defines at its top, and those of methods as `Class.method`."""
    names = set()
    for node in ast.parse((ROOT / file).read_text()).body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            names.add(node.name)
        if isinstance(node, ast.ClassDef):
            names |= {f"{node.name}.{child.name}" for child in node.body if isinstance(child, ast.FunctionDef)}
        targets = (
            node.targets if isinstance(node, ast.Assign) else [node.target] if isinstance(node, ast.AnnAssign) else []
        )
        names |= {target.id for target in targets if isinstance(target, ast.Name)}
    return names
