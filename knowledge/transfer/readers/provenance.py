"""Provenance beside a memory that was taken out: which text came from where, signed by the BigMind that wrote it.

It lies beside the files of any format. On the way in it is believed as far as its signature and the texts go: a text
that someone changed has none. It never says that anything is approved here.

Beside the files and not in them, because no format has a place for it that all programs leave alone. Texts are known by
their digests, so that it holds however a program renames or reorders what it was given. Decision 59.
"""

from collections.abc import Iterable, Mapping
from hashlib import sha256
from pathlib import PurePosixPath
from typing import Any

from bigmind.core.errors import Invalid
from bigmind.core.signed_documents import SignatureVerdict, check_signature, is_our_key, sign
from knowledge.parsers.archives import Bundle

from .items import DRAFTS, Item
from .json_rows import as_json, document_in, listing, mapping
from .memory_drafts import MemoryDraft, Reading

NAME = "bigmind-provenance.json"
FORMAT, PURPOSE = "bigmind-provenance", "bigmind.provenance"
KEY_CHARS = 16


def fingerprint(text: str) -> str:
    """Return a digest of a text, to the byte."""
    return sha256(text.encode(errors="surrogatepass")).hexdigest()[:32]


def provenance_file(program: str, at: str, by: str, items: Iterable[tuple[str, Item, Mapping[str, Any]]]) -> str:
    """Return the file: for each item its path, its kind, the digest of its text, and where it came from."""
    rows = [{"file": path, "kind": item.kind, "text": fingerprint(item.text), **source} for path, item, source in items]
    signed = {"format": FORMAT, "version": 1, "program": program, "at": at, "by": by, "items": rows}
    return as_json({"signed": signed, **sign(signed, purpose=PURPOSE)})


def read_provenance(bundle: Bundle, reading: Reading) -> None:
    """Check the provenance beside the files, if there is any; keep in the reading what it says and who signed it."""
    name = next((name for name in bundle.names() if PurePosixPath(name).name == NAME), "")
    if not name:
        return
    try:
        with bundle.open(name) as file:
            document = document_in(file, name)
    except Invalid as error:
        reading.notices.append(f"The provenance beside it cannot be read and is not used. {error}")
        return
    verdict = check_signature(document, purpose=PURPOSE) if isinstance(document, Mapping) else SignatureVerdict.CHANGED
    if verdict is SignatureVerdict.CHANGED:
        reading.notices.append(f"{name}: the signature does not match, so what it says of sources is not used.")
        return
    reading.signed = _by_text(document["signed"], str(document["public_key"])[:KEY_CHARS])
    reading.signer = bytes.fromhex(document["public_key"]).hex()


def signer_notice(reading: Reading) -> list[str]:
    """Return what there is to say of who signed what was read; nothing where nobody did.

    Only a process that knows the key of this BigMind can tell: files may have been read in one that does not.
    """
    if not reading.signer:
        return []
    known = sum(_text(placed.draft) in reading.signed for placed in reading.drafts)
    is_ours = is_our_key(reading.signer, purpose=PURPOSE)
    whose = "this BigMind" if is_ours else f"another BigMind (key {reading.signer[:KEY_CHARS]})"
    rest = len(reading.drafts) - known
    changed = f"; {rest:,} were changed or added since" if rest else ""
    return [f"{known:,} items are as {whose} signed them{changed}. Nothing is approved by that."]


def _by_text(signed: Any, key: str) -> dict[str, Mapping[str, Any]]:
    return {
        str(row["text"]): {
            "key": key,
            **{name: str(row[name])[:300] for name in ("source", "session", "file") if row.get(name)},
        }
        for row in listing(mapping(signed).get("items"))
        if isinstance(row, Mapping) and isinstance(row.get("text"), str)
    }


def _text(draft: MemoryDraft) -> str:
    """The digest of a draft's text, as the provenance has it."""
    kind = next((kind for kind, one in DRAFTS.items() if isinstance(draft, one)), "")
    return fingerprint(Item(kind, draft.model_dump()).text) if kind else ""
