"""The app of company knowledge, where it is decided about."""

from django.apps import AppConfig


class CurationConfig(AppConfig):
    """What becomes company knowledge, and who decided."""

    name = "curation"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        """Have the names of users who are deleted taken from the history."""
        from accounts.people.user_deletion import on_user_deletion
        from curation.services.user_deletion import take_names_of

        on_user_deletion(take_names_of)
