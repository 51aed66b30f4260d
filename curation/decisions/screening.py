"""Screening: finds secrets and prompt injections in a proposal, for curators to see before they decide."""

from collections.abc import Iterator

from bigmind.privacy.injections import find_injections
from bigmind.privacy.screening import find_secrets
from bigmind.text.hygiene import CleanTexts, show_hidden
from curation.shapes.briefings import SuspicionShape
from knowledge.models import CompanyEntry

AROUND = 30
EXCERPT_CHARS = 160
SHOWN = 20
_clean = CleanTexts()


def suspicions_about(entry: CompanyEntry) -> list[SuspicionShape]:
    """Return the suspicious passages of an entry, warnings first."""
    texts = (entry.title, entry.content, entry.evidence)
    found = _clean.unless_known(_suspicions_in, *texts)
    return sorted(found, key=lambda suspicion: not suspicion.is_warning)[:SHOWN]


def _suspicions_in(*texts: str) -> list[SuspicionShape]:
    return [suspicion for text in texts for suspicion in _suspicions(text)]


def _suspicions(text: str) -> Iterator[SuspicionShape]:
    for secret in find_secrets(text):
        yield SuspicionShape(
            kind=secret.kind, why="Every agent here would be told it.", excerpt="(not shown)", is_warning=True
        )
    for found in find_injections(text):
        excerpt = _excerpt(text, found.start, found.end)
        yield SuspicionShape(kind=found.kind, why=found.why, excerpt=excerpt, is_warning=found.severity == "warning")


def _excerpt(text: str, start: int, end: int) -> str:
    """Return the passage with a little around it. Hidden characters are made visible: they are how injections hide."""
    begins, ends = max(0, start - AROUND), min(len(text), end + AROUND)
    excerpt = show_hidden(text[begins:ends])[:EXCERPT_CHARS]
    return f"{'…' if begins else ''}{excerpt}{'…' if ends < len(text) else ''}"
