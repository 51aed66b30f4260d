"""The first BigMind: its JSON export, or its database, which `older_databases` reads as the same document."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from bigmind.core.errors import Invalid
from knowledge.parsers.archives import Bundle

from . import older_databases
from .json_rows import SIGNS_WITHIN, document_in, listing, start_of
from .memory_drafts import (
    ChunkDraft,
    CompanyDraft,
    DraftRow,
    FactDraft,
    HypothesisDraft,
    ProfileDraft,
    Row,
    SessionDraft,
    Unread,
    moment_of,
)
from .words import headline

DOCUMENT_BYTES = 64 * 1024 * 1024
PROFILES = ("identity", "identity_profile", "profile")
CHUNKS = ("chunks", "conversation_chunks")
SUMMARIES = ("session_summaries", "summaries")
SUMMARY = ("summary", "tier2", "session_summary", "detail")
SIGNS = (*PROFILES[:2], CHUNKS[1], "global_knowledge", "user_id", "deprecated", "has_tier2")
"""What only the first BigMind's exports say; facts and sessions are called so in today's, too."""
CATEGORIES = {"preference", "decision", "codebase", "constraint", "identity"}


def looks_like(bundle: Bundle) -> bool:
    """Whether it is a database of SQLite, or a JSON document with facts and sessions."""
    return any(older_databases.is_database(bundle, name) or _is_export(bundle, name) for name in bundle.names())


def rows(bundle: Bundle, *, whose: str = "") -> Iterator[Row]:
    """Yield everything one user had there. `whose` names the user where the database holds several."""
    for name in bundle.names():
        if older_databases.is_database(bundle, name):
            yield from _rows(name, older_databases.document_from(bundle, name, whose=whose))
        elif name.lower().endswith(".json"):
            with bundle.open(name) as file:
                document = document_in(file, name, limit=DOCUMENT_BYTES)
            if not isinstance(document, dict):
                raise Invalid(f"{name}: is no export of BigMind.", hint="Give what memory_export wrote.")
            yield from _rows(name, document)


def _rows(name: str, document: Mapping[str, Any]) -> Iterator[Row]:
    yield from _profile(name, next((document[key] for key in PROFILES if document.get(key)), None))
    chunks = _by_session([one for key in CHUNKS for one in listing(document.get(key))])
    summaries = {
        str(one.get("id") or one.get("session_id")): one for key in SUMMARIES for one in _maps(document.get(key))
    }
    for place, record in _with_places(name, "session", document.get("sessions")):
        yield (
            _session(place, record, summaries, chunks)
            if isinstance(record, Mapping)
            else Unread(place, "is no session.")
        )
    for sort, key, read in SORTS:
        for place, record in _with_places(name, sort, document.get(key)):
            yield read(place, record) if isinstance(record, Mapping) else Unread(place, f"is no {sort}.")


def _profile(name: str, profiles: Any) -> Iterator[Row]:
    if isinstance(profiles, list):
        profiles = profiles[0] if profiles else None
    if isinstance(profiles, Mapping):
        fields = {
            "role": profiles.get("role") or "",
            "preferences": profiles.get("preferences") or "",
            "pinned_facts": _lines(profiles.get("pinned_facts")),
        }
        yield DraftRow(f"{name}, identity", ProfileDraft, fields)


def _session(
    place: str, record: Mapping[str, Any], summaries: Mapping[str, Any], chunks: Mapping[str, list[Mapping[str, Any]]]
) -> Row:
    source_id = str(record.get("id") or "")
    own = next((record[key] for key in SUMMARY if record.get(key)), None) or summaries.get(source_id)
    narrative = own if isinstance(own, Mapping) else {"summary": own or ""}
    flagged = [*_maps(next((record[key] for key in CHUNKS if record.get(key)), None)), *chunks.get(source_id, [])]
    started = moment_of(record.get("started_at"))
    ended = moment_of(record.get("ended_at"))
    fields = {
        "source_id": source_id,
        "one_liner": headline(str(record.get("one_liner") or ""), otherwise="Imported session"),
        "started_at": started,
        # One that was open there will never be ended here.
        "ended_at": max(started, ended) if started and ended else started,
        "topics": _names(record.get("topics")),
        "outcome": record.get("outcome") or "",
        "importance": record.get("importance") or 5,
        "summary": narrative.get("summary") or "",
        "key_facts": _lines(narrative.get("key_facts") or record.get("key_facts")),
        "code_refs": _lines(narrative.get("code_refs") or record.get("code_refs")),
        "chunks": [_chunk(one) for one in sorted(flagged, key=lambda one: _number(one.get("seq")))],
    }
    return DraftRow(place, SessionDraft, fields)


def _chunk(record: Mapping[str, Any]) -> dict[str, Any]:
    fields = {
        "role": record.get("role"),
        "content": record.get("content"),
        "flag_reason": record.get("flag_reason") or "",
        "created_at": moment_of(record.get("created_at")),
    }
    return {name: fields[name] for name in ChunkDraft.model_fields}


def _fact(place: str, record: Mapping[str, Any]) -> Row:
    gone = record.get("deprecated")
    fields = {
        "fact": record.get("fact"),
        "category": record["category"] if str(record.get("category")) in CATEGORIES else "codebase",
        "confidence": record.get("confidence"),
        "session": str(record.get("source_session") or ""),
        "created_at": moment_of(record.get("created_at")),
        "deprecated_at": (moment_of(record.get("updated_at")) or moment_of(record.get("created_at"))) if gone else None,
        "deprecation_reason": (record.get("deprecation_reason") or "Was deprecated where it comes from.")
        if gone
        else "",
    }
    return DraftRow(place, FactDraft, fields)


def _hypothesis(place: str, record: Mapping[str, Any]) -> Row:
    status = str(record.get("status") or "open")
    fields = {
        "hypothesis": record.get("hypothesis"),
        "confidence": record.get("confidence"),
        "status": status,
        "resolution": record.get("resolution") or "",
        "session": str(record.get("session_id") or ""),
        "created_at": moment_of(record.get("created_at")),
        "resolved_at": moment_of(record.get("resolved_at")) if status != "open" else None,
    }
    return DraftRow(place, HypothesisDraft, fields)


def _company(place: str, record: Mapping[str, Any]) -> Row:
    if record.get("status") == "deprecated":
        return Unread(place, "was deprecated as company knowledge, so it is not proposed again.")
    if record.get("status") == "pending":
        # Where one person decides alone, a proposal of theirs is approved at once; this one may be anybody's.
        return Unread(place, "was not approved yet, so it is left out. Whoever wants it can propose it.")
    kept: dict[str, Any] = {name: record.get(name) for name in ("category", "title", "content", "importance")}
    return DraftRow(place, CompanyDraft, kept)


SORTS = (
    ("fact", "facts", _fact),
    ("hypothesis", "hypotheses", _hypothesis),
    ("company entry", "global_knowledge", _company),
)


def _with_places(name: str, sort: str, value: Any) -> Iterator[tuple[str, Any]]:
    for number, one in enumerate(listing(value), start=1):
        id = one.get("id") if isinstance(one, Mapping) else None
        yield f"{name}, {sort} {id if isinstance(id, int | str) else number}", one


def _by_session(chunks: Iterable[Any]) -> dict[str, list[Mapping[str, Any]]]:
    found: dict[str, list[Mapping[str, Any]]] = {}
    for one in chunks:
        if isinstance(one, Mapping):
            found.setdefault(str(one.get("session_id")), []).append(one)
    return found


def _maps(value: Any) -> list[Mapping[str, Any]]:
    return [one for one in listing(value) if isinstance(one, Mapping)]


def _names(value: Any) -> list[str]:
    names = value.split(",") if isinstance(value, str) else listing(value)
    return [str(name).strip() for name in names if str(name).strip()]


def _lines(value: Any) -> list[str]:
    """Bullets or lines of a text, or the texts of a list."""
    lines = value.splitlines() if isinstance(value, str) else listing(value)
    return [text for line in lines if (text := str(line).strip().lstrip("-*•").strip())]


def _number(value: Any) -> int:
    return value if isinstance(value, int) else 0


def _is_export(bundle: Bundle, name: str) -> bool:
    if not name.lower().endswith(".json"):
        return False
    head = start_of(bundle, name, size=SIGNS_WITHIN)
    if not head.startswith("{"):
        return False
    keys = head.replace(" ", "").replace("\n", "")
    says = [f'"{key}":' in keys for key in SIGNS]
    return '"bigmind-memory"' not in head and ('"facts":' in keys or '"sessions":' in keys) and any(says)
