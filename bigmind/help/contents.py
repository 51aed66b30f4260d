"""Which pages the documentation has, in which order, and where a link between them leads.

`mkdocs.yml` lists the pages, for `/help/` and for the static site alike.
"""

import posixpath
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml
from django.conf import settings

from bigmind.core.load_once import load_once

NAVIGATION = "mkdocs.yml"
FOLDER = "docs"
INDEX = "index"
PICTURES = {".svg": "image/svg+xml", ".webp": "image/webp"}


@dataclass(frozen=True)
class HelpPage:
    """One page. `path` is the file below the folder of all files, `slug` what stands in its address."""

    slug: str
    path: str
    group: str
    label: str = ""

    @property
    def file(self) -> Path:
        """Where the page is on the disk."""
        return files() / self.path


@dataclass(frozen=True)
class HelpGroup:
    """Pages for the same readers."""

    title: str
    pages: tuple[HelpPage, ...]


def files() -> Path:
    """Return the folder with `mkdocs.yml` and `docs`: the clone, or the package that a wheel installed."""
    return Path(settings.FILES)


@load_once
def groups() -> tuple[HelpGroup, ...]:
    navigation: list[dict[str, Any]] = yaml.safe_load((files() / NAVIGATION).read_text(encoding="utf-8"))["nav"]
    return tuple(
        HelpGroup(title, tuple(page for item in items for page in _pages(title, item)))
        for group in navigation
        for title, items in group.items()
    )


@load_once
def pages() -> dict[str, HelpPage]:
    return {page.slug: page for group in groups() for page in group.pages}


@load_once
def pictures() -> dict[str, Path]:
    """Return the pictures of the pages by their path below `docs`. Nothing else is served from there."""
    folder = files() / FOLDER
    found = sorted(file for kind in PICTURES for file in folder.rglob(f"*{kind}"))
    return {file.relative_to(folder).as_posix(): file for file in found}


def expand(pattern: str) -> list[str]:
    """Return the pages that one line of the navigation stands for: itself, or what `decisions/*.md` matches."""
    folder = files() / FOLDER
    return sorted(file.relative_to(folder).as_posix() for file in folder.glob(pattern)) if "*" in pattern else [pattern]


def path_of(source: str) -> str:
    """Return where the file of a page is: below `docs`, or at the root, where GitHub looks for it."""
    below = f"{FOLDER}/{source}"
    return below if (files() / below).exists() else source


def target_of(page: HelpPage, link: str) -> str:
    """Return what a link of a page names, as a path below `docs` or at the root: `SECURITY.md` for `../SECURITY.md`."""
    target = posixpath.normpath(posixpath.join(posixpath.dirname(page.path), link))
    return target.removeprefix(f"{FOLDER}/")


def _pages(group: str, item: "str | dict[str, str]") -> list[HelpPage]:
    label, pattern = next(iter(item.items())) if isinstance(item, dict) else ("", item)
    return [HelpPage(source.removesuffix(".md"), path_of(source), group, label) for source in expand(pattern)]
