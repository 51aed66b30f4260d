"""Pages of other products: they become private notes, entries of the knowledge base, or documentation.

What each becomes is chosen, or the default for it. Each kind recognizes its items by source and place, keeps edits made
here, lists what the source no longer has, and approves nothing.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from django.utils import timezone
from pydantic import ValidationError

from accounts.actor import Actor
from bigmind.core.argument_checks import refusal
from bigmind.core.errors import Forbidden, Invalid
from bigmind.text.hygiene import cut, one_line
from knowledge.argument_types import ReferenceKind
from knowledge.kb.entry_sources import delete_removed, import_source
from knowledge.kb.source_identity import HALF, require_consent
from knowledge.models import ReferenceCollection
from knowledge.parsers.entries import KEY_CHARS, SourceEntry, slug
from knowledge.parsers.repositories import SourcePlace, place_of
from knowledge.references.arguments import SLUG_CHARS
from knowledge.references.imports import ImportedReferences, import_placed
from knowledge.references.readers.reference_drafts import ReferenceDraft
from knowledge.transfer.import_receipts import MovedIn
from knowledge.transfer.readers.formats import DESTINATIONS, ImportFormat
from knowledge.transfer.readers.memory_drafts import PageDraft, PageSource, Reading
from knowledge.transfer.readers.words import parts_of
from knowledge.transfer.vaults import NoteImport

SUMMARY_CHARS = 200
RELATED = 50
SOURCE_CHARS = 500


@dataclass(frozen=True)
class PageChoice:
    """What pages are to become; empty is the default for them.

    `collection` is the name of the documentation, `removes` whether to delete here what the source no longer has,
    `replaces` whether to change or remove even most of what the source brought; else that is refused.
    """

    into: str = ""
    collection: str = ""
    removes: bool = False
    replaces: bool = False

    def __post_init__(self) -> None:
        if self.into and self.into not in DESTINATIONS:
            raise Invalid.of("into", f"must be one of {', '.join(DESTINATIONS)}")
        if self.collection and slug(self.collection, SLUG_CHARS) != self.collection:
            raise Invalid.of("collection", f"has up to {SLUG_CHARS} of a-z, 0-9 and -, such as handbook")


USUAL = PageChoice()


@dataclass(frozen=True)
class _Pages:
    """The pages of one source that become one thing."""

    actor: Actor
    source: SourcePlace | str
    origin: PageSource
    pages: Sequence[PageDraft]
    choice: PageChoice
    report: MovedIn

    @property
    def is_whole(self) -> bool:
        """Whether missing pages are deleted ones: all of the source could be read."""
        return not self.report.refused


def bring_in_pages(
    actor: Actor,
    reading: Reading,
    format: ImportFormat,
    choice: PageChoice,
    report: MovedIn,
    *,
    folder: Path | None = None,
) -> None:
    """Store the pages of a source where they belong, and count them in the report.

    Args:
        folder: Where the bundle lies on this machine. A source whose name others may have is known by it. Decision 80.

    Raises:
        Forbidden: they are to become documentation, which only curators change.
    """
    pages = [placed.draft for placed in reading.drafts if isinstance(placed.draft, PageDraft)]
    origin = reading.origin or PageSource(format.name)
    place = place_of_pages(origin, folder)
    source = place.read_by(format.name, origin.name) if place else f"{format.name}:{origin.name}"
    _WAYS[choice.into or DESTINATIONS[0]](_Pages(actor, source, origin, pages, choice, report))


def place_of_pages(origin: PageSource | None, folder: Path | None) -> SourcePlace | None:
    """Return where the pages of a folder lie; None if their source has a name of its own, or is no folder."""
    return place_of(folder / origin.folder) if folder and origin and origin.is_bare else None


def _as_notes(bundle: _Pages) -> None:
    importing = NoteImport(bundle.actor.user, bundle.source, bundle.origin, bundle.report)
    choice = bundle.choice
    importing.bring_in(bundle.pages, removes=choice.removes, replaces=choice.replaces)


def _as_entries(bundle: _Pages) -> None:
    entries = [entry for page in bundle.pages for entry in _entries_of(page, bundle.report)]
    replaces, is_bare = bundle.choice.replaces, bundle.origin.is_bare
    done = import_source(bundle.actor, bundle.source, entries, replaces=replaces, is_bare=is_bare)
    bundle.report.count("entries", added=len(done.added), changed=len(done.changed), unchanged=done.unchanged)
    for key in done.kept:
        bundle.report.keep(f"entry {key}")
    bundle.report.count("entries", unchanged=len(done.kept))
    bundle.report.refused += done.refused
    if bundle.is_whole:
        bundle.report.removed += [f"entry {key}" for key in done.removed]
        if bundle.choice.removes:
            delete_removed(bundle.actor, bundle.source, done, replaces=bundle.choice.replaces)


def _entries_of(page: PageDraft, report: MovedIn) -> Iterator[SourceEntry]:
    provenance = {
        "title": page.title,
        "url": page.url,
        "author": page.author,
        "created": page.created_at.isoformat() if page.created_at else "",
        "updated": page.updated_at.isoformat() if page.updated_at else "",
        "aliases": page.aliases,
    }
    now = timezone.now()
    for key, _, text in _parts(page):
        fields: dict[str, Any] = {
            "key": key,
            "content": text,
            "entry_type": "summary",
            "tags": page.tags,
            "source_file": (page.url or one_line(page.place))[:SOURCE_CHARS],
            "metadata": {name: value for name, value in provenance.items() if value},
            "created_at": min(page.created_at, now) if page.created_at else None,
            "updated_at": min(page.updated_at, now) if page.updated_at else None,
        }
        try:
            yield SourceEntry.model_validate(fields)
        except ValidationError as error:
            report.refused.append(f"{page.place}: {refusal(error, SourceEntry).message}")


def _as_documentation(bundle: _Pages) -> None:
    title = bundle.origin.title or bundle.origin.name
    collection = bundle.choice.collection or slug(title, SLUG_CHARS) or "documentation"
    if not bundle.pages and not ReferenceCollection.objects.filter(slug=collection).exists():
        return
    drafts = [draft for page in bundle.pages for draft in _references_of(page)]
    place = None if isinstance(bundle.source, str) else bundle.source
    arguments: dict[str, Any] = {
        "collection": collection,
        "drafts": drafts,
        "source": str(bundle.source),
        "replaces": bundle.choice.replaces,
    }
    try:
        # Tried as if it were complete: that names what the source no longer has, also where it is to stay.
        gone = import_placed(bundle.actor, place, **arguments, complete=True, dry_run=True)
        if place is None and bundle.origin.is_bare:
            _require_same(bundle, gone)
        removes = bundle.is_whole and bundle.choice.removes
        done = import_placed(
            bundle.actor, place, **arguments, title=_title(collection, title), complete=removes, dry_run=False
        )
    except Forbidden as error:
        hint = "Let them become entries of the knowledge base instead: into `kb`."
        raise Forbidden("Only curators and admins change documentation.", hint=hint) from error
    bundle.report.count("references", added=done.added, changed=done.changed, unchanged=done.unchanged + done.drifted)
    for key in done.keys.get("drifted", []):
        bundle.report.keep(f"reference {collection}/{key}")
    if bundle.is_whole:
        named = gone.keys.get("removed", [])
        bundle.report.removed += [f"reference {collection}/{key}" for key in named]
        if gone.removed > len(named):
            bundle.report.removed.append(f"and {gone.removed - len(named):,} more references")
    bundle.report.notices += done.troubles


def _require_same(bundle: _Pages, would: ImportedReferences) -> None:
    """Ask where a source that is known by a bare name has fewer than half of its pages as they were."""
    there = would.changed + would.removed + would.unchanged
    foreign = would.changed if would.unchanged < HALF * there else 0
    replaces = bundle.choice.replaces
    require_consent(
        str(bundle.source), changed=would.changed, removed=0, there=there, foreign=foreign, replaces=replaces
    )


def _title(collection: str, title: str) -> str | None:
    """Return the title for a collection that is new; one that is there keeps its own."""
    return None if ReferenceCollection.objects.filter(slug=collection).exists() else title[:200]


def _references_of(page: PageDraft) -> Iterator[ReferenceDraft]:
    folders = [part.strip() for part in page.folder.split("/") if part.strip()]
    written = f"{page.updated_at or page.created_at:%Y-%m-%d}" if page.updated_at or page.created_at else ""
    by = ", ".join(part for part in (page.author and f"by {page.author}", written) if part)
    place = (page.url or one_line(page.place))[: SOURCE_CHARS - len(by) - 3]
    for key, title, text in _parts(page):
        yield ReferenceDraft(
            key=key,
            kind=ReferenceKind.GUIDE,
            title=title,
            category=folders[0] if folders else "",
            subcategory=folders[1] if len(folders) > 1 else "",
            summary=_summary(text),
            content=text,
            keywords=tuple(page.tags),
            aliases=tuple(page.aliases),
            related=tuple(page.links)[:RELATED],
            source=f"{place} ({by})" if by else place,
        )


def _parts(page: PageDraft) -> Iterator[tuple[str, str, str]]:
    """Yield key, title and text of each part: a page that is longer than one item may be is divided between lines."""
    for number, text in enumerate(parts_of(page.content), start=1):
        if text.strip():
            ending = f"~{number}" if number > 1 else ""
            titled = f"{page.title} ({number})" if number > 1 else page.title
            yield f"{page.key[: KEY_CHARS - len(ending)]}{ending}", titled, text


def _summary(text: str) -> str:
    """Return the first line of a text that is neither heading nor markup."""
    lines = (line.strip() for line in text.split("\n"))
    first = next((line for line in lines if line and line[0] not in "#|-*>`!<[" and line[0].isprintable()), "")
    return cut(one_line(first[:2_000]), SUMMARY_CHARS)


_WAYS: dict[str, Callable[[_Pages], None]] = {"notes": _as_notes, "kb": _as_entries, "docs": _as_documentation}
