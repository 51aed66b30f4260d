"""App maps in a zip: written for downloads, and read as untrusted input."""

import io
import zipfile
from collections.abc import Mapping

from bigmind.core.errors import Invalid
from knowledge.app_maps.files.map_folders import FILES, check_path
from knowledge.parsers.archives import Archive

UNPACKED_BYTES = 8 * 1024 * 1024
_MADE = (1980, 1, 1, 0, 0, 0)


def pack(files: Mapping[str, str]) -> bytes:
    """Return a zip of these files. The same files give the same bytes."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for path, text in files.items():
            archive.writestr(zipfile.ZipInfo(path, _MADE), text.encode())
    return buffer.getvalue()


def unpack(raw: bytes) -> dict[str, bytes]:
    """Return the YAML files in a zip, by their paths. A folder that holds everything may stand around them.

    Raises:
        Invalid: it is no zip, leads elsewhere, or unpacks to too much; nothing is unpacked to find that out.
    """
    archive = Archive(io.BytesIO(raw), "The file")
    names = [name for name in archive.names() if name.endswith((".yaml", ".yml"))]
    if len(names) > FILES:
        raise Invalid(f"The zip has {len(names):,} files; the limit is {FILES:,}.")
    around = _folder_around(names)
    files: dict[str, bytes] = {}
    left = UNPACKED_BYTES
    for name in names:
        path = name.removeprefix(around)
        check_path(path)
        with archive.open(name) as file:
            files[path] = file.read(left + 1)
        left -= len(files[path])
        if left < 0:
            raise Invalid(f"The zip unpacks to more than {UNPACKED_BYTES:,} bytes.")
    return files


def _folder_around(paths: list[str]) -> str:
    """People zip a folder, or a skill with one in it: return where the index stands, if all files are below it.

    Without an index it is the one folder that holds everything, unless that is an app's.
    """
    indexes = [path.rpartition("/")[0] for path in paths if path.rpartition("/")[2] in {"_index.yaml", "_index.yml"}]
    top = min(indexes, key=lambda folder: folder.count("/") if folder else -1, default="")
    if top and all(path.startswith(f"{top}/") for path in paths):
        return f"{top}/"
    firsts = {path.partition("/")[0] for path in paths}
    if len(firsts) != 1 or not all("/" in path for path in paths):
        return ""
    return f"{firsts.pop()}/" if any(path.count("/") == 2 for path in paths) else ""
