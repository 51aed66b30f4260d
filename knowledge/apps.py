"""The app of what is known and how it is found."""

from django.apps import AppConfig


class KnowledgeConfig(AppConfig):
    """Sessions, facts, notes, hypotheses, and the passages that search finds them by."""

    name = "knowledge"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        """Have the texts of users who are deleted forgotten, and tell the layers below which kinds there are."""
        from accounts.people.user_deletion import name_in_previews, on_user_deletion
        from bigmind.core.handles import take_handles
        from bigmind.web.components import show_kinds_as
        from knowledge.kinds import KINDS
        from knowledge.people.forgetting_deleted_users import forget_texts_of

        on_user_deletion(forget_texts_of)
        name_in_previews([*(row.model.__name__ for row in KINDS.values() if row.own), "Summary", "Conversation"])
        show_kinds_as({kind: row.symbol for kind, row in KINDS.items()})
        for kind, row in KINDS.items():
            # People are named by their user names, and never by their ids.
            is_hexadecimal = row.is_searched and row.has_uuid
            other_name = row.word if row.own and row.word != kind else ""
            take_handles(kind, letter=row.letter, other_name=other_name, is_hexadecimal=is_hexadecimal)
