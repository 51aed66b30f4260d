"""Reports of erasures: what went is counted and signed, so that it can be shown without being kept.

The key is made from the secret key of the instance: with the report and the public key anyone can tell that the report
is word for word what this instance wrote. That the rows are gone, only the instance itself can show.
"""

import hashlib
import hmac
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from django.core.serializers.json import DjangoJSONEncoder
from django.db.models import Q, QuerySet
from django.utils import timezone

from accounts.actor import Actor, acting
from accounts.models import ErasureReport, User
from bigmind import __version__
from bigmind.core.errors import NotFound
from bigmind.core.private_row_numbers import number_in
from bigmind.core.signed_documents import SignatureVerdict, check_signature, derive_key, sign
from bigmind.database.replicas import note_write_for_all

from .audit import audit

LISTED = 1_000
"""Ids and digests of each kind that a report lists; it counts all."""
NOT_REACHED = (
    "exports and backups made before",
    "what agents, their providers and webhooks were sent before",
    "the usage log: names of operations and times, no texts",
)
_SIGNING, _DIGESTING = "bigmind.erasures.sign", "bigmind.erasures.digest"


@dataclass
class Erased:
    """What an erasure did, gathered while it is done."""

    meant: dict[str, Any]
    counts: dict[str, int] = field(default_factory=dict)
    digests: dict[str, list[str]] = field(default_factory=dict)
    ids: dict[str, list[str]] = field(default_factory=dict)
    quarantined: list[str] = field(default_factory=list)
    told: dict[str, int] = field(default_factory=dict)

    def note(self, kind: str, texts: Iterable[str]) -> None:
        """Note the digests of texts of one kind."""
        self.digests.setdefault(kind, []).extend(digest_with_key(text) for text in texts)


def digest_with_key(text: str) -> str:
    """Return the digest of a text under a key of this instance: nobody without the key can try texts against it."""
    return hmac.new(derive_key(_DIGESTING), text.encode(), hashlib.sha256).hexdigest()


def report_erasure(erased: Erased, *, whose: User | None) -> ErasureReport:
    """Sign what was erased and keep it. Call this in the transaction that erases.

    Who asked is the one who performs the operation of this call, or is on the page; nobody on the command line.
    """
    actor, now = acting(), timezone.now()
    # Anyone who deletes themselves is gone by now: the report keeps their id.
    asked_by = actor.user if actor else None
    linked = User.objects.filter(pk=asked_by.pk).first() if asked_by else None
    document = _document(erased, at=now, asked_by=asked_by, whose=whose)
    report = ErasureReport.objects.create(
        at=now, asked_by=linked, whose=whose, document=document, **sign_document(document)
    )
    audit("erased", about=whose, report=report.pk, what=erased.meant.get("what", ""))
    note_write_for_all()
    return report


def sign_document(document: Any) -> dict[str, str]:
    """Return the signature of the document of a report, and the key to check it with, as a report keeps them."""
    return sign(document, purpose=_SIGNING)


def _document(erased: Erased, *, at: datetime, asked_by: User | None, whose: User | None) -> dict[str, Any]:
    """What a report says, as it is signed: plain JSON."""
    document = {
        "report": "BigMind erasure",
        "bigmind": __version__,
        "at": at,
        "asked_by": asked_by.pk if asked_by else "the command line",
        "whose": whose.pk if whose else None,
        "meant": erased.meant,
        "counts": erased.counts,
        "digests": {kind: sorted(digests)[:LISTED] for kind, digests in sorted(erased.digests.items())},
        "ids": {kind: ids[:LISTED] for kind, ids in sorted(erased.ids.items())},
        "quarantined": erased.quarantined,
        "sessions_told": erased.told,
        "not_reached": NOT_REACHED,
    }
    plain: dict[str, Any] = json.loads(json.dumps(document, cls=DjangoJSONEncoder))
    return plain


def list_erasures(actor: Actor) -> QuerySet[ErasureReport]:
    """Return the reports that a user may read, the newest first: admins all, others those about themselves."""
    reports = ErasureReport.objects.select_related("asked_by", "whose").order_by("-at", "-pk")
    return reports if "admin" in actor.scopes else reports.filter(Q(asked_by=actor.user) | Q(whose=actor.user))


def get_erasure(actor: Actor, *, report_id: int) -> ErasureReport:
    """Return one report.

    Raises:
        NotFound: there is none, or it is about someone else.
    """
    report = list_erasures(actor).filter(pk=report_id).first()
    if report is None:
        raise NotFound(f"There is no report {report_id} that you may read.")
    return report


def erasures_of(user: User, ids: Mapping[str, Iterable[str]]) -> dict[tuple[str, str], ErasureReport]:
    """Return which report covers each erased thing of a user, by kind and id, as far as reports list them."""
    found: dict[tuple[str, str], ErasureReport] = {}
    for report in ErasureReport.objects.filter(whose=user).order_by("at", "pk"):
        listed = report.document.get("ids", {})
        for kind, requested in ids.items():
            there = set(listed.get(kind, []))
            found |= {(kind, id): report for id in requested if number_in(id) in there}
    return found


def as_file(report: ErasureReport) -> dict[str, Any]:
    """Return a report as it is downloaded: its number, what was signed, the signature, and the key to check it with."""
    return {
        "number": report.pk,
        "signed": report.document,
        "signature": report.signature,
        "public_key": report.public_key,
    }


def check_report(report_file: Mapping[str, Any]) -> SignatureVerdict:
    """Say whether a report is word for word what was signed, and whether this instance has signed it."""
    return check_signature(report_file, purpose=_SIGNING)


def person_in(report: ErasureReport, field: str) -> str:
    """Name who asked, or whose memory it was; by their id where they are gone."""
    user = report.asked_by if field == "asked_by" else report.whose
    return str(user) if user else str(report.document.get(field) or "")
