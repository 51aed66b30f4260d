"""Instruction files for agents (CLAUDE.md, AGENTS.md, .cursorrules, …): each rule is a fact for developers."""

from pathlib import PurePosixPath

from bigmind.core.vocabulary import TAG_CHARS
from knowledge.parsers.entries import Keys, SourceEntry, make_entry, slug
from knowledge.parsers.outline import OutlineSection, read_outline
from knowledge.parsers.statements import LISTS, Statement, statements
from knowledge.parsers.tags import infer_tags

KEY_WORDS = 8
SHORT_CHARS = 1_500


def parse_instructions(text: str, source_file: str) -> list[SourceEntry]:
    """Return the rules of an instruction file.

    A bullet is a fact; a short section without bullets is one fact, together with its heading. The headings above a
    rule become tags, and its context in the metadata.

    Raises:
        Invalid: a rule is longer than an entry may be, or the file has more pieces than anyone writes.
    """
    keys = Keys()
    outline = read_outline(text, source_file)
    scope = {name: outline.front_matter[name] for name in ("globs", "applyTo") if outline.front_matter.get(name)}
    return [_entry(section, one, source_file, scope, keys) for section in outline.sections for one in rules_in(section)]


def rules_in(section: OutlineSection) -> list[Statement]:
    """Return the rules of a section: its bullets, or the whole of it where it is short and has none."""
    found = [one for one in statements(section.blocks) if not _is_an_import(one.text)]
    if any(block.type in LISTS | {"table"} for block in section.blocks) or not found:
        return found
    whole = "\n\n".join(one.text for one in found)
    if len(whole) > SHORT_CHARS:
        return found
    titled = f"{section.title}: {whole}" if section.title else whole
    return [Statement(titled, section.line)]


def _is_an_import(text: str) -> bool:
    """Say whether this only names another file to read, as in `@AGENTS.md`."""
    return text.startswith("@") and len(text.split()) == 1


def _entry(
    section: OutlineSection, one: Statement, source_file: str, scope: dict[str, object], keys: Keys
) -> SourceEntry:
    place = slug(section.title) or slug(PurePosixPath(source_file).stem)
    first_words = "-".join(slug(one.text[:400]).split("-")[:KEY_WORDS])
    context = {"context": one.context} if one.context else {}
    heading = [tag] if (tag := slug(section.title, TAG_CHARS)) else []
    fields = {
        "key": keys.claim(place, first_words),
        "content": one.text,
        "roles": ["dev"],
        "tags": list(dict.fromkeys(["instruction", *heading, *infer_tags(one.text)])),
        "source_file": source_file,
        "metadata": {"headings": list(section.path), **context, **scope},
    }
    return make_entry(one.line, fields)
