"""What every page of the admin here is made of: rows to look at, and what people stored, to set aside and erase."""

from collections.abc import Callable
from typing import Any, ClassVar

from django.contrib import admin, messages
from django.db.models import Model, QuerySet
from django.http import HttpRequest

from accounts.actor import Actor
from bigmind.core.errors import BigMindError
from knowledge.services.archive import restore, set_aside
from knowledge.shapes.upkeep import RememberedShape

REASON = "Set aside by an admin."


class ReadOnlyAdmin(admin.ModelAdmin):  # type: ignore[type-arg]
    """Shows rows and changes none. Curators see those of shared knowledge, where a class says so; admins see all."""

    is_for_curators: ClassVar[bool] = False

    list_select_related: ClassVar[bool | tuple[str, ...]] = True

    def has_view_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        """Admins look at everything, curators at what they decide about."""
        return super().has_view_permission(request, obj) or (self.is_for_curators and _is_curator(request))

    def has_module_permission(self, request: HttpRequest) -> bool:
        """An app is listed for anyone who may look at anything in it."""
        return self.has_view_permission(request)

    def has_add_permission(self, request: HttpRequest) -> bool:
        """Nothing is made here."""
        return False

    def has_change_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        """Nothing is reworded here."""
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        """Derived rows come and go with what they belong to."""
        return False


class RememberedAdmin(ReadOnlyAdmin):
    """Shows what people stored, and sets aside, restores and erases it as they would themselves."""

    kind: ClassVar[str]
    raw_id_fields = ("user",)
    actions = ("set_aside", "restore")

    def erase(self, owner: Actor, thing: Any) -> None:
        """Erase one thing for good, with its passages."""
        raise NotImplementedError

    def has_delete_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        """Erasing is permitted: someone may have asked an admin for it."""
        return bool(request.user.is_authenticated and request.user.is_admin)

    def get_deleted_objects(self, objs: Any, request: HttpRequest) -> Any:
        """Name what goes with it; that some of it cannot be deleted on its own is no objection."""
        to_delete, counts, _, protected = super().get_deleted_objects(objs, request)
        return to_delete, counts, set(), protected

    def delete_model(self, request: HttpRequest, obj: Any) -> None:
        """Erase as the owner would."""
        self.erase(Actor.of(obj.user), obj)

    def delete_queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> None:
        """Erase one by one."""
        for thing in queryset:
            self.delete_model(request, thing)

    @admin.action(description="Set aside: hidden everywhere, kept on record", permissions=["delete"])
    def set_aside(self, request: HttpRequest, queryset: QuerySet[Any]) -> None:
        """Take things out of sight."""
        self._each(
            request, queryset, lambda owner, id: set_aside(owner, kind=self._kind, id=id, reason=REASON), "Set aside"
        )

    @admin.action(description="Restore what was set aside", permissions=["delete"])
    def restore(self, request: HttpRequest, queryset: QuerySet[Any]) -> None:
        """Bring things back into sight."""
        self._each(request, queryset, lambda owner, id: restore(owner, kind=self._kind, id=id), "Restored")

    @property
    def _kind(self) -> Any:
        return self.kind

    def _each(
        self, request: HttpRequest, queryset: QuerySet[Any], change: Callable[[Actor, str], RememberedShape], done: str
    ) -> None:
        changed = 0
        for thing in queryset:
            try:
                change(Actor.of(thing.user), str(thing.pk))
                changed += 1
            except BigMindError as refusal:
                messages.warning(request, f"{thing}: {refusal}")
        messages.success(request, f"{done}: {changed}.")


def _is_curator(request: HttpRequest) -> bool:
    return request.user.is_authenticated and "curate" in Actor.of(request.user).scopes
