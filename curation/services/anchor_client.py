"""What `bigmind verify` exchanges with a BigMind: entries that cite code, results and edits."""

from collections.abc import Iterator
from dataclasses import dataclass
from uuid import NAMESPACE_URL, uuid5

from bigmind.core.limits import COMPANY_TITLE_CHARS
from bigmind.privacy.screening import redact
from bigmind.text.hygiene import one_line, show_hidden
from curation.services.anchor_reports import MOST_RESULTS, REASON_CHARS
from curation.upstream.company_client import CompanyWire, ListChanged, TurnedDown
from knowledge.anchors.judging import AnchorVerdict
from knowledge.anchors.reports import difference
from knowledge.anchors.verifying import AnchoredEntry, EntryResult, Verification, read_entries
from knowledge.kinds import KINDS
from knowledge.models import Kind

EVIDENCE_CHARS = 4_000
INVALID = 422


@dataclass(frozen=True)
class AnchorServer:
    """A BigMind, as a check of a repository talks to it."""

    wire: CompanyWire

    def entries(self, *, own: bool) -> list[AnchoredEntry]:
        """Return all shared items that cite code; those of the key's user only if requested.

        Raises:
            Away: the server is unreachable.
            TurnedDown: it refuses.
        """
        kinds = [kind for kind, row in KINDS.items() if row.anchored and (own or row.is_shared)]
        return read_entries([item for kind in kinds for item in self._read(kind)])

    def _read(self, kind: str) -> list[dict[str, object]]:
        """Return a list, read once more if it changes meanwhile: no schedule reads it again later."""
        try:
            return list(self.wire.read_anchors(kind))
        except ListChanged:
            return list(self.wire.read_anchors(kind))

    def submit(self, done: Verification) -> str:
        """Report what a check found; return what follows, in words."""
        false, doubtful, checked = list[str](), list[str](), 0
        rows = [row for result in done.results for row in _rows(result, done.head)]
        for begin in range(0, len(rows), MOST_RESULTS):
            body = {"repository": done.repository or "unnamed", "commit": done.head}
            reply = self.wire.report_anchors({**body, "results": rows[begin : begin + MOST_RESULTS]})
            checked, false, doubtful = checked + reply.checked, false + reply.false, doubtful + reply.doubtful
        return f"Reported {checked} anchors; newly false: {_names(false)}; newly doubtful: {_names(doubtful)}."

    def propose(self, done: Verification) -> Iterator[str]:
        """Propose the suggested edits of company entries; yield the handle and what became of each."""
        for result in done.results:
            if result.offers_edit and result.entry.kind == Kind.COMPANY:
                body = _proposal(result, done)
                # The same edit for the same commit is proposed once, however often the job runs.
                key = uuid5(NAMESPACE_URL, f"{result.entry.handle} {done.head} {result.edited_content}")
                try:
                    yield f"C{self.wire.propose(body, key=key).entry.id} for {result.entry.handle}"
                except TurnedDown as refused:
                    if refused.status != INVALID:
                        raise
                    # An edit repeats code: one that no text may have, such as a key, must not stop the others.
                    yield f"nothing for {result.entry.handle}: {refused}"


def _rows(result: EntryResult, head: str) -> Iterator[dict[str, object]]:
    for found in result.findings:
        if found.verdict is not AnchorVerdict.UNKNOWN:
            moved_to = str(found.moved_to.at(head)) if found.moved_to else ""
            row = {
                "kind": result.entry.kind,
                "id": result.entry.id,
                "anchor": str(found.anchor),
                "verdict": found.verdict.value,
                # It repeats code, which may hold what the server refuses, and with it all other results.
                "reason": redact(one_line(show_hidden(found.reason)))[:REASON_CHARS],
                "moved_to": moved_to,
            }
            yield {name: value for name, value in row.items() if value != ""}


def _proposal(result: EntryResult, done: Verification) -> dict[str, object]:
    entry = result.entry
    why = f"{entry.handle} {result.reason} {done.repository} at {done.head[:12]}. An edit of {entry.handle}:\n"
    return {
        "category": entry.category,
        "title": result.edited_title[:COMPANY_TITLE_CHARS],
        "content": result.edited_content,
        "importance": entry.importance,
        "project": entry.project,
        "evidence": "\n".join([why, *difference(result)])[:EVIDENCE_CHARS],
        "anchors": result.anchors_after(done.head),
        "source_kind": entry.kind,
        "source_id": entry.id,
        "origin": "tool",
        "keep_here": True,
    }


def _names(handles: list[str]) -> str:
    return ", ".join(handles) or "none"
