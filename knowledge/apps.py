"""The app of what is known and how it is found."""

from django.apps import AppConfig


class KnowledgeConfig(AppConfig):
    """Sessions, facts, notes, hypotheses, and the passages that search finds them by."""

    name = "knowledge"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        """Have the texts of users who are deleted forgotten, and handles of all kinds read."""
        from accounts.people.user_deletion import name_in_previews, on_user_deletion
        from knowledge.kinds import KINDS
        from knowledge.services.user_deletion import forget_texts_of

        on_user_deletion(forget_texts_of)
        name_in_previews([*(row.model.__name__ for row in KINDS.values() if row.own), "Summary", "Conversation"])
