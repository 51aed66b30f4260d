"""Templates: the whole file is one entry."""

from pathlib import PurePosixPath

from knowledge.parsers.entries import Role, SourceEntry, make_entry, slug
from knowledge.parsers.outline import read_outline

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
