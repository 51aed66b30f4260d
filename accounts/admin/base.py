"""A record of what happened, as the admin shows it."""

from django.http import HttpRequest


class RecordAdmin:
    """A record of what happened is looked at, not written."""

    def has_add_permission(self, request: HttpRequest) -> bool:
        """Nobody adds to the record by hand."""
        return False

    def has_change_permission(self, request: HttpRequest, obj: object | None = None) -> bool:
        """Nobody changes it either."""
        return False
