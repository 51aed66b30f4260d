"""Uploads: files from a browser or an agent, read in a process of its own where reading them could take long."""

import io
import zipfile
from dataclasses import dataclass
from typing import Any

from bigmind.core.errors import Invalid
from knowledge.parsers.archives import FilesInMemory, bundle_from
from knowledge.parsers.separate_process import ProcessBudget, perform_apart

from .formats import AUTO, FORMATS, ImportFormat, format_of, read
from .memory_drafts import DRAFTS, Reading
from .own_documents import is_own_document, read_document

SMALL_BYTES = 8 * 1024
"""Tables of markdown take 0.3 s for these, and seconds for eight times as much. Decision 40."""
BUDGET = ProcessBudget(processor_seconds=30, seconds=60, megabytes=512)


@dataclass(frozen=True)
class Upload:
    """What was in a file: a document of BigMind's own, or what was read of another program's export."""

    name: str
    document: Any = None
    format_name: str = ""
    reading: Reading | None = None

    @property
    def format(self) -> ImportFormat:
        return next(one for one in FORMATS if one.name == self.format_name)


def read_upload(content: bytes, name: str, *, most: int = DRAFTS) -> Upload:
    """Read a file of whatever kind, small ones here and others in a process that is killed if they take too much.

    Raises:
        Invalid: it cannot be read, has too much in it, or takes too much to read.
    """
    # However small, an archive may unpack to much.
    if len(content) <= SMALL_BYTES and not zipfile.is_zipfile(io.BytesIO(content)):
        return open_upload(content, name, most)
    return perform_apart(f"The file {name}", BUDGET, open_upload, content, name, most)


def read_files(files: FilesInMemory, name: str = AUTO) -> Upload:
    """Read files of another program that were sent, few bytes here and others in such a process.

    Args:
        files: What was sent.
        name: The format; `auto` detects it.

    Raises:
        Invalid: they cannot be read, there is nothing in them, or they take too much to read.
    """
    if sum(len(path) + len(content) for path, content in files.files.items()) <= SMALL_BYTES:
        return open_files(files, name)
    return perform_apart("The document", BUDGET, open_files, files, name)


def open_files(files: FilesInMemory, name: str) -> Upload:
    """Read them here and now.

    Raises:
        Invalid: they cannot be read, or there is nothing in them.
    """
    format = format_of(files, name)
    return Upload(files.name, format_name=format.name, reading=read(files, format))


def open_upload(content: bytes, name: str, most: int) -> Upload:
    """Read a file here and now.

    Raises:
        Invalid: it cannot be read, or has too much in it.
    """
    bundle = bundle_from(io.BytesIO(content), name)
    # A file of unknown format is treated as a document of our own.
    if is_own_document(bundle) or not any(one.looks_like(bundle) for one in FORMATS):
        return Upload(bundle.name, document=read_document(bundle))
    try:
        format = format_of(bundle)
        return Upload(bundle.name, format_name=format.name, reading=read(bundle, format, most=most))
    except Invalid as refusal:
        # What is wrong is the file: say so beside its field, with the way out.
        problem = {
            "field": "document",
            "message": f"is refused: {refusal.message.rstrip('.')}. {refusal.hint or ''}".strip(" ."),
        }
        raise Invalid(refusal.message, problems=[problem]) from refusal
