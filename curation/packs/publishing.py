"""Publishing: what curators choose of company knowledge and documentation becomes a signed version of a pack."""

from dataclasses import dataclass, replace
from typing import Annotated, Any

from django.db import transaction
from django.db.models import Q
from django.utils import timezone
from pydantic import Field, ValidationError

from accounts.actor import Actor
from accounts.services.audit import audit
from bigmind.core.advisory_locks import wait_for_turn
from bigmind.core.argument_checks import refusal
from bigmind.core.argument_types import SharedLongText, SharedTags
from bigmind.core.errors import Conflict, Invalid, NotFound
from bigmind.core.signed_documents import public_key_of, sign
from curation.models import GoldenQuestion, Pack, PackVersion
from curation.upstream.server import name_here
from knowledge.models import CompanyEntry, Kind, Reference, ReferenceCollection
from knowledge.references.exports import draft_again

from .documents import (
    MOST_ENTRIES,
    MOST_REFERENCES,
    PURPOSE,
    PackDocument,
    PackedEntry,
    PackName,
    PackVersionName,
    SignedPack,
    SignerName,
    document_of,
    numbers_of,
)

LOCK = 7713
FIRST = "1.0.0"
Chosen = Annotated[SharedTags, Field(description="Names, with commas between them.")]


@dataclass(frozen=True)
class PublishedPack:
    """The contents of a version, the version before, the number its changes call for; and the file, once signed."""

    document: PackDocument
    before: PackDocument | None
    suggested: str
    signed: SignedPack | None = None


@transaction.atomic
def publish_pack(
    actor: Actor,
    *,
    name: PackName,
    version: PackVersionName | None = None,
    title: SignerName | None = None,
    publisher: SignerName | None = None,
    notes: SharedLongText = "",
    projects: Chosen | None = None,
    topics: Chosen | None = None,
    collections: Chosen | None = None,
    dry_run: bool = False,
) -> PublishedPack:
    """Sign a new version of a pack, as a curator: approved entries of these projects or topics, and documentation.

    Golden questions about what is in it go with it. Where nothing is chosen, the choice is that of the version before;
    without a version, the number is the one that the changes ask for.

    Raises:
        Conflict: nothing has changed, the version is not above the last one, or the name is one of a subscription.
        Invalid: nothing is chosen, or it is too much.
    """
    actor.require("curate")
    wait_for_turn(LOCK, name)
    pack = _pack_of(name)
    chosen = _choice(pack, {"projects": projects, "topics": topics, "collections": collections})
    before = document_of(pack.accepted) if pack and pack.accepted else None
    known = {"title": before.title, "publisher": before.publisher} if before else {"publisher": name_here()}
    said = {key: value for key, value in (("title", title), ("publisher", publisher)) if value}
    document = _compose(chosen, {"title": name, **known, **said, "name": name, "notes": notes})
    suggested = _suggest(before, document)
    if before is not None:
        _require_new(before, document, version, suggested)
    document = document.model_copy(update={"version": version or suggested})
    made = PublishedPack(document, before, suggested)
    return made if dry_run else replace(made, signed=_keep(document, chosen))


def get_published_version(actor: Actor, *, name: PackName, version: PackVersionName | None = None) -> SignedPack:
    """Return a version that was published here, as it was signed: the newest, or this one. For curators.

    Raises:
        NotFound: there is none.
    """
    actor.require("curate")
    rows = PackVersion.objects.filter(pack__name=name, pack__is_ours=True)
    row = (rows.filter(version=version) if version else rows).order_by("-numbers").first()
    if row is None:
        raise NotFound(f"Nothing of this version was published as {name} here.", hint="The page “Packs” lists them.")
    return SignedPack(document_of(row), row.document, row.signature, row.public_key)


def own_public_key() -> str:
    """Return the public key that signs the packs of this instance: publishers give it to their subscribers."""
    return public_key_of(PURPOSE)


def _keep(document: PackDocument, chosen: dict[str, list[str]]) -> SignedPack:
    about = {"title": document.title, "chosen": chosen, "is_ours": True, "signer": document.publisher}
    pack, _ = Pack.objects.update_or_create(name=document.name, defaults=about)
    row = PackVersion(pack=pack, version=document.version, numbers=document.numbers, decided_at=timezone.now())
    row.state, row.document = PackVersion.State.ACCEPTED, document.model_dump(mode="json", exclude_defaults=True)
    row.save()
    # The database may format a number differently: so what it returns is signed.
    row.refresh_from_db(fields=["document"])
    proof = sign(row.document, purpose=PURPOSE)
    row.signature, row.public_key = proof["signature"], proof["public_key"]
    row.save(update_fields=["signature", "public_key"])
    audit("pack_published", pack=document.name, version=document.version, holds=document.contents)
    return SignedPack(document, row.document, row.signature, row.public_key)


def _pack_of(name: str) -> Pack | None:
    """Return what was published under a name.

    Raises:
        Conflict: a pack of someone else has the name.
    """
    pack = Pack.objects.filter(name=name).first()
    if pack is not None and not pack.is_ours:
        raise Conflict(
            f"{name} is a pack of {pack.signer}, to which this BigMind subscribes.", hint="Take another name."
        )
    return pack


def _choice(pack: Pack | None, told: dict[str, list[str] | None]) -> dict[str, list[str]]:
    if pack and not any(told.values()):
        return dict(pack.chosen)
    return {name: list(dict.fromkeys(one or [])) for name, one in told.items()}


def _compose(chosen: dict[str, list[str]], about: dict[str, Any]) -> PackDocument:
    entries, slugs = _entries(chosen), chosen["collections"]
    if not entries and not slugs:
        hint = "Name projects or topics of approved entries, or collections of documentation."
        raise Invalid.of("projects", "and topics name no approved entry that was written here", hint=hint)
    told = {
        **about,
        "version": FIRST,
        "published_at": timezone.now(),
        "entries": [_pack_entry(entry) for entry in entries],
        "collections": [_pack_collection(slug) for slug in slugs],
        "questions": _questions(entries, slugs),
    }
    try:
        return PackDocument.model_validate(told)
    except ValidationError as error:
        raise refusal(error, PackDocument) from None


def _entries(chosen: dict[str, list[str]]) -> list[CompanyEntry]:
    """Return approved entries that were written here: we do not sign what another publisher signed."""
    wanted = Q(project__in=chosen["projects"]) | Q(topics__overlap=chosen["topics"])
    rows = CompanyEntry.objects.own().approved().filter(wanted, brought_by="").order_by("pk")
    found = list(rows[: MOST_ENTRIES + 1])
    if len(found) > MOST_ENTRIES:
        raise Invalid.of("projects", f"and topics name {rows.count():,} entries; the limit of a pack is {MOST_ENTRIES}")
    return found


def _pack_entry(entry: CompanyEntry) -> dict[str, Any]:
    fields = PackedEntry.model_fields.keys() - {"key"}
    return {"key": entry.handle, **{name: getattr(entry, name) for name in fields}}


def _pack_collection(slug: str) -> dict[str, Any]:
    collection = ReferenceCollection.objects.filter(slug=slug).first()
    if collection is None:
        raise Invalid.of("collections", f"has no collection {slug} here")
    rows = list(_references(slug)[: MOST_REFERENCES + 1])
    if len(rows) > MOST_REFERENCES:
        raise Invalid.of("collections", f"{slug} has more than {MOST_REFERENCES:,} items, the limit of a pack")
    return {"slug": slug, "title": collection.title, "references": [draft_again(one) for one in rows]}


def _references(slug: str) -> Any:
    return Reference.objects.current().filter(collection__slug=slug).select_related("collection").order_by("key")


def _questions(entries: list[CompanyEntry], slugs: list[str]) -> list[dict[str, Any]]:
    """Return the golden questions about what goes into a pack."""
    finds = {(str(Kind.COMPANY), str(entry.pk)): entry.handle for entry in entries}
    for slug in slugs:
        finds |= {(str(Kind.REFERENCE), str(one.pk)): f"{slug}/{one.key}" for one in _references(slug)}
    return [
        {"question": one.question, "finds": finds[one.kind, one.source_id], "within": one.within}
        for one in GoldenQuestion.objects.order_by("pk")
        if (one.kind, one.source_id) in finds
    ]


def _require_new(before: PackDocument, document: PackDocument, version: str | None, suggested: str) -> None:
    if _texts_of(before) == _texts_of(document):
        raise Conflict(f"Nothing has changed since {before.name} {before.version}.", hint="Publish it when it has.")
    if version is not None and numbers_of(version) <= before.numbers:
        raise Conflict(
            f"{version} is not above {before.version}, which was published already.",
            hint=f"{suggested} is the next one by what has changed.",
        )


def _texts_of(document: PackDocument) -> dict[str, Any]:
    return document.model_dump(exclude={"version", "published_at", "notes"})


def _suggest(before: PackDocument | None, document: PackDocument) -> str:
    """Return the next version: a withdrawal may break a reader, an addition does not, all else is a patch."""
    if before is None:
        return FIRST
    major, minor, patch = before.numbers
    old, new = _keys(before), _keys(document)
    if old - new:
        return f"{major + 1}.0.0"
    return f"{major}.{minor + 1}.0" if new - old else f"{major}.{minor}.{patch + 1}"


def _keys(document: PackDocument) -> set[str]:
    references = {f"{one.slug}/{draft.key}" for one in document.collections for draft in one.references}
    return {entry.key for entry in document.entries} | references
