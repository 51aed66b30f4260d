"""Retention: which rows are deleted, and when. Knowledge stays; what grows by mere use has an age or a number.

Every model has a place here, and a test refuses one without. Rows past their bound are deleted by one task, in batches.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from django.apps import apps
from django.conf import settings
from django.contrib.sessions.models import Session as BrowserSession
from django.core.cache import cache
from django.db import connection, transaction
from django.db.models import Exists, Model, OuterRef, QuerySet, TextField
from django.db.models.functions import Cast
from django.utils import timezone

from accounts.models import Call, Instance, KeptReply, SignInTry
from accounts.services.idempotency import REPLIES_KEPT
from accounts.sign_in.attempts import WITHIN
from bigmind.core.translation import _
from bigmind.database.rls import rls_bypass
from curation.models import Delivery
from knowledge.kinds import KINDS
from knowledge.models import AskedQuestion, CachedVector, Passage, ToolUse, Writing
from knowledge.models.conversations import TOOL_USE_LASTS
from knowledge.people.instances import KEPT as SILENT

BATCH = 5_000
DAY = 24 * 60 * 60
_SCANNED = "retention:scanned"

Rows = QuerySet[Any, Any]


@dataclass(frozen=True)
class Bound:
    """How long rows stay, or how many.

    `past`: those to delete now; None where another task, named in `by`, does it. `scans`: to find them, whole tables
    are read, which once a day will do.
    """

    words: Callable[[], str]
    past: Callable[[], Iterator[Rows]] | None = None
    by: str = ""
    scans: bool = False


def _days(number: float) -> str:
    return _("%(days)s days") % {"days": f"{number:g}"}


def _by_age(model: type[Model], field: str, age: Callable[[], timedelta], **only: object) -> Bound:
    """Bound a table by the age of its rows; `only` leaves out those that are not done yet."""
    return Bound(
        words=lambda: _days(age() / timedelta(days=1)),
        past=lambda: iter([model._base_manager.filter(**{f"{field}__lt": timezone.now() - age()}, **only)]),
    )


def _records(label: str, field: str) -> tuple[str, Bound]:
    return label, _by_age(apps.get_model(label), field, lambda: timedelta(days=settings.KEEP_RECORDS_DAYS))


def _labels(text: str) -> frozenset[str]:
    return frozenset(text.split())


def _elsewhere(by: str, words: Callable[[], str]) -> Bound:
    return Bound(words, by=by)


def _find_unused_vectors() -> Iterator[Rows]:
    """Yield the cached vectors of texts that nothing stored has, but for the newest: archived texts come back."""
    unused = CachedVector.objects.filter(~Exists(Passage.objects.filter(digest=OuterRef("digest"))))
    newest = unused.order_by("-pk").values_list("pk", flat=True)
    last = newest[settings.KEEP_UNUSED_VECTORS : settings.KEEP_UNUSED_VECTORS + 1].first()
    yield unused.filter(pk__lte=last) if last else CachedVector.objects.none()


def _find_orphaned_writings() -> Iterator[Rows]:
    """Yield who wrote what is gone. Nothing refers to it, and no erasure finds it."""
    for kind, row in KINDS.items():
        there = row.model._base_manager.annotate(id_text=Cast("pk", TextField())).filter(id_text=OuterRef("source_id"))
        yield Writing.objects.filter(~Exists(there), kind=kind)


LEDGERS: dict[str, Bound] = {
    "accounts.Call": _by_age(Call, "at", lambda: timedelta(days=settings.KEEP_CALLS_DAYS)),
    "accounts.KeptReply": _by_age(KeptReply, "at", lambda: REPLIES_KEPT),
    "accounts.SignInTry": _by_age(SignInTry, "at", lambda: WITHIN),
    "accounts.Instance": _by_age(Instance, "last_seen", lambda: SILENT),
    "sessions.Session": Bound(
        lambda: _("until they expire"),
        lambda: iter([BrowserSession.objects.filter(expire_date__lte=timezone.now())]),
    ),
    "curation.Delivery": Bound(
        lambda: _days(settings.KEEP_DELIVERIES_DAYS),
        lambda: iter(
            [
                Delivery.objects.exclude(delivered_at=None, given_up_at=None).filter(
                    created_at__lt=timezone.now() - timedelta(days=settings.KEEP_DELIVERIES_DAYS)
                )
            ]
        ),
    ),
    "knowledge.AskedQuestion": _by_age(AskedQuestion, "asked_at", lambda: timedelta(days=settings.KEEP_ASKED_DAYS)),
    "knowledge.ToolUse": _by_age(ToolUse, "at", lambda: TOOL_USE_LASTS),
    "knowledge.CachedVector": Bound(
        lambda: _("as many as texts, and %(number)s more") % {"number": f"{settings.KEEP_UNUSED_VECTORS:,}"},
        _find_unused_vectors,
        scans=True,
    ),
    "knowledge.Writing": Bound(lambda: _("goes with what it is about"), _find_orphaned_writings, scans=True),
    **dict(
        [
            _records("accounts.Alert", "created_at"),
            _records("accounts.Invitation", "expires_at"),
            _records("accounts.SignInLink", "expires_at"),
            _records("accounts.Worker", "seen_at"),
            _records("account.EmailConfirmation", "created"),
            _records("admin.LogEntry", "action_time"),
            _records("curation.Notice", "created_at"),
            _records("knowledge.AppRun", "finished_at"),
            _records("knowledge.EmbeddingDay", "day"),
            _records("knowledge.Firing", "at"),
            _records("knowledge.Healing", "at"),
            _records("knowledge.LessonAsked", "last_asked"),
        ]
    ),
    "accounts.AppToken": _elsewhere("accounts.tasks.forget_unused_apps", lambda: _("until they expire")),
    "accounts.ConnectedApp": _elsewhere("accounts.tasks.forget_unused_apps", lambda: _("a day, unless it is used")),
    "accounts.BackupRun": _elsewhere("bigmind.tasks.back_up", lambda: _("the newest, and the newest failures")),
    "knowledge.Conversation": _elsewhere("knowledge.tasks.forget_captures", lambda: _("as long as its user chose")),
    "knowledge.HookEvent": _elsewhere("knowledge.tasks.forget_captures", lambda: _("as long as its user chose")),
    "knowledge.ReceiptText": _elsewhere("knowledge.tasks.forget_old_texts", lambda: _days(settings.KEEP_TOLD_DAYS)),
    "knowledge.UnansweredQuestion": _elsewhere(
        "knowledge.tasks.forget_old_questions", lambda: _days(settings.KEEP_QUESTIONS_DAYS)
    ),
    "knowledge.Gap": _elsewhere("knowledge.tasks.forget_old_questions", lambda: _days(settings.KEEP_QUESTIONS_DAYS)),
}
"""What grows by mere use, each with its bound."""

KNOWLEDGE = _labels(
    """
    curation.Comment curation.GoldenQuestion knowledge.App
    knowledge.AppEntity knowledge.AppTable knowledge.AppWorkflow knowledge.AmbiguousName
    knowledge.AmbiguousName_found_in knowledge.Chunk knowledge.CompanyCopy knowledge.CompanyEntry
    knowledge.Entry knowledge.Fact knowledge.Feedback knowledge.Hypothesis
    knowledge.Note knowledge.Reference knowledge.ReferenceCollection knowledge.ReferenceDrift
    knowledge.ReferenceVersion knowledge.Session knowledge.Summary knowledge.TidyingAnswer
    """
)
"""What people and their agents know: it stays until someone erases it."""

PARTS = _labels(
    """
    accounts.SignIn curation.Claim curation.Comparison curation.Overlap knowledge.Dispatch
    knowledge.EntryFingerprint knowledge.Passage knowledge.PassageVector knowledge.Proof
    knowledge.Recall knowledge.Receipt knowledge.ReferenceImport knowledge.ReferenceName knowledge.ReferenceUse
    knowledge.Serving knowledge.ShownHeadline
    """
)
"""What goes with the row that it is about: some for each session, entry or reference, however often it is asked for."""

FOR_GOOD = {"accounts.AuditEvent", "accounts.AuditHead", "accounts.ErasureReport", "curation.Review", "curation.Scrub"}
"""What proves something, and what the database itself lets nobody delete."""

FEW = _labels(
    """
    account.EmailAddress accounts.Agent accounts.ApiKey accounts.Profile accounts.SettingOverride
    accounts.Sharing accounts.TaskTally accounts.User auth.Group auth.Group_permissions auth.Permission
    contenttypes.ContentType curation.Subscription curation.Webhook knowledge.CapturePolicy
    knowledge.CompanyServer knowledge.EmbeddingSpace knowledge.HookHealth knowledge.IndexGap
    knowledge.SourceRepository mfa.Authenticator socialaccount.SocialAccount socialaccount.SocialApp
    socialaccount.SocialToken
    """
)
"""As many as there are people with their keys and programs, settings, kinds or tasks."""


def say_bound(label: str) -> str:
    """Return in words what bounds the table of a model; empty for a table of something else."""
    if ledger := LEDGERS.get(label):
        return ledger.words()
    words = {
        _("until someone erases it"): KNOWLEDGE,
        _("goes with what it is about"): PARTS,
        _("kept for good"): FOR_GOOD,
        _("as many as people, keys and settings"): FEW,
    }
    return next((text for text, labels in words.items() if label in labels), "")


def say_bound_of_table(name: str) -> str:
    """Return in words what bounds a table."""
    models = {model._meta.db_table: model._meta.label for model in apps.get_models(include_auto_created=True)}
    return say_bound(models.get(name, ""))


@rls_bypass()
def delete_past_bounds() -> int:
    """Delete what is past its bound, in batches of thousands; return how many rows went."""
    may_scan = cache.add(_SCANNED, True, DAY)
    due = (bound.past for bound in LEDGERS.values() if bound.past and (may_scan or not bound.scans))
    return sum(_delete(rows) for past in due for rows in past())


def _delete(rows: Rows) -> int:
    gone = 0
    while True:
        with transaction.atomic():
            with connection.cursor() as cursor:
                cursor.execute("SET LOCAL statement_timeout TO 0")
            # What others hold is left to the next run.
            keys = list(
                rows.order_by("pk")
                .select_for_update(of=("self",), skip_locked=True)
                .values_list("pk", flat=True)[:BATCH]
            )
            rows.model._base_manager.filter(pk__in=keys).delete()
        gone += len(keys)
        if len(keys) < BATCH:
            return gone
