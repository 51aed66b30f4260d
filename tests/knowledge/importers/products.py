"""Files and archives to import."""

import io
import json
import zipfile
from pathlib import Path
from typing import Any


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
