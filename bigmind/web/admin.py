"""The building blocks of every app's admin: read-only tables, each a row of its module."""

from collections.abc import Callable, Collection
from typing import Any, ClassVar
from urllib.parse import urlencode

from django.contrib import admin
from django.contrib.auth import get_user_model
from django.db.models import (
    AutoField,
    BooleanField,
    CharField,
    DateField,
    FloatField,
    ForeignKey,
    IntegerField,
    Model,
    TextField,
    UUIDField,
)
from django.http import HttpRequest
from django.urls import reverse
from django.utils.html import format_html

from bigmind.core.translation import _, gettext_lazy
from bigmind.privacy.masking import PrivateModel, current_mask, owner_if_hidden, reaches_private_text

COLUMNS = 8
IN_A_COLUMN = (BooleanField, CharField, DateField, FloatField, ForeignKey, IntegerField)


class TranslatedAdminSite(admin.AdminSite):
    """Django's admin site, with the names of models in the language of the reader before it sorts by them."""

    def _build_app_dict(self, request: HttpRequest, label: Any = None) -> dict[str, Any]:
        found: dict[str, Any] = super()._build_app_dict(request, label)
        for model in (model for app in found.values() for model in app["models"]):
            # Each comparison of names that are not translated yet translates both: 800 times for a page.
            model["name"] = str(model["name"])
        return found


class ReadOnlyAdmin(admin.ModelAdmin):  # type: ignore[type-arg]
    """Shows rows and changes none. Curators see those of shared knowledge, where a class says so; admins see all."""

    is_for_curators: ClassVar[bool] = False
    may_be_deleted: ClassVar[bool] = False

    list_select_related: ClassVar[bool | tuple[str, ...]] = True
    show_full_result_count = False
    change_form_template = "components/admin/change_form.html"

    def get_list_display(self, request: HttpRequest) -> Any:
        """Show the columns. Where texts are hidden, none is ordered by, and a last column leads to opening them."""
        columns = super().get_list_display(request)
        if not self._hides_texts:
            return columns
        plain = [_column_without_order(str(name)) if self._is_hidden(str(name)) else name for name in columns]
        return [*plain, lead_to_private_rows]

    def get_ordering(self, request: HttpRequest) -> Any:
        """Order by what is not hidden."""
        return [name for name in super().get_ordering(request) if not self._is_hidden(str(name))]

    def get_list_filter(self, request: HttpRequest) -> Any:
        """Filter by what is not hidden."""
        return [one for one in super().get_list_filter(request) if not self._is_hidden(str(one))]

    def get_search_fields(self, request: HttpRequest) -> Any:
        """Search only what is not hidden: a match would reveal hidden text."""
        return [name for name in super().get_search_fields(request) if not self._is_hidden(str(name))]

    def lookup_allowed(self, lookup: str, value: Any, request: HttpRequest) -> bool:
        """Refuse look-ups in the URL about a hidden text."""
        return not self._is_hidden(lookup) and super().lookup_allowed(lookup, value, request)

    def render_change_form(self, request: HttpRequest, context: dict[str, Any], *args: Any, **kwargs: Any) -> Any:
        """Show a row; where its texts are hidden, with the way to open them."""
        row = kwargs.get("obj")
        return super().render_change_form(
            request, {**context, "open_private": opening_address(row, request) if row else ""}, *args, **kwargs
        )

    @property
    def _hides_texts(self) -> bool:
        return current_mask() is not None and issubclass(self.model, PrivateModel)

    def _is_hidden(self, path: str) -> bool:
        return current_mask() is not None and reaches_private_text(self.model, path)

    def has_view_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        """Admins look at everything, curators at what they decide about."""
        return super().has_view_permission(request, obj) or (
            self.is_for_curators and request.user.is_active and request.user.is_staff
        )

    def has_module_permission(self, request: HttpRequest) -> bool:
        """An app is listed for anyone who may look at anything in it."""
        return self.has_view_permission(request)

    def has_add_permission(self, request: HttpRequest) -> bool:
        """Nothing is created here."""
        return False

    def has_change_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        """Nothing is edited here."""
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        """Derived rows come and go with what they belong to; records may be deleted where it does no harm."""
        return self.may_be_deleted and super().has_delete_permission(request, obj)


def opening_address(row: Model, request: HttpRequest) -> str:
    """Return the page on which an admin opens the rows of this row's owner; "" where nothing is hidden."""
    owner = owner_if_hidden(row)
    if owner is None:
        return ""
    return f"{reverse('private-rows', args=[owner])}?{urlencode({'next': request.get_full_path()})}"


@admin.display(description=gettext_lazy("private"))
def lead_to_private_rows(row: Model) -> str:
    """Show in a list that the texts of a row are hidden, with the way to open them."""
    owner = owner_if_hidden(row)
    if owner is None:
        return ""
    there = reverse(f"admin:{row._meta.app_label}_{row._meta.model_name}_changelist")
    address = f"{reverse('private-rows', args=[owner])}?{urlencode({'next': there})}"
    return format_html('<a href="{}">{}</a>', address, _("Show"))


def _column_without_order(name: str) -> Callable[[Model], Any]:
    """Return a column with this field's values by which the list cannot be ordered."""

    @admin.display(description=gettext_lazy(name.replace("_", " ")))
    def column(row: Model) -> Any:
        return getattr(row, name)

    column.__name__ = name
    return column


def show(
    *models: type[Model],
    columns: str = "",
    search: str = "",
    filters: str = "",
    order: str = "",
    base: "type[admin.ModelAdmin[Any]]" = ReadOnlyAdmin,
    **options: Any,
) -> None:
    """Register models for the admin, read-only or as `base` says. Names are one text, separated by spaces.

    Args:
        models: Their rows are shown.
        columns: The fields that the list shows. Without them its lists are made of the fields that a model has.
        search: The fields in which words are looked for.
        filters: The fields by which the list is narrowed.
        order: The fields by which it is ordered.
        base: What else may be done there.
        options: Any other attribute of a `ModelAdmin`.
    """
    chosen = {"list_display": columns, "search_fields": search, "list_filter": filters, "ordering": order}
    for model in models:
        lists = chosen if columns else _lists_of(model, options.get("exclude", ()))
        attributes = {name: tuple(names.split()) for name, names in lists.items() if names}
        admin.site.register(model, type(f"{model.__name__}Admin", (base,), {**attributes, **options}))


def _lists_of(model: type[Model], excluded: Collection[str]) -> dict[str, str]:
    """Return the lists of an admin as the fields of a model make them: short values, the newest first."""
    fields = [
        one
        for one in model._meta.concrete_fields
        if one.name not in excluded and not one.name.endswith("digest") and not isinstance(one, AutoField | UUIDField)
    ]
    shown = [one.name for one in fields if isinstance(one, IN_A_COLUMN)][:COLUMNS]
    dates = sorted((one for one in fields if isinstance(one, DateField)), key=lambda one: one.null)[:1]
    people = [f"{one.name}__username" for one in fields if one.related_model is get_user_model()]
    words = [one.name for one in fields if isinstance(one, CharField | TextField) and not one.choices]
    return {
        "list_display": " ".join(shown) or "__str__",
        "list_select_related": " ".join(one.name for one in fields if one.name in shown and one.is_relation),
        "search_fields": " ".join([*words, *people]),
        "list_filter": " ".join(
            [one.name for one in fields if one.choices or isinstance(one, BooleanField) or one in dates]
        ),
        "ordering": f"-{dates[0].name}" if dates else "pk",
    }
