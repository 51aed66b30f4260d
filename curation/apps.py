"""The Django app that decides what becomes company knowledge."""

from django.apps import AppConfig


class CurationConfig(AppConfig):
    """Proposals and decisions about company knowledge."""

    name = "curation"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        """Have the names of users who are deleted taken from the history."""
        from accounts.people.user_deletion import on_user_deletion
        from curation.services.anonymising_deleted_users import take_names_of

        on_user_deletion(take_names_of)
