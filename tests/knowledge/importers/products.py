"""Exports of products with pages, as these products write them."""

# ruff: noqa: E501 - products write long lines

import io
import json
import zipfile
from pathlib import Path
from typing import Any


def gh_issue(number: int, **more: Any) -> dict[str, Any]:
    """An issue as `gh issue list --json` writes it."""
    return {
        "number": number,
        "title": f"Problem {number}",
        "state": "CLOSED",
        "stateReason": "COMPLETED",
        "url": f"https://github.com/acme/widgets/issues/{number}",
        "author": {"login": "reporter", "is_bot": False, "name": "R"},
        "body": "It breaks.",
        "labels": [{"name": "bug", "color": "d73a4a"}],
        "createdAt": "2024-05-01T10:00:00Z",
        "closedAt": "2024-05-04T10:00:00Z",
        "comments": [
            {"author": {"login": "x"}, "authorAssociation": "NONE", "body": "The fix: use `--force`.", "createdAt": "2024-05-02T10:00:00Z",
             "reactionGroups": [{"content": "THUMBS_UP", "users": {"totalCount": 4}}], "isMinimized": False},
            {"author": None, "authorAssociation": "OWNER", "body": "Spam that was solved and hidden.", "isMinimized": True},
        ],
        **more,
    }  # fmt: skip


def packed(files: dict[str, str | bytes], *, modes: dict[str, int] | None = None) -> bytes:
    """Return files as a zip archive."""
    raw = io.BytesIO()
    with zipfile.ZipFile(raw, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            member = zipfile.ZipInfo(name, (2024, 5, 4, 9, 30, 0))
            member.compress_type, member.external_attr = zipfile.ZIP_DEFLATED, (modes or {}).get(name, 0o644) << 16
            archive.writestr(member, content)
    return raw.getvalue()


def write(path: Path, content: bytes | Any) -> Path:
    """Write a file and return its path; what is no bytes as JSON."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content if isinstance(content, bytes) else json.dumps(content).encode())
    return path
