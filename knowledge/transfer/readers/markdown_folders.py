"""MEMORY.md, CLAUDE.md and the like: what people and agents wrote down for themselves in markdown."""

from collections.abc import Iterator
from pathlib import PurePosixPath

from bigmind.core.errors import Invalid
from knowledge.parsers.archives import Bundle, text_in
from knowledge.parsers.front_matter import without_front_matter
from knowledge.parsers.outline import read_outline
from knowledge.parsers.sources import INSTRUCTION_ENDINGS, INSTRUCTIONS, rules_in

from .front_matter import ENDINGS, notes_of
from .memory_drafts import DraftRow, FactDraft, Row, unread
from .words import category_of, headline

MEMORY = {"memory.md", "memories.md", "user.md"}


def looks_like(bundle: Bundle) -> bool:
    """Whether there is markdown in it."""
    return any(name.lower().endswith((*ENDINGS, *INSTRUCTIONS)) for name in bundle.names())


def rows(bundle: Bundle) -> Iterator[Row]:
    """Yield a fact for each rule of an instruction or memory file, and a note for each other file."""
    for name in bundle.names():
        if not name.lower().endswith(ENDINGS):
            continue
        try:
            text = text_in(bundle, name)
            yield from facts_of_rules(name, text) if holds_rules(name) else _notes(name, text)
        except Invalid as error:
            yield unread(name, error)


def holds_rules(name: str) -> bool:
    """Whether a file is one of those that hold rules for agents, by its name."""
    lowered = PurePosixPath(name.casefold()).name
    return lowered in MEMORY | INSTRUCTIONS or lowered.endswith(INSTRUCTION_ENDINGS)


def facts_of_rules(name: str, text: str) -> Iterator[Row]:
    """Yield a fact for each bullet and short section of a file of rules."""
    project = _project(PurePosixPath(name).parent.name)
    for section in read_outline(text, name).sections:
        for rule in rules_in(section):
            fields = {"fact": rule.text, "category": category_of(rule.text, otherwise="codebase"), "project": project}
            yield DraftRow(f"{name}, line {rule.line}", FactDraft, fields)


def _notes(name: str, text: str) -> Iterator[Row]:
    front, body, _ = without_front_matter(text, name)
    path = PurePosixPath(name)
    domain = headline(path.parent.as_posix() if path.parent.parts else "memory", otherwise="memory")
    key = headline(str(front.get("name") or front.get("title") or path.stem), otherwise="note")
    yield from notes_of(name, body, {"domain": domain, "key": key})


def _project(folder: str) -> str:
    """A folder's name as a project; `.claude` and `memory` name none."""
    is_none = folder.startswith(".") or folder.casefold() in {"", "memory", "docs"}
    return "" if is_none else headline(folder, otherwise="")[:100]
