"""OKF: the Open Knowledge Format, version 0.2, a folder of concepts in markdown.

Source: https://github.com/GoogleCloudPlatform/knowledge-catalog/blob/main/okf/SPEC.md. Every file but `index.md` and
`log.md` has front matter with a `type`; `sources`, `generated`, `verified`, `status` and `stale_after` tell of
provenance, trust and lifecycle. What else a file says is kept.
"""

from collections.abc import Iterable, Iterator
from pathlib import PurePosixPath
from typing import Any

from bigmind import __version__
from bigmind.text.hygiene import cut
from knowledge.parsers.archives import Bundle
from knowledge.parsers.front_matter import FENCE

from .concepts import WRITTEN, any_concept, concept, concept_rows
from .items import Item
from .memory_drafts import Row

VERSION = "0.2"
FAMILIES = ("generated:", "verified:", "sources:", "stale_after:", "okf_version:")
DESCRIPTION_CHARS = 200


def looks_like(bundle: Bundle) -> bool:
    """Whether the index names the version, or a concept has a type and one of the families of OKF."""
    return any_concept(bundle, _is_concept)


def rows(bundle: Bundle) -> Iterator[Row]:
    """Yield a note for each concept, to the byte, whatever its type and keys. What it says of approval is only read."""
    return concept_rows(bundle)


def files(items: Iterable[Item]) -> Iterator[tuple[str, str, Item | None]]:
    """Yield a concept for each item, and an index of each folder."""
    listed: dict[str, list[str]] = {"": []}
    for item in items:
        path = PurePosixPath(f"{item.folder}/{item.file_name}.md".lstrip("/"))
        folder = path.parent.as_posix() if path.parent.parts else ""
        listed.setdefault(folder, []).append(f"* [{_plain(item.title)}]({path.name}) - {item.kind}")
        yield path.as_posix(), concept(item, front_of(item)), item
    for folder, lines in listed.items():
        yield f"{folder}/index.md".lstrip("/"), _index(folder, lines, sorted(listed)), None


def front_of(item: Item) -> dict[str, Any]:
    """Return what OKF itself knows of an item."""
    stale = item.fields.get("valid_until") or item.fields.get("expires_at")
    front: dict[str, Any] = {
        "type": item.kind.capitalize(),
        "title": item.title,
        "description": cut(" ".join(item.text.split()), DESCRIPTION_CHARS),
        "tags": item.tags,
        "status": "stable" if item.kind != "hypothesis" else "draft",
        "stale_after": str(stale)[:10] if stale else None,
    }
    made = item.fields.get("updated_at") or item.created_at
    if made:
        front["generated"] = {"by": f"bigmind/{__version__}", "at": made}
    return {name: value for name, value in front.items() if value}


def _is_concept(front: str) -> bool:
    # The notes of basic-memory have a type as well, and a permalink.
    return "\nokf_version:" in front or (
        "\ntype:" in front and any(f"\n{name}" in front for name in FAMILIES) and "\npermalink:" not in front
    )


def _index(folder: str, lines: list[str], folders: list[str]) -> str:
    """Return the listing of a folder. Only that of the whole bundle has front matter, with the version."""
    below = [f"* [{name}]({name}/index.md)" for name in folders if name and not folder]
    head = [] if folder else [FENCE, f'okf_version: "{VERSION}"', FENCE, ""]
    sections = [["# Concepts", "", *lines, ""] if lines else [], ["# Folders", "", *below, ""] if below else []]
    return "\n".join([*head, *sections[0], *sections[1], WRITTEN, ""])


def _plain(title: str) -> str:
    return title.replace("[", "(").replace("]", ")")
