"""The Django admin of company knowledge: read-only tables, and decisions through the same services as the pages."""

from typing import Any, ClassVar

from django import forms
from django.contrib import admin, messages
from django.contrib.admin.helpers import ActionForm
from django.contrib.admin.utils import unquote
from django.core.exceptions import PermissionDenied
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import path, reverse
from django.utils.html import format_html
from django.utils.http import urlencode
from django.views.decorators.http import require_POST

from accounts.authentication import actor_of
from bigmind.core.sentences import in_language
from bigmind.core.translation import _, gettext_lazy
from bigmind.web.admin import ReadOnlyAdmin, show
from bigmind.web.pages import read_number
from curation.decisions.deciding import BULK, decide_many
from curation.decisions.overlaps import with_relations
from curation.models import (
    Claim,
    Comment,
    Comparison,
    Delivery,
    GoldenQuestion,
    Notice,
    Overlap,
    Review,
    Scrub,
    Subscription,
    Webhook,
)
from curation.views.admin_decisions import decide_in_admin, decision_context
from knowledge.models import CompanyCopy, CompanyEntry, CompanyServer, Dispatch


class AdminDecisionForm(ActionForm):
    """Asks for the reason beside the action: a rejection needs one."""

    notes = forms.CharField(required=False, max_length=2_000, label=gettext_lazy("Notes"))


class TogetherFilter(admin.SimpleListFilter):
    """Lists what contradicts or repeats another entry that waits."""

    title = gettext_lazy("belongs together")
    parameter_name = "together"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        """Return the two ways to belong together."""
        return [("is_disputed", _("contradiction")), ("is_repeated", _("duplicate"))]

    def queryset(self, request: HttpRequest, queryset: QuerySet[CompanyEntry]) -> QuerySet[CompanyEntry]:
        """Return the entries that do."""
        chosen = self.value()
        return queryset.filter(**{chosen: True}) if chosen in {"is_disputed", "is_repeated"} else queryset


@admin.register(CompanyEntry)
class CompanyEntryAdmin(ReadOnlyAdmin):
    """Company knowledge in every state. Text and status change only by decisions, which are recorded."""

    is_for_curators = True
    change_form_template = "curation/admin/entry.html"
    action_form = AdminDecisionForm
    actions = ("approve", "reject", "deprecate")
    list_display = (
        "handle",
        "title",
        "category",
        "status",
        "belongs_together",
        "importance",
        "proposed_by",
        "decided_by",
        "review_after",
        "created_at",
        "shown_revision",
    )
    list_display_links = ("handle", "title")
    list_select_related: ClassVar[bool | tuple[str, ...]] = ("proposed_by", "decided_by")
    list_filter = (
        "status",
        TogetherFilter,
        "category",
        "importance",
        "origin",
        "is_copy",
        "created_at",
        "review_after",
    )
    search_fields = ("title", "content", "project", "proposed_by__username")
    ordering = ("-created_at",)

    def get_queryset(self, request: HttpRequest) -> QuerySet[CompanyEntry]:
        """Read with each entry whether it contradicts or repeats another one that waits."""
        return with_relations(CompanyEntry.objects.all()).order_by(*self.get_ordering(request))

    @admin.display(description=gettext_lazy("belongs together"))
    def belongs_together(self, entry: Any) -> str:
        """Lead to the page where the entry is decided about together with what it contradicts or repeats."""
        related = [(_("contradiction"), entry.is_disputed), (_("duplicate"), entry.is_repeated)]
        words = ", ".join(word for word, is_one in related if is_one)
        address = reverse("curation-cluster", args=[entry.pk])
        back = urlencode({"next": reverse("admin:knowledge_companyentry_changelist")})
        return format_html('<a href="{}?{}">{}</a>', address, back, words) if words else "–"

    @admin.display(description=gettext_lazy("revision"), ordering="revision")
    def shown_revision(self, entry: CompanyEntry) -> str:
        """Show the revision and send it back with the form: an action applies to the revision that was listed."""
        return format_html(
            '{}<input type="hidden" name="{}" value="{}">', entry.revision, _field(entry.pk), entry.revision
        )

    def get_exclude(self, request: HttpRequest, obj: CompanyEntry | None = None) -> tuple[str, ...]:
        """Hide from curators the session and the memory item that an entry derives from: these are private."""
        return () if request.user.is_authenticated and request.user.is_admin else ("source_session", "source_id")

    def get_urls(self) -> list[Any]:
        """Add the address to which the forms on the page of an entry are sent."""
        deciding = self.admin_site.admin_view(require_POST(self.deciding))
        return [path("<int:entry_id>/decide/", deciding, name="company-entry-decide"), *super().get_urls()]

    def change_view(
        self, request: HttpRequest, object_id: str, form_url: str = "", extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        """Show an entry with its briefing and the forms of decisions."""
        entry = self.get_object(request, unquote(object_id))
        if request.method == "GET" and entry and not entry.is_copy and self.has_view_permission(request, entry):
            extra_context = {**decision_context(request, entry.pk), **(extra_context or {})}
        return super().change_view(request, object_id, form_url, extra_context)

    def deciding(self, request: HttpRequest, entry_id: int) -> HttpResponse:
        """Decide about an entry at the revision that was shown, or say why not."""
        entry = self.get_object(request, str(entry_id))
        if entry is None or not self.has_view_permission(request, entry):
            raise PermissionDenied
        attempt, status = decide_in_admin(request, entry)
        if attempt is None:
            return redirect("admin:knowledge_companyentry_change", entry_id)
        request.method = "GET"
        page = super().change_view(request, str(entry_id), "", decision_context(request, entry_id, attempt))
        page.status_code = status
        return page

    @admin.action(description=gettext_lazy("Approve"))
    def approve(self, request: HttpRequest, queryset: QuerySet[CompanyEntry]) -> None:
        """Approve the chosen proposals."""
        self._decide(request, queryset, "approve")

    @admin.action(description=gettext_lazy("Reject, with notes as the reason"))
    def reject(self, request: HttpRequest, queryset: QuerySet[CompanyEntry]) -> None:
        """Reject the chosen proposals."""
        self._decide(request, queryset, "reject")

    @admin.action(description=gettext_lazy("Deprecate: no agent hears it any more"))
    def deprecate(self, request: HttpRequest, queryset: QuerySet[CompanyEntry]) -> None:
        """Deprecate the chosen entries."""
        self._decide(request, queryset, "deprecate")

    def _decide(self, request: HttpRequest, queryset: QuerySet[CompanyEntry], action: Any) -> None:
        chosen = list(queryset.values_list("pk", flat=True)[:BULK])
        seen = {str(pk): read_number(request.POST.get(_field(pk), "")) for pk in chosen}
        revisions = {pk: revision for pk, revision in seen.items() if revision is not None}
        notes = request.POST.get("notes", "")
        done = decide_many(actor_of(request), entry_ids=chosen, action=action, notes=notes, revisions=revisions)
        for refused in done.refused:
            messages.warning(request, f"{refused.handle}: {in_language(refused.reason)}")
        messages.success(request, _("Decided: %(count)s.") % {"count": len(done.decided)})


def _field(entry_id: int) -> str:
    return f"revision-{entry_id}"


# The company's BigMind as seen from a laptop, copies of its entries, and proposals on their way to it.
show(CompanyServer, CompanyCopy, Dispatch)

# The history of decisions only grows; comments and claims are beside it.
show(
    Review,
    columns="entry number action by_name agent_name created_at",
    search="by_name notes entry__title",
    filters="action created_at",
    order="-created_at",
    is_for_curators=True,
)
show(
    Comment,
    columns="__str__ entry by created_at",
    search="text entry__title by__username",
    order="-created_at",
    is_for_curators=True,
)
show(Claim, Overlap, is_for_curators=True)
show(Comparison, exclude=("vector", "titled_vector"), is_for_curators=True)
# Questions that must go on finding one item.
show(
    GoldenQuestion,
    columns="question kind source_id within place lost_since checked_at",
    search="question source_id pinned_by__username",
    filters="kind lost_since checked_at",
    order="question",
    is_for_curators=True,
)


# Of texts that were removed there are keyed hashes alone.
show(Scrub, exclude=("salt", "check_value"))

# What people hear of, and how.
show(Notice, Delivery)
# The secret is encrypted, and is not shown.
show(Webhook, exclude=("secret", "old_secret"))
show(Subscription)
