"""MEMORY.md, CLAUDE.md and the like: what people and agents wrote down for themselves in markdown."""

from collections.abc import Iterator
from pathlib import PurePosixPath

from bigmind.core.errors import Invalid
from knowledge.parsers.outline import read_outline
from knowledge.parsers.sources import INSTRUCTION_ENDINGS, INSTRUCTIONS, rules_in

from .basic_memory import ENDINGS, notes_of, without_front_matter
from .bundles import Bundle, text_in
from .drafts import DraftRow, FactDraft, Row, unread
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
            yield from _facts(name, text) if _holds_rules(name) else _notes(name, text)
        except Invalid as error:
            yield unread(name, error)


def _holds_rules(name: str) -> bool:
    lowered = PurePosixPath(name.casefold()).name
    return lowered in MEMORY | INSTRUCTIONS or lowered.endswith(INSTRUCTION_ENDINGS)


def _facts(name: str, text: str) -> Iterator[Row]:
    """Each bullet and short section of a file of rules."""
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
