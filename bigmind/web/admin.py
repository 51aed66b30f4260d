"""What the admin of every app is made of: tables that are looked at and not changed, each a row of its module."""

from typing import Any, ClassVar

from django.contrib import admin
from django.db.models import Model
from django.http import HttpRequest


class ReadOnlyAdmin(admin.ModelAdmin):  # type: ignore[type-arg]
    """Shows rows and changes none. Curators see those of shared knowledge, where a class says so; admins see all."""

    is_for_curators: ClassVar[bool] = False
    may_be_deleted: ClassVar[bool] = False

    list_select_related: ClassVar[bool | tuple[str, ...]] = True

    def has_view_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        """Admins look at everything, curators at what they decide about."""
        return super().has_view_permission(request, obj) or (
            self.is_for_curators and request.user.is_active and request.user.is_staff
        )

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
        """Derived rows come and go with what they belong to; records may be deleted where it does no harm."""
        return self.may_be_deleted and super().has_delete_permission(request, obj)


def show(
    model: type[Model],
    columns: str,
    *,
    search: str,
    filters: str = "",
    order: str = "",
    base: type[ReadOnlyAdmin] = ReadOnlyAdmin,
    **options: Any,
) -> None:
    """Let a model be looked at in the admin. Names stand in one text, with spaces between.

    Args:
        model: Its rows.
        columns: The fields that the list shows.
        search: The fields in which words are looked for.
        filters: The fields by which the list is narrowed.
        order: The fields by which it is ordered.
        base: What else may be done there.
        options: Any other attribute of a `ModelAdmin`.
    """
    lists = {"list_display": columns, "search_fields": search, "list_filter": filters, "ordering": order}
    attributes = {name: tuple(names.split()) for name, names in lists.items() if names}
    admin.site.register(model, type(f"{model.__name__}Admin", (base,), {**attributes, **options}))
