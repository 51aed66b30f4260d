"""Codex' memories: `~/.codex/memories`, with MEMORY.md, a summary, recaps of conversations and skills.

MEMORY.md has blocks (`# Task Group: …`), in each the tasks with their conversations and keywords, and below them what
the user prefers, what can be used again, and what failed. What came from elsewhere lies in `extensions/<name>`.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path, PurePosixPath
from typing import Any

from knowledge.parsers.archives import Bundle, text_in

from .concepts import WRITTEN, concept, concept_rows
from .items import Item
from .memory_drafts import DraftRow, FactDraft, Row
from .words import category_of

HANDBOOK, SUMMARY, RESOURCES = "MEMORY.md", "memory_summary.md", "extensions/bigmind/resources"
GROUP = "# Task Group:"
SECTIONS = {
    "User preferences": ("preference", "identity"),
    "Reusable knowledge": ("codebase", "decision"),
    "Failures and how to do differently": ("constraint",),
}
"""The sections of a block whose bullets are facts, and our categories that belong there."""


def looks_like(bundle: Bundle) -> bool:
    """Whether there is a handbook with blocks, or a summary."""
    return any(_is_ours(bundle, name) for name in bundle.names())


def rows(bundle: Bundle) -> Iterator[Row]:
    """Yield a note for each file, to the byte, and a fact for each bullet that says what to do."""
    return concept_rows(bundle, _facts)


def files(items: Iterable[Item]) -> Iterator[tuple[str, str, Item | None]]:
    """Yield a file for each item, and a handbook and a summary of the facts, which is what Codex reads."""
    groups: dict[str, list[Item]] = {}
    for item in items:
        yield f"{RESOURCES}/{item.kind}_{item.file_name}.md", concept(item, {"name": item.file_name}), item
        if item.kind == "fact":
            groups.setdefault(_project(item), []).append(item)
    handbook = [line for project, group in groups.items() for line in _group(project, group)]
    yield HANDBOOK, "\n".join([*handbook, WRITTEN, ""]), None
    lines = [f"- {project}: {len(group)} facts, under “Task Group: {project}”" for project, group in groups.items()]
    yield SUMMARY, "\n".join(["v1", "", "## What's in Memory", "", *lines, "", WRITTEN, ""]), None


def usual_folder(home: Path, variables: Mapping[str, str]) -> Path:
    """Return where Codex keeps its memories."""
    return Path(variables.get("CODEX_HOME") or home / ".codex") / "memories"


def _project(item: Item) -> str:
    return str(item.fields.get("project") or "all projects")


def _group(project: str, facts: Sequence[Item]) -> Iterator[str]:
    yield from (f"{GROUP} {project}", f"scope: what BigMind remembers of {project}")
    yield from (f"applies_to: cwd={project}; reuse_rule=safe wherever {project} is worked on", "")
    yield from ("## Task 1: remembered by BigMind", "", "### keywords", "", f"- {project}", "")
    for section, categories in SECTIONS.items():
        bullets = [_bullet(fact.text) for fact in facts if fact.fields["category"] in categories]
        yield from (f"## {section}", "", *bullets, "") if bullets else ()


def _bullet(text: str) -> str:
    return "- " + text.replace("\n", "\n  ")


def _facts(name: str, front: Mapping[str, Any], body: str, first_line: int) -> Iterator[Row]:
    """The bullets of the sections that say what to do."""
    if PurePosixPath(name).name != HANDBOOK:
        return
    section, project = "", ""
    for number, line in enumerate(body.split("\n"), start=first_line):
        if line.startswith("# "):
            project = line.removeprefix(GROUP).strip()[:100] if line.startswith(GROUP) else ""
        if line.startswith("#"):
            section = line.removeprefix("## ").strip()
        elif line.startswith("- ") and section in SECTIONS and line[2:].strip():
            text = line[2:].strip()
            category = category_of(text, otherwise=SECTIONS[section][0])
            fields = {"fact": text, "category": category, "project": project, "file": name}
            yield DraftRow(f"{name}, line {number}", FactDraft, fields)


def _is_ours(bundle: Bundle, name: str) -> bool:
    last = PurePosixPath(name).name
    if last == SUMMARY:
        return True
    return last == HANDBOOK and any(line.startswith(GROUP) for line in text_in(bundle, name).split("\n"))
