"""Subscriptions: whose keys are trusted, which packs come here, from where, and when a new version is there."""

from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path

import structlog
from django.db import transaction
from django.db.models import Q
from django.utils import timezone

from accounts.actor import Actor
from accounts.services.audit import audit
from bigmind.core.advisory_locks import wait_for_turn
from bigmind.core.errors import BigMindError, Conflict, Invalid, NotFound
from curation.models import Pack, PackKey, PackVersion

from .documents import PackName, PackVersionName, SignedPack, SignerName, numbers_of, read_pack
from .publishing import LOCK
from .sources import is_address, pull, read_source

EVERY = timedelta(days=1)
"""How often an address, a folder or a file is looked at."""

log = structlog.get_logger()


@dataclass(frozen=True)
class PackNews:
    """The result of a check for updates: the pack, and the new version that waits for a curator, if any."""

    pack: Pack
    version: PackVersion | None = None
    says: str = ""


@transaction.atomic
def trust_key(actor: Actor, *, public_key: str, signer: SignerName, also: bool = False) -> PackKey:
    """Trust a publisher's key, as an admin: what it signs may be subscribed to, and waits for a curator.

    Args:
        also: The publisher has a key already, and this one is theirs as well.

    Raises:
        Conflict: someone with this name has another key.
        Invalid: it is no key.
    """
    actor.require("admin")
    key = public_key.strip().lower()
    if len(key) != 64 or not set(key) <= set("0123456789abcdef"):
        raise Invalid.of("public_key", "must be 64 characters of 0-9 and a-f, as `bigmind pack key` prints them")
    known = PackKey.objects.filter(public_key=key).first()
    if known is not None:
        raise Conflict(f"This key is trusted already, as that of {known.signer}.", hint="Distrust it there first.")
    others = PackKey.objects.filter(signer__iexact=signer)
    if (first := others.first()) and not also:
        raise Conflict(
            f"{first.signer} has another key here. Somebody else may use the same name.",
            hint="Ask them by another way. If both keys are theirs, say so.",
        )
    trusted = PackKey.objects.create(public_key=key, signer=first.signer if first else signer, by=actor.user)
    audit("pack_key_trusted", key=key, signer=trusted.signer)
    return trusted


@transaction.atomic
def distrust_key(actor: Actor, *, public_key: str) -> PackKey:
    """Stop trusting a key, as an admin. What its packs have brought stays until someone unsubscribes."""
    actor.require("admin")
    key = PackKey.objects.filter(public_key=public_key.strip().lower()).first()
    if key is None:
        raise NotFound("No such key is trusted here.", hint="The page “Packs” lists those that are.")
    PackKey.objects.filter(pk=key.pk).delete()
    audit("pack_key_distrusted", key=key.public_key, signer=key.signer)
    return key


def subscribe(actor: Actor, *, source: str = "", content: bytes | None = None) -> PackNews:
    """Subscribe to a pack, as a curator: by its file, or by the address or place where updates will be looked for.

    Its first version waits for a curator, and changes nothing before.

    Raises:
        Conflict: nobody trusts the key that signed it, or the name is that of another pack.
        Invalid: it cannot be read.
    """
    actor.require("curate")
    # Before the transaction: an address may take half a minute, and the lock would be held as long.
    signed = read_pack(content) if content is not None else read_source(source.strip())
    signer = signed.signer
    with transaction.atomic():
        wait_for_turn(LOCK, signed.document.name)
        pack = Pack.objects.filter(name=signed.document.name).first()
        if pack is None:
            pack = Pack(name=signed.document.name, signer=signer, title=signed.document.title)
        _require_same_pack(pack, signer)
        if pack.signer != signer:
            pack.versions.all().delete()  # Their numbers are another publisher's.
            pack.signer = signer
        pack.ended_at, pack.address = None, _place_of(source, content, signed) or pack.address
        pack.checked_at, pack.trouble = timezone.now(), ""
        pack.save()
        audit("pack_subscribed", pack=pack.name, signer=signer)
        return _take(pack, signed, again=True)


def fetch_update(actor: Actor, *, name: PackName, content: bytes | None = None) -> PackNews:
    """Look for a new version of a pack now, as a curator: where it comes from, or in a file that is handed in.

    Raises:
        Conflict: what is there is older, signed by someone else, or of another pack.
        Invalid: it cannot be read.
    """
    actor.require("curate")
    pack = find_subscription(name)
    if content is None and not pack.address:
        raise Conflict(f"{name} came as a file.", hint="Hand in the file of the new version.")
    return _fetch(pack, content, again=True)


def fetch_due() -> None:
    """Check for new versions of the packs that were not checked since yesterday. The schedule calls this."""
    now = timezone.now()
    # A look that lies ahead was noted while the clock was wrong.
    due = Q(checked_at=None) | Q(checked_at__lte=now - EVERY) | Q(checked_at__gt=now + EVERY)
    for pack in Pack.objects.filter(due, is_ours=False, ended_at=None).exclude(address=""):
        # Another process has marked it: an address is asked once.
        marked = Pack.objects.filter(due, pk=pack.pk).update(checked_at=timezone.now())
        if marked:
            try:
                _fetch(pack, None, again=False)
            except BigMindError as error:
                log.info("pack_not_fetched", pack=pack.name, why=error.message)


@transaction.atomic
def pin_pack(actor: Actor, *, name: PackName, version: PackVersionName = "") -> Pack:
    """Pin a pack, as a curator: no version above this one is taken. Without a version the pin is taken away."""
    actor.require("curate")
    wait_for_turn(LOCK, name)
    pack = find_subscription(name)
    pack.pinned = version
    pack.save(update_fields=["pinned"])
    waiting = pack.waiting
    if waiting and version and waiting.numbers > numbers_of(version):
        waiting.delete()
    audit("pack_pinned", pack=name, version=version)
    return pack


def find_subscription(name: str) -> Pack:
    """Return a pack that this instance subscribes to.

    Raises:
        NotFound: there is none.
    """
    pack = Pack.objects.filter(name=name, is_ours=False, ended_at=None).first()
    if pack is None:
        raise NotFound(f"There is no subscription to a pack {name}.", hint="The page “Packs” lists those there are.")
    return pack


def _fetch(pack: Pack, content: bytes | None, *, again: bool) -> PackNews:
    behind = "" if content is not None else pull(pack.address)
    try:
        signed = (
            read_pack(content) if content is not None else read_source(pack.address, name=pack.name, pinned=pack.pinned)
        )
        if signed.document.name != pack.name:
            raise Conflict(f"This is the pack {signed.document.name}, not {pack.name}.", hint="Subscribe to it.")
        with transaction.atomic():
            wait_for_turn(LOCK, pack.name)
            # Read again: it may have been pinned, or its subscription ended, while its source was read.
            current = find_subscription(pack.name)
            _require_same_pack(current, signed.signer)
            news = _take(current, signed, again=again)
    except BigMindError as error:
        # Outside the transaction that failed, so that the page “Packs” can say why.
        Pack.objects.filter(pk=pack.pk).update(checked_at=timezone.now(), trouble=str(error))
        raise
    Pack.objects.filter(pk=pack.pk).update(checked_at=timezone.now(), trouble=behind)
    return news


def _require_same_pack(pack: Pack, signer: str) -> None:
    """Refuse a pack that has the name of one that is published here, or signed by someone else."""
    if pack.is_ours:
        raise Conflict(f"{pack.name} is published here.", hint="Two packs cannot have one name.")
    if pack.pk and pack.signer != signer and (pack.ended_at is None or pack.lines.exists()):
        raise Conflict(
            f"This pack is signed by {signer}; {pack.name} comes from {pack.signer} here.",
            hint="If the publisher has changed, unsubscribe first, then subscribe to the other one.",
        )


def _take(pack: Pack, signed: SignedPack, *, again: bool) -> PackNews:
    """Keep a version that is newer than every one that was here, and let it wait for a curator.

    Args:
        again: Also the newest that was here waits, if it was rejected or rolled back.

    Raises:
        Conflict: it is older than one that was here, or the same with other contents.
    """
    document = signed.document
    newest = pack.versions.order_by("-numbers").first()
    if pack.pinned and document.numbers > numbers_of(pack.pinned):
        return PackNews(pack, says=f"{document.version} is there; the pack is pinned to {pack.pinned}.")
    accepted = pack.accepted
    if accepted is not None and accepted.signature == signed.signature:
        return PackNews(pack, says="There is nothing new.")
    if newest is not None and document.numbers < newest.numbers:
        hint = "An old version may bring back what was mended. To go back on purpose, roll back."
        raise Conflict(f"{document.version} is older than {newest.version}, which was here.", hint=hint)
    if newest is not None and document.numbers == newest.numbers:
        if newest.signature != signed.signature:
            hint = "A version is published once. Ask the publisher."
            raise Conflict(f"{document.version} was here with other contents.", hint=hint)
        if again and newest.state in {PackVersion.State.REJECTED, PackVersion.State.ROLLED_BACK}:
            newest.state = PackVersion.State.WAITING
            newest.save(update_fields=["state"])
        if newest.state != PackVersion.State.WAITING:
            return PackNews(pack, says="There is nothing new.")
        return PackNews(pack, newest, f"{newest.version} waits for a curator.")
    # An undecided version is superseded: a curator compares with what is valid here, not with it.
    pack.versions.filter(state=PackVersion.State.WAITING).delete()
    version = PackVersion.objects.create(
        pack=pack,
        version=document.version,
        numbers=document.numbers,
        document=signed.signed,
        signature=signed.signature,
        public_key=signed.public_key,
    )
    return PackNews(pack, version, f"{document.version} waits for a curator.")


def _place_of(source: str, content: bytes | None, signed: SignedPack) -> str:
    """Return where updates are looked for. A file that is named after its version is no such place."""
    if content is not None or not source:
        return ""
    if is_address(source):
        return source.strip()
    path = Path(source).absolute()
    return str(path) if path.is_dir() or signed.document.version not in path.name else ""
