"""What MkDocs does not do by itself: pages that lie at the root of the repository, and anchors as GitHub makes them.

`/help/` of a running BigMind reads the same files by the same rules (`bigmind/help`).
"""

import re
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File, Files

from bigmind.help.rendering import anchor_of

ROOT = Path(__file__).parent.parent
AT_THE_ROOT = ("SECURITY.md", "CONTRIBUTING.md", "CHANGELOG.md")
_UP = re.compile(rf"\]\(\.\./({'|'.join(map(re.escape, AT_THE_ROOT))})")
_LINK = re.compile(r"\]\((?:\.\./)?(docs/)?([^)\s]+)\)")


def on_config(config: Any) -> Any:
    """Make the anchors, and list the pages that a pattern of the navigation stands for."""
    config.mdx_configs.setdefault("toc", {})["slugify"] = lambda heading, _separator: anchor_of(heading)
    for group in config.nav:
        for title, items in group.items():
            group[title] = [page for item in items for page in _expand(item)]
    return config


def on_files(files: Files, config: Any) -> Files:
    """Add the pages at the root."""
    for name in AT_THE_ROOT:
        files.append(File.generated(config, name, abs_src_path=str(ROOT / name)))
    return files


def on_page_markdown(markdown: str, page: Any, config: Any, files: Files) -> str:
    """Turn `docs/x.md` on a page at the root, and `../SECURITY.md` on any other, into what the site calls them."""
    if page.file.src_uri in AT_THE_ROOT:
        return _LINK.sub(r"](\2)", markdown)
    return _UP.sub(r"](\1", markdown)


def _expand(item: Any) -> list[Any]:
    if not isinstance(item, str) or "*" not in item:
        return [item]
    return sorted(path.relative_to(ROOT / "docs").as_posix() for path in (ROOT / "docs").glob(item))
