"""Looking at company knowledge and its history, and deciding by the same services as everybody."""

from typing import Any, ClassVar

from django import forms
from django.contrib import admin, messages
from django.contrib.admin.helpers import ActionForm
from django.db.models import QuerySet
from django.http import HttpRequest

from accounts.authentication import actor_of
from curation.models import Claim, Comment, Delivery, Notice, Review, Subscription
from curation.services.decisions import BULK, decide_many
from knowledge.admin import ReadOnlyAdmin
from knowledge.models import CompanyCopy, CompanyEntry, CompanyServer, Dispatch


class DecisionForm(ActionForm):
    """Asks for the reason beside the action: a rejection needs one."""

    notes = forms.CharField(required=False, max_length=2_000, label="Notes")


@admin.register(CompanyEntry)
class CompanyEntryAdmin(ReadOnlyAdmin):
    """Company knowledge in every state. Its text and status change by decisions, which are kept."""

    action_form = DecisionForm
    actions = ("approve", "reject", "deprecate")
    list_display = (
        "handle",
        "title",
        "category",
        "status",
        "importance",
        "proposed_by",
        "decided_by",
        "review_after",
        "created_at",
    )
    list_display_links = ("handle", "title")
    list_select_related: ClassVar[bool | tuple[str, ...]] = ("proposed_by", "decided_by")
    list_filter = ("status", "category", "importance", "origin", "is_copy", "created_at", "review_after")
    search_fields = ("title", "content", "project", "proposed_by__username")
    ordering = ("-created_at",)

    @admin.action(description="Approve")
    def approve(self, request: HttpRequest, queryset: QuerySet[CompanyEntry]) -> None:
        """Approve the chosen proposals."""
        self._decide(request, queryset, "approve")

    @admin.action(description="Reject, with notes as the reason")
    def reject(self, request: HttpRequest, queryset: QuerySet[CompanyEntry]) -> None:
        """Reject the chosen proposals."""
        self._decide(request, queryset, "reject")

    @admin.action(description="Deprecate: no agent hears it any more")
    def deprecate(self, request: HttpRequest, queryset: QuerySet[CompanyEntry]) -> None:
        """Deprecate the chosen entries."""
        self._decide(request, queryset, "deprecate")

    def _decide(self, request: HttpRequest, queryset: QuerySet[CompanyEntry], action: Any) -> None:
        chosen = list(queryset.values_list("pk", flat=True)[:BULK])
        done = decide_many(actor_of(request), entry_ids=chosen, action=action, notes=request.POST.get("notes", ""))
        for refused in done.refused:
            messages.warning(request, f"{refused['handle']}: {refused['reason']}")
        messages.success(request, f"Decided: {len(done.decided)}.")


@admin.register(CompanyServer)
class CompanyServerAdmin(ReadOnlyAdmin):
    """The company's BigMind, as seen from a laptop."""

    list_display = ("url", "username", "heard_at", "read_at", "attempts", "not_before", "trouble")
    search_fields = ("url", "username")


@admin.register(CompanyCopy)
class CompanyCopyAdmin(ReadOnlyAdmin):
    """What was read from the company server."""

    list_display = ("entry", "handle", "server", "owner", "decided_by")
    list_select_related: ClassVar[bool | tuple[str, ...]] = ("entry", "server")
    search_fields = ("entry__title", "owner")


@admin.register(Dispatch)
class DispatchAdmin(ReadOnlyAdmin):
    """Proposals for the company server, and what became of them there."""

    list_display = ("entry", "server", "attempts", "sent_at", "refused_at", "status", "decided_by", "trouble")
    list_filter = ("status", "sent_at", "refused_at")
    list_select_related: ClassVar[bool | tuple[str, ...]] = ("entry", "server")
    search_fields = ("entry__title", "trouble")
    ordering = ("-created_at",)


@admin.register(Review)
class ReviewAdmin(ReadOnlyAdmin):
    """The history of decisions: it only grows."""

    list_display = ("entry", "number", "action", "by_name", "agent_name", "created_at")
    list_filter = ("action", "created_at")
    search_fields = ("by_name", "notes", "entry__title")
    ordering = ("-created_at",)


@admin.register(Comment)
class CommentAdmin(ReadOnlyAdmin):
    """What was said about entries."""

    list_display = ("__str__", "entry", "by", "created_at")
    search_fields = ("text", "entry__title", "by__username")
    ordering = ("-created_at",)


@admin.register(Claim)
class ClaimAdmin(ReadOnlyAdmin):
    """Who is looking at what."""

    list_display = ("entry", "by", "until")
    search_fields = ("entry__title", "by__username")


@admin.register(Notice)
class NoticeAdmin(ReadOnlyAdmin):
    """What people were told."""

    list_display = ("text", "user", "entry", "created_at", "seen_at")
    list_filter = ("created_at", "seen_at")
    search_fields = ("text", "user__username", "entry__title")
    ordering = ("-created_at",)


@admin.register(Delivery)
class DeliveryAdmin(ReadOnlyAdmin):
    """What was sent out, and what waits or failed."""

    list_display = ("event", "channel", "to", "attempts", "not_before", "delivered_at", "given_up_at", "trouble")
    list_filter = ("channel", "event", "delivered_at", "given_up_at")
    search_fields = ("event", "trouble", "to__username")
    ordering = ("-created_at",)


@admin.register(Subscription)
class SubscriptionAdmin(ReadOnlyAdmin):
    """How often people want to be written to."""

    list_display = ("user", "frequency", "last_sent_at")
    list_filter = ("frequency",)
    search_fields = ("user__username",)
