"""Any source by its path: which parser reads it, and what is refused before one does."""

import os
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import zip_longest
from pathlib import Path, PurePosixPath
from typing import Literal, get_args

from bigmind.core.errors import Invalid
from bigmind.privacy.screening.policy import collect_notices
from knowledge.parsers.adrs import parse_adr
from knowledge.parsers.empty_phrases import collect_left_out
from knowledge.parsers.entries import Keys, Role, SourceEntry, first_words, make_entry, slug
from knowledge.parsers.front_matter import LINES
from knowledge.parsers.learnings import pending_in
from knowledge.parsers.lessons_learned import is_of_lessons, parse_lessons
from knowledge.parsers.markdown import LISTS, Statement, infer_tags, parse_markdown, statements, tags_of_heading
from knowledge.parsers.outline import OutlineSection, read_outline
from knowledge.parsers.reading import read_text
from knowledge.parsers.yaml_files import ENTRIES, parse_entries

ROLES: tuple[tuple[set[str], tuple[Role, ...]], ...] = (
    ({"adr", "architecture", "rfc"}, ("dev", "pm")),
    ({"qa", "test", "verification", "verify", "gate", "uat"}, ("qa",)),
    ({"story", "epic", "prd", "elab", "elaboration", "roadmap", "pm"}, ("pm",)),
    ({"proof", "pr", "runbook", "operations", "implementation", "blockers", "code"}, ("dev",)),
)
"""The words of a file's name decide first, those of its folder next."""
DOCUMENTATION = {"proof", "runbook", "adr", "readme", "changelog", "release"}
PLACES = {"", "docs", "doc", "plans", "stories", "src", "templates", "template", "github"}
FOLDERS = 2

SHORT_CHARS = 1_500

SourceKind = Literal["lessons", "template", "markdown", "instructions", "adr", "learnings", "entries"]
FILES = 10_000
TOTAL_BYTES = 256 * 1024 * 1024
FOLDER_DEPTH = 64
HEAD_CHARS = 20_000
UNDERLINES = ({"="}, {"-"})

MARKDOWN = {".md", ".markdown", ".mdx"}
YAML = {".yaml", ".yml"}
INSTRUCTIONS = {
    *("claude.md", "claude.local.md", "agents.md", "agent.md", "gemini.md", "copilot-instructions.md"),
    *(".cursorrules", ".windsurfrules", ".clinerules"),
}
INSTRUCTION_ENDINGS = (".mdc", ".instructions.md")
READ_THOUGH_HIDDEN = {".github", ".cursor", ".claude"}
LEFT_ALONE = {"node_modules", "__pycache__", "venv", "site-packages"}


def parse_template(text: str, source_file: str) -> list[SourceEntry]:
    """Return the one entry of a template: its content byte for byte, its title, and tags from its path.

    Raises:
        Invalid: it is larger than an entry may be.
    """
    path = PurePosixPath(source_file)
    fields = {
        "key": slug(path.stem) or "template",
        "content": text,
        "entry_type": "template",
        "roles": list(_roles(path)),
        "tags": _tags(path),
        "source_file": source_file,
        "metadata": {"title": read_outline(text, source_file).title or path.stem},
    }
    return [make_entry(1, fields)]


def _words(name: str) -> list[str]:
    return slug(name).split("-")


def _folders(path: PurePosixPath) -> list[str]:
    # Folders named after a story or a place in the repository say nothing about what the template is for.
    named = [slug(part) for part in path.parent.parts]
    return [part for part in named if part not in PLACES and not any(char.isdigit() for char in part)][-FOLDERS:]


def _roles(path: PurePosixPath) -> tuple[Role, ...]:
    for words in (set(_words(path.stem)), set(_folders(path))):
        for names, roles in ROLES:
            if words & names:
                return roles
    return ("dev", "qa")


def _tags(path: PurePosixPath) -> list[str]:
    name = [word for word in _words(path.stem) if word not in PLACES]
    documentation = ["documentation"] if DOCUMENTATION & set(name) else []
    return list(dict.fromkeys([*_folders(path), *name, *documentation, "template"]))


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
    context = {"context": one.context} if one.context else {}
    heading = tags_of_heading(section.title)
    fields = {
        "key": keys.claim(place, first_words(one.text)),
        "content": one.text,
        "roles": ["dev"],
        "tags": list(dict.fromkeys(["instruction", *heading, *infer_tags(one.text)])),
        "source_file": source_file,
        "metadata": {"headings": list(section.path), **context, **scope},
    }
    return make_entry(one.line, fields)


PARSERS: dict[SourceKind, Callable[[str, str], list[SourceEntry]]] = {
    "lessons": parse_lessons,
    "template": parse_template,
    "markdown": parse_markdown,
    "instructions": parse_instructions,
    "adr": parse_adr,
    "learnings": lambda text, source_file: list(pending_in(text, source_file).entries),
    "entries": lambda text, source_file: list(parse_entries(text, source_file).entries),
}


@dataclass(frozen=True, slots=True)
class ParsedSource:
    """A source and the entries in it."""

    source_file: str
    """Its path as the entries name it: relative, with forward slashes."""
    kind: SourceKind
    entries: tuple[SourceEntry, ...]
    left_out: tuple[str, ...] = ()
    """The beginnings of what says nothing, such as “Blockers: None”."""
    notices: tuple[str, ...] = ()
    """What could not be read as it was meant, with its line."""


@dataclass(frozen=True, slots=True)
class RefusedSource:
    """A source in a folder that could not be read; the others were."""

    source_file: str
    error: Invalid


def parse(path: Path, kind: SourceKind | None = None, *, within: Path | None = None) -> ParsedSource:
    """Read the entries of one file, with the parser its name or contents ask for, or that of `kind`.

    Args:
        path: The file.
        kind: The parser, where the name would choose the wrong one.
        within: The folder that entries name the file from, and that it must be in.

    Raises:
        Invalid: the file is refused, or says something an entry cannot hold; in words that name file and line.
    """
    source_file = _name_of(path, within)
    with collect_notices() as notices:
        text = read_text(path, within=within)
    parsed = parse_text(text, source_file, kind)
    return replace(parsed, notices=(*notices, *parsed.notices))


def parse_text(text: str, source_file: str, kind: SourceKind | None = None) -> ParsedSource:
    """Read the entries of a text, as of a file of that name: how an upload is parsed.

    Raises:
        Invalid: as `parse`.
    """
    if kind is not None and kind not in PARSERS:
        raise Invalid(f"{kind} is no kind of source.", hint=f"Known: {', '.join(get_args(SourceKind))}.")
    chosen = kind or kind_for(source_file, text)
    with collect_left_out() as left_out, collect_notices(most=LINES) as notices:
        entries = tuple(PARSERS[chosen](text, source_file))
    if len(entries) > ENTRIES:
        raise Invalid(f"{source_file}: has {len(entries):,} entries; the limit is {ENTRIES:,}.", hint="Split the file.")
    return ParsedSource(source_file, chosen, entries, tuple(left_out), tuple(notices))


def parse_folder(folder: Path, kind: SourceKind | None = None) -> Iterator[ParsedSource | RefusedSource]:
    """Read every source in a folder, one at a time, so that progress can be shown. A bad file does not stop the rest.

    Raises:
        Invalid: as `find_sources`.
    """
    for path in find_sources(folder):
        try:
            yield parse(path, kind, within=folder)
        except Invalid as error:
            yield RefusedSource(_name_of(path, folder), error)


def in_one(sources: Iterable[ParsedSource]) -> tuple[SourceEntry, ...]:
    """Return the entries of several sources as those of one: each key begins with the path of its file."""
    keys = Keys()
    return tuple(entry for source in sources for entry in _move_below(source, keys))


def _move_below(source: ParsedSource, keys: Keys) -> Iterator[SourceEntry]:
    names = {entry.key: keys.claim(source.source_file, entry.key) for entry in source.entries}
    for entry in source.entries:
        moved = entry.model_copy(update={"key": names[entry.key], "parent": names.get(entry.parent, "")})
        # The key counts in the fingerprint: with that of the old one, each entry would look edited.
        yield moved.model_copy(update={"origin": moved.fingerprint()})


def find_sources(folder: Path, accept: Callable[[str], bool] | None = None) -> list[Path]:
    """Return the files in a folder that a parser reads, in a stable order, without following links.

    Args:
        wanted: Says of a file's name whether it counts. Default: whether a parser exists for it.

    Raises:
        Invalid: it is no folder, or holds more than 10,000 sources or 256 MiB of them.
    """
    if folder.is_symlink() or not folder.is_dir():
        raise Invalid(f"{folder.name} is not a folder.", hint="Give the path of a folder, not of a link to one.")
    found: list[Path] = []
    size = 0
    for path in _files(folder, FOLDER_DEPTH, accept or is_source):
        size += path.lstat().st_size
        found.append(path)
        if len(found) > FILES:
            raise Invalid(f"{folder.name} has more than {FILES:,} sources.", hint="Name a smaller folder.")
        if size > TOTAL_BYTES:
            raise Invalid(f"{folder.name} has more than {TOTAL_BYTES:,} bytes.", hint="Name a smaller folder.")
    return found


def _files(folder: Path, depth: int, accept: Callable[[str], bool]) -> Iterator[Path]:
    with os.scandir(folder) as found:
        inside = sorted(found, key=lambda one: one.name)
    for one in inside:
        if one.is_dir(follow_symlinks=False):
            if depth and _is_worth_entering(one.name):
                yield from _files(Path(one.path), depth - 1, accept)
        elif one.is_file(follow_symlinks=False) and accept(one.name):
            yield Path(one.path)


def _is_worth_entering(name: str) -> bool:
    return name in READ_THOUGH_HIDDEN or not (name.startswith(".") or name in LEFT_ALONE)


def is_source(name: str) -> bool:
    """Say whether a parser exists for files of that name. YAML counts only where its name says what it holds."""
    lowered = name.casefold()
    ending = PurePosixPath(lowered).suffix
    is_ours = ending in YAML and slug(PurePosixPath(lowered).stem) in {"learnings", "lessons-learned", "templates"}
    return ending in MARKDOWN or lowered in INSTRUCTIONS or lowered.endswith(INSTRUCTION_ENDINGS) or is_ours


def kind_for(source_file: str, text: str) -> SourceKind:
    """Return the kind of source that the name of a file, its folder and its first headings suggest."""
    path = PurePosixPath(source_file.casefold())
    folders, stem = {slug(part) for part in path.parent.parts}, slug(path.stem)
    if path.suffix in YAML:
        return "learnings" if stem == "learnings" else "entries"
    if path.name in INSTRUCTIONS or path.name.endswith(INSTRUCTION_ENDINGS):
        return "instructions"
    if "template" in stem.split("-") or {"template", "templates"} & folders:
        return "template"
    if "lessons-learned" in stem or stem in {"lessons", "learnings"}:
        return "lessons"
    if stem.startswith("adr-") or {"adr", "adrs", "decisions"} & folders:
        return "adr"
    return _kind_by_headings(text)


def _kind_by_headings(text: str) -> SourceKind:
    # A guess, so the first lines will do, and a full parse waits until it is known which.
    headings = _headings(text[:HEAD_CHARS].split("\n"))
    names = {heading.casefold() for heading in headings}
    if {"status", "context", "decision"} <= names or {"context and problem statement", "decision outcome"} <= names:
        return "adr"
    return "lessons" if is_of_lessons(headings) else "markdown"


def _headings(lines: list[str]) -> list[str]:
    """Return what the lines have of headings, those that are underlined too."""
    return [
        line.lstrip("#").strip()
        for line, following in zip_longest(lines, lines[1:], fillvalue="")
        if line.startswith("#") or (line[:1].isalnum() and len(following) > 2 and set(following.strip()) in UNDERLINES)
    ]


def _name_of(path: Path, within: Path | None) -> str:
    """Return the path as entries name it: never an absolute one, which would tell where someone keeps their files."""
    if within is not None and path.resolve().is_relative_to(within.resolve()):
        return path.resolve().relative_to(within.resolve()).as_posix()
    return path.name if path.is_absolute() or ".." in path.parts else path.as_posix()
