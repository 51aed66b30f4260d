"""The app of what is known and how it is found."""

from django.apps import AppConfig


class KnowledgeConfig(AppConfig):
    """Sessions, facts, notes, hypotheses, and the passages that search finds them by."""

    name = "knowledge"
    default_auto_field = "django.db.models.BigAutoField"
